"""Small hand-written ReAct graphs, as people write them with `StateGraph`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field as dataclass_field
from dataclasses import make_dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from pydantic import Field, create_model
from typing_extensions import TypedDict

StateKind: TypeAlias = Literal["typeddict", "pydantic", "dataclass"]
Routing: TypeAlias = Literal["path_map", "annotated", "bare"]


def state_class(kind: StateKind = "typeddict", messages_key: str = "messages") -> type[Any]:
    """A state with one channel of messages, declared in one of the three ways."""
    channel: Any = Annotated[list[AnyMessage], add_messages]
    if kind == "pydantic":
        fields: dict[str, Any] = {messages_key: (channel, Field(default_factory=list))}
        return cast("type[Any]", create_model("PydanticState", **fields))
    if kind == "dataclass":
        default: Any = dataclass_field(default_factory=list)
        return make_dataclass("DataclassState", [(messages_key, channel, default)])
    make_typed_dict: Any = TypedDict
    return cast("type[Any]", make_typed_dict("TypedDictState", {messages_key: channel}))


def react_builder(
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]],
    *,
    state: StateKind | type[Any] = "typeddict",
    system: str | None = None,
    tool_node: Literal["node", "function"] = "node",
    handle_tool_errors: Any = None,
    routing: Routing = "path_map",
    names: tuple[str, str] = ("agent", "tools"),
    messages_key: str = "messages",
) -> StateGraph[Any, Any, Any, Any]:
    """START → agent → (tools → agent)* → END, as a builder that is not compiled.

    Args:
        model: Called with the messages of the state; gets the tools through `bind_tools`.
        tools: The tools; a plain function becomes one.
        state: How the state is declared, or a state class with the messages channel.
        system: A system prompt that each request starts with.
        tool_node: LangGraph's `ToolNode`, or a plain function that loops over the calls.
        handle_tool_errors: Passed on to `ToolNode` where given.
        routing: Whether the router's destinations are listed in the conditional edge, are
            annotated on the router, or are not declared at all.
        names: The names of the agent node and the tool node.
        messages_key: The channel that holds the messages.
    """
    agent_name, tools_name = names
    errors = {} if handle_tool_errors is None else {"handle_tool_errors": handle_tool_errors}
    node = ToolNode(tools, name=tools_name, messages_key=messages_key, **errors)
    bound = model.bind_tools(tools) if tools else model
    prompt = [SystemMessage(system)] if system else []

    def agent(current: Any) -> dict[str, Any]:
        return {messages_key: [bound.invoke([*prompt, *_messages(current, messages_key)])]}

    async def acall(current: Any) -> dict[str, Any]:
        request = [*prompt, *_messages(current, messages_key)]
        return {messages_key: [await bound.ainvoke(request)]}

    schema = state_class(state, messages_key) if isinstance(state, str) else state
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(schema)
    builder.add_node(agent_name, RunnableLambda(agent, afunc=acall, name=agent_name))
    act: Any = node if tool_node == "node" else _plain_tool_node(node.tools_by_name, messages_key)
    builder.add_node(tools_name, act)
    builder.add_edge(START, agent_name)
    route = router(tools_name, messages_key, annotated=routing == "annotated")
    if routing == "path_map":
        builder.add_conditional_edges(agent_name, route, [tools_name, END])
    else:
        builder.add_conditional_edges(agent_name, route)
    builder.add_edge(tools_name, agent_name)
    return builder


def react_graph(
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]],
    *,
    state: StateKind | type[Any] = "typeddict",
    checkpointer: Any = None,
    compile_options: dict[str, Any] | None = None,
    **options: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """`react_builder`, compiled.

    Args:
        model: See `react_builder`.
        tools: See `react_builder`.
        state: See `react_builder`.
        checkpointer: Compiled in where given.
        compile_options: Further arguments of `compile`, such as `store` or `interrupt_before`.
        options: Further arguments of `react_builder`.
    """
    builder = react_builder(model, tools, state=state, **options)
    return builder.compile(checkpointer=checkpointer, **(compile_options or {}))


def router(
    tools_name: str = "tools", messages_key: str = "messages", *, annotated: bool = False
) -> Callable[[Any], str]:
    """The usual router: to the tools when the newest message has calls, else to the end."""

    def route(current: Any) -> str:
        newest = _messages(current, messages_key)[-1]
        return tools_name if isinstance(newest, AIMessage) and newest.tool_calls else END

    route.__annotations__ = {"return": Literal[tools_name, END]} if annotated else {}
    return route


def _plain_tool_node(
    tools: dict[str, BaseTool], messages_key: str
) -> Callable[[Any], dict[str, Any]]:
    """The loop over the calls that tutorials write by hand; an unknown tool is a KeyError."""

    def run_tools(current: Any) -> dict[str, Any]:
        calls = _messages(current, messages_key)[-1].tool_calls
        return {messages_key: [tools[c["name"]].invoke(c) for c in calls]}

    return run_tools


def _messages(current: Any, key: str) -> list[Any]:
    return list(current[key] if isinstance(current, dict) else getattr(current, key))
