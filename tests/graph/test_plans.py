"""A held call gets the way to what it lacks, in graph and runner alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from sentry_langgraph import SentryRunner, agent_step_from_parts, with_sentry
from sentry_langgraph.testing import STRICT, ScriptedChatModel, ai, call, is_guidance, react_graph

CONFIG: Any = {"configurable": {"thread_id": "1"}}
NO_PLAYBOOK: Any = {"playbook": {"kind": "none"}}
REQUEST = "Cancel the booking of Ada Moss"


@tool
def find_guest(name: str) -> str:
    """Find a guest by name."""
    return json.dumps({"guest_id": "g-417"})


@tool
def list_bookings(guest_id: str) -> str:
    """List the bookings of a guest."""
    return json.dumps({"booking_ids": ["b-902"]})


@tool
def cancel_booking(booking_id: str) -> str:
    """Cancel a booking."""
    return f"{booking_id} is cancelled"


TOOLS = [find_guest, list_bookings, cancel_booking]
INVENTED = ("cancel_booking", {"booking_id": "booking_ada_moss"})
FIND = ("find_guest", {"name": "Ada Moss"})
LIST = ("list_bookings", {"guest_id": "g-417"})
CANCEL = ("cancel_booking", {"booking_id": "b-902"})
PLAN = [
    "Next: call `find_guest` with name (string, required: as the request says it)",
    "Then: `list_bookings` with guest_id",
    f"Original request: {REQUEST}",
]


def wrapped(script: list[Any]) -> tuple[ScriptedChatModel, Any]:
    """A model that follows `script`, and its wrapped graph."""
    turns = [ai("", call(*turn)) if isinstance(turn, tuple) else turn for turn in script]
    model = ScriptedChatModel(script=turns, rules=STRICT, fresh_call_ids=True, on_end="repeat")
    graph = react_graph(model, TOOLS, checkpointer=InMemorySaver())
    return model, with_sentry(graph, NO_PLAYBOOK)


async def asked(graph: Any, drive: str) -> list[Any]:
    """The messages after the request, sync or async."""
    request = {"messages": [("user", REQUEST)]}
    done = (
        graph.invoke(request, CONFIG) if drive == "sync" else await graph.ainvoke(request, CONFIG)
    )
    messages: list[Any] = done["messages"]
    return messages


def guidance(request: list[Any]) -> str:
    """The newest words of ours in a request to the model."""
    return next((m.text for m in reversed(request) if is_guidance(m)), "")


@pytest.mark.parametrize("drive", ["sync", "async"])
async def test_the_way_to_an_invented_identifier(drive: str) -> None:
    """The plan, then its rest beside each result, and the action with a grounded value."""
    model, graph = wrapped([INVENTED, FIND, LIST, CANCEL, "It is cancelled."])
    messages = await asked(graph, drive)
    held, after_find, after_list, done = (guidance(request) for request in model.requests[1:])
    lines = held.splitlines()
    assert lines[0].startswith(
        "Not executed: `cancel_booking` — `booking_id` is 'booking_ada_moss'"
    )
    for line, start in zip(lines[1:], PLAN, strict=True):
        assert line.startswith(start)
    assert "with guest_id" in after_find
    assert after_find.index("`list_bookings`") < after_find.index("`cancel_booking`")
    assert "`list_bookings`" not in after_list
    assert "`cancel_booking` with booking_id" in after_list
    assert after_list.endswith(PLAN[-1])
    assert done == after_list, "the last reminder stands until the verdict"
    assert messages[-1].content == "It is cancelled."
    events = graph.get_state(CONFIG).values["sentry"]
    assert [e["verdict"] for e in events if e["kind"] == "verdict"] == ["recovered"]
    assert "booking_ada_moss" not in json.dumps(events)
    (repair,) = [e for e in events if e["kind"] == "repair"]
    assert [step["tool"] for step in repair["plan"]] == ["find_guest", "list_bookings"]


async def test_ending_on_the_way_is_held_twice_and_then_let_go() -> None:
    """Each time with the rest of the plan, the second time in other words."""
    model, graph = wrapped([INVENTED, FIND, "I have found Ada Moss."])
    messages = await asked(graph, "sync")
    texts = [guidance(request) for request in model.requests]
    first, second = texts[3], texts[4]
    assert first.startswith("Not finished: ")
    assert second.startswith("Not finished: ")
    assert first.splitlines()[0] != second.splitlines()[0]
    for text in (first, second):
        assert "Next: call `list_bookings` with guest_id (string, required: 'g-417'" in text
    assert model.calls == 5, "it does not go on until the budget ends"
    assert messages[-1].content == "I have found Ada Moss."


async def test_giving_up_before_trying_is_held_once() -> None:
    """An excuse is none while nothing of the plan was tried."""
    sorry = "I am sorry, I can't find that booking."
    model, graph = wrapped([INVENTED, sorry, FIND, sorry])
    messages = await asked(graph, "sync")
    assert "Next: call `find_guest`" in guidance(model.requests[2])
    assert model.calls == 4
    assert messages[-1].content == sorry


def test_a_runner_says_the_same() -> None:
    """Its steps have run: the environment refused the invented value."""
    sentry = SentryRunner(NO_PLAYBOOK)
    schema = {t.name: t.args_schema.model_json_schema() for t in TOOLS}  # type: ignore[union-attr]
    sentry.start_task(REQUEST, schema)

    def step(number: int, made: tuple[str, dict[str, Any]], result: str) -> Any:
        return sentry.step(
            agent_step_from_parts(number, tool_name=made[0], tool_args=made[1], observation=result)
        )

    held = step(1, INVENTED, "Error: there is no such booking")
    assert held is not None
    for line, start in zip(held.prompt_text.splitlines()[1:], PLAN, strict=True):
        assert line.startswith(start)
    after_find = step(2, FIND, find_guest.invoke({"name": "Ada Moss"}))
    assert after_find is not None
    assert after_find.reminder
    assert "`list_bookings` with guest_id" in after_find.prompt_text
    after_list = step(3, LIST, list_bookings.invoke({"guest_id": "g-417"}))
    assert "`list_bookings`" not in after_list.prompt_text
    assert step(4, CANCEL, "b-902 is cancelled") is None
    assert [event["verdict"] for event in sentry.finalize().verdicts] == ["recovered"]
