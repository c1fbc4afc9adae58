"""Failures of the environment: outages, rate limits, missing access, and the same error again.

Looks at what came back in the last step, and only where something failed there. What is to be
retried is not this detector's business: it says when asking again is of no use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.error_kinds import TRANSIENT, classify, not_there
from sentry_langgraph.options import PositiveCount, Switch
from sentry_langgraph.records import Finding, Observation, ToolCall, ToolSpec, Trajectory
from sentry_langgraph.signature import call_key
from sentry_langgraph.taxonomy import Label, Origin, Severity

_SAYS: Mapping[Label, str] = {
    Label.DEPENDENCY_OUTAGE: (
        "`{tool}` was not reachable or did not answer in time ({count} in a row)"
    ),
    Label.RATE_LIMITED: "`{tool}` refuses for too many requests ({count} in a row)",
    Label.AUTH_OR_CONFIG: "`{tool}` has no valid access or is not set up",
}


class EnvironmentOptions(DetectorOptions):
    """Options of `environment_failure`.

    Attributes:
        outages_at: Failures of one tool in a row, by outage or rate limit, before the agent is
            advised not to ask again; earlier ones are recorded.
        access: Advice at the first call after a tool said that access or settings are wrong.
        same_call: Advice where a change that just failed is made again unchanged.
    """

    outages_at: PositiveCount = 2
    access: Switch = True
    same_call: Switch = True


class Environment:
    """What failed in the last step, and whether the agent asks for it again."""

    Options: ClassVar[type[DetectorOptions]] = EnvironmentOptions

    def __init__(self, options: EnvironmentOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding for each label."""
        if not trajectory.steps or not trajectory.proposal.calls:
            return ()
        failures = [
            seen
            for seen in trajectory.steps[-1].observations
            if seen.status == "error" and not seen.own
        ]
        if not failures:
            return ()
        found: dict[Label, Finding] = {}
        for finding in self._findings(trajectory, failures):
            known = found.get(finding.label)
            if known is None or known.severity is Severity.INFO:
                found[finding.label] = finding
        return tuple(found.values())

    def _findings(
        self, trajectory: Trajectory, failures: Iterable[Observation]
    ) -> Iterator[Finding]:
        for seen in failures:
            tool = _tool_of(seen, trajectory)
            if trajectory.catalog.spec(tool).polling:
                continue
            label = classify(seen.text, seen.status)
            if label is Label.TOOL_ERROR:
                yield from self._same_call(trajectory, seen)
            elif label is not None:
                yield self._infrastructure(trajectory, label, tool)

    def _infrastructure(self, trajectory: Trajectory, label: Label, tool: str) -> Finding:
        again = [call for call in trajectory.proposal.calls if call.name == tool]
        count = _in_a_row(label, tool, trajectory)
        enough = count >= self._options.outages_at if label in TRANSIENT else self._options.access
        return Finding(
            label,
            trajectory.proposal.id,
            key=f"{label}:{tool}",
            confidence=0.75,  # below a loop at the same step, whose plan names what to do
            severity=Severity.ADVISE if again and enough else Severity.INFO,
            detail=_SAYS[label].format(tool=tool, count=count),
            evidence={"tool": tool, "count": count, "again": bool(again)},
            calls=tuple(call.index for call in again),
            tool=tool,
            origin=Origin.SYSTEM,
        )

    def _same_call(self, trajectory: Trajectory, seen: Observation) -> Iterator[Finding]:
        if not self._options.same_call or not_there(seen.text):
            return
        failed = _call_of(seen, trajectory)
        if failed is None or failed.args is None:
            return
        spec = trajectory.catalog.spec(failed.name)
        if spec.read_only is not False:
            return  # a look-up costs little, and its repeats are counted as a loop
        key = call_key(failed, spec)
        for call in trajectory.proposal.calls:
            if call.name != failed.name or call_key(call, spec) != key:
                continue
            # from the second repeat on it is a loop, which has a detector of its own
            if _times(key, spec, trajectory) == 1:
                yield Finding(
                    Label.TOOL_ERROR,
                    trajectory.proposal.id,
                    key=f"{Label.TOOL_ERROR}:{key}",
                    confidence=0.7,
                    severity=Severity.ADVISE,
                    detail=f"`{call.name}` has just failed with the very same arguments",
                    evidence={"tool": call.name},
                    calls=(call.index,),
                    tool=call.name,
                    pattern="same_call",
                    origin=Origin.TOOL,
                    related=(key,),
                )
            return


def _tool_of(seen: Observation, trajectory: Trajectory) -> str:
    """The tool by the call: a tool message may not say its name."""
    call = _call_of(seen, trajectory)
    return call.name if call is not None else seen.name


def _call_of(seen: Observation, trajectory: Trajectory) -> ToolCall | None:
    calls = trajectory.steps[-1].calls
    return next((call for call in calls if call.id == seen.call_id), None)


def _in_a_row(label: Label, tool: str, trajectory: Trajectory) -> int:
    """How many of the tool's latest results, one after the other, failed in this way."""
    count = 0
    for step in reversed(trajectory.steps):
        for call in reversed(step.calls):
            seen = step.observation_of(call)
            if call.name != tool or seen is None or seen.own:
                continue
            if classify(seen.text, seen.status) is not label:
                return count
            count += 1
    return count


def _times(key: str, spec: ToolSpec, trajectory: Trajectory) -> int:
    return sum(
        call.name == spec.name and call_key(call, spec) == key
        for step in trajectory.steps
        for call in step.calls
    )
