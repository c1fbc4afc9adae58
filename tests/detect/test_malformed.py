"""Every reason why a text is not one JSON object is said in words that help."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from strategies import JSON, TEXTS

from sentry_langgraph.detect.malformed import explain

REASONS = [
    ("", "empty"),
    ("  \n", "empty"),
    ('```json\n{"q": 1}\n```', "code fence"),
    ('"{\\"q\\": 1}"', "a JSON string that contains JSON"),
    ("[1, 2]", "a JSON list"),
    ("null", "a JSON null"),
    ('{"text": "one\ntwo"}', "unescaped control characters"),
    ('{"text": "one\ttwo"}', "unescaped control characters"),
    ('{"q": NaN}', "NaN and Infinity"),
    ('{"q": -Infinity}', "NaN and Infinity"),
    ('{"q": 1}{"q": 2}', "text after the JSON object"),
    ('{"q": 1} I hope this helps', "text after the JSON object"),
    ("{'q': 1}", "single quotes"),
    ("{ 'q': \"x\"}", "single quotes"),
    ('{"q": 1,}', "a comma before a closing bracket"),
    ('{"q": [1, 2, ]}', "a comma before a closing bracket"),
    ('{"q": None}', "None, True and False"),
    ('{"q": True}', "None, True and False"),
    ("q=1", "one JSON object is expected"),
    ("<q>1</q>", "one JSON object is expected"),
    ('{"q": "it goes on', "cut off"),
    ('{"q": {"r": 1}', "cut off"),
    ('{"q": "a \\" {", "r": [', "cut off"),
    ('{"q" 1}', "not valid JSON"),
    ('{"q": 1}}', "text after the JSON object"),
    ('{"q": 1}', "could not be read as one JSON object"),
]


@pytest.mark.parametrize(("raw", "reason"), REASONS)
def test_each_reason_is_named(raw: str, reason: str) -> None:
    """The clause says what was wrong with this text."""
    assert reason in explain(raw)


@pytest.mark.parametrize(
    "raw",
    [
        '{"code": "x = None\\nprint(',
        '{"code": "if True:\\n    items = [1, 2, ]',
        '{"note": "it is False, ]',
        '{"code": "d = {\'a\': 1',
    ],
)
def test_what_stands_inside_a_string_is_not_the_reason(raw: str) -> None:
    """A program that was cut off by the token limit is cut off, not bad JSON."""
    assert "cut off" in explain(raw)


@pytest.mark.parametrize(("raw", "kind"), [("3", "number"), ("0.5", "number"), ("true", "boolean")])
def test_json_kinds_have_their_json_names(raw: str, kind: str) -> None:
    """The model is told in the words of JSON."""
    assert f"a JSON {kind}" in explain(raw)


@pytest.mark.parametrize("raw", ["[" * 4_000, '{"a":' * 2_000, "9" * 5_000])
def test_extreme_texts_get_a_reason(raw: str) -> None:
    """Depth and length are no reason to fail."""
    assert explain(raw)


@given(TEXTS)
def test_any_text_gets_one_clause(raw: str) -> None:
    """The reason is one line without a full stop, whatever the model wrote."""
    reason = explain(raw)
    assert reason
    assert "\n" not in reason
    assert not reason.endswith(".")


@given(JSON)
def test_the_reason_never_quotes_the_text(value: object) -> None:
    """The reason goes to the ledger, so it holds nothing of the arguments."""
    assert "s3cret" not in explain(json.dumps({"v": value, "s3cret": "s3cret"})[:-1])
