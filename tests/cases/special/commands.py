"""Tools that return commands: the wrapped agent does what the bare one does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from langgraph.graph import END, START, StateGraph

from cases.agents import react
from cases.assume import settings
from cases.drive import Graph, MakeGraph, Scenario, run
from cases.loader import Case
from cases.observe import Record
from cases.plans import Run
from cases.rules import ALWAYS
from cases.scripts import messages
from sentry_langgraph.testing import ScriptedChatModel, ai, call, state_class

CALL = "c1"


def runs(case: Case) -> Iterable[Run] | None:
    """A run for each tool that returns a command."""
    specs = case.input.get("tools") or []
    if not any("Command(" in str(spec.get("behaviour", "")) for spec in specs):
        return None
    return _each(case)


def _each(case: Case) -> Iterator[Run]:
    for spec in case.input["tools"]:
        yield Run(
            spec["name"],
            lambda mode, spec=spec: _compared(case, spec, mode),
            calls=(CALL,),
        )


def _compared(case: Case, spec: Mapping[str, Any], mode: str) -> Record:
    """The wrapped run, which notes the bare one."""
    scenario = _scenario(case, spec)
    bare = run(replace(scenario, wrapped=False), mode)
    wrapped = run(scenario, mode)
    return replace(wrapped, extra={**wrapped.extra, "bare": bare})


def _scenario(case: Case, spec: Mapping[str, Any]) -> Scenario:
    required = spec["parameters"].get("required", [])
    script = next(
        (
            turn
            for turn in case.input["model_script"]
            if any(made["name"] == spec["name"] for made in turn.get("tool_calls", ()))
        ),
        None,
    )
    args = script["tool_calls"][0]["args"] if script else dict.fromkeys(required, "Tim")
    make = react([spec])
    if "PARENT" in spec["behaviour"]:
        make = _in_parent(make)
    return Scenario(
        spec["name"],
        make,
        [ai("", call(spec["name"], args, id=CALL)), "done"],
        [{"messages": messages(case.input["messages"])}],
        settings(case.input.get("assume")),
        ALWAYS,
    )


def _in_parent(make: MakeGraph) -> MakeGraph:
    """The agent as a subgraph, beside the node that it hands over to."""

    def parent(model: ScriptedChatModel, workshop: Any, saver: Any) -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(state_class())
        builder.add_node("agent_graph", make(model, workshop, None), destinations=("other",))
        builder.add_node(
            "other", lambda state: {"messages": [ai("the other took over", id="other")]}
        )
        builder.add_edge(START, "agent_graph")
        builder.add_edge("other", END)
        return builder.compile(checkpointer=saver)

    return parent
