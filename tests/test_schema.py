"""Arguments against a JSON Schema: each way of breaking it is named by field and kind."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from builders import schema
from hypothesis import given
from hypothesis import strategies as st
from strategies import JSON

from sentry_langgraph.records import Violation, accept_any
from sentry_langgraph.schema import dotted, kind_of, schema_check

NESTED = schema(
    root={
        "type": "object",
        "properties": {
            "kids": {"type": "array", "items": schema(["v"], v={"type": "integer"})},
        },
    }
)


@pytest.mark.parametrize(
    ("given_schema", "args", "expected"),
    [
        (schema(["a"], a={"type": "string"}), {"a": "x"}, []),
        (schema(["a"], a={"type": "string"}), {}, [Violation("a", "missing")]),
        (
            schema(["a", "b"], a={}, b={}),
            {},
            [Violation("a", "missing"), Violation("b", "missing")],
        ),
        (
            schema(["id"], id={"type": "string"}),
            {"line_id": "L1"},
            [Violation("id", "missing"), Violation("line_id", "unexpected")],
        ),
        (schema(a={"type": "integer"}), {"a": "1"}, [Violation("a", "type", "integer", "string")]),
        (schema(a={"type": "number"}), {"a": None}, [Violation("a", "type", "number", "null")]),
        (
            schema(a={"type": "integer"}),
            {"a": True},
            [Violation("a", "type", "integer", "boolean")],
        ),
        (
            schema(a={"type": ["string", "null"]}),
            {"a": 1},
            [Violation("a", "type", "string or null", "integer")],
        ),
        (
            schema(a={"enum": ["x", "y"]}),
            {"a": "z"},
            [Violation("a", "value", "one of x, y", "string")],
        ),
        (
            {**schema(a={}), "additionalProperties": False},
            {"a": 1, "b": 2},
            [Violation("b", "unexpected")],
        ),
        (schema(a={}), {"a": 1, "b": 2}, []),
        (
            NESTED,
            {"root": {"kids": [{"v": "x"}, {}]}},
            [
                Violation("root.kids[0].v", "type", "integer", "string"),
                Violation("root.kids[1].v", "missing"),
            ],
        ),
        (
            schema(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            {"a": "x"},
            [Violation("a", "value", "integer or null", "string")],
        ),
        (schema(a={"minimum": 3}), {"a": 1}, [Violation("a", "value", "minimum 3", "integer")]),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": schema(["a"], a={})}},
            {},
            [Violation("a", "missing")],
        ),
    ],
)
def test_each_way_of_breaking_a_schema(
    given_schema: Any, args: dict[str, Any], expected: list[Violation]
) -> None:
    """Field, problem, what is expected and the kind of what was found, never the value."""
    assert list(schema_check(given_schema)(args)) == expected


@pytest.mark.parametrize(
    "broken", [{"type": 3}, {"properties": []}, {"type": "object", "required": "a"}]
)
def test_a_broken_schema_checks_nothing(broken: Any) -> None:
    """The tool decides, as it would without us."""
    assert schema_check(broken) is accept_any


def test_references_are_never_fetched(tmp_path: Path) -> None:
    """A reference that does not resolve inside the schema lets everything through."""
    outside = tmp_path / "outside.json"
    outside.write_text('{"type": "string"}')
    for reference in ("#/$defs/gone", outside.as_uri(), "https://schemas.invalid/a.json"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fetching would only warn
            assert schema_check({"properties": {"a": {"$ref": reference}}})({"a": 1}) == ()


@pytest.mark.parametrize(
    ("path", "text"),
    [((), ""), (("a",), "a"), (("a", 0, "b"), "a[0].b"), ((0, 1), "[0][1]")],
)
def test_paths_are_dotted(path: tuple[Any, ...], text: str) -> None:
    """Fields are named as people write them."""
    assert dotted(path) == text


@given(JSON)
def test_every_json_value_has_a_kind(value: Any) -> None:
    """The kinds are JSON Schema's."""
    kinds = {"string", "boolean", "integer", "number", "array", "object", "null"}
    assert kind_of(value) in kinds


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_no_arguments_make_a_check_raise(args: dict[str, Any]) -> None:
    """Any JSON object is checked, and the violations hold no value of it."""
    check = schema_check(schema(["a"], a={"type": "integer"}, root=NESTED))
    for violation in check({**args, "b": "s3cret-value"}):
        assert "s3cret-value" not in str(violation)
