"""Settings come from a path, a mapping or a config; problems are all found and well told."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentry_langgraph.config import SentryConfig, check_file, check_yaml, load_config
from sentry_langgraph.config.locate import dotted, line_of, parsed
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.pipeline import Pipeline


class Picky:
    """A detector of a user that can't be built."""

    Options = DetectorOptions

    def __init__(self, options: DetectorOptions) -> None:
        raise RuntimeError("no licence")

    def detect(self, trajectory: object) -> tuple[()]:
        """Nothing."""
        return ()


def test_sources(tmp_path: Path) -> None:
    """None, a path as text, a path, a mapping and a config all load."""
    path = tmp_path / "sentry.yaml"
    path.write_text("mode: shadow\n", encoding="utf-8")
    wanted = SentryConfig(mode="shadow")
    assert load_config() == SentryConfig()
    for source in (str(path), path, {"mode": "shadow"}, wanted):
        assert load_config(source) == wanted
    assert SentryConfig.from_yaml(path) == wanted
    assert isinstance(wanted.pipeline(), Pipeline)


def test_unusable_sources(tmp_path: Path) -> None:
    """What can't be read is a `ConfigError` that says why and what to do."""
    missing = tmp_path / "none.yaml"
    with pytest.raises(ConfigError, match="No such file") as caught:
        load_config(missing)
    assert caught.value.file == str(missing)
    assert "sentry init" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="can't be read"):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match="can't be read"):
        load_config("a\0b")
    with pytest.raises(ConfigError, match="from_yaml_text"):
        load_config("mode: off\nwindow: 3\n")
    with pytest.raises(ConfigError, match="not a int"):
        load_config(3)  # type: ignore[arg-type]


def test_mappings_are_checked_as_files_are() -> None:
    """A mapping is held to the same rules: no bool for a number, no unknown key."""
    for data in ({"repair": {"confidence": True}}, {"verify": {"horizon": "3"}}, {"nope": 1}):
        with pytest.raises(ConfigError) as caught:
            load_config(data)
        assert caught.value.line is None
        assert caught.value.key
    with pytest.raises(ConfigError):
        load_config({3: 4})  # type: ignore[dict-item]


def test_every_problem_is_found() -> None:
    """All problems of a file come at once, by line; loading raises the first, with the rest."""
    text = (
        "mod: off\n"
        "verify:\n  horizon: 0\n  horizon: 1\n"
        "detectors:\n"
        "  - kind: repetition_or_looping\n    hold_att: 3\n    max_period: no\n"
        "  - kind: repetition\n"
        "  - planning_stall\n"
        "  - kind: repetition_or_looping\n"
        "tools:\n  t: {exempt: [looping]}\n"
    )
    problems = check_yaml(text, "s.yaml")
    assert [(one.line, one.key) for one in problems] == [
        (1, "mod"),
        (4, "verify.horizon"),
        (7, "detectors[0].hold_att"),
        (8, "detectors[0].max_period"),
        (9, "detectors[1].kind"),
        (10, "detectors[2]"),
        (11, "detectors[3].kind"),
        (13, "tools.t.exempt[0]"),
    ]
    with pytest.raises(ConfigError) as caught:
        SentryConfig.from_yaml_text(text, "s.yaml")
    assert str(caught.value) == str(problems[0])
    assert len(caught.value.__notes__) == len(problems) - 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("moniter: 1", "one of mode, window"),
        ("verfy: {}", "did you mean 'verify'?"),
        ("horizon: 3", "did you mean 'verify.horizon'?"),
        ("mode: activ", "did you mean 'active'?"),
        ("mode: nothing", "one of active, shadow, off"),
        ("detectors: [{kind: repetition}]", "did you mean 'repetition_or_looping'?"),
        ("detectors: [{}]", "one of action_validity"),
        ("tools: {t: {exempt: [repetition]}}", "did you mean 'repetition_or_looping'?"),
        ("tools: {t: {ignore_args: [true]}}", 'quote it: "true"'),
        ("tools: {t: {ignore_args: time}}", '["time"]'),
        ("learn: {enabled: on}", "write true or false"),
        ("verify: {horizon: '3'}", "without quotes"),
        ("window:", "leave the key out for the default, 20"),
        ("true: 1", 'quote it: "true"'),
        ("model: {api_key: abc}", "did you mean 'api_key_env'?"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    """An error says what would be right."""
    (problem,) = check_yaml(text)
    assert hint in str(problem.hint)


@pytest.mark.parametrize(
    "text",
    [
        "model: {api_key: sk-1234567890}",
        "model: {api_key_env: sk-1234567890}",
        "model: {headers: {X-Key: sk-1234567890}}",
        "model: {token: sk-1234567890}",
        "playbook: {host: h, token_env: sk-1234567890}",
    ],
)
def test_a_secret_in_a_file_is_not_repeated(text: str) -> None:
    """A key that stands where its variable's name belongs reaches neither message nor value."""
    (problem,) = check_yaml(text)
    assert "sk-1234567890" not in f"{problem} {problem.value}"


def test_detectors_that_cant_be_built() -> None:
    """A detector that can't be imported or built is an error at its kind."""
    for kind, part in (
        ("no.such:Thing", "can't be imported"),
        ("os:getcwd", "neither a class"),
        (f"{__name__}:Picky", "RuntimeError: no licence"),
    ):
        (problem,) = check_yaml(f'detectors:\n  - enabled: true\n    kind: "{kind}"\n')
        assert (problem.key, problem.line) == ("detectors[0].kind", 3)
        assert part in problem.message


def test_errors_pickle() -> None:
    """An error keeps its fields across processes."""
    (problem,) = check_yaml("window: 0\n", "s.yaml")
    again = pickle.loads(pickle.dumps(problem))
    assert str(again) == str(problem)
    assert (again.line, again.key, again.value) == (1, "window", 0)


def test_check_file_reports_unreadable_files(tmp_path: Path) -> None:
    """A file that can't be read is a problem like any other."""
    (problem,) = check_file(tmp_path / "none.yaml")
    assert problem.file == str(tmp_path / "none.yaml")


_NAMES = st.from_regex(r"[a-z_-]{1,8}", fullmatch=True)


@given(st.lists(st.one_of(_NAMES, st.integers(0, 30)), max_size=6))
@settings(max_examples=50)
def test_dotted_keys_round_trip(parts: list[str | int]) -> None:
    """A dotted key is parsed back to its path, indexes included."""
    path = ("root", *parts)
    assert parsed(dotted(path)) == path


def test_yaml_is_imported_for_files_only() -> None:
    """Settings without a file don't wait for the import of the YAML parser."""
    code = (
        "import sys\nfrom sentry_langgraph.config import load_config\n"
        "load_config(); load_config({'mode': 'off'})\nassert 'yaml' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_line_of_the_nearest() -> None:
    """A setting that the file doesn't hold is placed at what is around it."""
    lines = {("verify",): 3, ("verify", "horizon"): 4}
    assert line_of(("verify", "horizon"), lines) == 4
    assert line_of(("verify", "steps"), lines) == 3
    assert line_of(("repair",), lines) is None


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
_KEYS = st.sampled_from(["mode", "window", "repair", "detectors", "tools", "model", "x-a", "nope"])


@given(st.dictionaries(_KEYS, _VALUES, max_size=4))
@settings(max_examples=150, deadline=3000)
def test_any_mapping_is_a_config_or_a_config_error(data: dict[str, object]) -> None:
    """Whatever mapping is given, the outcome is a `SentryConfig` or a `ConfigError`."""
    try:
        config = load_config(data)
    except ConfigError:
        return
    assert isinstance(config, SentryConfig)
