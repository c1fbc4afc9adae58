"""The order of the stages, in one place: settle verdicts, detect, judge relapses, route.

Pure and without I/O, so it can run inside a conditional edge, and sync and async are the same.
A detector that raises is no finding: the fault is logged, reported as an event, and the agent
goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sentry_langgraph import ledger
from sentry_langgraph.decisions import (
    Decision,
    Escalate,
    Execute,
    HardRepair,
    Remind,
    SoftRepair,
    Suppress,
    Verify,
)
from sentry_langgraph.detect.base import Detector
from sentry_langgraph.detect.judge import Judge
from sentry_langgraph.learn import LearnOptions
from sentry_langgraph.records import Event, Finding, Judgement, Trajectory
from sentry_langgraph.repair import prepared
from sentry_langgraph.route import RepairOptions, advice_blocked, route
from sentry_langgraph.taxonomy import Severity, Verdict
from sentry_langgraph.verify import VerifyOptions, returned, settled

logger = logging.getLogger("sentry_langgraph")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the gate decided.

    Attributes:
        decisions: What to do, at most one of them acting on the calls. Empty means execute.
        findings: Everything that was detected.
        faults: Events about our own faults.
    """

    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    faults: tuple[Event, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether there is nothing to do and nothing to record."""
        return not self.decisions and not self.faults


HEALTHY = Outcome()

_ACTING = (HardRepair, SoftRepair, Escalate)
"""Decisions beside which the judge is not asked: the step is answered already."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The configured stages.

    Attributes:
        detectors: Pairs of kind and detector, in order.
        repair: The ladder and its budgets.
        verify: How recovery is judged.
        learn: Whether recoveries teach.
        window: Steps that detectors see.
        mode: `active` acts; `shadow` records what would have happened and touches nothing.
        judge: Says when a language model is asked; None asks none.
    """

    detectors: tuple[tuple[str, Detector], ...]
    repair: RepairOptions
    verify: VerifyOptions
    learn: LearnOptions
    window: int
    mode: Literal["active", "shadow"] = "active"
    judge: Judge | None = None

    @property
    def depth(self) -> int:
        """Steps that a trajectory has to hold for every stage."""
        return max(self.healthy_depth, self.verify.horizon) + 1

    @property
    def healthy_depth(self) -> int:
        """Steps that a trajectory has to hold while the ledger is empty."""
        if self.judge is None or self.judge.options.when == "suspicion":
            return self.window
        return max(self.window, self.judge.options.max_interval)

    def decide(self, trajectory: Trajectory) -> Outcome:
        """What to do about the newest message of `trajectory`."""
        outcome = self._by_rules(trajectory)
        if self.judge is None or any(isinstance(one, _ACTING) for one in outcome.decisions):
            return outcome
        # not where nothing could come of it, and in shadow mode no end of a run waits for it
        in_vain = (
            trajectory.proposal.finish
            if self.mode == "shadow"
            else advice_blocked(trajectory, self.repair)
        )
        if in_vain:
            return outcome
        asked = self.judge.due(trajectory, self._suspicions(outcome))
        if asked is None:
            return outcome
        return replace(outcome, decisions=(*outcome.decisions, asked))

    def diagnosed(
        self, trajectory: Trajectory, finding: Finding, suspicions: Sequence[Finding] = ()
    ) -> tuple[Decision, ...]:
        """What to do about a failure that the judge has found, within the same budgets.

        The judge alone never holds anything: it leads to advice. A wish to finish is held, once,
        where a rule had suspected the same failure.

        Args:
            trajectory: What the judge was asked about.
            finding: The failure that it named.
            suspicions: What rules had seen.
        """
        if self.mode == "shadow":
            return self._shadow(trajectory, (finding,))
        if trajectory.proposal.finish:
            if all(one.label is not finding.label for one in suspicions):
                known = (finding.key, "finish") in trajectory.state.suppressed
                return () if known else (Suppress(finding, "finish"),)
            finding = replace(finding, severity=Severity.HOLD)
        now = tuple(
            one
            for one in returned(trajectory, (finding,))
            if one.verdict is Verdict.RELAPSED  # a recovery is for the rules to see
        )
        routed = route(self._judged(trajectory, now), (finding,), self.repair)
        acted = tuple(one for one in routed if not isinstance(one, Execute | Remind))
        return (Verify(now), *acted) if now else acted

    def _suspicions(self, outcome: Outcome) -> tuple[Finding, ...]:
        """What rules saw for the first time and did not act on."""
        return tuple(
            one.finding
            for one in outcome.decisions
            if isinstance(one, Suppress)
            and (
                self.mode == "active"
                or one.finding.severity is Severity.INFO
                or one.finding.confidence < self.repair.confidence
            )
        )

    def _by_rules(self, trajectory: Trajectory) -> Outcome:
        before: tuple[Judgement, ...] = ()
        if trajectory.state.active and self.mode == "active":
            before = settled(trajectory, self.verify)
            trajectory = self._judged(trajectory, before)
        findings, faults = self.detect(trajectory)
        if findings:
            findings, more = self._prepared(findings, trajectory)
            faults += more
        if not findings and not trajectory.state.active and not faults and not before:
            return HEALTHY
        if self.mode == "shadow":
            return Outcome(self._shadow(trajectory, findings), findings, faults)
        now = returned(trajectory, findings)
        trajectory = self._judged(trajectory, now)
        decisions: list[Decision] = [Verify((*before, *now))] if before or now else []
        decisions += [
            decision
            for decision in route(trajectory, findings, self.repair)
            if not isinstance(decision, Execute)
        ]
        return Outcome(tuple(decisions), findings, faults)

    def detect(self, trajectory: Trajectory) -> tuple[tuple[Finding, ...], tuple[Event, ...]]:
        """What the detectors see in the newest message, and events about faults of theirs."""
        # the newest steps only: the trajectory is as deep as the horizon of verification
        if len(trajectory.steps) > self.window:
            trajectory = replace(trajectory, steps=trajectory.steps[-self.window :])
        findings: list[Finding] = []
        faults: list[Event] = []
        for kind, detector in self.detectors:
            try:
                found = detector.detect(trajectory)
                if found:
                    findings += [
                        finding for finding in found if not self._exempt(trajectory, finding)
                    ]
            except Exception as error:  # a detector may be the user's: the run must go on
                logger.exception("the detector %s failed; the agent goes on without it", kind)
                faults += _fault(f"detector:{kind}", error, trajectory)
        return tuple(findings), tuple(faults)

    def _prepared(
        self, findings: Sequence[Finding], trajectory: Trajectory
    ) -> tuple[tuple[Finding, ...], tuple[Event, ...]]:
        """The findings with what is to be done about them; as they are where that can't be said."""
        try:
            return tuple(prepared(finding, trajectory) for finding in findings), ()
        except Exception as error:  # a fault of ours takes the plan, never the repair
            logger.exception("no plan could be made; the repair goes without one")
            return tuple(findings), _fault("plan", error, trajectory)

    def _exempt(self, trajectory: Trajectory, finding: Finding) -> bool:
        spec = trajectory.catalog.tools.get(finding.tool) if finding.tool else None
        return spec is not None and finding.label in spec.exempt

    def _shadow(self, trajectory: Trajectory, findings: Sequence[Finding]) -> tuple[Decision, ...]:
        known = trajectory.state.suppressed
        return tuple(
            Suppress(finding, "shadow")
            for finding in findings
            if (finding.key, "shadow") not in known
        )

    def _judged(self, trajectory: Trajectory, judgements: Sequence[Judgement]) -> Trajectory:
        """The trajectory with the state that the verdicts lead to."""
        if not judgements:
            return trajectory
        events = [
            ledger.verdict(judgement, trajectory.task, trajectory.proposal.id)
            for judgement in judgements
        ]
        return replace(trajectory, state=ledger.fold(events, trajectory.state))


def _fault(where: str, error: Exception, trajectory: Trajectory) -> tuple[Event, ...]:
    """The event about a fault of ours; none where the task has it already."""
    what = f"fault:{where}"
    if (what, "notice") in trajectory.state.suppressed:
        return ()
    step = trajectory.proposal.id
    return (ledger.notice(what, trajectory.task, step, error=type(error).__name__),)
