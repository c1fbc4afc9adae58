"""Failing runs: what is repaired, and that every request stays valid for strict providers.

The scripted model refuses a request that breaks a rule, so each run that ends is a proof.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from sentry_langgraph.testing import ai, call

from .kinds import Kind
from .runs import (
    REQUEST,
    Drive,
    events_of,
    faults_of,
    is_guide,
    kinds_of,
    made,
    request,
)


async def _run(kind: Kind, drive: Drive, name: str) -> tuple[Any, ...]:
    saver = InMemorySaver()
    graph, model, box = made(kind, name, checkpointer=saver)
    output = await drive.invoke(graph, request(kind.key))
    messages = output[kind.key]
    events = events_of(graph, saver)
    assert faults_of(messages) == []
    assert "sentry" not in output
    assert len({event["id"] for event in events}) == len(events)
    assert not [event for event in events if event["key"].startswith("fault")]
    return messages, events, model, box


async def test_hard_failures(kind: Kind, drive: Drive) -> None:
    """Each invalid call is answered by one error that ends on the request, and runs nothing;
    the valid call after them recovers."""
    messages, events, model, box = await _run(kind, drive, "hard")
    assert [m.type for m in messages] == ["human", *["ai", "tool"] * 4, "ai"]
    for position, call_id in ((2, "c1"), (4, "c2"), (6, "c3")):
        refusal = messages[position]
        assert (refusal.status, refusal.tool_call_id) == ("error", call_id)
        assert refusal.content.endswith(REQUEST)
    assert box.names() == ["forecast"]
    assert model.calls == 5
    labels = ["unknown_tool", "invalid_arguments", "malformed_arguments"]
    assert [e["label"] for e in kinds_of(events, "failure")] == labels
    assert [e["label"] for e in kinds_of(events, "repair")] == labels
    assert [e["verdict"] for e in kinds_of(events, "verdict")] == ["recovered"] * 3


async def test_mixed_batch(kind: Kind, drive: Drive) -> None:
    """Of a mixed batch the valid call runs and the bad one is answered, in the order of the
    calls or not, but all before the next message; where a tool node can't take a part of a
    batch, nothing of it runs and every call is answered."""
    messages, events, _, box = await _run(kind, drive, "mixed")
    assert [m.type for m in messages] == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    results = {m.tool_call_id: m for m in messages[2:4]}
    assert results["c2"].status == "error"
    if kind.divides:
        assert results["c1"].content == "the page sea"
        assert box.names() == ["forecast", "read_page"]
    else:
        assert results["c1"].status == "error"
        assert box.names() == ["forecast"]
    assert [e["kind"] for e in events] == ["failure", "repair", "verdict"]


async def test_loop_ladder(kind: Kind, drive: Drive) -> None:
    """A loop is advised at the third call, held at the sixth and stopped after two failed
    repairs; the last message says honestly that the run did not finish."""
    messages, events, model, box = await _run(kind, drive, "loop")
    assert [e["strategy"] for e in kinds_of(events, "repair")] == ["advise", "hold"]
    assert [e["outcome"] for e in kinds_of(events, "escalation")] == ["stopped"]
    assert box.names() == ["forecast"] * 5
    assert model.calls == 7
    last = messages[-1]
    assert isinstance(last, AIMessage)
    assert last.additional_kwargs["sentry"]["outcome"] == "stopped"
    assert last.additional_kwargs["sentry"]["finished"] is False
    assert [m.status for m in messages if m.type == "tool"] == [*["success"] * 5, *["error"] * 2]


async def test_advice_follows_the_results(kind: Kind, drive: Drive) -> None:
    """Advice stands once, after the tool results, ends on the request, and leaves the context
    once the agent has recovered."""
    messages, events, model, _ = await _run(kind, drive, "advised")
    assert [m.type for m in model.requests[3]] == ["human", *["ai", "tool"] * 3, "human"]
    assert is_guide(model.requests[3][-1])
    assert str(model.requests[3][-1].content).endswith(REQUEST)
    assert [e["strategy"] for e in kinds_of(events, "repair")] == ["advise"]
    assert [e["verdict"] for e in kinds_of(events, "verdict")] == ["recovered"]
    assert not any(is_guide(m) for m in messages)


async def test_wish_to_finish_is_held(kind: Kind, drive: Drive) -> None:
    """A turn that would end on a promise or on nothing goes on with guidance. Where the
    guidance parts two messages of the agent it stays, so the next turn is valid too."""
    messages, events, model, _ = await _run(kind, drive, "finish")
    labels = ["planning_stall", "termination_miscalibration"]
    assert [e["label"] for e in kinds_of(events, "failure")] == labels
    assert [e["strategy"] for e in kinds_of(events, "repair")] == ["hold", "hold"]
    assert [e["verdict"] for e in kinds_of(events, "verdict")] == ["recovered", "recovered"]
    assert is_guide(model.requests[2][-1])
    assert is_guide(model.requests[4][-1])
    assert messages[-1].content == "It is mild in Oslo."


async def test_next_turn_starts_anew(kind: Kind, drive: Drive) -> None:
    """After a run that Sentry stopped, a new user message starts a new task: the history is
    valid, and the same call is no repetition any more."""
    saver = InMemorySaver()
    graph, model, box = made(kind, "loop", checkpointer=saver)
    await drive.invoke(graph, request(kind.key))
    ran = len(box.ran)
    model.script.clear()
    model.script.extend([*([""] * 7), _again(), "Still mild."])
    await drive.invoke(graph, request(kind.key, "And now?", id="h2"))
    state = await drive.state(graph)
    assert state.values[kind.key][-1].content == "Still mild."
    assert faults_of(state.values[kind.key]) == []
    assert len(box.ran) == ran + 1
    assert not [e for e in events_of(graph, saver) if e["task"] == "h2"]


def _again() -> AIMessage:
    return ai("", call("forecast", {"city": "Oslo"}, id="c90"), id="m90")
