"""The models that settings name are built, and the program's own takes their place."""

from __future__ import annotations

from typing import Any

import pytest

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.judge import open_judges

from .samples import scripted


def opened(config: str, given: Any = None) -> Any:
    """The judges of YAML settings."""
    settings = SentryConfig.from_yaml_text(config)
    return open_judges(settings.judge_options, settings.model, given)


def name(asker: Any) -> str:
    """The name of the model behind an asker."""
    return str(asker._model.model_name)


def test_the_entry_names_its_model() -> None:
    """Else the section `model` does; a second one confirms."""
    entry = "detectors: [{kind: judge, model: {model: small, api_key_env: null}}]"
    assert name(opened(entry).first) == "small"
    shared = "model: {model: big, api_key_env: null}\ndetectors: [{kind: judge}]"
    assert name(opened(shared).first) == "big"
    both = (
        "model: {model: big, api_key_env: null}\n"
        "detectors: [{kind: judge, confirm: {model: other, api_key_env: null}}]"
    )
    found = opened(both)
    assert found.second is not None
    assert name(found.second) == "other"


def test_a_model_of_the_program_comes_first() -> None:
    """Whatever the settings name."""
    assert name(opened("model: {model: big}", scripted()).first) == "scripted"


def test_no_model_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is a key that is not set; both are said in words."""
    with pytest.raises(ConfigError, match="the judge has no model"):
        opened("detectors: [{kind: judge}]")
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(ConfigError, match="JUDGE_KEY"):
        opened("detectors: [{kind: judge, model: {model: m, api_key_env: JUDGE_KEY}}]")
