"""The quick check says yes only where the validator does, and does so for everyday schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel, Field

from sentry_langgraph.quick_schema import quick_check

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.0, 0.5, -2.0, float("nan")])
    | st.sampled_from(["", "a", "b", "long text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_KINDS = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _KINDS | st.lists(_KINDS, min_size=1, max_size=2, unique=True),
            "enum": st.lists(_VALUES, min_size=1, max_size=3),
            "const": _VALUES,
            "properties": properties,
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "patternProperties": st.dictionaries(st.just("^c"), inner, max_size=1),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "minLength": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "minimum": st.integers(-1, 1),
            "exclusiveMaximum": st.sampled_from([0, 0.5, 2]),
            "uniqueItems": st.booleans(),
            "$ref": st.sampled_from(["#/$defs/x", "#/$defs/y", "#", "other"]),
            "title": st.just("T"),
            "format": st.just("date"),
        },
    )


_SCHEMAS = st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=5)


@settings(max_examples=400)
@given(_SCHEMAS, _SCHEMAS, st.lists(_VALUES, min_size=1, max_size=6))
def test_a_yes_is_certain(schema: Any, shared: Any, values: list[Any]) -> None:
    """Whatever the schema says, what is quickly allowed is valid."""
    if isinstance(schema, dict):
        schema = {**schema, "$defs": {"x": shared, "y": {"$ref": "#/$defs/y"}}}
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return
    allows = quick_check(schema)
    validator = Draft202012Validator(schema)
    for value in values:
        if allows(value):
            assert validator.is_valid(value)


class Line(BaseModel):
    """One line of an order."""

    sku: str = Field(min_length=1)
    count: int = Field(ge=1, default=1)


class Order(BaseModel):
    """A schema as pydantic writes it: references, optional fields, lists, bounds."""

    lines: list[Line]
    note: str | None = None
    total: float = 0.0


@pytest.mark.parametrize(
    "value",
    [
        {"lines": []},
        {"lines": [{"sku": "a"}, {"sku": "b", "count": 2}], "note": None, "total": 3},
        {"lines": [{"sku": "a"}], "note": "x", "other": 1},
    ],
)
def test_everyday_arguments_are_allowed(value: Any) -> None:
    """Otherwise it would be of no use."""
    assert quick_check(Order.model_json_schema())(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"lines": None},
        {"lines": [{"sku": ""}]},
        {"lines": [{"sku": "a", "count": 0}]},
        {"lines": [{"sku": "a", "count": True}]},
        {"lines": [], "total": "3"},
    ],
)
def test_bad_arguments_are_the_validators(value: Any) -> None:
    """A no leaves it to the validator to say why."""
    assert not quick_check(Order.model_json_schema())(value)


def test_moved_references_are_the_validators() -> None:
    """Where a schema has an id of its own, a reference may mean another schema."""
    schema = {"$id": "https://example.org/a", "$ref": "#/$defs/x", "$defs": {"x": True}}
    assert not quick_check(schema)("anything")
