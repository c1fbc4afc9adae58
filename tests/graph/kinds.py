"""The kinds of graphs that `with_sentry` has to wrap, each as people build it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from langchain.agents import create_agent
from langchain.agents.middleware import after_model, before_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command
from typing_extensions import TypedDict

from sentry_langgraph import with_sentry
from sentry_langgraph.testing import react_builder, router

from .runs import QUIET, Graph

Tools: TypeAlias = Sequence[Any]
Build: TypeAlias = Callable[..., Graph]


class Chat(TypedDict):
    """The usual state."""

    messages: Annotated[list[AnyMessage], add_messages]


@dataclass(frozen=True)
class Kind:
    """One kind of graph.

    Attributes:
        name: Shown as the test's id.
        build: Takes (model, tools, **compile options) and gives the graph without Sentry.
        options: What `with_sentry` has to be told.
        key: The state's key of the messages.
        agent: The node that calls the model.
        tools: The tool node.
        divides: Whether a part of a batch can run.
        inner: For an agent within a parent: `alone` wraps the agent, `parent` the parent,
            `both` each of them.
    """

    name: str
    build: Build
    options: Callable[[Tools], Mapping[str, Any]] = field(default=lambda tools: {})
    key: str = "messages"
    agent: str = "agent"
    tools: str = "tools"
    divides: bool = True
    inner: Literal["", "alone", "parent", "both"] = ""

    def bare(self, model: BaseChatModel, tools: Tools, **compile_options: Any) -> Graph:
        """The graph without Sentry."""
        return self.build(model, tools, **compile_options)

    def wrapped(
        self,
        model: BaseChatModel,
        tools: Tools,
        config: Any = QUIET,
        judge: BaseChatModel | None = None,
        **compile_options: Any,
    ) -> Graph:
        """The graph with Sentry."""

        def wrap(graph: Any, **options: Any) -> Graph:
            return with_sentry(graph, config, judge=judge, **options)

        if self.inner in ("alone", "both"):
            graph = self.build(model, tools, inner=wrap, **compile_options)
            return graph if self.inner == "alone" else wrap(graph)
        graph = self.build(model, tools, **compile_options)
        return wrap(graph, **self.options(tools))


def _hand_written(**options: Any) -> Build:
    def build(model: BaseChatModel, tools: Tools, **compile_options: Any) -> Graph:
        return react_builder(model, tools, **options).compile(**compile_options)

    return build


def _prebuilt(**options: Any) -> Build:
    def build(model: BaseChatModel, tools: Tools, **compile_options: Any) -> Graph:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return create_react_agent(model, list(tools), **options, **compile_options)

    return build


def _shorten(state: dict[str, Any]) -> dict[str, Any]:
    return {"llm_input_messages": list(state["messages"])}


def _look(state: dict[str, Any]) -> dict[str, Any]:
    return {}


@before_model
def counts_down(state: Any, runtime: Any) -> None:
    """A middleware hook that only looks."""


@after_model
def looks_back(state: Any, runtime: Any) -> None:
    """A middleware hook that only looks."""


def _middlewares() -> list[Any]:
    from langchain.agents.middleware import AgentMiddleware

    class Passing(AgentMiddleware[Any, Any, Any]):
        """Calls the tool as it is."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    return [counts_down, looks_back, Passing()]


def _langchain(middleware: Callable[[], list[Any]]) -> Build:
    def build(model: BaseChatModel, tools: Tools, **compile_options: Any) -> Graph:
        return create_agent(model, list(tools), middleware=middleware(), **compile_options)

    return build


def commanding(model: BaseChatModel, tools: Tools, **compile_options: Any) -> Graph:
    """An agent that says where to go by `Command(goto=…)`."""
    bound = model.bind_tools(list(tools))

    def decide(message: Any) -> Command[Literal["tools", "__end__"]]:
        return Command(update={"messages": [message]}, goto="tools" if message.tool_calls else END)

    def agent(state: Chat) -> Command[Literal["tools", "__end__"]]:
        return decide(bound.invoke(state["messages"]))

    async def aagent(state: Chat) -> Command[Literal["tools", "__end__"]]:
        return decide(await bound.ainvoke(state["messages"]))

    builder = StateGraph(Chat)
    builder.add_node(
        "agent", RunnableLambda(agent, afunc=aagent, name="agent"), destinations=("tools", END)
    )
    builder.add_node("tools", ToolNode(list(tools)))
    builder.add_edge(START, "agent")
    builder.add_edge("tools", "agent")
    return builder.compile(**compile_options)


def nested(
    model: BaseChatModel,
    tools: Tools,
    inner: Callable[[Graph], Graph] = lambda agent: agent,
    **compile_options: Any,
) -> Graph:
    """A parent whose node `assistant` is an agent."""
    builder = StateGraph(Chat)
    builder.add_node("assistant", inner(react_builder(model, tools).compile(name="assistant")))
    builder.add_edge(START, "assistant")
    builder.add_edge("assistant", END)
    return builder.compile(**compile_options)


def two_agents(model: BaseChatModel, tools: Tools, **compile_options: Any) -> Graph:
    """Two agents, each with its own tool node; the request decides which one works."""
    builder = StateGraph(Chat)
    for name in ("scout", "booker"):
        served = f"{name}_tools"
        bound = model.bind_tools(list(tools))

        def agent(state: Chat, bound: Any = bound) -> dict[str, Any]:
            return {"messages": [bound.invoke(state["messages"])]}

        async def aagent(state: Chat, bound: Any = bound) -> dict[str, Any]:
            return {"messages": [await bound.ainvoke(state["messages"])]}

        builder.add_node(name, RunnableLambda(agent, afunc=aagent, name=name))
        builder.add_node(served, ToolNode(list(tools), name=served))
        builder.add_conditional_edges(name, router(served), [served, END])
        builder.add_edge(served, name)

    def triage(state: Chat) -> str:
        return "booker" if "book" in str(state["messages"][-1].content).lower() else "scout"

    builder.add_conditional_edges(START, triage, ["scout", "booker"])
    return builder.compile(**compile_options)


def _plain(tools: Tools) -> Mapping[str, Any]:
    return {"tool_nodes": ["tools"], "tools": list(tools)}


KINDS: tuple[Kind, ...] = (
    Kind("react_typeddict", _hand_written()),
    Kind("react_pydantic", _hand_written(state="pydantic")),
    Kind("react_dataclass", _hand_written(state="dataclass")),
    Kind("react_function", _hand_written(tool_node="function"), _plain, divides=False),
    Kind("react_annotated", _hand_written(routing="annotated")),
    Kind("react_bare", _hand_written(routing="bare")),
    Kind("react_other_key", _hand_written(messages_key="chat"), key="chat"),
    Kind("prebuilt_v1", _prebuilt(version="v1")),
    Kind("prebuilt_v2", _prebuilt(version="v2")),
    Kind("prebuilt_v1_pre", _prebuilt(version="v1", pre_model_hook=_shorten)),
    Kind("prebuilt_v2_pre", _prebuilt(version="v2", pre_model_hook=_shorten)),
    Kind("prebuilt_v2_post", _prebuilt(version="v2", post_model_hook=_look)),
    Kind("create_agent", _langchain(list), agent="model"),
    Kind("create_agent_3", _langchain(_middlewares), agent="model"),
    Kind("command", commanding),
    Kind("nested_alone", nested, inner="alone", agent="assistant", tools=""),
    Kind("nested_parent", nested, inner="parent", agent="assistant", tools=""),
    Kind("nested_both", nested, inner="both", agent="assistant", tools=""),
    Kind("two_agents", two_agents, agent="scout", tools="scout_tools"),
)

BROKEN = Kind("prebuilt_v1_post", _prebuilt(version="v1", post_model_hook=_look))
"""A kind that LangGraph builds and can't run."""
