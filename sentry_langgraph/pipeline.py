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
from sentry_langgraph.decisions import Decision, Execute, Suppress, Verify
from sentry_langgraph.detect.base import Detector
from sentry_langgraph.learn import LearnOptions
from sentry_langgraph.records import Event, Finding, Judgement, Trajectory
from sentry_langgraph.route import RepairOptions, route
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
    """

    detectors: tuple[tuple[str, Detector], ...]
    repair: RepairOptions
    verify: VerifyOptions
    learn: LearnOptions
    window: int
    mode: Literal["active", "shadow"] = "active"

    @property
    def depth(self) -> int:
        """Steps that a trajectory has to hold for every stage."""
        return max(self.window, self.verify.horizon) + 1

    def decide(self, trajectory: Trajectory) -> Outcome:
        """What to do about the newest message of `trajectory`."""
        before: tuple[Judgement, ...] = ()
        if trajectory.state.active and self.mode == "active":
            before = settled(trajectory, self.verify)
            trajectory = self._judged(trajectory, before)
        findings, faults = self.detect(trajectory)
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
                what = f"fault:detector:{kind}"
                if (what, "notice") not in trajectory.state.suppressed:
                    faults.append(
                        ledger.notice(
                            what,
                            trajectory.task,
                            trajectory.proposal.id,
                            error=type(error).__name__,
                        )
                    )
        return tuple(findings), tuple(faults)

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
