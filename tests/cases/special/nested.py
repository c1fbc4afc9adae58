"""Agents inside graphs: parallel workers, one agent used twice, a caller's limits."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

from cases.agents import react
from cases.assume import settings
from cases.drive import Graph, Scenario, run
from cases.loader import Case
from cases.observe import Record
from cases.plans import Run
from cases.rules import ALWAYS
from cases.tools import Workshop
from sentry_langgraph import with_sentry
from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_builder, router, state_class

LOOK = {
    "name": "look",
    "schema_kind": "pydantic",
    "parameters": {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    },
    "returns": "seen {n}",
}


def runs(case: Case) -> Iterable[Run] | None:
    """The runs of a case about nested agents; None for all others."""
    graph = str(case.input.get("graph", ""))
    if "Sends" in graph and "parallel" in graph:
        return _parallel(case)
    if "ONE wrapped agent subgraph" in graph:
        return _shared(case)
    if "distinct tool calls" in str(case.input.get("script", "")):
        return _limits(case)
    return None


# Parallel workers


class Supervised(TypedDict, total=False):
    """The user's state: two keys, each with a reducer, and none of ours."""

    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


def _parallel(case: Case) -> Iterator[Run]:
    scenario = Scenario(
        "main",
        _workers,
        [_worker] * 6,
        [{"messages": [HumanMessage("go", id="go")], "notes": ["user"]}],
        settings(case.input.get("assume")),
        ALWAYS,
    )
    yield Run("main", lambda mode: run(scenario, mode))


def _worker(messages: list[Any]) -> AIMessage:
    """Makes a wrong call, then a right one, then answers."""
    name = next(m.text for m in messages if isinstance(m, HumanMessage) and m.text[:1] == "w")
    results = sum(isinstance(message, ToolMessage) for message in messages)
    if results == 0:
        return ai("", call("look", {"n": "x"}, id=f"{name}-bad"))
    if results == 1:
        return ai("", call("look", {"n": 1}, id=f"{name}-good"))
    return ai(f"done {name}")


def _workers(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
    """Two agents as subgraphs."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Supervised)
    builder.add_node("supervisor", lambda state: {"notes": ["supervisor"]})
    for name in ("w1", "w2"):
        builder.add_node(name, react_builder(model, workshop.tools([LOOK])).compile())
    builder.add_edge(START, "supervisor")
    builder.add_conditional_edges("supervisor", _sends, ["w1", "w2"])
    return builder.compile(checkpointer=saver)


def _sends(state: Any) -> list[Send]:
    return [
        Send(name, {"messages": [HumanMessage(name, id=f"task-{name}")]}) for name in ("w1", "w2")
    ]


# One agent, used by two nodes


def _shared(case: Case) -> Iterator[Run]:
    for mode in (None, True, False):
        for both in (False, True):
            name = f"checkpointer_{mode}" + ("/parent_wrapped" if both else "")
            yield Run(
                name,
                lambda way, m=mode, b=both, n=name: run(_twice(case, n, m, b), way),
            )


def _twice(case: Case, name: str, checkpointer: bool | None, both: bool) -> Scenario:
    assumed = settings(case.input.get("assume"))

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        spec = {"name": "same", "schema_kind": "pydantic", "returns": "the same"}
        agent = react_builder(model, workshop.tools([spec])).compile(checkpointer=checkpointer)
        wrapped = with_sentry(agent, assumed)
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(state_class())
        before = START
        for node in ("r1", "r2"):
            if both:  # the subgraph is a node, and each has a request of its own
                builder.add_node(f"{node}_request", _request(node))
                builder.add_edge(before, f"{node}_request")
                builder.add_node(node, wrapped)
                builder.add_edge(f"{node}_request", node)
            else:
                builder.add_node(node, _caller(wrapped, node))
                builder.add_edge(before, node)
            before = node
        return builder.compile(checkpointer=saver)

    return Scenario(
        name,
        make,
        [_two_calls] * 12,
        [{"messages": [HumanMessage(f"turn {n}", id=f"turn-{n}")]} for n in (1, 2)],
        assumed,
        wrapped=both,
        saver="InMemorySaver" if checkpointer is not False else None,
    )


def _request(name: str) -> Any:
    return lambda state: {"messages": [HumanMessage(f"for {name}")]}


def _caller(agent: Graph, name: str) -> Any:
    def call_it(state: Any, config: RunnableConfig) -> dict[str, Any]:
        done = agent.invoke({"messages": [HumanMessage(f"for {name}")]}, config)
        return {"messages": [AIMessage(f"{name}: {done['messages'][-1].text}")]}

    return call_it


def _two_calls(messages: list[Any]) -> AIMessage:
    """Two identical calls, then an answer."""
    results = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage) or (
            isinstance(message, AIMessage) and not message.tool_calls
        ):
            break
        results += isinstance(message, ToolMessage)
    return ai("", call("same")) if results < 2 else ai("ok")


# The caller's limits


class Seen(BaseCallbackHandler):
    """Counts what reaches a callback of the caller."""

    run_inline = True

    def __init__(self) -> None:
        self.models = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """Count."""
        self.models += 1


def _limits(case: Case) -> Iterator[Run]:
    for way in ("given", "bound", "nested", "nested_bound", "too_low"):
        yield Run(way, lambda mode, w=way: _limited(case, w, mode))


def _limited(case: Case, way: str, mode: str) -> Record:
    wrapped = run(_limited_scenario(case, way), mode)
    bare = run(replace(_limited_scenario(case, way), wrapped=False), mode)
    return replace(wrapped, extra={**wrapped.extra, "bare": bare})


def _limited_scenario(case: Case, way: str) -> Scenario:
    found = re.search(r"(\d+) distinct tool calls", case.input["script"])
    assert found is not None
    count = int(found[1])
    given = dict(case.input["config"])
    limit = given.pop("recursion_limit")
    given.pop("callbacks", None)
    callback = Seen()
    seen: list[dict[str, Any]] = []
    if "bound" not in way:
        given["recursion_limit"] = limit if way != "too_low" else count
    given["callbacks"] = [callback]

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        tools = workshop.tools([LOOK])
        bound = model.bind_tools(tools)

        def agent(state: Any, config: RunnableConfig) -> dict[str, Any]:
            seen.append(
                {
                    "tags": list(config.get("tags") or ()),
                    "metadata": dict(config.get("metadata") or {}),
                    "configurable": {
                        key: value
                        for key, value in config["configurable"].items()
                        if key in given["configurable"]
                    },
                }
            )
            return {"messages": [bound.invoke(state["messages"], config)]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(state_class())
        builder.add_node("agent", agent)
        builder.add_node("tools", react_builder(model, tools).nodes["tools"].runnable)
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", router("tools"), ["tools", END])
        builder.add_edge("tools", "agent")
        graph = builder.compile(checkpointer=saver)
        if "bound" in way:
            graph = graph.with_config(recursion_limit=limit)
        if "nested" not in way:
            return graph
        outer: StateGraph[Any, Any, Any, Any] = StateGraph(state_class())
        outer.add_node("inner", graph)
        outer.add_edge(START, "inner")
        made = outer.compile(checkpointer=saver)
        return made.with_config(recursion_limit=limit) if "bound" in way else made

    return Scenario(
        way,
        make,
        [ai("", call("look", {"n": n}, id=f"c{n}")) for n in range(count)] + ["the answer"],
        [{"messages": [HumanMessage("go", id="go")]}],
        settings(case.input.get("assume")),
        ALWAYS,
        config=given,
        saver="InMemorySaver",
        extra={"given": given, "seen": seen, "callback": callback},
    )


def supersteps(wrapped: bool, count: int = 20) -> int:
    """How many supersteps a run of `count` calls and an answer takes."""
    script = [ai("", call("look", {"n": n}, id=f"c{n}")) for n in range(count)] + ["the answer"]
    graph = react([LOOK])(ScriptedChatModel(script=script), Workshop(), None)
    if wrapped:
        graph = with_sentry(graph, settings())
    steps = {
        event["step"] for event in graph.stream({"messages": [("user", "go")]}, stream_mode="debug")
    }
    return len(steps)


def looping(case: Case, both: bool = False) -> Record:
    """The shared agent, which now makes three identical calls at each visit."""
    scenario = _twice(case, "looping", None, both)
    return run(replace(scenario, script=[_three_calls] * 24))


def _three_calls(messages: list[Any]) -> AIMessage:
    results = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and message.name != "sentry":
            break
        if isinstance(message, AIMessage) and not message.tool_calls:
            break
        results += isinstance(message, ToolMessage)
    return ai("", call("same")) if results < 3 else ai("ok")
