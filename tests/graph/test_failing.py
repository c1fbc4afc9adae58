"""Failing runs: what is repaired, and that every request stays valid for strict providers.

The scripted model refuses a request that breaks a rule, so each run that ends is a proof.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

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


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("unknown", "unknown_tool"),
        ("wrong_type", "invalid_arguments"),
        ("malformed", "malformed_arguments"),
    ],
)
async def test_hard_failure(kind: Kind, drive: Drive, name: str, label: str) -> None:
    """An invalid call is answered by one error that ends on the request, runs nothing, and
    the next call recovers."""
    messages, events, model, box = await _run(kind, drive, name)
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    refusal = messages[2]
    assert (refusal.status, refusal.tool_call_id) == ("error", "c1")
    assert refusal.content.endswith(REQUEST)
    assert box.names() == ["forecast"]
    assert model.calls == 3
    assert [(e["kind"], e["label"]) for e in events] == [
        ("failure", label),
        ("repair", label),
        ("verdict", label),
    ]
    assert events[-1]["verdict"] == "recovered"


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
    assert all(m.status == "error" for m in messages[-4:] if isinstance(m, ToolMessage))


async def test_advice_follows_the_results(kind: Kind, drive: Drive) -> None:
    """Advice stands once, after the tool results, in the request that follows the repair."""
    _, _, model, _ = await _run(kind, drive, "loop")
    guided = [r for r in model.requests if any(is_guide(m) for m in r)]
    assert guided
    first = guided[0]
    assert is_guide(first[-1])
    assert isinstance(first[-2], ToolMessage)
    assert first[-2].content == "mild in Oslo"
    assert str(first[-1].content).endswith(REQUEST)
    assert max(sum(map(is_guide, r)) for r in guided) == 1
    assert [m.type for m in model.requests[3]] == [m.type for m in first]


@pytest.mark.parametrize(
    ("name", "label"), [("stall", "planning_stall"), ("empty", "termination_miscalibration")]
)
async def test_wish_to_finish_is_held(kind: Kind, drive: Drive, name: str, label: str) -> None:
    """A turn that would end on a promise or on nothing goes on with guidance, and once the
    agent has recovered the guidance leaves the context."""
    messages, events, model, box = await _run(kind, drive, name)
    assert [(e["kind"], e["label"]) for e in events if e["kind"] != "lesson"] == [
        ("failure", label),
        ("repair", label),
        ("verdict", label),
    ]
    assert events[1]["strategy"] == "hold"
    assert [e["verdict"] for e in kinds_of(events, "verdict")] == ["recovered"]
    assert isinstance(model.requests[2][-1], HumanMessage)
    assert is_guide(model.requests[2][-1])
    assert messages[-1].content == "It is mild in Oslo."
    assert not any(is_guide(m) for m in messages)
