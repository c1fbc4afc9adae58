"""Each agent gets the preset that fits its tools, and says so."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from sentry_langgraph import SentryRunner, with_sentry
from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_graph


def execute(command: str) -> str:
    """Run a command."""
    return "nothing"


def get_order(order_id: str) -> str:
    """Read an order."""
    return "open"


def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return "cancelled"


def twice(name: str, **args: Any) -> ScriptedChatModel:
    """A model that makes one call twice."""
    return ScriptedChatModel(
        script=[ai("", call(name, args, "a")), ai("", call(name, args, "b")), ai("That is all.")]
    )


def test_the_preset_is_told_once_when_the_graph_is_wrapped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the log, and as an attribute of the graph."""
    with caplog.at_level(logging.INFO, "sentry_langgraph"):
        graph: Any = with_sentry(react_graph(ScriptedChatModel(script=[ai("Done.")]), [execute]))
        graph.invoke({"messages": [HumanMessage("Look.")]})
    told = [record.getMessage() for record in caplog.records if "preset" in record.getMessage()]
    assert told == ["'agent' has the preset shell: `execute` runs commands"]
    assert {name: one.name for name, one in graph.sentry_presets.items()} == {"agent": "shell"}


def test_agents_of_one_graph_have_presets_of_their_own() -> None:
    """The tools of each decide, in subgraphs too."""
    model = ScriptedChatModel(script=[ai("Done.")])
    outer = StateGraph(MessagesState)
    outer.add_node("coder", react_graph(model, [execute]))
    outer.add_node("clerk", react_graph(model, [get_order, cancel_order]))
    outer.add_edge(START, "coder")
    outer.add_edge("coder", "clerk")
    graph: Any = with_sentry(outer)
    presets = {name: one.name for name, one in graph.sentry_presets.items()}
    assert presets == {"coder/agent": "shell", "clerk/agent": "api"}


@pytest.mark.parametrize(
    ("tools", "made", "advised"),
    [
        ([execute], ("execute", {"command": "ls"}), True),
        ([get_order, cancel_order], ("get_order", {"order_id": "o-17"}), False),
    ],
)
def test_the_preset_decides_when_a_repeat_is_advised_on(
    tools: list[Any], made: tuple[str, dict[str, Any]], advised: bool
) -> None:
    """The second equal command in a shell, and not the second look at a record."""
    name, args = made
    graph = with_sentry(react_graph(twice(name, **args), tools), {"repair": {"cleanup": "never"}})
    state = graph.invoke({"messages": [HumanMessage("Look at order o-17.")]})
    said = [message for message in state["messages"] if "sentry" in message.additional_kwargs]
    assert bool(said) is advised


def test_the_runner_takes_the_preset_of_each_task() -> None:
    """The action schema of the task decides."""
    sentry = SentryRunner({"playbook": {"kind": "none"}})
    assert sentry.preset is None
    sentry.start_task("Look.", {"execute": {"properties": {"command": {"type": "string"}}}})
    assert sentry.preset is not None
    assert sentry.preset.name == "shell"
    sentry.start_task("Look.", ["get_order"])
    assert sentry.preset.name == "chat"
