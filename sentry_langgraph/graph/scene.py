"""What one decision of the gate looks at, and what it may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.types import Send

from sentry_langgraph.graph.anatomy import PREFIX, Loop
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import Catalog, Event, Task, ToolCall, Trajectory

HARD = f"{PREFIX}hard_repair"
SOFT = f"{PREFIX}soft_repair"
VERIFY = f"{PREFIX}verify"
DIAGNOSE = f"{PREFIX}diagnose"
ESCALATE = f"{PREFIX}escalate"
HEAL = f"{PREFIX}heal"

Destination: TypeAlias = Any
"""What a router returns for one destination: a label, a node name or a `Send`."""

Ends: TypeAlias = Mapping[Any, str] | None
"""A router's map from labels to nodes."""

Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Guard:
    """One guarded agent loop and how it is guarded.

    Attributes:
        loop: Where it stands in the graph.
        pipeline: The stages.
        catalog: The tools of this loop.
        messages_key: The state's key of the messages.
        wants_structured: Whether the agent owes a structured answer.
        splittable: Tool nodes that can take a part of a batch.
        heal: The healing node before the model.
        replaces: Whether the messages' reducer replaces a message by its id and can remove one.
        owner: Whose lessons are learned.
        clock: The time.
        instructions: Texts that the model is given outside of the messages.
    """

    loop: Loop
    pipeline: Pipeline
    catalog: Catalog
    messages_key: str = "messages"
    wants_structured: bool = False
    splittable: frozenset[str] = frozenset()
    heal: str = HEAL
    replaces: bool = True
    owner: str | None = None
    clock: Clock = utc_now
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """The newest message, the task it belongs to, and where the router wants to go.

    Attributes:
        messages: The whole history.
        message: The newest message of the agent.
        position: Where it stands in the history.
        trajectory: What the stages read.
        events: The ledger's events of this task.
        destinations: The router's answer.
        ends: The router's map from labels to nodes.
        context: Agent, thread, namespace, checkpoint and time, for events.
    """

    messages: Sequence[AnyMessage]
    message: AIMessage
    position: int
    trajectory: Trajectory
    events: Sequence[Event]
    destinations: tuple[Destination, ...]
    ends: Ends
    context: dict[str, Any]

    @property
    def task(self) -> Task:
        """The task."""
        return self.trajectory.task

    @property
    def step(self) -> str:
        """The id of the newest message."""
        return self.trajectory.proposal.id

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return self.trajectory.proposal.calls

    def target(self, destination: Destination) -> str:
        """The node that a destination means."""
        return target_of(destination, self.ends)


def target_of(destination: Destination, ends: Ends) -> str:
    """The node that a destination means: by `Send`, by label, or by its name."""
    if isinstance(destination, Send):
        return destination.node
    return str(ends.get(destination, destination) if ends else destination)


def value_of(state: Any, key: str) -> Any:
    """A value of the state, whether it is a mapping, a dataclass or a pydantic model."""
    if type(state) is dict or isinstance(state, Mapping):
        return state.get(key)
    return getattr(state, key, None)
