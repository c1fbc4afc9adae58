"""Repair branches: what failed, what was done, how it went, and a fork before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from sentry_langgraph.errors import SentryError
from sentry_langgraph.graph.anatomy import find_loops, served_by
from sentry_langgraph.graph.messages import MARK
from sentry_langgraph.graph.state import CHANNEL
from sentry_langgraph.records import Event

Graph = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class RepairBranch:
    """One failure and what came of it.

    Attributes:
        failure: The failure event.
        repair: The repair event, or None where it was only recorded.
        verdict: The verdict event, or None while it is open.
        config: The config of the checkpoint before the bad decision, or None where the graph
            ran without a checkpointer.
    """

    failure: Event
    repair: Event | None
    verdict: Event | None
    config: RunnableConfig | None


def branches_of(events: Sequence[Event]) -> list[RepairBranch]:
    """The repair branches in a ledger, oldest first."""
    repairs = {event["failure"]: event for event in events if event["kind"] == "repair"}
    verdicts = {event["repair"]: event for event in events if event["kind"] == "verdict"}
    found = []
    for event in events:
        if event["kind"] != "failure":
            continue
        repair = repairs.get(event["id"])
        verdict = verdicts.get(repair["id"]) if repair else None
        found.append(RepairBranch(event, repair, verdict, _config(event)))
    return found


def _config(event: Event) -> RunnableConfig | None:
    if not event.get("checkpoint_id") or not event.get("thread_id"):
        return None
    return {
        "configurable": {
            "thread_id": event["thread_id"],
            # the namespace of the task ends in its own id; the checkpoint lies above it
            "checkpoint_ns": _parent(event.get("checkpoint_ns") or ""),
            "checkpoint_id": event["checkpoint_id"],
        }
    }


def _parent(namespace: str) -> str:
    return "|".join(namespace.split("|")[:-1])


def repair_branches(graph: Graph, config: RunnableConfig) -> list[RepairBranch]:
    """Failure, repair and verdict with their checkpoints, for one thread.

    Args:
        graph: A graph from `with_sentry`, compiled with a checkpointer.
        config: Names the thread.
    """
    return branches_of(_ledger(graph.get_state(config)))


async def arepair_branches(graph: Graph, config: RunnableConfig) -> list[RepairBranch]:
    """As `repair_branches`, for async checkpointers."""
    return branches_of(_ledger(await graph.aget_state(config)))


def _ledger(snapshot: StateSnapshot) -> list[Event]:
    values = snapshot.values
    return list(values.get(CHANNEL) or ()) if isinstance(values, Mapping) else []


def fork_before(
    graph: Graph, config: RunnableConfig, event_id: str, guidance: str | None = None
) -> RunnableConfig:
    """A config from which the run goes on as it stood before a failure.

    Invoke the graph with None and the returned config. The original branch stays.

    Args:
        graph: A graph from `with_sentry`, compiled with a checkpointer.
        config: Names the thread.
        event_id: The id of a failure event, or of its repair.
        guidance: What the agent is told instead; None for no repair at all.

    Raises:
        SentryError: There is no such event, or it has no checkpoint.
    """
    start = _start(repair_branches(graph, config), event_id)
    if guidance is None:
        return start
    values, writer = _instead(graph, graph.get_state(start), guidance)
    return graph.update_state(start, values, as_node=writer)


async def afork_before(
    graph: Graph, config: RunnableConfig, event_id: str, guidance: str | None = None
) -> RunnableConfig:
    """As `fork_before`, for async checkpointers."""
    start = _start(await arepair_branches(graph, config), event_id)
    if guidance is None:
        return start
    values, writer = _instead(graph, await graph.aget_state(start), guidance)
    return await graph.aupdate_state(start, values, as_node=writer)


def _start(branches: Sequence[RepairBranch], event_id: str) -> RunnableConfig:
    for branch in branches:
        ids = [branch.failure["id"], branch.repair["id"] if branch.repair else None]
        if event_id in ids:
            if branch.config is None:
                raise SentryError(
                    f"the event {event_id!r} has no checkpoint: the graph ran without a "
                    "checkpointer, so there is nothing to fork"
                )
            return branch.config
    known = ", ".join(branch.failure["id"] for branch in branches) or "none"
    raise SentryError(f"the thread has no failure or repair {event_id!r}; failures: {known}")


def _instead(graph: Graph, snapshot: StateSnapshot, guidance: str) -> tuple[dict[str, Any], str]:
    """The update that tells the agent something else, and the node that it seems to come from.

    That is the node which wrote last: the tools after a result, else the start of the run.
    """
    loop = find_loops(graph.builder)[0]
    tools = served_by(graph.builder.nodes[loop.tools[0]].runnable)
    key = getattr(tools, "_messages_key", "messages")
    values = snapshot.values
    messages: Any = values.get(key) if isinstance(values, Mapping) else getattr(values, key, None)
    after_tools = bool(messages) and isinstance(messages[-1], ToolMessage)
    message = HumanMessage(
        guidance, name=MARK, additional_kwargs={MARK: {"kind": "guidance", "fork": True}}
    )
    return {key: [message]}, loop.tools[0] if after_tools else START
