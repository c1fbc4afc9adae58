"""A held action stays owed: a reminder beside the tool results, and no finish before it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from sentry_langgraph import with_sentry
from sentry_langgraph.testing import (
    STRICT,
    ScriptedChatModel,
    ai,
    call,
    is_guidance,
    react_graph,
)

CONFIG: Any = {"configurable": {"thread_id": "1"}}


@tool
def cancel_order(order_id: str, reason: str) -> str:
    """Cancel an order."""
    return f"{order_id} is cancelled"


@tool
def get_order(order_id: str) -> str:
    """One order."""
    return f"{order_id} is open"


REFUSED = ai("", call("cancel_order", {"order": "A1"}))
LOOK = ai("", call("get_order", {"order_id": "A1"}))
LOOK_ELSEWHERE = ai("", call("get_order", {"order_id": "A2"}))
CANCEL = ai("", call("cancel_order", {"order_id": "A1", "reason": "late"}))


def wrapped(script: list[Any]) -> tuple[ScriptedChatModel, Any]:
    """A model that follows `script`, and its wrapped graph."""
    model = ScriptedChatModel(script=script, rules=STRICT, fresh_call_ids=True)
    graph = react_graph(model, [cancel_order, get_order], checkpointer=InMemorySaver())
    return model, with_sentry(graph, {"playbook": {"kind": "none"}})


async def asked(graph: Any, drive: str) -> list[Any]:
    """The messages after the request, sync or async."""
    request = {"messages": [("user", "Cancel order A1, it is late, and not A2")]}
    done = (
        graph.invoke(request, CONFIG) if drive == "sync" else await graph.ainvoke(request, CONFIG)
    )
    messages: list[Any] = done["messages"]
    return messages


@pytest.mark.parametrize("drive", ["sync", "async"])
async def test_one_reminder_at_a_time_until_it_is_done(drive: str) -> None:
    """It stands last beside each result, replaces the one before, and goes with the action."""
    model, graph = wrapped([REFUSED, LOOK, LOOK_ELSEWHERE, CANCEL, "A1 is cancelled."])
    messages = await asked(graph, drive)
    reminders = [[m for m in request if is_guidance(m)] for request in model.requests]
    human = [[m for m in found if m.type == "human"] for found in reminders]
    assert [len(found) for found in human] == [0, 0, 1, 1, 1]
    for request, found in zip(model.requests[2:4], human[2:4], strict=True):
        assert request[-1].id == found[0].id
        assert "`cancel_order` with order_id (string, required)" in found[0].text
        assert found[0].text.endswith("Original request: Cancel order A1, it is late, and not A2")
    assert human[2][0].id != human[3][0].id
    assert not any(m.type == "human" and is_guidance(m) for m in messages)


@pytest.mark.parametrize("drive", ["sync", "async"])
async def test_no_finish_before_it_is_done(drive: str) -> None:
    """A claim without the action is held once; the agent then does it."""
    model, graph = wrapped([REFUSED, "I have cancelled A1.", CANCEL, "A1 is cancelled."])
    messages = await asked(graph, drive)
    assert messages[-1].content == "A1 is cancelled."
    assert model.calls == 4
    events = graph.get_state(CONFIG).values["sentry"]
    assert [e["label"] for e in events if e["kind"] == "failure"] == [
        "invalid_arguments",
        "termination_miscalibration",
    ]
    assert {e["verdict"] for e in events if e["kind"] == "verdict"} == {"recovered"}


async def test_a_reason_closes_it() -> None:
    """An agent that says why it can't be done may end."""
    model, graph = wrapped([REFUSED, "Order A1 can't be cancelled: it has been shipped."])
    await asked(graph, "sync")
    assert model.calls == 2
