"""Agents, tool nodes and loops are found by structure; what structure hides is asked for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from typing_extensions import TypedDict

from sentry_langgraph.errors import WiringError
from sentry_langgraph.graph.anatomy import (
    Loop,
    ambiguous_names,
    bound_tools,
    find_loops,
    served_by,
)
from sentry_langgraph.testing import ScriptedChatModel


class State(TypedDict):
    """The messages."""

    messages: Annotated[list[AnyMessage], add_messages]


@tool
def search(q: int) -> str:
    """Search."""
    return str(q)


Builder = StateGraph[Any, Any, Any, Any]


def nothing(state: State) -> dict[str, Any]:
    """A node."""
    return {}


def graph(*names: str) -> Builder:
    """A builder with an agent, a tool node and further nodes."""
    builder: Builder = StateGraph(State)
    builder.add_node("agent", nothing)
    builder.add_node("tools", ToolNode([search]))
    for name in names:
        builder.add_node(name, nothing)
    return builder


def only(builder: Builder, **options: Any) -> Loop:
    """The one loop of a graph."""
    (loop,) = find_loops(builder, **options)
    return loop


def test_the_plain_loop() -> None:
    """START → agent ⇄ tools."""
    builder = graph()
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    loop = only(builder)
    assert (loop.router, loop.model, loop.entry) == ("agent", "agent", "agent")
    assert loop.branches == ("tools_condition",)
    assert loop.tools == ("tools",)
    assert loop.exits == {END}
    assert not loop.plain
    assert not loop.commands
    assert not loop.parallel


def test_hooks_between_model_and_tools() -> None:
    """The last one decides; the loop goes back to the first."""
    builder = graph("trim", "review")
    builder.add_edge(START, "trim")
    builder.add_edge("trim", "agent")
    builder.add_edge("agent", "review")
    builder.add_conditional_edges("review", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "trim")
    loop = only(builder)
    assert (loop.router, loop.entry) == ("review", "trim")


def test_the_model_stands_before_its_hooks() -> None:
    """As `create_react_agent` names them."""
    builder = graph("post_model_hook")
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "post_model_hook")
    builder.add_conditional_edges("post_model_hook", tools_condition)
    builder.add_edge("tools", "agent")
    loop = only(builder)
    assert (loop.router, loop.model, loop.entry) == ("post_model_hook", "agent", "agent")


def test_a_plain_edge_into_the_tools() -> None:
    """An agent that always calls."""
    builder = graph()
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "tools")
    builder.add_edge("tools", "agent")
    loop = only(builder)
    assert loop.plain == ("tools",)
    assert loop.branches == ()


def test_an_agent_that_returns_commands() -> None:
    """Its annotation says where it goes."""

    def commanding(state: State) -> Command[Literal["tools", "__end__"]]:
        return Command(goto="tools")

    builder: Builder = StateGraph(State)
    builder.add_node("agent", commanding)
    builder.add_node("tools", ToolNode([search]))
    builder.add_edge(START, "agent")
    builder.add_edge("tools", "agent")
    loop = only(builder)
    assert loop.commands
    assert loop.exits == {END}


def test_several_agents_have_a_loop_each() -> None:
    """Each with its own tools, exits and entry."""
    builder = graph("writer")
    builder.add_node("writer_tools", ToolNode([search]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: "writer"})
    builder.add_edge("tools", "agent")
    builder.add_conditional_edges("writer", tools_condition, {"tools": "writer_tools", END: END})
    builder.add_edge("writer_tools", "writer")
    loops = {loop.router: loop for loop in find_loops(builder)}
    assert set(loops) == {"agent", "writer"}
    assert loops["agent"].tools == ("tools",)
    assert loops["writer"].tools == ("writer_tools",)
    assert "writer" in loops["agent"].exits


def test_other_edges_of_the_agent_are_noticed() -> None:
    """Nodes that run beside the tools."""
    builder = graph("log")
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("agent", "log")
    builder.add_edge("tools", "agent")
    assert only(builder).parallel


def test_a_router_without_a_map_is_the_agent_where_it_is_the_only_one() -> None:
    """Nothing else could lead to the tools."""

    def anywhere(state: State) -> Any:
        return "tools"

    builder = graph()
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", anywhere)
    builder.add_edge("tools", "agent")
    assert only(builder).router == "agent"


def test_tools_as_a_plain_function_have_to_be_named() -> None:
    """Structure does not show what a function does."""
    builder: Builder = StateGraph(State)
    builder.add_node("agent", nothing)
    builder.add_node("act", nothing)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda s: END, {"act": "act", END: END})
    builder.add_edge("act", "agent")
    assert find_loops(builder) == ()
    assert only(builder, tool_nodes=["act"]).tools == ("act",)


@pytest.mark.parametrize(
    "options", [{"agent": "gone"}, {"tool_nodes": ["gone"]}, {"agent": ["agent", "gone"]}]
)
def test_a_named_node_that_is_not_there(options: dict[str, Any]) -> None:
    """The error names it, and the nodes that there are."""
    builder = graph()
    builder.add_edge(START, "agent")
    with pytest.raises(WiringError, match="gone") as caught:
        find_loops(builder, **options)
    assert caught.value.nodes == ("agent", "tools")


def test_tools_that_nothing_leads_to() -> None:
    """The error says what to pass."""
    builder = graph()
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    with pytest.raises(WiringError, match="agent=") as caught:
        find_loops(builder)
    assert "'tools'" in str(caught.value)


def test_a_graph_without_tools_has_no_loop() -> None:
    """There is nothing to guard."""
    builder: Builder = StateGraph(State)
    builder.add_node("agent", nothing)
    assert find_loops(builder) == ()


@pytest.mark.parametrize(
    "wrapped",
    [
        ToolNode([search]),
        ToolNode([search]).with_config(tags=["x"]),
        RunnableLambda(nothing) | ToolNode([search]),
        (RunnableLambda(nothing) | ToolNode([search])).with_config(tags=["x"]),
    ],
)
def test_a_tool_node_is_found_through_its_wrappings(wrapped: Any) -> None:
    """Bindings and sequences."""
    found = served_by(wrapped)
    assert found is not None
    assert set(found.tools_by_name) == {"search"}


def test_what_a_model_was_bound_to() -> None:
    """As far as the node's closure shows it."""
    model = ScriptedChatModel(script=["x"]).bind_tools([search])

    def agent(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    (bound,) = bound_tools(RunnableLambda(agent))
    assert (getattr(bound, "name", None) or bound["function"]["name"]) == "search"
    assert bound_tools(RunnableLambda(nothing)) == []


def test_two_tools_with_one_name_are_noticed() -> None:
    """A call could mean either."""

    @tool("search")
    def other(q: int) -> str:
        """Another search."""
        return str(q)

    tools = [search, other]

    def agent(state: State) -> dict[str, Any]:
        return {"messages": [str(tools)]}

    assert ambiguous_names(RunnableLambda(agent)) == ["search"]
    assert ambiguous_names(RunnableLambda(nothing)) == []
