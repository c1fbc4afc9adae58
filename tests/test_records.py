"""Records are frozen, say what they hold, and survive their plain form."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from builders import call, failed, finding, held, observation, ran, step, steps, trajectory
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from sentry_langgraph import decisions, records
from sentry_langgraph.records import (
    ActiveRepair,
    Catalog,
    Finding,
    Lesson,
    PathStep,
    TaskState,
    ToolCall,
    ToolSpec,
    accept_any,
)
from sentry_langgraph.taxonomy import Label, Origin, Severity, Strategy

CLASSES = [
    value
    for module in (records, decisions)
    for value in vars(module).values()
    if isinstance(value, type) and value.__module__.startswith(module.__name__)
]


@pytest.mark.parametrize("record", CLASSES, ids=lambda record: record.__name__)
def test_every_record_is_frozen_and_documented(record: type) -> None:
    """Nothing changes under the stages' hands, and each attribute is explained."""
    assert dataclasses.is_dataclass(record)
    assert record.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert record.__doc__
    if "Attributes:" in record.__doc__:
        for field in dataclasses.fields(record):
            assert f"{field.name}: " in record.__doc__


def test_a_result_is_found_by_the_id_of_its_call() -> None:
    """None where nothing came back."""
    turn = step("s", ran(q=1), ran("add_note", None), failed("get_order"))
    assert [one and one.status for one in map(turn.observation_of, turn.calls)] == [
        "success",
        None,
        "error",
    ]


@pytest.mark.parametrize(
    ("catalog", "name", "known"),
    [
        (Catalog({"a": ToolSpec("a")}), "a", True),
        (Catalog({"a": ToolSpec("a")}), "b", False),
        (Catalog(declared=frozenset({"b"})), "b", True),
        (Catalog(complete=False), "b", True),
        (Catalog(), "", False),
    ],
)
def test_what_a_catalog_knows(catalog: Catalog, name: str, known: bool) -> None:
    """Its tools, what is served elsewhere, and everything where it is not complete."""
    assert catalog.knows(name) is known


@pytest.mark.parametrize(
    ("parameters", "required", "arguments"),
    [
        ({}, (), []),
        ({"properties": {"a": {}, "b": {}}, "required": ["b"]}, ("b",), ["a", "b"]),
        ({"properties": None, "required": None}, (), []),
        ({"properties": [], "required": "ab"}, (), []),
        ({"required": [1, "a", None]}, ("a",), []),
        ({"required": True}, (), []),
    ],
)
def test_a_schema_is_read_whatever_it_looks_like(
    parameters: Any, required: tuple[str, ...], arguments: list[str]
) -> None:
    """Servers send null, words and numbers where a list belongs."""
    spec = ToolSpec("t", parameters=parameters)
    assert spec.required == required
    assert list(spec.arguments) == arguments


def test_a_tool_without_a_schema_accepts_everything() -> None:
    """There is nothing to hold against a call."""
    assert accept_any({"any": 1}) == ()


FINDINGS = st.builds(
    Finding,
    label=st.sampled_from(list(Label)),
    step=TEXTS,
    key=TEXTS,
    confidence=st.floats(0, 1),
    severity=st.sampled_from(list(Severity)),
    detail=TEXTS,
    evidence=st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=2),
    calls=st.tuples(st.integers(0, 5)),
    tool=st.none() | TEXTS,
    argument=st.none() | TEXTS,
    pattern=st.none() | TEXTS,
    suggestion=st.none() | TEXTS,
    origin=st.sampled_from(list(Origin)),
    intention=st.booleans(),
    related=st.lists(TEXTS, max_size=2).map(tuple),
)
LESSONS = st.builds(
    Lesson,
    id=TEXTS,
    label=st.sampled_from(list(Label)),
    text=TEXTS,
    tool=st.none() | TEXTS,
    path=st.lists(
        st.builds(PathStep, tool=TEXTS, arguments=st.lists(TEXTS, max_size=2).map(tuple)),
        max_size=2,
    ).map(tuple),
    uses=st.integers(0, 9),
    recoveries=st.integers(0, 9),
    relapses=st.integers(0, 9),
    status=st.sampled_from(["active", "quarantined"]),
    extra=st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


@given(FINDINGS)
def test_a_finding_survives_json(one: Finding) -> None:
    """It travels to the repair node as plain JSON."""
    assert Finding.from_dict(json.loads(json.dumps(one.to_dict()))) == one


@given(LESSONS)
def test_a_lesson_survives_json(one: Lesson) -> None:
    """It lies in events, files and the playbook as plain JSON."""
    assert Lesson.from_dict(json.loads(json.dumps(one.to_dict()))) == one


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"label": "gone"}, ValueError),
        ({"unknown": 1}, TypeError),
        ({"id": None}, None),
    ],
)
def test_a_lesson_that_is_none_is_refused(change: dict[str, Any], error: Any) -> None:
    """Unknown labels and fields are not passed over."""
    data = {**Lesson("i", Label.UNKNOWN_TOOL, "t").to_dict(), **change}
    if error is None:
        assert Lesson.from_dict(data).id is None
        return
    with pytest.raises(error):
        Lesson.from_dict(data)


def test_counts_add_up() -> None:
    """A lesson with its counts raised is another record."""
    one = Lesson("i", Label.UNKNOWN_TOOL, "t", uses=1)
    other = one.counted(uses=2, recoveries=1, relapses=1)
    assert (other.uses, other.recoveries, other.relapses) == (3, 1, 1)
    assert one.uses == 1
    assert one.type == "action_validity_failure"


def test_what_is_owed() -> None:
    """Repairs whose held action is open."""
    owing = ActiveRepair("a", Label.INVALID_ARGUMENTS, "k", "s", Strategy.HARD, owes="x")
    other = ActiveRepair("b", Label.INVALID_ARGUMENTS, "l", "s", Strategy.HARD)
    assert TaskState(active=(other, owing)).owed == (owing,)
    assert owing.hard


@pytest.mark.parametrize(
    ("hard", "streak"),
    [([], 0), (["s3"], 1), (["s2", "s3"], 2), (["s0", "s1"], 0), (["s0", "s2", "s3"], 2)],
)
def test_the_hard_streak_is_what_stands_in_a_row_at_the_end(hard: list[str], streak: int) -> None:
    """Up to the last message."""
    done = steps(*[held(q=1)] * 4)
    seen = trajectory(done, state=TaskState(hard_steps=frozenset(hard)))
    assert seen.hard_streak == streak


def test_attempts_are_counted_for_each_tool() -> None:
    """Another tool that fails for the first time has not failed before."""
    done = steps(held("other", q=1), held("search", q=1), held("search", q=2))
    seen = trajectory(done, state=TaskState(hard_steps=frozenset({"s0", "s1", "s2"})))
    assert [seen.attempt_at(name) for name in ("search", "other", None)] == [3, 1, 4]


def test_calls_are_equal_by_what_they_say() -> None:
    """What was computed for one is no part of it."""
    one, other = call(q=1), call(q=1)
    one.keys["x"] = "y"
    assert one == other
    assert "keys" not in repr(one)


def test_a_finding_of_an_invalid_action_is_hard() -> None:
    """By its label, whatever its severity."""
    assert finding(Label.UNKNOWN_TOOL).hard
    assert not finding(Label.PLANNING_STALL).hard
    assert observation(ToolCall("i", "t", {}), "x").digest == observation(call(), "x").digest
