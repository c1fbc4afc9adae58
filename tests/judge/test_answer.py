"""An answer is read wherever it stands, and what doesn't fit its form is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentry_langgraph.judge.answer import (
    VERDICT_SCHEMA,
    WORDING_SCHEMA,
    DiagnosisAnswer,
    VerdictAnswer,
    diagnosis_schema,
    read_answer,
)

GOOD = {"label": "hallucination", "step": "s1", "quote": "x", "confidence": 0.8}


@pytest.mark.parametrize(
    "raw",
    [
        GOOD,
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f"I think so.\n{json.dumps(GOOD)}\nThat is all.",
        f'<think>{{"label": "none", "confidence": 1}}</think>{json.dumps(GOOD)}',
        json.dumps({**GOOD, "next_tool": None, "more": 1}),
        json.dumps({**GOOD, "confidence": "0.8"}),
        DiagnosisAnswer(**GOOD),  # type: ignore[arg-type]
    ],
)
def test_an_answer_is_found(raw: Any) -> None:
    """As an object, in a fence, behind thoughts; the last object that fits counts."""
    found = read_answer(DiagnosisAnswer, raw)
    assert found is not None
    assert (found.label, found.step, found.confidence, found.next_tool) == (
        "hallucination",
        "s1",
        0.8,
        "",
    )


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "no failure",
        "{",
        '{"label": "hallucination"',
        json.dumps([GOOD["label"]]),
        json.dumps({"label": "hallucination"}),
        json.dumps({**GOOD, "confidence": 90}),
        json.dumps({**GOOD, "confidence": "high"}),
        '{"label": "hallucination", "confidence": NaN}',
        json.dumps({**GOOD, "quote": "x" * 3_000}),
        None,
        7,
    ],
)
def test_what_does_not_fit_is_no_answer(raw: Any) -> None:
    """Broken JSON, missing fields and impossible confidences are not guessed at."""
    assert read_answer(DiagnosisAnswer, raw) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Nothing that a model says raises."""
    read_answer(DiagnosisAnswer, text)
    read_answer(VerdictAnswer, "{" * 500 + text)


def test_schemas_are_strict() -> None:
    """Providers with strict output want every field required and no others."""
    for schema in (diagnosis_schema(["a"], ["t"]), VERDICT_SCHEMA, WORDING_SCHEMA):
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
        assert schema["title"]
    assert diagnosis_schema(["a"], ["t"])["properties"]["label"]["enum"] == ["a", "none"]
