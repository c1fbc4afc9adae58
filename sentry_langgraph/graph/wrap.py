"""`with_sentry`: one line that wraps a graph."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableBinding
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from sentry_langgraph.config import SentryConfig, load_config
from sentry_langgraph.errors import WiringError
from sentry_langgraph.graph.anatomy import (
    Loop,
    ambiguous_names,
    bound_tools,
    find_loops,
    served_by,
)
from sentry_langgraph.graph.gate import Gate
from sentry_langgraph.graph.healing import Healer
from sentry_langgraph.graph.nodes import Nodes
from sentry_langgraph.graph.prompts import instructions_of
from sentry_langgraph.graph.rewire import copy_builder, replaces_messages, wire
from sentry_langgraph.graph.scene import HEAL, Clock, utc_now
from sentry_langgraph.graph.state import CHANNEL, view
from sentry_langgraph.graph.tools import catalog_of, name_of
from sentry_langgraph.playbook import Playbook, open_playbook

logger = logging.getLogger("sentry_langgraph")

AnyGraph: TypeAlias = StateGraph[Any, Any, Any, Any] | CompiledStateGraph[Any, Any, Any, Any]
AnyCompiled: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]
ConfigSource: TypeAlias = SentryConfig | Mapping[str, Any] | str | os.PathLike[str] | None

_STRUCTURE = frozenset(
    {
        "builder",
        "nodes",
        "channels",
        "channel_to_managed",
        "managed",
        "input_channels",
        "output_channels",
        "stream_channels",
        "schema_to_mapper",
        "trigger_to_nodes",
        "node_error_handler_map",
        "_output_mapper",
        "_state_mapper",
        "_serde_allowlist",
        "checkpointer",
        "interrupt_before_nodes",
        "interrupt_after_nodes",
    }
)
"""What belongs to the wiring of a compiled graph; all else is the user's setting."""


class SentryGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph with Sentry in it.

    The ledger is part of the state (`get_state`) and of no value that `stream` yields.
    """

    def _visible(self, output_keys: str | Sequence[str] | None) -> str | Sequence[str] | None:
        if output_keys is not None or isinstance(self.stream_channels_asis, str):
            return output_keys
        return [key for key in self.stream_channels_asis if key != CHANNEL]

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """As `CompiledStateGraph.stream`, without the ledger in the values."""
        kwargs["output_keys"] = self._visible(kwargs.get("output_keys"))
        return super().stream(*args, **kwargs)

    def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """As `CompiledStateGraph.astream`, without the ledger in the values."""
        kwargs["output_keys"] = self._visible(kwargs.get("output_keys"))
        return super().astream(*args, **kwargs)


def with_sentry(
    graph: AnyGraph,
    config: ConfigSource = None,
    *,
    agent: str | Sequence[str] | None = None,
    tool_nodes: Sequence[str] | None = None,
    tools: Sequence[Any] = (),
    playbook: Playbook | None = None,
    messages_key: str | None = None,
    clock: Clock = utc_now,
) -> AnyCompiled:
    """Wrap a LangGraph agent so that it survives its failures.

    Args:
        graph: A `StateGraph`, or a compiled graph such as `create_agent` and
            `create_react_agent` give. It is not changed.
        config: A `SentryConfig`, a mapping, or the path of a YAML file. None is the default.
        agent: The node or nodes whose outgoing edges lead to the tools. Found by structure
            where possible.
        tool_nodes: The tool nodes, where they are plain functions.
        tools: Further tools of the agent, as objects, schemas or names: for tool nodes that
            are plain functions, and for tools that a middleware serves.
        playbook: Where lessons lie, instead of what the configuration says.
        messages_key: The state's key of the messages. Found from the tool node.
        clock: Gives the time, in UTC.

    Returns:
        A compiled graph that runs like the original, with Sentry's nodes and labelled edges.
        A graph that is wrapped already comes back as it is.

    Raises:
        ConfigError: The configuration is wrong.
        WiringError: The graph can't be wired; the message says what to pass.
        TypeError: `graph` is no LangGraph graph.
    """
    settings = load_config(config)
    compiled = _compiled(graph)
    if settings.mode == "off" or isinstance(compiled, SentryGraph):
        return compiled
    lessons = playbook if playbook is not None else open_playbook(settings.playbook)
    wiring = _Wiring(
        settings,
        lessons,
        agent=agent,
        tool_nodes=tool_nodes,
        tools=tuple(tools),
        messages_key=messages_key,
        clock=clock,
    )
    wrapped = wiring.wrap(compiled)
    if wrapped is None:
        raise WiringError(
            "no tool node was found, neither here nor in a subgraph. Pass tool_nodes=[…] with "
            "the nodes that run tools, if they are plain functions.",
            nodes=tuple(compiled.builder.nodes),
        )
    return wrapped


def _compiled(graph: Any) -> AnyCompiled:
    if isinstance(graph, CompiledStateGraph):
        return graph
    if isinstance(graph, StateGraph):
        return copy_builder(graph).compile()
    if isinstance(graph, RunnableBinding) and isinstance(graph.bound, CompiledStateGraph):
        return graph.bound.with_config(graph.config)
    raise TypeError(
        f"with_sentry takes a StateGraph or a compiled graph, not {type(graph).__name__}"
    )


class _Wiring:
    """One call of `with_sentry`: the same settings for a graph and its subgraphs."""

    def __init__(
        self,
        settings: SentryConfig,
        playbook: Playbook | None,
        *,
        agent: str | Sequence[str] | None,
        tool_nodes: Sequence[str] | None,
        tools: tuple[Any, ...],
        messages_key: str | None,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.pipeline = settings.pipeline()
        self.playbook = playbook
        self.agent = agent
        self.tool_nodes = tool_nodes
        self.tools = tools
        self.messages_key = messages_key
        self.clock = clock

    def wrap(self, compiled: AnyCompiled, *, nested: bool = False) -> AnyCompiled | None:
        """The wrapped graph, or None where there is nothing to wrap."""
        builder = copy_builder(compiled.builder)
        inside = self._wrap_subgraphs(builder)
        loops = find_loops(
            builder,
            agent=None if nested else self.agent,
            tool_nodes=None if nested else self.tool_nodes,
        )
        if not loops:
            return _recompiled(builder, compiled) if inside else None
        self._wire(builder, loops)
        return _recompiled(builder, compiled)

    def _wrap_subgraphs(self, builder: StateGraph[Any, Any, Any, Any]) -> bool:
        found = False
        for spec in builder.nodes.values():
            inner = spec.runnable
            if isinstance(inner, CompiledStateGraph) and not isinstance(inner, SentryGraph):
                wrapped = self.wrap(inner, nested=True)
                if wrapped is not None:
                    spec.runnable = wrapped
                    found = True
            elif isinstance(inner, SentryGraph):
                found = True
        return found

    def _wire(self, builder: StateGraph[Any, Any, Any, Any], loops: Sequence[Loop]) -> None:
        key = self.messages_key or _messages_key(builder, loops)
        schema = view(builder, key)
        replaces = replaces_messages(builder, key)
        models = dict.fromkeys(loop.model for loop in loops)
        heals = {model: HEAL if len(models) == 1 else f"{HEAL}_{model}" for model in models}
        gates = {
            loop.router: self._gate(builder, loop, key, replaces, heals[loop.model])
            for loop in loops
        }
        healers = {
            loop.model: Healer(
                name=heals[loop.model],
                model=loop.model,
                messages_key=key,
                replaces=replaces,
                state_keys=tuple(builder.schemas[builder.nodes[loop.model].input_schema]),
                active=self.pipeline.mode == "active",
            )
            for loop in loops
        }
        wire(builder, gates, healers, Nodes(gates, self.playbook, key), schema)

    def _gate(
        self,
        builder: StateGraph[Any, Any, Any, Any],
        loop: Loop,
        key: str,
        replaces: bool,
        heal: str,
    ) -> Gate:
        served = [(name, served_by(builder.nodes[name].runnable)) for name in loop.tools]
        shown = bound_tools(builder.nodes[loop.model].runnable)
        _warn_ambiguous(builder.nodes[loop.model].runnable, loop)
        return Gate(
            loop=loop,
            pipeline=self.pipeline,
            catalog=catalog_of(
                [node for _, node in served],
                self.tools,
                self.settings.tools,
                declared=[name_of(tool) for tool in shown],
            ),
            messages_key=key,
            wants_structured="structured_response" in builder.channels,
            splittable=frozenset(name for name, node in served if node is not None),
            heal=heal,
            replaces=replaces,
            owner=self.settings.playbook.owner,
            clock=self.clock,
            instructions=instructions_of(builder.nodes[loop.model].runnable),
        )


def _warn_ambiguous(runnable: Any, loop: Loop) -> None:
    for name in ambiguous_names(runnable):
        logger.warning(
            "the tool name %r is ambiguous: the model of %r was given two tools of that name, "
            "and the tool node runs the later one",
            name,
            loop.model,
        )


def _messages_key(builder: StateGraph[Any, Any, Any, Any], loops: Sequence[Loop]) -> str:
    for loop in loops:
        for name in loop.tools:
            key = getattr(served_by(builder.nodes[name].runnable), "_messages_key", None)
            if isinstance(key, str):
                return key
    return "messages"


def _recompiled(builder: StateGraph[Any, Any, Any, Any], original: AnyCompiled) -> SentryGraph:
    """`builder` compiled with everything that the original was compiled with."""
    own = [name for name in original.builder.nodes if name in builder.nodes]

    def named(interrupts: Any) -> list[str]:
        return own if interrupts == "*" else list(interrupts or ())

    compiled = builder.compile(
        checkpointer=original.checkpointer,
        interrupt_before=named(original.interrupt_before_nodes),
        interrupt_after=named(original.interrupt_after_nodes),
        store=original.store,
        cache=original.cache,
        debug=original.debug,
        name=original.name,
    )
    made = SentryGraph.__new__(SentryGraph)
    made.__dict__.update(compiled.__dict__)
    made.__dict__.update(
        {
            key: value
            for key, value in original.__dict__.items()
            if key not in _STRUCTURE and key != "__orig_class__"
        }
    )
    return made
