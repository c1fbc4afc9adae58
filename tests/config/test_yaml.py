"""YAML is read without its traps, and every error says where and what."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentry_langgraph.config import SentryConfig, check_yaml
from sentry_langgraph.config.strict_yaml import read_yaml
from sentry_langgraph.config.yaml_loader import MAX_BYTES, MAX_DEPTH, MAX_VALUES
from sentry_langgraph.errors import ConfigError


def refused(text: str | bytes) -> ConfigError:
    """The error that `text` is refused with."""
    with pytest.raises(ConfigError) as caught:
        SentryConfig.from_yaml_text(text, file="s.yaml")
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("010", "010"),
        ("0x10", "0x10"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("1.5e-3", 0.0015),
        ("-3.", -3.0),
        ("1e400", float("inf")),
        ("2024-01-01", "2024-01-01"),
        ("0", 0),
        ("-7", -7),
        ("+3", 3),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("00.5", "00.5"),
        ("9" * 40, "9" * 40),
        ("~", None),
        ("", None),
        ("=", "="),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
    ],
)
def test_plain_scalars(text: str, value: object) -> None:
    """A plain scalar is a boolean, a number or null by these rules, and text otherwise."""
    found = read_yaml(f"key: {text}").data["key"]
    assert found == value
    assert type(found) is type(value)


def test_mode_off_is_the_mode() -> None:
    """`mode: off` and `mode: "off"` are the same mode."""
    assert SentryConfig.from_yaml_text("mode: off\n").mode == "off"
    assert SentryConfig.from_yaml_text('mode: "off"\n').mode == "off"


@pytest.mark.parametrize("entry", ["no", "on", "y"])
def test_words_stay_words_in_lists(entry: str) -> None:
    """A tool argument that is called `no` stays text."""
    config = SentryConfig.from_yaml_text(f"tools: {{t: {{ignore_args: [{entry}, grep]}}}}\n")
    assert config.tools["t"].ignore_args == (entry, "grep")


@pytest.mark.parametrize(
    ("text", "line", "key", "received"),
    [
        ("verify:\n  horizon: 010\n", 2, "verify.horizon", '"010"'),
        ('verify:\n  horizon: "3"\n', 2, "verify.horizon", '"3"'),
        ("verify:\n  horizon: 2.5\n", 2, "verify.horizon", "2.5"),
        ("verify:\n  horizon: 2.0\n", 2, "verify.horizon", "2.0"),
        ("verify:\n  horizon: -1\n", 2, "verify.horizon", "-1"),
        ("verify:\n  horizon: yes\n", 2, "verify.horizon", '"yes"'),
        ("verify:\n  horizon: true\n", 2, "verify.horizon", "true"),
        ("verify:\n  horizon:\n", 2, "verify.horizon", "nothing"),
        ("verify:\n  horizon: [1]\n", 2, "verify.horizon", "a list"),
        ("repair:\n  max_seconds: 12:30\n", 2, "repair.max_seconds", '"12:30"'),
        ("repair:\n  max_seconds: .inf\n", 2, "repair.max_seconds", ".inf"),
        ("repair:\n  confidence: true\n", 2, "repair.confidence", "true"),
        ("repair:\n  confidence: '0.5'\n", 2, "repair.confidence", '"0.5"'),
        ("learn:\n  enabled: yes\n", 2, "learn.enabled", '"yes"'),
        ("learn:\n  enabled: 1\n", 2, "learn.enabled", "1"),
        ("mode: true\n", 1, "mode", "true"),
        ("window: 201\n", 1, "window", "201"),
        ("tools:\n  t:\n    polling: on\n", 3, "tools.t.polling", '"on"'),
        ("tools: 3\n", 1, "tools", "3"),
        ("detectors:\n  - kind: planning_stall\n    thinking_steps: true\n", 3, None, "true"),
        ("verify:\n  on: [loop]\n", 2, "verify.on", '"on"'),
    ],
)
def test_wrong_values(text: str, line: int, key: str | None, received: str) -> None:
    """A wrong value is one error type that names file, line, key and what was received."""
    error = refused(text)
    key = key or "detectors[0].thinking_steps"
    assert (error.file, error.line, error.key) == ("s.yaml", line, key)
    assert str(error).startswith(f"s.yaml:{line}: {key}: ")
    assert received in str(error)


def test_exponents_are_numbers() -> None:
    """`1e3` is a number, which a time in seconds takes."""
    assert SentryConfig.from_yaml_text("repair: {max_seconds: 1e3}").repair.max_seconds == 1000.0


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("verify:\n  horizon: 2\nrepair: {}\nverify:\n  horizon: 9\n", "verify", (1, 4)),
        ("verify:\n  horizon: 2\n  horizon: 9\n", "verify.horizon", (2, 3)),
        ("x-a: &a {}\nverify:\n  <<: *a\n  <<: *a\n", "verify.<<", (3, 4)),
        ("tools:\n  a: {}\n  'a': {}\n", "tools.a", (2, 3)),
    ],
)
def test_duplicate_keys(text: str, key: str, lines: tuple[int, int]) -> None:
    """A key that stands twice is an error that names both lines; no value wins."""
    error = refused(text)
    assert error.key == key
    assert f"in lines {lines[0]} and {lines[1]}" in error.message


@pytest.mark.parametrize("template", ["x-common", "base"])
def test_merge_keys(template: str) -> None:
    """Merge keys work and may be overridden; templates at the top level are passed over."""
    head = f"{template}: &c {{horizon: 3, steps: 2}}\n"
    merged = SentryConfig.from_yaml_text(f"{head}verify:\n  <<: *c\n")
    assert (merged.verify.horizon, merged.verify.steps) == (3, 2)
    over = SentryConfig.from_yaml_text(f"{head}verify:\n  <<: *c\n  horizon: 9\n")
    assert (over.verify.horizon, over.verify.steps) == (9, 2)


def test_first_of_several_merges_wins() -> None:
    """In a list of merges the earlier one wins, as YAML says."""
    text = "x-a: &a {horizon: 3}\nx-b: &b {horizon: 4, steps: 2}\nverify: {<<: [*a, *b]}\n"
    config = SentryConfig.from_yaml_text(text)
    assert (config.verify.horizon, config.verify.steps) == (3, 2)


def test_misspelt_section_with_an_anchor_is_not_a_template() -> None:
    """An unknown key that is close to a setting is an error even where an alias uses it."""
    error = refused("verfy: &v {horizon: 3}\nverify: *v\n")
    assert error.key == "verfy"
    assert error.hint == "did you mean 'verify'?"


def test_error_in_a_template_names_the_line_to_mend() -> None:
    """A wrong value that was merged is reported where it is used, at the line of the template."""
    error = refused("x-c: &c\n  horizon: 0\nverify:\n  <<: *c\n")
    assert (error.key, error.line) == ("verify.horizon", 2)


def test_aliases_are_copies() -> None:
    """Two places that share an alias don't share an object."""
    data = read_yaml("a: &m {list: [1]}\nb: *m\n").data
    data["a"]["list"].append(2)
    assert data["b"] == {"list": [1]}
    assert refused("verify: &m {horizon: 3}\nother_agent:\n  verify: *m\n").key == "other_agent"


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\ufeff", "~\n", "x-a: 1\n"])
def test_empty_files_hold_the_defaults(text: str) -> None:
    """A file without settings is valid."""
    assert SentryConfig.from_yaml_text(text) == SentryConfig()


def test_empty_sections_hold_the_defaults() -> None:
    """A section of which every key is commented out counts as left out."""
    text = "verify:\n  # horizon: 3\nplaybook:\n  kind: none\n  ranking:\ndetectors:\n"
    text += "tools:\n  search:\n"
    config = SentryConfig.from_yaml_text(text)
    assert config.verify == SentryConfig().verify
    assert config.playbook.ranking == SentryConfig().playbook.ranking
    assert list(config.tools) == ["search"]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("- a\n", 1, "mapping"),
        ("hello\n", 1, "mapping"),
        ("mode: off\n---\nmode: off\n", 2, "several documents"),
        ("x: !!python/object/apply:os.system ['true']\n", 1, "python/object/apply"),
        ("mode: !!binary aGVsbG8=\n", 1, "!!binary"),
        ("mode: !own off\n", 1, "!own"),
        ("window: !!int off\n", 1, "its tag !!int"),
        ("verify:\n\thorizon: 2\n", 2, "\\t"),
        ("mode: off\nverify: *nope\n", 2, "undefined alias"),
        ("mode: off\nverify: [1\n", 3, "expected"),
        ("a: &a [*a]\n", 1, "what it stands in"),
        ("verify: &a {<<: *a}\n", 1, "what it stands in"),
        ("mode: off\ntrue: 1\n", 2, "a key must be text"),
        ("tools:\n  12: {}\n", 2, "a key must be text"),
        ("? [a]\n: 3\n", 1, "a key must be text"),
        ("verify: {<<: 3}\n", 1, "takes a mapping"),
        ("mode: a: b\n", 1, "mapping values"),
        ("mode: off\na: \x00\n", 2, "U+0000"),
        ('mode: "\\U00110000"\n', 1, "YAML"),
        ('playbook: {path: "\\ud800"}\n', 1, "surrogate"),
    ],
)
def test_unreadable_files(text: str, line: int, part: str) -> None:
    """What is not one plain mapping is refused with the line; nothing in it is executed."""
    error = refused(text)
    assert error.line == line
    assert part in str(error)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    """UTF-8 with and without a mark, and UTF-16 with one, give the same settings."""
    text = "mode: shadow\ntools: {büro: {polling: true}}\n"
    config = SentryConfig.from_yaml_text(text.encode(encoding))
    assert (config.mode, list(config.tools)) == ("shadow", ["büro"])


def test_wrong_encoding_names_the_line() -> None:
    """Bytes that are not UTF-8 are refused at their line."""
    error = refused("mode: off\ntools: {büro: {}}\n".encode("latin-1"))
    assert error.line == 2
    assert error.hint == "save the file as UTF-8"


def bomb(levels: int) -> str:
    """A chain of templates, each of which holds the one before ten times."""
    lines = ["x-0: &m0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"x-{i}: &m{i} [{', '.join([f'*m{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines) + f"\nverify: {{horizon: *m{levels - 1}}}\n"


def merge_bomb(levels: int) -> str:
    """The same with merge keys."""
    lines = ["x-0: &m0 {a: 1}"]
    lines += [f"x-{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 10)}]}}" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("text", [bomb(3), bomb(30), merge_bomb(30)])
def test_alias_bombs_are_refused_at_once(text: str) -> None:
    """Aliases that multiply are an error in well under a second."""
    started = time.perf_counter()
    assert refused(text).line is not None
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("#" * (MAX_BYTES + 1), "larger than"),
        ("[" * (MAX_DEPTH + 2), "deeper"),
        ("a:\n" + "- b\n" * MAX_VALUES, "values"),
    ],
)
def test_bounds(text: str, part: str) -> None:
    """Size, depth and number of values are bounded."""
    assert part in str(refused(text))


_FRAGMENTS = [
    *("mode", "off", "verify", "horizon", "detectors", "kind", "planning_stall", "tools", "x-a"),
    *(": ", ":\n  ", "\n", "\n- ", "- ", "{", "}", "[", "]", ", ", "&a ", "*a", "<<: *a", "? "),
    *("!!str ", "!!int ", "! ", "true", "3", "-1", "2.5", "~", '"', "'", "\\u", "|\n  ", ">-\n"),
    *("---\n", "...\n", "%YAML 1.1\n", "\t", "#", "é", "\ud800", "\x00", "\ufeff", "\u2028"),
    *("playbook", "model", "headers"),
]


@settings(max_examples=300, deadline=3000, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.text(max_size=200),
        st.binary(max_size=200),
        st.lists(st.sampled_from(_FRAGMENTS), max_size=40).map("".join),
    )
)
def test_any_text_is_a_config_or_a_config_error(text: str | bytes) -> None:
    """Whatever is loaded, the outcome is a `SentryConfig` or a `ConfigError`, soon."""
    problems = check_yaml(text, "s.yaml")
    assert all(type(problem) is ConfigError and str(problem) for problem in problems)
    if problems:
        assert str(refused(text)) == str(problems[0])
    else:
        assert isinstance(SentryConfig.from_yaml_text(text), SentryConfig)
