"""What can't be wired is said in words; odd input ends in a clear error or a clean run."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from sentry_langgraph import ConfigError, WiringError, with_sentry
from sentry_langgraph.testing import STRICT, ScriptedChatModel, ai, call, react_builder, router

from .kinds import Chat, two_agents
from .runs import (
    CONFIG,
    QUIET,
    TOOLS,
    Drive,
    Toolbox,
    faults_of,
    model_for,
    outcome,
    request,
)


def _agent(model: Any) -> Callable[[Any], dict[str, Any]]:
    return lambda state: {"messages": [model.invoke(state["messages"])]}


def _loop(model: Any, tool_node: Any = None) -> StateGraph[Any, Any, Any, Any]:
    builder = StateGraph(Chat)
    builder.add_node("agent", _agent(model))
    builder.add_node("tools", tool_node or ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_edge("tools", "agent")
    return builder


# What can't be found


def test_no_tool_node() -> None:
    """A graph without a tool node is refused; the message says what to pass and names the
    nodes. The error can be pickled."""
    builder = react_builder(model_for("single"), Toolbox().tools(), tool_node="function")
    with pytest.raises(WiringError, match=r"tool_nodes=") as caught:
        with_sentry(builder, QUIET)
    assert {"agent", "tools"} <= set(caught.value.nodes)
    assert "agent, tools" in str(caught.value)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.nodes) == (str(caught.value), caught.value.nodes)


def test_nothing_leads_to_the_tools() -> None:
    """Where no edge shows who calls the tools, `agent=` is asked for; with it, it works."""
    model = model_for("hard")

    def agent(state: Chat):  # type: ignore[no-untyped-def]
        message = model.invoke(state["messages"])
        goto = "tools" if message.tool_calls or message.invalid_tool_calls else END
        return Command(update={"messages": [message]}, goto=goto)

    builder = _loop(model)
    builder.nodes.pop("agent")
    builder.add_node("agent", agent)
    with pytest.raises(WiringError, match=r"'tools'.*agent=") as caught:
        with_sentry(builder, QUIET)
    assert "agent" in caught.value.nodes
    graph = with_sentry(builder, QUIET, agent="agent")
    output = graph.invoke(request(), {"recursion_limit": 40})
    assert output["messages"][-1].content == "It is mild in Oslo."
    assert [m.status for m in output["messages"] if m.type == "tool"].count("error") == 3


def test_two_routers_without_annotations() -> None:
    """Two nodes with routers that don't say where they lead are not guessed between."""
    builder = _loop(model_for("hard"))
    builder.add_node("other", lambda state: {})
    builder.add_conditional_edges("agent", router("tools"))
    builder.add_conditional_edges("other", lambda state: END)
    with pytest.raises(WiringError, match=r"agent="):
        with_sentry(builder, QUIET)
    graph = with_sentry(builder, QUIET, agent="agent")
    output = graph.invoke(request(), {"recursion_limit": 40})
    assert output["messages"][-1].content == "It is mild in Oslo."


@pytest.mark.parametrize("argument", ["agent", "tool_nodes"])
def test_unknown_node(argument: str) -> None:
    """A node that does not exist is named, with those that do."""
    builder = react_builder(model_for("single"), Toolbox().tools())
    value = "agnt" if argument == "agent" else ["agnt"]
    with pytest.raises(WiringError, match="'agnt'") as caught:
        with_sentry(builder, QUIET, **{argument: value})
    assert set(caught.value.nodes) == {"agent", "tools"}


def test_unknown_messages_key() -> None:
    """A messages key that the state does not have is refused; the keys are listed."""
    builder = react_builder(model_for("single"), Toolbox().tools())
    with pytest.raises(WiringError, match=r"'chat'.*messages_key=.*messages"):
        with_sentry(builder, QUIET, messages_key="chat")


def test_key_that_is_taken() -> None:
    """A state that has a key of our channel's name is refused: nothing is overwritten."""

    class Taken(Chat):
        sentry: str

    builder = react_builder(model_for("single"), Toolbox().tools(), state=Taken)
    with pytest.raises(WiringError, match="'sentry'"):
        with_sentry(builder, QUIET)


@pytest.mark.parametrize("kind", ["none", "text", "function", "model", "entrypoint"])
def test_no_graph(kind: str) -> None:
    """What is no LangGraph graph is a TypeError that says what is taken."""

    @entrypoint()
    def workflow(value: int) -> int:
        return value

    given: dict[str, Any] = {
        "none": None,
        "text": "graph",
        "function": len,
        "model": model_for("single"),
        "entrypoint": workflow,
    }
    with pytest.raises(TypeError, match=r"StateGraph or a compiled graph, not"):
        with_sentry(given[kind], QUIET)


def test_missing_file(tmp_path: Path) -> None:
    """A configuration file that is not there is named."""
    path = tmp_path / "sentry.yaml"
    with pytest.raises(ConfigError, match=r"sentry\.yaml"):
        with_sentry(react_builder(model_for("single"), Toolbox().tools()), path)


def test_unknown_key(tmp_path: Path) -> None:
    """An unknown key is named, with file and line."""
    path = tmp_path / "sentry.yaml"
    path.write_text("mode: active\nwindw: 5\n")
    with pytest.raises(ConfigError, match=r"sentry\.yaml:2.*windw"):
        with_sentry(react_builder(model_for("single"), Toolbox().tools()), path)


async def test_off(drive: Drive) -> None:
    """`mode: off` wires nothing: the graph comes back without nodes of ours."""
    graph = with_sentry(react_builder(model_for("single"), Toolbox().tools()), {"mode": "off"})
    assert not [name for name in graph.nodes if name.startswith("sentry")]
    output = await drive.invoke(graph, request(), {"recursion_limit": 20})
    assert output["messages"][-1].content == "It is mild in Oslo."


async def test_shadow_touches_nothing(drive: Drive) -> None:
    """`mode: shadow` records failures and leaves messages, calls and requests as they were."""
    told = []
    for config in (None, {**QUIET, "mode": "shadow"}):
        box, model = Toolbox(), model_for("loop", on_end=AIMessage("Done."))
        builder = react_builder(model, box.tools())
        original = builder.compile(checkpointer=InMemorySaver())
        graph = original if config is None else with_sentry(original, config)
        output = await drive.invoke(graph, request())
        told.append((outcome(output["messages"]), box.names(), len(model.requests)))
    assert told[1] == told[0]
    events = (await drive.state(graph)).values["sentry"]
    assert {event["kind"] for event in events} == {"suppressed"}
    assert {event["reason"] for event in events} == {"shadow"}


# Shapes of graphs


async def test_both_agents_of_a_graph(drive: Drive) -> None:
    """Each of two agents is guarded with its own tools; the ledger names the agent."""
    script = [
        ai("", call("forcast", {}, id="c1"), id="m1"),
        "Mild.",
        ai("", call("read_pge", {}, id="c2"), id="m2"),
        "Booked.",
    ]
    box = Toolbox()
    graph = with_sentry(
        two_agents(
            ScriptedChatModel(script=script, rules=STRICT),
            box.tools(),
            checkpointer=InMemorySaver(),
        ),
        QUIET,
    )
    await drive.invoke(graph, request(text="Weather?"))
    output = await drive.invoke(graph, request(text="Book it.", id="h2"))
    assert faults_of(output["messages"]) == []
    repairs = [
        (event["agent"], event["task"])
        for event in (await drive.state(graph)).values["sentry"]
        if event["kind"] == "repair"
    ]
    assert repairs == [("scout", "h1"), ("booker", "h2")]


class Audited(TypedDict):
    """A state that counts what an audit node saw."""

    messages: Annotated[list[AnyMessage], add_messages]
    seen: Annotated[list[str], operator.add]


def _audited(model: Any, *, join: bool, defer: bool) -> Any:
    def route(state: Any) -> list[str]:
        return ["tools", "audit"] if state["messages"][-1].tool_calls else [END]

    builder = StateGraph(Audited)
    builder.add_node("agent", _agent(model))
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_node("audit", lambda state: {"seen": ["call"]})
    builder.add_node("report", lambda state: {"seen": ["report"]}, defer=defer)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route, ["tools", "audit", END])
    if join:
        builder.add_edge(["tools", "audit"], "agent")
    else:
        builder.add_edge("tools", "agent")
    builder.add_edge("audit", "report")
    builder.add_edge("report", END)
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("defer", [False, True])
async def test_nodes_beside_the_tools(drive: Drive, join: bool, defer: bool) -> None:
    """A node that runs beside the tools, a join and a deferred node work as before, and go on
    working while Sentry advises."""
    told = []
    for wrapped in (False, True):
        model = ScriptedChatModel(script=model_for("single").script, rules=STRICT)
        graph = _audited(model, join=join, defer=defer)
        graph = with_sentry(graph, QUIET) if wrapped else graph
        output = await drive.invoke(graph, request())
        states = await drive.history(graph)
        told.append((outcome(output["messages"]), output["seen"], [s.next for s in states]))
    assert told[1] == told[0]
    model = ScriptedChatModel(script=model_for("advised").script, rules=STRICT)
    graph = with_sentry(_audited(model, join=join, defer=defer), QUIET)
    output = await drive.invoke(graph, request())
    assert output["messages"][-1].content == "It is mild in Oslo."
    assert output["seen"].count("call") == 4
    assert faults_of(output["messages"]) == []


@pytest.mark.parametrize("join", [False, True])
async def test_repair_beside_other_nodes(drive: Drive, join: bool) -> None:
    """A hard repair where others would run beside the tools ends in a valid history too."""
    graph = with_sentry(_audited(model_for("hard"), join=join, defer=False), QUIET)
    output = await drive.invoke(graph, request())
    assert output["messages"][-1].content == "It is mild in Oslo."
    assert faults_of(output["messages"]) == []


async def test_router_that_sends(drive: Drive) -> None:
    """A router that sends each call by itself keeps doing so; a bad call is taken out."""

    def route(state: Any) -> Any:
        calls = state["messages"][-1].tool_calls
        return [Send("tools", [one]) for one in calls] or END

    box, model = Toolbox(), model_for("mixed")
    builder = _loop(model)
    builder.add_conditional_edges("agent", route, ["tools", END])
    graph = with_sentry(builder, QUIET)
    output = await drive.invoke(graph, request(), {"recursion_limit": 30})
    assert box.names() == ["forecast", "read_page"]
    assert faults_of(output["messages"]) == []


async def test_router_with_labels(drive: Drive) -> None:
    """A path map keeps its labels, also where one of them is called as ours would be."""
    told = []
    for wrapped in (False, True):
        box = Toolbox()
        builder = _loop(model_for("parallel"))
        builder.add_conditional_edges(
            "agent",
            lambda state: "invalid action" if state["messages"][-1].tool_calls else "bye",
            {"invalid action": "tools", "bye": END},
        )
        graph: Any = with_sentry(builder, QUIET) if wrapped else builder.compile()
        output = await drive.invoke(graph, request(), {"recursion_limit": 30})
        told.append((outcome(output["messages"]), box.names()))
    assert told[1] == told[0]
    labels = {(e.source, e.target): e.data for e in graph.get_graph().edges}
    assert labels["agent", "tools"] == "invalid action"
    assert labels["agent", "sentry_hard_repair"] == "sentry: invalid action"


async def test_own_limit_of_a_router(drive: Drive) -> None:
    """A router that leaves calls aside on purpose, at a limit of its own, is obeyed."""

    def route(state: Any) -> str:
        newest = state["messages"][-1]
        return "tools" if newest.tool_calls and len(state["messages"]) < 4 else END

    box = Toolbox()
    builder = _loop(model_for("loop"))
    builder.add_conditional_edges("agent", route, ["tools", END])
    graph = with_sentry(builder, QUIET)
    output = await drive.invoke(graph, request(), {"recursion_limit": 30})
    assert box.names() == ["forecast"]
    assert output["messages"][-1].id == "m2"


async def test_plain_edge_to_the_tools(drive: Drive) -> None:
    """An agent with a plain edge to its tool node is guarded too."""
    box, saver = Toolbox(), InMemorySaver()
    builder = StateGraph(Chat)
    builder.add_node("agent", _agent(model_for("mixed")))
    builder.add_node("tools", ToolNode(box.tools()))
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "tools")
    builder.add_edge("tools", END)
    graph = with_sentry(builder.compile(checkpointer=saver), QUIET)
    output = await drive.invoke(graph, request())
    assert "read_page" in box.names()
    assert faults_of(output["messages"]) == []
    assert (await drive.state(graph)).values["sentry"][1]["strategy"] == "hard"


# Odd tools and odd input


class Schemaless(BaseTool):
    """A tool whose schema can't be read."""

    name: str = "odd"
    description: str = "Odd."

    @property
    def tool_call_schema(self) -> Any:
        """Raises, as a schema with an unserializable type does."""
        raise ValueError("no schema for this type")

    def _run(self, **kwargs: Any) -> str:
        return "odd result"


def _tools_without_schema() -> list[BaseTool]:
    def bare(x, y=1):  # type: ignore[no-untyped-def]
        """Bare."""
        return f"{x}{y}"

    return [
        Schemaless(),
        Tool(name="legacy", func=lambda text: f"legacy {text}", description="Legacy."),
        StructuredTool.from_function(bare, name="bare"),
        StructuredTool(
            name="dicts",
            description="Dicts.",
            args_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
            func=lambda **kwargs: f"dict {kwargs}",
        ),
        StructuredTool(
            name="broken",
            description="Broken.",
            args_schema={"type": "object", "properties": {"n": {"type": "no such type"}}},
            func=lambda **kwargs: f"broken {kwargs}",
        ),
    ]


async def test_tools_without_schema(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """Tools whose schema is missing, bare, a dict or broken run as without Sentry; one that
    can't be read is logged."""
    asked = [
        call("legacy", {"__arg1": "a"}, id="c2"),
        call("bare", {"x": 1}, id="c3"),
        call("dicts", {"n": 1}, id="c4"),
        call("broken", {"n": 1}, id="c5"),
    ]
    told = []
    for wrapped in (False, True):
        model = ScriptedChatModel(script=[ai("", *asked, id="m1"), "Done."], rules=STRICT)
        node = ToolNode(_tools_without_schema())
        builder = _loop(model, node)
        builder.add_conditional_edges("agent", router("tools"), ["tools", END])
        graph = with_sentry(builder, QUIET) if wrapped else builder.compile()
        output = await drive.invoke(graph, request(), {"recursion_limit": 20})
        told.append(outcome(output["messages"]))
    assert told[1] == told[0]
    assert "odd" in caplog.text


async def test_five_megabytes(drive: Drive) -> None:
    """A result of 5 MB arrives whole, a loop over it is found, and the ledger stays small."""
    size = 5_000_000

    @tool
    def dump() -> str:
        """Dump everything."""
        return "x" * size

    script = [ai("", call("dump", {}, id=f"c{n}"), id=f"m{n}") for n in range(12)]
    model = ScriptedChatModel(script=script, rules=STRICT, record=False)
    graph = with_sentry(react_builder(model, [dump]).compile(checkpointer=InMemorySaver()), QUIET)
    output = await drive.invoke(graph, request())
    results = [m for m in output["messages"] if m.type == "tool" and m.status == "success"]
    assert [len(m.content) for m in results] == [size] * len(results)
    events = (await drive.state(graph)).values["sentry"]
    assert [e["outcome"] for e in events if e["kind"] == "escalation"] == ["stopped"]
    assert len(repr(events)) < 20_000


async def test_no_messages(drive: Drive) -> None:
    """An empty list of messages runs as without Sentry; failures are repaired all the same."""
    for name in ("single", "hard", "finish"):
        model = ScriptedChatModel(script=model_for(name).script)
        graph = with_sentry(react_builder(model, Toolbox().tools()), QUIET)
        output = await drive.invoke(graph, {"messages": []}, {"recursion_limit": 40})
        assert output["messages"][-1].content == "It is mild in Oslo."


async def test_odd_characters(drive: Drive) -> None:
    """Lone surrogates and NUL in requests, texts, arguments and results are kept as they are,
    and a failure beside them is repaired."""
    odd = "a\ud800b\x00c"
    script = [
        ai(odd, call("forecast", {"city": odd}, id="c1"), id="m1"),
        ai(odd, call(odd, {odd: odd}, id="c2"), id="m2"),
        ai("", call("forecast", {"city": "Oslo"}, id="c3"), id="m3"),
        f"Mild {odd}",
    ]
    model = ScriptedChatModel(script=script, rules=STRICT)
    graph = with_sentry(react_builder(model, Toolbox().tools()), QUIET)
    output = await drive.invoke(graph, request(text=odd), {"recursion_limit": 40})
    messages = output["messages"]
    assert messages[0].content == odd
    assert messages[2].content == f"mild in {odd}"
    assert messages[-1].content == f"Mild {odd}"
    assert [m.status for m in messages if m.type == "tool"] == ["success", "error", "success"]


async def test_broken_history_is_healed(drive: Drive) -> None:
    """A call without its result and a result without its call are put right before the model
    reads them, once, and the ledger says so."""
    history = [
        HumanMessage("Weather?", id="h0"),
        ai("", call("forecast", {"city": "Oslo"}, id="c0"), id="m0"),
        HumanMessage("Are you there?", id="h1"),
    ]
    model = ScriptedChatModel(script=["Yes.", "Still."], rules=STRICT)
    graph = react_builder(model, Toolbox().tools()).compile(checkpointer=InMemorySaver())
    graph = with_sentry(graph, QUIET)
    output = await drive.invoke(graph, {"messages": history})
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool", "human", "ai"]
    events = (await drive.state(graph)).values["sentry"]
    assert [(e["kind"], e["label"], e["pattern"]) for e in events] == [
        ("failure", "unanswered_call", "dangling_call")
    ]
    await drive.invoke(graph, request(text="And now?", id="h2"), CONFIG)
    assert len((await drive.state(graph)).values["sentry"]) == 1


async def test_ids_need_not_be_unique_over_threads(drive: Drive) -> None:
    """A broken history is seen also where another thread has messages of the same ids."""
    model = ScriptedChatModel(script=["One.", "Two."], rules=STRICT)
    builder = react_builder(model, Toolbox().tools())
    graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), QUIET)
    asked = call("forecast", {"city": "Oslo"}, id="c1")
    for thread, second in (("1", ai("Hello.", id="2")), ("2", ai("", asked, id="2"))):
        history = [HumanMessage("a", id="1"), second, HumanMessage("b", id="3")]
        config = {"configurable": {"thread_id": thread}}
        output = await drive.invoke(graph, {"messages": history}, config)
        assert faults_of(output["messages"]) == []


@pytest.mark.parametrize("ids", [("", ""), (None, None), ("c1", "c1")])
async def test_history_with_bad_ids_is_healed(drive: Drive, ids: tuple[Any, Any]) -> None:
    """Calls of an old message without an id, or with one id twice, are made valid too."""
    asked = [{"name": "forecast", "args": {"city": "Oslo"}, "id": one} for one in ids]
    history = [
        HumanMessage("a", id="h0"),
        AIMessage("", tool_calls=asked, id="m0"),
        HumanMessage("b", id="h1"),
    ]
    model = ScriptedChatModel(script=["One."], rules=STRICT)
    graph = with_sentry(react_builder(model, Toolbox().tools()), QUIET)
    output = await drive.invoke(graph, {"messages": history}, {"recursion_limit": 10})
    assert faults_of(output["messages"]) == []
