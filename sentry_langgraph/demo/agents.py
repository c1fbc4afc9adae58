"""The two kinds of agent that the demo wraps."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from sentry_langgraph.testing.graphs import react_graph

AnyGraph = CompiledStateGraph[Any, Any, Any, Any]


class AgentKind(StrEnum):
    """How the agent is built."""

    REACT = "react"
    CREATE_AGENT = "create_agent"


class AgentUnavailable(Exception):
    """The agent can't be built with what is installed."""


def check(kind: AgentKind) -> None:
    """Say early what is missing.

    Raises:
        AgentUnavailable: `create_agent` is wanted and langchain is not installed.
    """
    if kind is AgentKind.CREATE_AGENT and find_spec("langchain") is None:
        raise AgentUnavailable(
            "--agent create_agent needs langchain, which is not installed: "
            'pip install "sentry-langgraph[langchain]"'
        )


def build(kind: AgentKind, model: BaseChatModel, tools: Sequence[BaseTool]) -> AnyGraph:
    """The bare agent, with a checkpointer in memory.

    Args:
        kind: A hand-written `StateGraph` with a `ToolNode`, or LangChain's `create_agent`.
        model: The chat model.
        tools: The tools.

    Raises:
        AgentUnavailable: See `check`.
    """
    check(kind)
    if kind is AgentKind.REACT:
        return react_graph(model, tools, checkpointer=InMemorySaver())
    from langchain.agents import create_agent  # noqa: PLC0415 - the extra may be missing

    made: AnyGraph = create_agent(model, list(tools), checkpointer=InMemorySaver())
    return made
