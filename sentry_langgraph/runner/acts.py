"""Repairs and verdicts carried out: texts, lessons, events. The part of a step that does I/O.

What may ask a language model is a flow, which the sync and the async loop drive.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sentry_langgraph import ledger
from sentry_langgraph.decisions import (
    Diagnose,
    Escalate,
    Execute,
    HardRepair,
    Remind,
    SoftRepair,
    Suppress,
    Verify,
)
from sentry_langgraph.judge import Flow, Judges, confirm_recovery, diagnose, worded
from sentry_langgraph.learn import Provenance, learn
from sentry_langgraph.pipeline import Outcome, Pipeline
from sentry_langgraph.playbook.port import Playbook
from sentry_langgraph.recall import count_outcome, find_lessons, store_lesson
from sentry_langgraph.records import ActiveRepair, Event, Finding, Judgement, Proposal, Trajectory
from sentry_langgraph.repair import compose, partial_answer, remembered, remind
from sentry_langgraph.runner.records import Repair
from sentry_langgraph.runner.task import OpenTask
from sentry_langgraph.taxonomy import Strategy

logger = logging.getLogger("sentry_langgraph")


@dataclass(frozen=True, slots=True)
class Acts:
    """Carries out what the pipeline decided.

    Attributes:
        pipeline: The stages.
        playbook: Where lessons lie, or None.
        clock: Gives the time, in UTC.
        agent: The agent's name.
        model: The chat model.
        owner: Whose lessons are learned.
        judges: The language models that are asked, or None.
    """

    pipeline: Pipeline
    playbook: Playbook | None
    clock: Callable[[], datetime]
    agent: str | None = None
    model: str | None = None
    owner: str | None = None
    judges: Judges | None = None

    def context(self, task: OpenTask) -> dict[str, Any]:
        """Where and when something happens, for events."""
        return {
            "agent": self.agent,
            "thread_id": task.task.id,
            "checkpoint_id": None,
            "checkpoint_ns": None,
            "at": self.clock().isoformat(timespec="seconds"),
        }

    def carry_out(
        self, task: OpenTask, trajectory: Trajectory, outcome: Outcome
    ) -> Flow[Repair | None]:
        """Do what was decided about a step, and say what the agent has to be told."""
        try:
            context = self.context(task)
            task.record([{**fault, **context} for fault in outcome.faults])
            repair: Repair | None = None
            for decision in outcome.decisions:
                match decision:
                    case Verify(judgements):
                        yield from self.judge(task, judgements, trajectory.proposal.id, context)
                    case Suppress(finding, reason):
                        task.record([ledger.suppressed(finding, task.task, reason, **context)])
                    case HardRepair(findings):
                        repair = self._repair(task, trajectory, findings, Strategy.HARD, context)
                    case SoftRepair(finding, hold):
                        strategy = Strategy.HOLD if hold else Strategy.ADVISE
                        repair = self._repair(task, trajectory, (finding,), strategy, context)
                    case Remind(owed):
                        repair = self._remind(task, trajectory, owed, context)
                    case Escalate(finding, human):
                        repair = self._end(task, trajectory, finding, human, context)
                    case Diagnose():
                        found = yield from self._diagnosed(task, trajectory, decision, context)
                        repair = found or repair
                    case Execute():
                        pass
        except Exception:  # our own fault must never be the user's
            logger.exception("a repair could not be made; the agent goes on without it")
            return None
        return repair

    def _diagnosed(
        self,
        task: OpenTask,
        trajectory: Trajectory,
        asked: Diagnose,
        context: Mapping[str, Any],
    ) -> Flow[Repair | None]:
        """Ask the judge about the step that has run, and give advice where it finds a failure."""
        if self.judges is None:
            return None
        seen = task.trajectory(trajectory.proposal)  # with the step's own result
        found = yield from diagnose(self.judges, seen, asked.suspicions)
        step = trajectory.proposal.id
        task.record([found.recorded(task.task, step, asked.why, asked.suspicions, **context)])
        if found.finding is None:
            return None
        repair: Repair | None = None
        for decision in self.pipeline.diagnosed(seen, found.finding, asked.suspicions):
            match decision:
                case Verify(judgements):
                    yield from self.judge(task, judgements, trajectory.proposal.id, context)
                case Suppress(finding, reason):
                    task.record([ledger.suppressed(finding, task.task, reason, **context)])
                case SoftRepair(finding, hold):
                    strategy = Strategy.HOLD if hold else Strategy.ADVISE
                    repair = self._repair(task, trajectory, (finding,), strategy, context)
        return repair

    def _repair(
        self,
        task: OpenTask,
        trajectory: Trajectory,
        findings: Sequence[Finding],
        strategy: Strategy,
        context: Mapping[str, Any],
    ) -> Repair:
        started = time.perf_counter()
        options = self.pipeline.repair
        first, step = findings[0], trajectory.proposal.id
        hard = strategy is Strategy.HARD
        lessons, fault = find_lessons(
            self.playbook,
            first,
            task.catalog,
            wanted=0 if hard else options.max_lessons,
            agent=self.agent,
            model=self.model,
        )
        if fault is not None:
            task.record([ledger.notice("fault:playbook", task.task, step, error=fault, **context)])
        attempt = trajectory.attempt_at(first.tool)
        first = remembered(first, lessons, task.catalog)
        findings = (first, *findings[1:])
        text = compose(
            first,
            task.catalog,
            task.task,
            lessons=lessons,
            attempt=attempt,
            last_attempt=hard and attempt > options.max_hard_attempts,
            max_chars=options.max_chars,
        )
        tokens = len(text) // 4
        for finding in findings:
            task.record(
                [
                    ledger.failure(finding, task.task, **context),
                    ledger.repair(
                        finding,
                        task.task,
                        strategy,
                        lessons=[scored.lesson.id for scored in lessons],
                        tokens=tokens,
                        seconds=time.perf_counter() - started,
                        **context,
                    ),
                ]
            )
            tokens = 0
        return Repair(
            id=ledger.event_id("repair", step, first.key),
            step=step,
            strategy=strategy,
            prompt_text=text,
            findings=tuple(findings),
            lessons=tuple(scored.lesson for scored in lessons),
        )

    def _remind(
        self,
        task: OpenTask,
        trajectory: Trajectory,
        owed: Sequence[ActiveRepair],
        context: Mapping[str, Any],
    ) -> Repair:
        step = trajectory.proposal.id
        names = [one.owes or one.tool for one in owed]
        text = remind(owed, task.catalog, task.task)
        event = ledger.notice(
            ledger.REMINDER, task.task, step, owed=names, tokens=len(text) // 4, **context
        )
        task.record([event])
        return Repair(
            id=event["id"],
            step=step,
            strategy=Strategy.ADVISE,
            prompt_text=text,
            owed=tuple(name for name in names if name),
        )

    def _end(
        self,
        task: OpenTask,
        trajectory: Trajectory,
        finding: Finding,
        human: bool,
        context: Mapping[str, Any],
    ) -> Repair:
        attempt = max(trajectory.hard_streak, trajectory.state.failed.get(finding.key, 0)) + 1
        task.record([ledger.failure(finding, task.task, **context)])
        if not human:
            task.record([ledger.escalation(finding, task.task, "stopped", **context)])
        return Repair(
            id=ledger.event_id("escalation", trajectory.proposal.id, finding.key),
            step=trajectory.proposal.id,
            strategy=Strategy.HUMAN if human else Strategy.STOP,
            prompt_text=compose(
                finding,
                task.catalog,
                task.task,
                attempt=attempt,
                last_attempt=True,
                max_chars=self.pipeline.repair.max_chars,
            ),
            findings=(finding,),
            answer=partial_answer(finding, task.steps, task.task),
        )

    def judge(
        self,
        task: OpenTask,
        judgements: Sequence[Judgement],
        step: str,
        context: Mapping[str, Any],
    ) -> Flow[None]:
        """Record verdicts, count the lessons that were shown, and learn."""
        for rules in judgements:
            made = rules.repair
            judgement, event = yield from self._reviewed(task, rules, step, context)
            task.record([event])
            count_outcome(self.playbook, made.lessons, judgement.verdict, context["at"])
            if not self.pipeline.learn.enabled:
                continue
            learned = learn(judgement, task.catalog, self._provenance(task, context))
            if learned is None:
                continue
            wording: dict[str, Any] = {}
            if self.judges is not None and self.pipeline.learn.wording == "judge":
                given = yield from worded(self.judges, learned, _spent(task))
                learned, wording = given.lesson, given.recorded()
            stored = store_lesson(self.playbook, learned)
            task.record(
                [
                    ledger.lesson(
                        learned,
                        task.task,
                        step,
                        stored=stored,
                        repair_id=made.id,
                        **wording,
                        **context,
                    )
                ]
            )

    def _reviewed(
        self, task: OpenTask, judgement: Judgement, step: str, context: Mapping[str, Any]
    ) -> Flow[tuple[Judgement, Event]]:
        """The verdict, by the judge where rules saw no sign either way and it is asked for."""
        event = ledger.verdict(judgement, task.task, step, **context)
        asks = judgement.undecided and not judgement.repair.hard and self.pipeline.verify.judge
        if not asks or self.judges is None:
            return judgement, event
        seen = task.trajectory(Proposal(step, ""))
        given = yield from confirm_recovery(self.judges, judgement, seen, _spent(task))
        return given.judgement, given.recorded(event)

    def _provenance(self, task: OpenTask, context: Mapping[str, Any]) -> Provenance:
        return Provenance(
            at=context["at"],
            agent=self.agent,
            thread_id=task.task.id,
            model=self.model,
            owner=self.owner,
        )


def _spent(task: OpenTask) -> int:
    return ledger.fold(task.events).judge_tokens
