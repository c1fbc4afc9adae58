"""The names of failures are stable: they stand in files, events and stored lessons."""

from __future__ import annotations

import json

import pytest

from sentry_langgraph.taxonomy import (
    DEFINITIONS,
    FailureType,
    Label,
    Origin,
    Severity,
    Strategy,
    Verdict,
    is_hard,
    type_of,
)

TYPES = {
    "action_validity_failure": (
        "unknown_tool malformed_arguments invalid_arguments duplicate_call_id unanswered_call "
        "unavailable_target no_observable_output malformed_model_output structured_output_invalid"
    ),
    "progress_failure": (
        "repetition_or_looping planning_stall over_exploration termination_miscalibration"
    ),
    "reasoning_grounding_failure": "hallucination objective_drift reasoning_action_mismatch",
    "environment_failure": "dependency_outage rate_limited auth_or_config tool_error",
    "safety_stop": "irreversible_action suspected_injection budget_exhausted",
    "user_ambiguity": "user_ambiguity",
}


@pytest.mark.parametrize(("name", "labels"), TYPES.items())
def test_each_type_has_its_labels(name: str, labels: str) -> None:
    """A label that moves or is renamed breaks stored lessons."""
    assert {label.value for label in Label if type_of(label).value == name} == set(labels.split())


def test_there_is_no_other_name() -> None:
    """Types and labels are just these."""
    assert {one.value for one in FailureType} == set(TYPES)
    assert {one.value for one in Label} == {w for words in TYPES.values() for w in words.split()}


def test_every_label_is_defined() -> None:
    """Meaning and criterion stand in reports: one clause each, without a full stop."""
    assert set(DEFINITIONS) == set(Label)
    for definition in DEFINITIONS.values():
        for text in (definition.meaning, definition.resolved_when):
            assert text
            assert not text.endswith(".")
            assert "\n" not in text


@pytest.mark.parametrize("label", list(Label))
def test_hard_are_the_invalid_actions(label: Label) -> None:
    """They are redone; everything else gets guidance."""
    assert is_hard(label) is (type_of(label) is FailureType.ACTION_VALIDITY)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Severity, "info advise hold"),
        (Strategy, "hard advise hold stop human heal"),
        (Verdict, "recovered relapsed expired"),
        (Origin, "model tool system user"),
    ],
)
def test_the_other_names_are_stable_too(kind: type, values: str) -> None:
    """They stand in events."""
    assert [str(one) for one in kind] == values.split()  # type: ignore[attr-defined]


def test_names_are_plain_text_in_json() -> None:
    """An event needs no encoder of its own."""
    assert json.dumps([Label.UNKNOWN_TOOL, Verdict.EXPIRED]) == '["unknown_tool", "expired"]'
