"""Interrupts, resumes, `Command` results and parent commands pass through."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from sentry_langgraph import with_sentry
from sentry_langgraph.testing import STRICT, ScriptedChatModel, ai, call, react_builder

from .kinds import KINDS, Chat, Kind
from .runs import (
    CONFIG,
    QUIET,
    Drive,
    Toolbox,
    events_of,
    faults_of,
    is_guide,
    kinds_of,
    made,
    model_for,
    outcome,
    request,
)


async def test_healthy_interrupt(kind: Kind, drive: Drive) -> None:
    """`interrupt()` in a tool stops and resumes the run as without Sentry."""
    told = []
    for bare in (True, False):
        graph, model, box = made(kind, "asks_healthy", bare=bare, checkpointer=InMemorySaver())
        first = await drive.invoke(graph, request(kind.key))
        state = await drive.state(graph)
        second = await drive.invoke(graph, Command(resume="Friday"))
        states = await drive.history(graph)
        told.append(
            (
                [one.value for one in first["__interrupt__"]],
                state.next,
                outcome(second[kind.key]),
                box.names(),
                model.calls,
                [(s.metadata["step"], s.next) for s in states],
            )
        )
    assert told[1] == told[0]


async def test_advice_beside_an_interrupt(kind: Kind, drive: Drive) -> None:
    """Advice beside a tool that interrupts is given once: after the resume it stands behind
    the answers, and no event is written twice."""
    saver = InMemorySaver()
    graph, model, box = made(kind, "asks", checkpointer=saver)
    first = await drive.invoke(graph, request(kind.key))
    assert [one.value for one in first["__interrupt__"]] == ["Which day?"]
    output = await drive.invoke(graph, Command(resume="Friday"))
    messages, events = output[kind.key], events_of(graph, saver)
    asked = model.requests[3]
    assert [m.type for m in asked] == ["human", *["ai", "tool"] * 2, "ai", "tool", "tool", "human"]
    assert is_guide(asked[-1])
    assert {m.tool_call_id for m in asked[-3:-1]} == {"c3", "c4"}
    assert [e["strategy"] for e in kinds_of(events, "repair")] == ["advise"]
    assert len({event["id"] for event in events}) == len(events)
    assert box.names().count("ask_user") == 1
    assert faults_of(messages) == []


async def test_refusal_beside_an_interrupt(kind: Kind, drive: Drive) -> None:
    """A bad call beside a tool that interrupts is answered once, and its sibling's answer is
    there after the resume. Where a batch can't be parted, nothing of it runs."""
    saver = InMemorySaver()
    graph, model, box = made(kind, "asks_mixed", checkpointer=saver)
    first = await drive.invoke(graph, request(kind.key))
    if kind.divides:
        assert [one.value for one in first["__interrupt__"]] == ["Which day?"]
        output = await drive.invoke(graph, Command(resume="Friday"))
    else:
        output = first
    messages, events = output[kind.key], events_of(graph, saver)
    assert [m.type for m in messages] == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert {m.tool_call_id for m in messages[2:4]} == {"c1", "c2"}
    assert [m.status for m in messages[2:4] if m.tool_call_id == "c1"] == ["error"]
    assert box.names() == (["ask_user", "forecast"] if kind.divides else ["forecast"])
    assert [e["kind"] for e in events] == ["failure", "repair", "verdict"]
    assert faults_of(messages) == []
    assert model.calls == 3


@pytest.mark.parametrize(
    ("when", "where"), [("interrupt_before", "named"), ("interrupt_after", "all")]
)
async def test_static_interrupts(kind: Kind, drive: Drive, when: str, where: str) -> None:
    """Compiled-in interrupts stop at the same nodes as without Sentry, and `*` means the
    nodes of the user's graph."""
    names: Any = "*" if where == "all" else [kind.tools or kind.agent]
    told = []
    for bare in (True, False):
        graph, _, box = made(
            kind, "single", bare=bare, checkpointer=InMemorySaver(), **{when: names}
        )
        stops = []
        given: Any = request(kind.key)
        for _ in range(30):
            output = await drive.invoke(graph, given)
            state = await drive.state(graph)
            stops.append((state.next, outcome(state.values.get(kind.key, ()))))
            if not state.next:
                break
            given = None
        told.append((stops, outcome(output[kind.key]), box.names()))
    assert len(told[0][0]) > 1 or kind.inner
    assert told[1] == told[0]


async def test_static_interrupt_of_a_failing_run(drive: Drive) -> None:
    """With `interrupt_before="*"` a repair goes on by itself: our nodes are not the user's."""
    saver = InMemorySaver()
    graph, _, _ = made(KINDS[0], "hard", checkpointer=saver, interrupt_before="*")
    given: Any = request()
    stops = []
    for _ in range(30):
        await drive.invoke(graph, given)
        state = await drive.state(graph)
        if not state.next:
            break
        stops.append(state.next)
        given = None
    assert stops == [("agent",)] * 4 + [("tools",), ("agent",)]
    assert [e["kind"] for e in events_of(graph, saver)].count("repair") == 3


@pytest.mark.parametrize(
    "kind",
    [k for k in KINDS if k.divides and k.key == "messages"],
    ids=lambda kind: kind.name,
)
async def test_command_results(kind: Kind, drive: Drive) -> None:
    """A tool that returns a `Command` updates the state as without Sentry."""
    ended = []
    for bare in (True, False):
        graph, _, box = made(kind, "notes", bare=bare, checkpointer=InMemorySaver())
        output = await drive.invoke(graph, request())
        ended.append((outcome(output["messages"]), box.names()))
    assert ended[1] == ended[0]
    assert ended[0][0][2] == ("tool", "noted rain", "success")


@tool
def hand_over(reason: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand the user over to a person."""
    done = ToolMessage("handed over", tool_call_id=tool_call_id, name="hand_over")
    return Command(graph=Command.PARENT, goto="person", update={"messages": [done]})


def _handing(model: Any, wrap: str) -> Any:
    agent = react_builder(model, [*Toolbox().tools(), hand_over]).compile()
    if wrap in ("alone", "both"):
        agent = with_sentry(agent, QUIET)
    builder = StateGraph(Chat)
    builder.add_node("assistant", agent, destinations=("person",))
    builder.add_node("person", RunnableLambda(lambda state: {"messages": [HumanMessage("Hi")]}))
    builder.add_edge(START, "assistant")
    builder.add_edge("person", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    return with_sentry(graph, QUIET) if wrap in ("parent", "both") else graph


@pytest.mark.parametrize("wrap", ["alone", "parent", "both"])
async def test_parent_command(drive: Drive, wrap: str) -> None:
    """`Command(graph=PARENT)` from a tool leaves the agent for the parent's node, also after
    a repair; the command's update arrives there."""
    ended = []
    for way in ("bare", wrap):
        script = [
            ai("", call("forecast", {"city": "Oslo"}, id="c1"), id="m1"),
            ai("", call("hand_over", {"reason": "rain"}, id="c2"), id="m2"),
        ]
        graph = _handing(ScriptedChatModel(script=script, rules=STRICT), way)
        output = await drive.invoke(graph, request())
        ended.append(outcome(output["messages"]))
    assert ended[1] == ended[0]
    assert ended[0][-1] == ("human", "Hi", "")
    script = [
        ai("", call("hand_ovr", {"reason": "rain"}, id="c1"), id="m1"),
        ai("", call("hand_over", {"reason": "rain"}, id="c2"), id="m2"),
    ]
    graph = _handing(ScriptedChatModel(script=script, rules=STRICT), wrap)
    output = await drive.invoke(graph, request())
    assert output["messages"][-1].content == "Hi"


def _approving(script: list[Any]) -> tuple[Any, Toolbox, Any]:
    box, saver = Toolbox(), InMemorySaver()
    agent = create_agent(
        ScriptedChatModel(script=script, rules=STRICT),
        box.tools(),
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"forecast": True})],
        checkpointer=saver,
    )
    return with_sentry(agent, QUIET), box, saver


async def test_nobody_approves_what_the_gate_refuses(drive: Drive) -> None:
    """A human-in-the-loop middleware asks for the corrected call only."""
    graph, box, saver = _approving(
        [
            ai("", call("forecast", {"town": "Oslo"}, id="c1"), id="m1"),
            ai("", call("forecast", {"city": "Oslo"}, id="c2"), id="m2"),
            "Mild.",
        ]
    )
    first = await drive.invoke(graph, request())
    (asked,) = first["__interrupt__"]
    assert [one["args"] for one in asked.value["action_requests"]] == [{"city": "Oslo"}]
    assert box.ran == []
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    output = await drive.invoke(graph, approve)
    assert output["messages"][-1].content == "Mild."
    assert box.names() == ["forecast"]
    events = events_of(graph, saver)
    assert [e["kind"] for e in events] == ["failure", "repair", "verdict"]


async def test_a_person_decides_on_a_healthy_call(drive: Drive) -> None:
    """Approving and rejecting work as without Sentry; a rejection is no failure of the agent."""
    graph, box, saver = _approving(
        [ai("", call("forecast", {"city": "Oslo"}, id="c1"), id="m1"), "I was not allowed to."]
    )
    await drive.invoke(graph, request())
    reject = Command(resume={"decisions": [{"type": "reject", "message": "no"}]})
    output = await drive.invoke(graph, reject)
    assert output["messages"][-1].content == "I was not allowed to."
    assert box.ran == []
    assert events_of(graph, saver) == []


async def test_replay_writes_no_event_twice(drive: Drive) -> None:
    """Running on from an earlier checkpoint writes the same events under the same ids."""
    saver = InMemorySaver()
    graph, model, _ = made(KINDS[0], "hard", checkpointer=saver)
    await drive.invoke(graph, request())
    before = [event["id"] for event in events_of(graph, saver)]
    states = await drive.history(graph)
    repair = next(s for s in reversed(states) if s.next == ("sentry_hard_repair",))
    again = model_for("hard")
    model.script[:] = [*model.script[: model.position], *again.script[1:]]
    await drive.invoke(graph, None, {**CONFIG, **repair.config})
    assert [event["id"] for event in events_of(graph, saver)] == before
