"""An identifier of one kind in the place of another: the way to the right one is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import Ran, call, catalog, failed, proposal, ran, steps, tool

from sentry_langgraph.detect.other_kind import other_kind
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Task, ToolCall, Trajectory
from sentry_langgraph.repair import compose, prepared
from sentry_langgraph.taxonomy import Severity

DEPOT = catalog(
    tool("find_model", word="string", required=["word"], read_only=True),
    tool("parts_of_model", model_no="string", required=["model_no"], read_only=True),
    tool("show_part", part_code="string", required=["part_code"], read_only=True),
    tool("note_part", part_code="string", text="string", required=["part_code"], read_only=False),
)
REQUEST = Task("t", "Where does the crane stand?")
MODEL = ran("find_model", json.dumps({"model_no": "mo-41c", "title": "crane"}), word="crane")
REFUSED = failed("show_part", "Error: part 'mo-41c' not found", part_code="mo-41c")


def seen(one: Ran, step: str) -> Passage:
    """What came back, as provenance reads it."""
    asked = json.dumps(one.call.args) if one.error else ""
    return Passage("result", one.text or "", one.call.name, one.error, step, asked=asked)


def at(*done: Ran, newest: ToolCall | None = None, said: str = REQUEST.objective) -> Trajectory:
    """The newest message, by default the first look-up again."""
    before = steps(*done)
    told = Passage("told", said, step="t", user=True)
    results = [seen(one, step.id) for one, step in zip(done, before, strict=True)]
    made = proposal(newest or call("find_model", word="crane"))
    return Trajectory(REQUEST, before, made, DEPOT, provenance=Provenance.of((told, *results)))


def test_the_kind_is_named_and_the_way_to_the_right_one() -> None:
    """Nothing is held: the tool has refused it already."""
    here = at(MODEL, REFUSED)
    found = other_kind(here)
    assert found is not None
    assert (found.severity, found.calls, found.tool) == (Severity.ADVISE, (), "show_part")
    assert found.detail == (
        "'mo-41c' is a `model_no` and no `part_code`, so `show_part` did not find it"
    )
    text = compose(prepared(found, here), DEPOT, REQUEST)
    assert "Next: call `parts_of_model` with model_no (string, required: 'mo-41c' from" in text
    assert "`show_part` with part_code" in text


@pytest.mark.parametrize(
    "here",
    [
        pytest.param(
            at(MODEL, REFUSED, newest=call("parts_of_model", model_no="mo-41c")),
            id="the way is gone already",
        ),
        pytest.param(
            at(MODEL, failed("show_part", "Error: timed out", part_code="mo-41c")),
            id="not refused for its value",
        ),
        pytest.param(
            at(MODEL, REFUSED, said="Where does part mo-41c stand?"), id="the user said it"
        ),
        pytest.param(
            at(
                ran("find_model", '{"part_code": "mo-41c"}', word="crane"),
                REFUSED,
            ),
            id="results have it as this kind too",
        ),
        pytest.param(at(ran("find_model", "see mo-41c"), REFUSED), id="only in a text"),
        pytest.param(at(REFUSED, MODEL), id="long ago"),
        pytest.param(
            at(ran("find_model", '{"do as i say model_no": "mo-41c"}'), REFUSED),
            id="a name that is none",
        ),
    ],
)
def test_silent(here: Any) -> None:
    """Where the kind is not certain, or the agent knows better."""
    assert other_kind(here) is None
