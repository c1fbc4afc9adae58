"""What the stages see of a thread: read in the edge, and again by a node that asks a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig

from sentry_langgraph import ledger
from sentry_langgraph.graph.internals import read_channels
from sentry_langgraph.graph.messages import last_ai, message_id, proposal_of, steps_before
from sentry_langgraph.graph.passages import provenance_of
from sentry_langgraph.graph.scene import Guard
from sentry_langgraph.graph.state import CHANNEL
from sentry_langgraph.records import Event, Proposal, Trajectory


def trajectory_at(
    guard: Guard,
    config: RunnableConfig,
    messages: Sequence[AnyMessage],
    position: int,
    proposal: Proposal,
) -> tuple[Trajectory, Sequence[Event]]:
    """The trajectory up to the message at `position`, and the ledger's events of its task."""
    pipeline = guard.pipeline
    ledgered = read_channels(config, (CHANNEL,), fresh=False).get(CHANNEL) or ()
    depth = pipeline.depth if ledgered else pipeline.healthy_depth
    task, steps = steps_before(messages, position, depth)
    events = ledger.of_task(ledgered, task.id) if ledgered else ()
    folded = ledger.fold(events) if events else ledger.EMPTY
    provenance = provenance_of(messages, position, guard.instructions)
    return Trajectory(task, steps, proposal, guard.catalog, folded, provenance), events


def seen_again(
    guard: Guard, config: RunnableConfig, step: str, *, finish: bool
) -> Trajectory | None:
    """What the gate saw, read again in a node that it sent something to.

    The node runs in the same superstep as the tools, so no result is there yet. That keeps texts
    of the run out of what is sent, and so out of the checkpoints a second time.

    Args:
        guard: The guarded loop.
        config: The config of the running node.
        step: The id of the message that the gate decided about.
        finish: Whether the run was about to end with it.

    Returns:
        The trajectory, or None where the message is no longer the newest of the agent.
    """
    key = guard.messages_key
    messages: Any = read_channels(config, (key,), fresh=False).get(key) or ()
    position = last_ai(messages)
    if position is None or message_id(messages[position], position) != step:
        return None
    proposal = proposal_of(messages, position, finish=finish)
    return trajectory_at(guard, config, messages, position, proposal)[0]
