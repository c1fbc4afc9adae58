"""The current task up to the newest message: what every stage looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sentry_langgraph.provenance import Provenance
from sentry_langgraph.records.calls import Observation, Proposal, Step, ToolCall
from sentry_langgraph.records.findings import ActiveRepair
from sentry_langgraph.records.tools import Catalog

Event: TypeAlias = dict[str, Any]
"""One entry of the ledger: plain JSON, at most a few kilobytes, no argument values."""


@dataclass(frozen=True, slots=True)
class Task:
    """The stretch from one user message to the next.

    Attributes:
        id: The id of the user message that opened it.
        objective: The text of that message.
    """

    id: str = ""
    objective: str = ""


@dataclass(frozen=True, slots=True)
class TaskState:
    """What the ledger says about the current task: the fold of its events.

    Attributes:
        active: Repairs whose verdict is open, oldest first.
        soft_repairs: How many soft repairs the task has had.
        failed: How often a repair failed, by failure key.
        hard_steps: Ids of the messages that hard repairs answered.
        last_soft_step: The message id that the last soft repair answered.
        suppressed: Keys and reasons of what is already recorded and need not be again.
        tokens: Approximate tokens of guidance so far.
        seconds: Time spent in repairs so far.
        guidance: Ids of our messages that are still in the context, by failure key.
        judged_step: The message id that the last diagnosis of the judge was about.
        judge_streak: Diagnoses in a row that found nothing, since the last repair.
        judge_tokens: Tokens that the judge has used so far.
    """

    active: tuple[ActiveRepair, ...] = ()
    soft_repairs: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    hard_steps: frozenset[str] = frozenset()
    last_soft_step: str | None = None
    suppressed: frozenset[tuple[str, str]] = frozenset()
    tokens: int = 0
    seconds: float = 0.0
    guidance: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    judged_step: str | None = None
    judge_streak: int = 0
    judge_tokens: int = 0

    @property
    def owed(self) -> tuple[ActiveRepair, ...]:
        """Repairs whose held action is still owed."""
        return tuple(repair for repair in self.active if repair.owes)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What the gate sees: the current task up to the newest message.

    Attributes:
        task: The task.
        steps: The steps that have run, oldest first, at most the window.
        proposal: The newest message.
        catalog: The tools.
        state: The fold of the ledger.
        provenance: Where values come from: all that the agent was told and saw, of every task.
    """

    task: Task
    steps: tuple[Step, ...]
    proposal: Proposal
    catalog: Catalog = field(default_factory=Catalog)
    state: TaskState = field(default_factory=TaskState)
    provenance: Provenance = field(default_factory=Provenance)

    def done_since(self, step: str) -> frozenset[str]:
        """Tools that ran with success after the message `step`."""
        found: set[str] = set()
        for one in reversed(self.steps):
            if one.id == step:
                break
            found |= {seen.name for seen in one.observations if seen.worked}
        return frozenset(found)

    def last_run(
        self, tools: Set[str], *, since: str | None = None
    ) -> tuple[ToolCall, Observation] | None:
        """The newest call of some tools that was run, with its result; None where none was.

        Args:
            tools: Names of the tools that count.
            since: Only calls after the message with this id count.
        """
        for step in reversed(self.steps):
            if step.id == since:
                return None
            for call in reversed(step.calls):
                seen = step.observation_of(call) if call.name in tools else None
                if seen is not None and not seen.own:
                    return call, seen
        return None

    @property
    def given_values(self) -> frozenset[str]:
        """The values that the calls of the steps were given, as texts; not those inside others."""
        return frozenset(
            str(value)
            for step in self.steps
            for call in step.calls
            for value in (call.args or {}).values()
        )

    @property
    def hard_streak(self) -> int:
        """How many messages in a row, up to the last one, were answered by a hard repair."""
        return sum(1 for _ in self._hard_in_a_row())

    def attempt_at(self, tool: str | None) -> int:
        """Which attempt the newest message is, of those in a row that were answered by a hard
        repair and called a tool, from 1. None counts every call."""
        failed = 0
        for step in self._hard_in_a_row():
            if tool is not None and all(call.name != tool for call in step.calls):
                break
            failed += 1
        return failed + 1

    def _hard_in_a_row(self) -> Iterator[Step]:
        """The messages that were answered by a hard repair, newest first, up to another one."""
        for step in reversed(self.steps):
            if step.id not in self.state.hard_steps:
                return
            yield step
