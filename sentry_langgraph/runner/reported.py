"""What the environment says of an action that has run, as findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sentry_langgraph.detect.base import Detector, DetectorOptions
from sentry_langgraph.detect.novelty import same_text
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.runner.step import AgentStep
from sentry_langgraph.signature import call_key, digest
from sentry_langgraph.taxonomy import Label, Severity

_NAME_SHOWN = 80
_TEXT_SHOWN = 160


@dataclass(frozen=True, slots=True)
class ReportedValidity:
    """`action_validity` for a step whose outcome is known.

    The detector still names what is wrong where it can, which says more than a flag. The flags
    of the environment add what only it can know, and an action that it took is not invalid.

    Attributes:
        inner: The configured detector.
        step: The step, with the environment's flags.
    """

    Options: ClassVar[type[DetectorOptions]] = DetectorOptions

    inner: Detector
    step: AgentStep

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """What the detector names, or else what the flags say."""
        step = self.step
        if step.parsed_ok and step.accepted_by_environment is True:
            return _nothing_came_back(trajectory) if step.observation is None else ()
        found = [one for one in self.inner.detect(trajectory) if not self._contradicted(one)]
        return found or _flagged(step, trajectory)

    def _contradicted(self, finding: Finding) -> bool:
        return finding.label is Label.INVALID_ARGUMENTS and self.step.schema_valid is True


def _flagged(step: AgentStep, trajectory: Trajectory) -> Iterable[Finding]:
    proposal = trajectory.proposal
    if not step.parsed_ok and not proposal.calls:
        shown = _shown(step.raw_action)
        return (
            Finding(
                Label.MALFORMED_MODEL_OUTPUT,
                proposal.id,
                key=Label.MALFORMED_MODEL_OUTPUT.value,
                detail=f"the message holds no action that can be read. You wrote: {shown}"
                if shown
                else "the message holds no action that can be read",
                evidence={"characters": len(step.raw_action)},
            ),
        )
    if not proposal.calls:
        return ()
    call = proposal.calls[0]
    name = call.name[:_NAME_SHOWN]
    if step.schema_valid is False:
        return (
            Finding(
                Label.INVALID_ARGUMENTS,
                proposal.id,
                key=f"{Label.INVALID_ARGUMENTS}:{name}",
                detail="the arguments break the schema of the action"
                + (f": {_shown(step.observation)}" if step.observation else ""),
                evidence={"reported": "schema_valid"},
                calls=(call.index,),
                tool=name,
                intention=True,
            ),
        )
    if step.accepted_by_environment is False:
        spec = trajectory.catalog.spec(call.name)
        key = call_key(call, spec)
        return (
            Finding(
                Label.UNAVAILABLE_TARGET,
                proposal.id,
                key=f"{Label.UNAVAILABLE_TARGET}:{key}",
                detail="the environment did not take it"
                + (f": {_shown(step.observation)}" if step.observation else ""),
                evidence={"reported": "accepted_by_environment", "tool": name},
                calls=(call.index,),
                tool=name,
                related=(key,),
            ),
        )
    return _nothing_came_back(trajectory) if step.observation is None else ()


def _nothing_came_back(trajectory: Trajectory) -> Iterable[Finding]:
    proposal = trajectory.proposal
    if not proposal.calls or proposal.finish:
        return ()
    name = proposal.calls[0].name[:_NAME_SHOWN]
    return (
        Finding(
            Label.NO_OBSERVABLE_OUTPUT,
            proposal.id,
            key=f"{Label.NO_OBSERVABLE_OUTPUT}:{name}",
            severity=Severity.ADVISE,
            detail=f"no result of `{name}` came back",
            evidence={"tool": name},
            tool=name,
        ),
    )


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _TEXT_SHOWN else flat[:_TEXT_SHOWN] + "…"


@dataclass(frozen=True, slots=True)
class ResultAware:
    """`repetition_or_looping` for a step whose result is known.

    A call that comes back with another result than before is no loop, however often it was made.

    Attributes:
        inner: The configured detector.
        result: The step's result, or None where nothing came back.
        failed: Whether the step failed.
    """

    Options: ClassVar[type[DetectorOptions]] = DetectorOptions

    inner: Detector
    result: str | None
    failed: bool

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """What the detector finds, unless the result is new."""
        found = tuple(
            one
            for one in self.inner.detect(trajectory)
            if self.failed or one.pattern != "same_error"
        )
        if not found or self.result is None or not trajectory.proposal.calls:
            return found
        call = trajectory.proposal.calls[0]
        spec = trajectory.catalog.spec(call.name)
        key = call_key(call, spec)
        results = [
            seen
            for step in trajectory.steps
            for earlier in step.calls
            if call_key(earlier, spec) == key and (seen := step.observation_of(earlier))
        ]
        if not results or results[-1].digest == digest(self.result):
            return found
        return found if same_text(results[-1].text, self.result) else ()


@dataclass(frozen=True, slots=True)
class TakenByTheEnvironment:
    """`hallucination` for a step whose call may have worked.

    What the environment took exists, and what is done can't be held any more.

    Attributes:
        inner: The configured detector.
        worked: Whether the step's call ran with success.
    """

    Options: ClassVar[type[DetectorOptions]] = DetectorOptions

    inner: Detector
    worked: bool

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """The configured detector's findings, of calls only where they failed."""
        if self.worked and trajectory.proposal.calls:
            return ()
        return self.inner.detect(trajectory)
