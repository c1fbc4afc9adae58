"""The agent that is measured: ten look-up tools, a model that costs nothing, no failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph import StateGraph

from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_builder

Builder = StateGraph[Any, Any, Any, Any]

SETTINGS = {"playbook": {"kind": "none"}}
"""The defaults, without a playbook: a healthy run does not touch it, and nothing is left behind."""

TOOLS = 10
TURNS = 20
"""Turns of one measured run: each is one call of the model and one call of a tool."""

REQUEST = "Which of these cities has the mildest weather in the next days?"
_USED = 3
"""How many of the tools take turns, so that a tool comes back within the window."""


def look_up_tools() -> list[BaseTool]:
    """Ten tools with an argument of each kind and a result of about 300 characters."""
    return [_tool(f"get_forecast_{number}") for number in range(TOOLS)]


def _tool(name: str) -> BaseTool:
    def look_up(city: str, days: int = 1, hourly: bool = False) -> str:
        return _result(city, days)

    return StructuredTool.from_function(look_up, name=name, description=f"Forecast, source {name}.")


def _result(city: str, days: int) -> str:
    rows = [{"hour": hour, "sky": "cloudy", "degrees": days + hour} for hour in range(6)]
    return json.dumps({"city": city, "days": days, "rows": rows})


def tireless_model(turns: int = TURNS) -> ScriptedChatModel:
    """A model that makes `turns` different calls, answers, and begins again."""
    made = 0

    def respond(_: Sequence[AnyMessage]) -> AIMessage:
        nonlocal made
        turn = made % (turns + 1)
        made += 1
        if turn == turns:
            return ai("The mildest weather is in the last of these cities.")
        return ai("", call(*_call(turn), id=f"call-{made}"))

    return ScriptedChatModel(script=[respond], on_end="repeat", record=False)


def _call(turn: int) -> tuple[str, dict[str, Any]]:
    return f"get_forecast_{turn % _USED}", {"city": f"City {turn}", "days": turn % 7 + 1}


def bare_agent(turns: int = TURNS) -> Builder:
    """START → agent → (tools → agent)* → END."""
    return react_builder(tireless_model(turns), look_up_tools())


def request() -> dict[str, list[AnyMessage]]:
    """The input of one run."""
    return {"messages": [HumanMessage(REQUEST)]}


def one_task(prefix: str) -> Iterator[AnyMessage]:
    """A history without end: one request, then call after call."""
    yield HumanMessage(REQUEST, id=f"{prefix}-request")
    turn = 0
    while True:
        yield from exchange(prefix, turn)
        turn += 1


def many_tasks(prefix: str) -> Iterator[AnyMessage]:
    """A history without end: a new request after every fifth call."""
    turn = 0
    while True:
        yield HumanMessage(REQUEST, id=f"{prefix}-request-{turn}")
        for _ in range(5):
            yield from exchange(prefix, turn)
            turn += 1
        yield AIMessage("It is mild in the first city.", id=f"{prefix}-answer-{turn}")


SHAPES: dict[str, Callable[[str], Iterator[AnyMessage]]] = {
    "one_task": one_task,
    "many_tasks": many_tasks,
}
"""Histories by shape."""


def exchange(prefix: str, turn: int) -> tuple[AIMessage, ToolMessage]:
    """One call and its result."""
    name, args = _call(turn)
    id_ = f"{prefix}-call-{turn}"
    return (
        AIMessage(
            "",
            id=f"{prefix}-message-{turn}",
            tool_calls=[{"id": id_, "name": name, "args": args, "type": "tool_call"}],
        ),
        ToolMessage(
            _result(args["city"], args["days"]),
            tool_call_id=id_,
            name=name,
            id=f"{prefix}-result-{turn}",
        ),
    )
