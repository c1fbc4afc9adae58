"""`SentryRunner`: the pipeline for a loop that runs its actions itself.

A step arrives after it ran. It is looked at as the gate of a graph looks at a message, with the
difference that its result is known. What has to be said comes back as a text for the context.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeAlias
from uuid import uuid4

from sentry_langgraph import ledger
from sentry_langgraph.config import SentryConfig, load_config
from sentry_langgraph.errors import SentryError
from sentry_langgraph.pipeline import Outcome, Pipeline
from sentry_langgraph.playbook import Playbook, open_playbook
from sentry_langgraph.records import (
    Event,
    Proposal,
    Step,
    Task,
    Trajectory,
)
from sentry_langgraph.runner.acts import Acts
from sentry_langgraph.runner.records import Repair, Summary
from sentry_langgraph.runner.reported import ReportedValidity, ResultAware, TakenByTheEnvironment
from sentry_langgraph.runner.schemas import ActionSchema, catalog_of
from sentry_langgraph.runner.step import AgentStep, ending, executed, proposed
from sentry_langgraph.runner.task import OpenTask
from sentry_langgraph.signature import digest
from sentry_langgraph.taxonomy import Strategy
from sentry_langgraph.verify import settled

logger = logging.getLogger("sentry_langgraph")

ConfigSource: TypeAlias = SentryConfig | Mapping[str, Any] | str | os.PathLike[str] | None
Clock: TypeAlias = Callable[[], datetime]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SentryRunner:
    """Failure management for one loop, one task after the other.

    ```python
    sentry = SentryRunner.from_yaml("sentry.yaml")
    sentry.start_task(objective=request, action_schema=tools)
    while not done:
        ...  # the agent acts, the environment answers
        if repair := sentry.step(step, terminal=done):
            context.append(repair.prompt_text)
            done = done and not repair.hold
    summary = sentry.finalize()
    ```

    The async twins do the same; the playbook is read and written in a worker thread. As a
    context manager, sync or async, it finalizes the task that is open at the end. One runner
    belongs to one loop: calls from several threads at once are not for it.

    Args:
        config: A `SentryConfig`, a mapping, or the path of a YAML file. None is the default.
        playbook: Where lessons lie, instead of what the configuration says.
        agent: A name for the agent, for lessons and events.
        model: The chat model in use, likewise.
        clock: Gives the time, in UTC.

    Raises:
        ConfigError: The configuration is wrong.
    """

    def __init__(
        self,
        config: ConfigSource = None,
        *,
        playbook: Playbook | None = None,
        agent: str | None = None,
        model: str | None = None,
        clock: Clock = _utc_now,
    ) -> None:
        self._settings = load_config(config)
        self._pipeline = self._settings.pipeline()
        self._acts = Acts(
            pipeline=self._pipeline,
            playbook=playbook if playbook is not None else open_playbook(self._settings.playbook),
            clock=clock,
            agent=agent,
            model=model,
            owner=self._settings.playbook.owner,
        )
        self._open: OpenTask | None = None
        self._last: Summary | None = None

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """A runner with the settings of a YAML file.

        Args:
            path: The file.
            **options: As for the class.

        Raises:
            ConfigError: It can't be read or is wrong, with file, line, key and value.
        """
        return cls(SentryConfig.from_yaml(path), **options)

    @property
    def events(self) -> tuple[Event, ...]:
        """The ledger of the open task, or of the last one."""
        if self._open is not None:
            return tuple(self._open.events)
        return self._last.events if self._last is not None else ()

    def start_task(
        self,
        objective: str = "",
        action_schema: ActionSchema = None,
        *,
        task_id: str | None = None,
        instructions: str = "",
    ) -> None:
        """Begin a task. One that is still open is finalized first.

        Args:
            objective: The request, in the user's words. Every repair ends on it.
            action_schema: The tools, as a list of schemas (OpenAI, Anthropic or MCP form) or a
                mapping from names to JSON Schemas. None: no name is unknown, and arguments are
                not checked.
            task_id: Names the task in events and lessons; a fresh one by default.
            instructions: The system prompt and whatever else the model is told. A value that
                stands there is not made up.

        Raises:
            ConfigError: The action schema is not one.
        """
        catalog = catalog_of(action_schema, self._settings.tools)
        self._finalized()
        self._open = OpenTask(Task(task_id or uuid4().hex, objective), catalog, instructions)

    async def astart_task(
        self,
        objective: str = "",
        action_schema: ActionSchema = None,
        *,
        task_id: str | None = None,
        instructions: str = "",
    ) -> None:
        """As `start_task`."""
        catalog = catalog_of(action_schema, self._settings.tools)
        await asyncio.to_thread(self._finalized)
        self._open = OpenTask(Task(task_id or uuid4().hex, objective), catalog, instructions)

    def step(self, step: AgentStep, terminal: bool = False) -> Repair | None:
        """Look at a step that has run.

        Args:
            step: The step, such as `agent_step_from_parts` builds it.
            terminal: Whether the task is about to end with it: its end is looked at too.

        Returns:
            What to put into the context before the next step, or None where all is well.

        Raises:
            SentryError: No task was started.
        """
        pending = self._look(step, terminal)
        return None if pending is None else pending()

    async def astep(self, step: AgentStep, terminal: bool = False) -> Repair | None:
        """As `step`; a thread is used only where something has to be done."""
        pending = self._look(step, terminal)
        return None if pending is None else await asyncio.to_thread(pending)

    def resume(self, repair: Repair) -> None:
        """Go on after a person was asked: what had failed may be tried again.

        Args:
            repair: The repair whose strategy is `human`.

        Raises:
            SentryError: No task is open.
            ValueError: The repair did not ask a person.
        """
        if self._open is None:
            raise _no_task()
        if repair.strategy is not Strategy.HUMAN:
            raise ValueError(f"only a repair that asks a person resumes, not {repair.strategy!r}")
        task = self._open
        context = self._acts.context(task)
        task.record([ledger.escalation(repair.findings[0], task.task, "continue", **context)])

    def finalize(self) -> Summary:
        """End the task: last verdicts, last lessons, and what happened in it.

        Called again, it gives the same summary.

        Raises:
            SentryError: No task was started.
        """
        summary = self._finalized()
        if summary is None:
            raise _no_task()
        return summary

    async def afinalize(self) -> Summary:
        """As `finalize`."""
        summary = await asyncio.to_thread(self._finalized)
        if summary is None:
            raise _no_task()
        return summary

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finalized()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._finalized)

    def _look(self, step: AgentStep, terminal: bool) -> Callable[[], Repair | None] | None:
        """What is left to do about a step, with its I/O; None where all is well."""
        task = self._open
        if task is None:
            raise _no_task()
        if self._settings.mode == "off":
            return None
        id_ = task.unique(step.id)
        ran = executed(step, id_)
        try:
            looked = self._outcome(task, step, ran, terminal)
        except Exception as error:  # our own fault must never be the user's
            logger.exception("a step could not be looked at; the agent goes on")
            event = ledger.notice("fault:step", task.task, id_, error=type(error).__name__)
            task.record([{**event, **self._acts.context(task)}])
            looked = None
        task.add(ran, self._pipeline.depth)
        if looked is None:
            return None
        trajectory, outcome = looked
        return lambda: self._acts.carry_out(task, trajectory, outcome)

    def _outcome(
        self, task: OpenTask, step: AgentStep, ran: Step, terminal: bool
    ) -> tuple[Trajectory, Outcome] | None:
        pipeline = _informed(self._pipeline, step, ran)
        trajectory = task.trajectory(proposed(step, ran.id, finish=terminal))
        outcome = pipeline.decide(trajectory)
        quiet = not outcome.findings and not outcome.faults
        if quiet and terminal and ran.calls and trajectory.state.owed:
            # nothing is wrong with the last action itself: is something else still owed?
            trajectory = task.trajectory(ending(step, ran.id), ran)
            outcome = pipeline.decide(trajectory)
        return None if outcome.healthy else (trajectory, outcome)

    def _finalized(self) -> Summary | None:
        """Judge what the steps decide by now, and close the task; the last summary if none."""
        task = self._open
        if task is None:
            return self._last
        try:
            if task.steps and self._pipeline.mode == "active":
                last = task.steps[-1].id
                trajectory = task.trajectory(Proposal(last, ""))
                self._acts.judge(
                    task, settled(trajectory, self._pipeline.verify), last, self._acts.context(task)
                )
        except Exception:
            logger.exception("the last verdicts of a task could not be given")
        state = ledger.fold(task.events)
        self._last = Summary.of(
            task.task.id, task.count, task.events, tuple(repair.id for repair in state.active)
        )
        self._open = None
        return self._last


def _informed(pipeline: Pipeline, step: AgentStep, ran: Step) -> Pipeline:
    """The pipeline with what only the loop knows: flags of the environment, and the result."""

    def detectors() -> Iterator[tuple[str, Any]]:
        for kind, detector in pipeline.detectors:
            if kind == "action_validity":
                yield kind, ReportedValidity(detector, step)
            elif kind == "repetition_or_looping":
                result = digest(step.observation) if step.observation is not None else None
                yield kind, ResultAware(detector, result, step.status == "error")
            elif kind == "hallucination":
                yield kind, TakenByTheEnvironment(detector, step.status == "success")
            else:
                yield kind, detector

    return replace(pipeline, detectors=tuple(detectors()))


def _no_task() -> SentryError:
    return SentryError("no task is open: call start_task(objective=…, action_schema=…) first")
