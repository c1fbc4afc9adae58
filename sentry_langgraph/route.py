"""From findings to one decision: the ladder and its budgets.

Advise, then hold, then ask a human or stop with an honest partial answer. What a budget keeps
from acting is recorded all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from sentry_langgraph.decisions import (
    Decision,
    Escalate,
    Execute,
    HardRepair,
    Remind,
    SoftRepair,
    Suppress,
)
from sentry_langgraph.options import Count, Options, PositiveCount, Seconds, Share
from sentry_langgraph.records import ActiveRepair, Finding, TaskState, Trajectory
from sentry_langgraph.taxonomy import Label, Severity


class RepairOptions(Options):
    """How far repairs go. Counts and times are for one task: from one user message to the next.

    Attributes:
        confidence: Findings below it are recorded and not acted on.
        max_soft_repairs: Soft repairs in one task.
        max_hard_attempts: Hard repairs in a row before the last one that says it differently.
        max_failed_repairs: Failed repairs of one failure before the ladder ends.
        cooldown_steps: Steps after a soft repair without new advice. Holds and hard repairs
            are exempt.
        max_guidance_tokens: Approximate tokens of guidance.
        max_seconds: Time spent in repairs.
        max_chars: Characters of one repair text.
        max_lessons: Lessons shown in one repair.
        cleanup: Whether guidance leaves the context once recovery is verified.
        escalation: What ends the ladder: an honest partial answer, or a human.
    """

    confidence: Share = 0.65
    max_soft_repairs: Count = 5
    max_hard_attempts: PositiveCount = 3
    max_failed_repairs: PositiveCount = 2
    cooldown_steps: Count = 2
    max_guidance_tokens: PositiveCount = 4_000
    max_seconds: Seconds = 60.0
    max_chars: Annotated[PositiveCount, Field(ge=200)] = 1_200
    max_lessons: Count = 2
    cleanup: Literal["after_recovery", "never"] = "after_recovery"
    escalation: Literal["stop", "human"] = "stop"


def route(
    trajectory: Trajectory, findings: Sequence[Finding], options: RepairOptions
) -> tuple[Decision, ...]:
    """What to do about `findings`: one acting decision, and what has to be recorded beside it."""
    state = trajectory.state
    recorded: list[Decision] = []
    acting: list[Finding] = []
    for finding in findings:
        if finding.severity is Severity.INFO or finding.confidence < options.confidence:
            recorded += _suppress(state, finding, "confidence")
        else:
            acting.append(finding)
    invalid = [finding for finding in acting if finding.hard and finding.severity is Severity.HOLD]
    if invalid:
        return (_hard(trajectory, invalid, options), *recorded)
    for finding in sorted(acting, key=_urgency):
        decision = _soft(trajectory, finding, options)
        if isinstance(decision, Suppress):
            recorded += _suppress(state, finding, decision.reason)
            continue
        return (decision, *recorded)
    return (_remind(trajectory), *recorded)


_WHOLE_BATCH = frozenset({Label.DUPLICATE_CALL_ID, Label.STRUCTURED_OUTPUT_INVALID})
"""Labels that keep every call of the message from running."""

_ONE_HOLD = frozenset(
    {
        "untried",
        "judge",
        "unrequested_change",
        "claimed_call",
        "unfitting_choice",
        "open_todos",
        "unacknowledged_error",
        "required_tool",
        "unanswered",
        "miscounted",
        "after_finish",
        "completed_again",
    }
)
"""Patterns that are held once: an agent that comes to the same point again has decided."""


_PASSES = frozenset({Label.HALLUCINATION})
"""Labels whose action goes through when repairs did not help: the environment judges it then,
and nobody is kept from a value that they insist on."""


def _urgency(finding: Finding) -> tuple[int, float]:
    return (0 if finding.severity is Severity.HOLD else 1, -finding.confidence)


def _suppress(
    state: TaskState,
    finding: Finding,
    reason: Literal["cooldown", "budget", "confidence", "shadow", "once", "finish"],
) -> list[Decision]:
    known = (finding.key, reason) in state.suppressed
    return [] if known else [Suppress(finding, reason)]


def _hard(
    trajectory: Trajectory, invalid: Sequence[Finding], options: RepairOptions
) -> HardRepair | Escalate:
    if trajectory.hard_streak > options.max_hard_attempts:
        return Escalate(invalid[0], human=options.escalation == "human")
    calls = trajectory.proposal.calls
    bad = {index for finding in invalid for index in finding.calls}
    if any(finding.label in _WHOLE_BATCH for finding in invalid):
        bad = {call.index for call in calls}
    return HardRepair(
        findings=tuple(invalid),
        bad=tuple(call.index for call in calls if call.index in bad),
        good=tuple(call.index for call in calls if call.index not in bad),
    )


def _soft(
    trajectory: Trajectory, finding: Finding, options: RepairOptions
) -> SoftRepair | Escalate | Suppress:
    state = trajectory.state
    failed = state.failed.get(finding.key, 0)
    hold = finding.severity is Severity.HOLD
    ends_run = trajectory.proposal.finish
    spent = _spent(state, options)
    if failed and finding.pattern in _ONE_HOLD:
        return Suppress(finding, "once")
    if hold and (failed >= options.max_failed_repairs or spent):
        if ends_run and trajectory.proposal.text.strip():
            # the run ends by itself, and the agent has said something: let it
            return Suppress(finding, "budget")
        if finding.label in _PASSES:
            return Suppress(finding, "budget")
        return Escalate(finding, human=options.escalation == "human")
    if spent:
        return Suppress(finding, "budget")
    if not hold:
        if failed:
            return Suppress(finding, "once")
        if _cooling(trajectory, options.cooldown_steps):
            return Suppress(finding, "cooldown")
    return SoftRepair(finding, hold=hold)


def advice_blocked(trajectory: Trajectory, options: RepairOptions) -> bool:
    """Whether a budget or the cooldown keeps any new advice from being given now."""
    return _spent(trajectory.state, options) or _cooling(trajectory, options.cooldown_steps)


def _spent(state: TaskState, options: RepairOptions) -> bool:
    return (
        state.soft_repairs >= options.max_soft_repairs
        or state.tokens >= options.max_guidance_tokens
        or state.seconds >= options.max_seconds
    )


def _cooling(trajectory: Trajectory, steps: int) -> bool:
    last = trajectory.state.last_soft_step
    if last is None or not steps:
        return False
    recent = [step.id for step in trajectory.steps[-steps:]]
    return last in recent


def _remind(trajectory: Trajectory) -> Remind | Execute:
    """A reminder where the agent does something else while a held action is open.

    A held change is open until it is done. A held look-up may have become needless: of its plan
    the agent is reminded only while it follows it.
    """
    calls = frozenset(call.name for call in trajectory.proposal.calls)
    waiting: list[ActiveRepair] = []
    for repair in trajectory.state.active if calls else ():
        if not (repair.owes or repair.plan) or not calls.isdisjoint((repair.owes, repair.tool)):
            continue
        follows = not calls.isdisjoint(step.tool for step in repair.plan)
        if repair.owes or follows:
            done = trajectory.done_since(repair.step) | calls
            waiting.append(replace(repair, plan=repair.rest(done)))
    return Remind(tuple(waiting)) if waiting else Execute()
