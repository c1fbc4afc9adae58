"""Did the agent recover? Judged by the steps that follow a repair, never by a task reward.

Each label has a resolution criterion (`taxonomy.DEFINITIONS`). A repair is `recovered` as soon
as the criterion holds, `relapsed` at once when the failure comes back, and `expired` when the
horizon passes. Detection goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from sentry_langgraph.ledger import JUDGE
from sentry_langgraph.options import Options, PositiveCount, Switch
from sentry_langgraph.provenance import fields
from sentry_langgraph.records import (
    ActiveRepair,
    Finding,
    Judgement,
    Observation,
    PathStep,
    Step,
    ToolCall,
    Trajectory,
)
from sentry_langgraph.relevance import comparable, serves
from sentry_langgraph.signature import call_key
from sentry_langgraph.slots import identifies, leaves_of
from sentry_langgraph.taxonomy import Label, Verdict

_SAME_TOOL = frozenset(
    {
        Label.UNKNOWN_TOOL,
        Label.MALFORMED_ARGUMENTS,
        Label.INVALID_ARGUMENTS,
        Label.HALLUCINATION,
        Label.REASONING_ACTION_MISMATCH,
    }
)
"""Labels whose repair asks for one tool to run with success."""

_ANSWER_COUNTS = frozenset(
    {
        Label.REPETITION_OR_LOOPING,
        Label.PLANNING_STALL,
        Label.TERMINATION_MISCALIBRATION,
        Label.OVER_EXPLORATION,
        Label.MALFORMED_MODEL_OUTPUT,
        Label.STRUCTURED_OUTPUT_INVALID,
        Label.REASONING_ACTION_MISMATCH,
        Label.DEPENDENCY_OUTAGE,
        Label.RATE_LIMITED,
        Label.AUTH_OR_CONFIG,
        Label.TOOL_ERROR,
        Label.SUSPECTED_INJECTION,
        Label.USER_AMBIGUITY,
    }
)
"""Labels that a real final answer resolves."""


_ANSWERED_PATTERNS = frozenset({"claimed_call", "unrequested_change"})
"""Patterns that an answer without the claim, or without the change, resolves."""


class VerifyOptions(Options):
    """How recovery is judged.

    Attributes:
        horizon: Steps after a repair within which it has to show.
        steps: Steps in a row that have to meet the criterion.
        judge: Whether the judge gives the verdict on a soft repair where the horizon has passed
            and rules saw no sign either way. It needs a model: that of the detector `judge`,
            or that of the section `model`.
    """

    horizon: PositiveCount = 10
    steps: PositiveCount = 1
    judge: Switch = False


def settled(trajectory: Trajectory, options: VerifyOptions) -> tuple[Judgement, ...]:
    """Verdicts that the steps alone decide: recovered or expired. Due before detection."""
    judged = (_by_steps(repair, trajectory, options) for repair in trajectory.state.active)
    return tuple(judgement for judgement in judged if judgement is not None)


def returned(trajectory: Trajectory, findings: Sequence[Finding]) -> tuple[Judgement, ...]:
    """Verdicts that the newest message decides: relapsed, or recovered by a real answer."""
    judged = (_by_message(repair, trajectory, findings) for repair in trajectory.state.active)
    return tuple(judgement for judgement in judged if judgement is not None)


def _by_steps(
    repair: ActiveRepair, trajectory: Trajectory, options: VerifyOptions
) -> Judgement | None:
    following = _after(repair, trajectory.steps)
    if following is None:
        return Judgement(repair, Verdict.EXPIRED, "the repair is older than the window")
    in_a_row = 0
    for step in following:
        in_a_row = in_a_row + 1 if _meets(repair, step, trajectory) else 0
        if in_a_row >= options.steps:
            path = _path(repair, following, step, trajectory)
            return Judgement(repair, Verdict.RECOVERED, _why(repair), path)
    if len(following) >= options.horizon:
        why = f"no recovery within {options.horizon} steps"
        return Judgement(repair, Verdict.EXPIRED, why, undecided=True)
    return None


def _by_message(
    repair: ActiveRepair, trajectory: Trajectory, findings: Sequence[Finding]
) -> Judgement | None:
    if any(finding.key == repair.key for finding in findings):
        return Judgement(repair, Verdict.RELAPSED, "the same failure came back")
    if _answered(repair, trajectory, findings):
        return Judgement(repair, Verdict.RECOVERED, "the agent gave an answer")
    return None


def _after(repair: ActiveRepair, steps: Sequence[Step]) -> tuple[Step, ...] | None:
    """The steps after the repaired one; None where that one has left the window."""
    for position, step in enumerate(steps):
        if step.id == repair.step:
            return tuple(steps[position + 1 :])
    return None


def _meets(repair: ActiveRepair, step: Step, trajectory: Trajectory) -> bool:
    if repair.label is Label.OBJECTIVE_DRIFT and not _serves(step, trajectory):
        return False
    return any(_call_meets(repair, step, call, trajectory) for call in step.calls)


def _serves(step: Step, trajectory: Trajectory) -> bool:
    """Whether a step belongs to the request again, as far as words can say."""
    objective = trajectory.task.objective
    if not comparable(objective):
        return True
    served, _ = serves(objective, trajectory.steps)
    return served[trajectory.steps.index(step)] is not False


def _call_meets(repair: ActiveRepair, step: Step, call: ToolCall, trajectory: Trajectory) -> bool:
    result = step.observation_of(call)
    if result is None or not result.worked:
        return False
    if repair.pattern in _ANSWERED_PATTERNS and not repair.owes:
        return repair.pattern == "claimed_call" and call.name == repair.tool
    named = repair.label in _SAME_TOOL or repair.label is Label.TERMINATION_MISCALIBRATION
    if named and repair.tool in trajectory.catalog.tools:
        return call.name == repair.tool and _grounded(repair, step, call, trajectory)
    if repair.owes:
        return call.name == repair.owes
    if repair.related:
        spec = trajectory.catalog.spec(call.name)
        if call_key(call, spec) in repair.related:
            return False
        return spec.read_only is False or result.digest not in _loop_results(repair, trajectory)
    # what only a judge could see, the success of just any call does not settle
    return repair.pattern != JUDGE


def _grounded(repair: ActiveRepair, step: Step, call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether the argument of a repaired hallucination stands in anything but this step.

    Without provenance the environment, which took the value, decides.
    """
    if repair.label is not Label.HALLUCINATION or not repair.argument:
        return True
    spec = trajectory.catalog.tools.get(call.name)
    provenance = trajectory.provenance
    if next(iter(provenance.passages()), None) is None:
        return True
    return all(
        any(source.passage.step != step.id for source in provenance.sources(leaf.value))
        for leaf in leaves_of(call.args or {}, spec)
        if leaf.name == repair.argument
    )


def _loop_results(repair: ActiveRepair, trajectory: Trajectory) -> frozenset[str]:
    """Digests of what the loop's calls gave: a look-up that gives one of them is not new."""
    return frozenset(
        result.digest
        for step in trajectory.steps
        for call in step.calls
        if call_key(call, trajectory.catalog.spec(call.name)) in repair.related
        and (result := step.observation_of(call)) is not None
        and not result.own
    )


def _answered(repair: ActiveRepair, trajectory: Trajectory, findings: Sequence[Finding]) -> bool:
    """Whether the newest message is an answer that nothing speaks against."""
    proposal = trajectory.proposal
    counts = repair.label in _ANSWER_COUNTS or repair.pattern in _ANSWERED_PATTERNS
    if not counts or not proposal.finish or findings:
        return False
    return proposal.structured or bool(proposal.text.strip())


def _why(repair: ActiveRepair) -> str:
    if repair.owes:
        return f"`{repair.owes}` ran with success"
    return "a different call ran with success" if repair.related else "a call ran with success"


def _path(
    repair: ActiveRepair, following: Sequence[Step], last: Step, trajectory: Trajectory
) -> tuple[PathStep, ...]:
    """The successful calls up to the one that recovered, in order, without repeats."""
    made: list[tuple[ToolCall, Observation]] = []
    for step in following:
        for call in step.calls:
            result = step.observation_of(call)
            worked = result is not None and result.worked
            known = call.name in trajectory.catalog.tools
            if (
                result is not None
                and worked
                and known
                and (not repair.related or _call_meets(repair, step, call, trajectory))
            ):
                made.append((call, result))
        if step is last:
            break
    path: list[PathStep] = []
    for place, (call, result) in enumerate(made):
        # names that the schema knows: one that the model made up could say anything
        declared = trajectory.catalog.tools[call.name].arguments
        given = tuple(sorted(name for name in call.args or () if name in declared))
        later = [taker for taker, _ in made[place + 1 :]]
        one = PathStep(call.name, given, _given_on(result, later, trajectory))
        if not any((one.tool, one.arguments) == (old.tool, old.arguments) for old in path):
            path.append(one)
    return tuple(path)


def _given_on(result: Observation, later: Sequence[ToolCall], trajectory: Trajectory) -> str:
    """The argument of a later call that took an identifier of this result; empty where none did.

    It is the argument's name and not the field's: what a tool calls its fields is its own text.
    """
    taken = {
        str(value): name
        for call in reversed(later)
        for name, value in (call.args or {}).items()
        if name in trajectory.catalog.tools[call.name].arguments
        and identifies(name)
        and isinstance(value, str | int)
    }
    if not taken:
        return ""
    return next((taken[str(value)] for _, value in fields(result.text) if str(value) in taken), "")
