"""The files that come with the project are valid, complete and up to date."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.config.describe import meanings
from sentry_langgraph.config.presets import PRESETS, preset_detectors
from sentry_langgraph.config.reference import render_reference
from sentry_langgraph.config.schema import built_in_options, json_schema, sections
from sentry_langgraph.config.starter import render_starter, starter_text
from sentry_langgraph.config.strict_yaml import read_yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
REGENERATE = "run `python -m sentry_langgraph.config.reference` in the root of the repository"


def everything(model: type[Any]) -> set[type[Any]]:
    """A model and the models of all its sections."""
    return {model, *(one for inner in sections(model).values() for one in everything(inner))}


MODELS = sorted(
    {one for model in (SentryConfig, *built_in_options().values()) for one in everything(model)},
    key=lambda model: model.__name__,
)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_configs_load_and_fit_the_schema(path: Path) -> None:
    """Every file under `configs/` loads, builds its stages and fits the JSON Schema."""
    SentryConfig.from_yaml(path).pipeline()
    jsonschema.validate(read_yaml(path.read_bytes()).data, json_schema())


def test_all_configs_are_there() -> None:
    """The files that the README names are there."""
    names = {path.relative_to(ROOT / "configs").as_posix() for path in CONFIGS}
    assert names >= {
        "default.yaml",
        "minimal.yaml",
        "strict.yaml",
        "shadow.yaml",
        "paper.yaml",
        "providers/openai_compatible.yaml",
        "providers/openrouter.yaml",
    }


def test_generated_files_are_up_to_date() -> None:
    """The reference and both copies of the starter file are what the models give."""
    starter = render_starter()
    assert starter_text() == starter, REGENERATE
    assert (ROOT / "configs/default.yaml").read_text(encoding="utf-8") == starter, REGENERATE
    reference = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert reference == render_reference(), REGENERATE


def test_the_starter_equals_the_defaults() -> None:
    """The starter file holds every key, and each has its default.

    What a preset decides stands there as a comment: a line would win over the preset.
    """
    data = read_yaml(starter_text()).data
    config = SentryConfig.from_yaml_text(starter_text())
    assert config.model_copy(update={"detectors": ()}) == SentryConfig()
    listed = {entry.pop("kind"): entry for entry in data["detectors"]}
    assert list(listed) == list(built_in_options())
    for kind, model in built_in_options().items():
        left_to_presets = {
            key
            for name in PRESETS
            for entry in preset_detectors(name)
            if entry["kind"] == kind
            for key in entry
        } - {"kind"}
        assert set(listed[kind]) == set(model.model_fields) - left_to_presets
        for key in left_to_presets:
            assert f"    # {key}: " in starter_text()
        assert model.model_validate(listed[kind]) == model()

    def holds_every_key(found: dict[str, Any], model: type[Any]) -> None:
        assert set(found) == set(model.model_fields)
        for name, inner in sections(model).items():
            if name != "tools":
                holds_every_key(found[name], inner)

    holds_every_key(data, SentryConfig)


def test_plain_yaml_readers_agree() -> None:
    """The files mean the same to any YAML 1.1 reader: none leans on a rule of ours."""
    for path in CONFIGS:
        text = path.read_text(encoding="utf-8")
        assert (yaml.safe_load(text) or {}) == read_yaml(text).data, path.name


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_setting_is_described(model: type[Any]) -> None:
    """The docstring of an options model describes each of its fields and no other."""
    assert set(meanings(model)) == set(model.model_fields)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_tightest_bound_holds(model: type[Any]) -> None:
    """Where a field states several bounds, the tightest one is in force.

    pydantic lets the last one win, so a bound in `= Field(3, ge=2)` is lost behind the bounds
    of the type; `Annotated[Count, Field(ge=2)] = 3` keeps it.
    """
    for name, info in model.model_fields.items():
        for bound, tightest in (("ge", max), ("le", min)):
            stated = [getattr(one, bound) for one in info.metadata if hasattr(one, bound)]
            if stated:
                assert stated[-1] == tightest(stated), f"{model.__name__}.{name}"


def test_the_paper_settings() -> None:
    """`paper.yaml` holds the values of the paper."""
    config = SentryConfig.from_yaml(ROOT / "configs/paper.yaml")
    assert (config.window, config.verify.horizon) == (5, 10)
    assert (config.repair.max_soft_repairs, config.repair.cooldown_steps) == (5, 2)
    assert config.repair.confidence == 0.65


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_no_key_stands_in_a_file(path: Path) -> None:
    """A provider file names the variable of its key, and holds nothing that looks like one."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\b(sk|hf|key)[-_][A-Za-z0-9]{8,}", text)


def test_code_in_the_reference_runs() -> None:
    """The Python blocks of the reference run."""
    blocks = re.findall(r"```python\n(.*?)```", render_reference(), flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "configuration.md", "exec"), {})


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        ({}, True),
        ({"mode": "off", "x-templates": {"a": 1}}, True),
        ({"detectors": [{"kind": "repetition_or_looping", "hold_at": 4}]}, True),
        ({"detectors": [{"kind": "my.module:Mine", "limit": 4}]}, True),
        ({"detectors": [{"kind": "repetition_or_looping", "thinking_steps": 4}]}, False),
        ({"detectors": [{"hold_at": 4}]}, False),
        ({"nope": 1}, False),
        ({"verify": {"horizon": True}}, False),
        ({"repair": {"cleanup": "never", "confidence": 2}}, False),
    ],
)
def test_the_schema_knows_right_from_wrong(data: dict[str, Any], valid: bool) -> None:
    """The JSON Schema accepts and refuses what the loader does, options of detectors included."""
    checker = jsonschema.Draft202012Validator(json_schema())
    checker.check_schema(checker.schema)
    assert checker.is_valid(data) is valid
