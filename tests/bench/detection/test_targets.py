"""What counts as a target is read off outcomes and results."""

from __future__ import annotations

from typing import Any

import pytest

from bench.recorded import LOOKUP, asks, events, gives, recording, turns, user
from sentry_langgraph.bench.detection.targets import (
    HALTED,
    SECOND,
    STEP_LIMIT,
    answered,
    loop_targets,
    second_identical,
)
from sentry_langgraph.bench.peers.events import events_of


@pytest.mark.parametrize(
    ("moves", "position"),
    [
        (["a", "b", "a"], 4),
        (["a", ("a", "new"), ("a", "new")], 4),
        (["a", ("a", "new")], None),
        (["a", "@", "a"], None),
        (["a", "b"], None),
        ([("a", ""), ("a", "")], 2),
    ],
)
def test_second_identical_call(moves: list[Any], position: int | None) -> None:
    """The call that is proposed again and then gives what it gave, under the same request."""
    assert second_identical(events(*moves)) == position


def test_loop_targets() -> None:
    """How the run ended decides; a halted run counts where a call was repeated."""
    seen = events("a", "b", "a")
    assert loop_targets({"termination": "max_steps"}, seen) == {
        STEP_LIMIT: (5, False),
        SECOND: (4, True),
    }
    assert loop_targets({"halted": True}, seen)[HALTED] == (5, False)
    assert loop_targets({"halted": True}, events("a", "b")) == {}
    assert loop_targets({"success": True}, events("a")) == {}


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (asks("lookup", id="x"), ""),
        (asks("look_up", id="x"), "unknown tool"),
        (asks("lookup"), "argument missing"),
        (asks("lookup", id="x", depth=3), "argument unknown"),
        (asks("lookup", id=7), "argument of the wrong kind"),
        (
            {
                **asks("lookup"),
                "tool_calls": [{"id": "c0", "function": {"name": "lookup", "arguments": "{"}}],
            },
            "arguments are not a JSON object",
        ),
    ],
)
def test_faults_that_the_schema_shows(call: dict[str, Any], why: str) -> None:
    """A refused call is a target where tools and schemas alone show the fault."""
    messages = [user(), call, gives("Error: no", error=True)]
    (found,) = answered(events_of(recording(messages).messages), [LOOKUP])
    assert (found.position, found.index, found.accepted, found.visible) == (1, 0, False, why)


def test_accepted_calls_have_no_fault() -> None:
    """What the environment ran is valid, whatever the schema says."""
    messages = [user(), asks("look_up", id="x"), gives("found")]
    (found,) = answered(events_of(recording(messages).messages), [LOOKUP])
    assert (found.accepted, found.visible) == (True, "")


def test_calls_without_results_are_no_evidence() -> None:
    """A call that nobody answered is neither accepted nor refused."""
    messages = [user(), *turns(("a", "r")), asks(id="b", number=7)]
    assert len(list(answered(events_of(recording(messages).messages), [LOOKUP]))) == 1
