"""Agents, as cases describe them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import ToolNode, create_react_agent
from pydantic import create_model
from typing_extensions import TypedDict

from cases.drive import Graph, MakeGraph
from cases.loader import CaseError
from cases.tools import Workshop
from cases.words import NEEDS_APPROVAL
from sentry_langgraph.testing import ScriptedChatModel, react_builder, router

Specs = Sequence[Mapping[str, Any]]


def agent_of(given: Mapping[str, Any], specs: Specs) -> MakeGraph:
    """The agent of a case: what its `agent` says, or what its tools need.

    Raises:
        CaseError: The words describe nothing that is known.
    """
    if words := given.get("user_node"):
        return _with_user_node(words, specs)
    if words := given.get("agent"):
        return _named(words, specs)
    if any(NEEDS_APPROVAL.search(spec.get("behaviour", "")) for spec in specs):
        return approving(specs)
    return react(specs)


def react(specs: Specs, **options: Any) -> MakeGraph:
    """The hand-written loop of agent and `ToolNode`."""
    handles = any(spec.get("node_handles_errors") for spec in specs)
    if handles:
        options.setdefault("handle_tool_errors", True)
    options.setdefault("state", _state(specs))

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        return react_builder(model, workshop.tools(specs), **options).compile(checkpointer=saver)

    return make


def langchain_agent(specs: Specs, **options: Any) -> MakeGraph:
    """`create_agent`."""

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        return create_agent(model, workshop.tools(specs), checkpointer=saver, **options)

    return make


def approving(specs: Specs) -> MakeGraph:
    """`create_agent` whose middleware asks a person before some tools run."""
    asked = {
        spec["name"]: True for spec in specs if NEEDS_APPROVAL.search(spec.get("behaviour", ""))
    }
    return langchain_agent(specs, middleware=[HumanInTheLoopMiddleware(asked)])


def _named(words: str, specs: Specs) -> MakeGraph:
    structured = re.search(
        r"create_agent\(.*response_format=(?:ToolStrategy\()?(\w+): (.+?)\)+$", words
    )
    if structured is not None:
        fields = dict(_field(one) for one in re.split(r",\s*(?=\w+ )", structured[2]))
        answer = create_model(structured[1], __module__=__name__, **fields)
        return langchain_agent(specs, response_format=ToolStrategy(answer))
    if "create_agent" in words:
        return langchain_agent(specs)
    if "create_react_agent" in words:
        return hooked(specs, None)
    if re.search(r"react|StateGraph|ToolNode", words, re.IGNORECASE):
        return react(specs)
    raise CaseError(f"no agent is known for {words!r}; see cases/agents.py")


def _field(words: str) -> tuple[str, Any]:
    name, _, kind = words.strip().partition(" ")
    values = re.fullmatch(r"Literal\[(.+)\]", kind)
    if values is not None:
        options = tuple(one.strip().strip("'\"") for one in values[1].split(","))
        return name, (Literal[options], ...)
    kinds = {"str": str, "int": int, "float": float, "bool": bool, "": str}
    if kind not in kinds:
        raise CaseError(f"the field {words!r} can't be read")
    return name, (kinds[kind], ...)


def _with_user_node(words: str, specs: Specs) -> MakeGraph:
    found = re.search(
        r"\[RemoveMessage\('__remove_all__'\), AI\('([^']*)', id='([^']*)'\)\]", words
    )
    if found is None or "after the model" not in words:
        raise CaseError(f"no node is known for {words!r}; see cases/agents.py")
    text, id_ = found[1], found[2]

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        """The summary is made between one call of the model and the next."""
        tools = workshop.tools(specs)
        bound = model.bind_tools(tools)

        def agent(state: Any) -> dict[str, Any]:
            return {"messages": [bound.invoke(state["messages"])]}

        def summarize(state: Any) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage(text, id=id_)]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(_state(specs))
        builder.add_node("agent", agent)
        builder.add_node("tools", ToolNode(tools))
        builder.add_node("summarize", summarize)
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", router("tools"), ["tools", END])
        builder.add_edge("tools", "summarize")
        builder.add_edge("summarize", "agent")
        return builder.compile(checkpointer=saver)

    return make


def resumable(specs: Specs) -> MakeGraph:
    """A loop whose router runs what is unanswered, so that a cancelled run waits at its tools."""

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        tools = workshop.tools(specs)
        bound = model.bind_tools(tools)

        def agent(state: Any) -> dict[str, Any]:
            return {"messages": [bound.invoke(state["messages"])]}

        def route(state: Any) -> str:
            return "tools" if _unanswered(state["messages"]) else END

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(_state(specs))
        builder.add_node("agent", agent)
        builder.add_node("tools", ToolNode(tools))
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", route, ["tools", END])
        builder.add_edge("tools", "agent")
        return builder.compile(checkpointer=saver)

    return make


def unbound(specs: Specs) -> MakeGraph:
    """A loop whose model is told of no tools."""

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(_state(specs))
        builder.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
        builder.add_node("tools", ToolNode(workshop.tools(specs)))
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", router("tools"), ["tools", END])
        builder.add_edge("tools", "agent")
        return builder.compile(checkpointer=saver)

    return make


def _unanswered(messages: Sequence[AnyMessage]) -> bool:
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    newest = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return newest is not None and any(call["id"] not in answered for call in newest.tool_calls)


Trim = Callable[[Sequence[AnyMessage]], list[AnyMessage]]


def hooked(specs: Specs, trim: Trim | None) -> MakeGraph:
    """`create_react_agent`, whose pre-model hook trims what the model sees."""

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        hook = (
            None if trim is None else lambda state: {"llm_input_messages": trim(state["messages"])}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return create_react_agent(
                model, workshop.tools(specs), checkpointer=saver, pre_model_hook=hook
            )

    return make


def trimming(specs: Specs, trim: Trim) -> MakeGraph:
    """`create_agent`, whose middleware trims the state before the model."""

    class Trimming(AgentMiddleware):  # type: ignore[type-arg]
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            kept = trim(state["messages"])
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}

    return langchain_agent(specs, middleware=[Trimming()])


def _state(specs: Specs) -> type[Any]:
    """A state with the messages and every key that a tool of the case updates."""
    words = " ".join(str(spec.get("behaviour", "")) for spec in specs)
    keys = [
        key
        for update in re.findall(r"update=\{(.*?)\}\)", words)
        for key in re.findall(r"'(\w+)':", re.sub(r"\[.*?\]", "", update))
        if key != "messages"
    ]
    make_typed_dict: Any = TypedDict
    channels = dict.fromkeys(dict.fromkeys(keys), Any)
    made: type[Any] = make_typed_dict(
        "CaseState",
        {"messages": Annotated[list[AnyMessage], add_messages], **channels},
        total=False,
    )
    return made
