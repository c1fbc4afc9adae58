"""What the gate wants done: decisions as data, consumed by `match`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sentry_langgraph.records import ActiveRepair, Finding, Judgement


@dataclass(frozen=True, slots=True)
class Execute:
    """Go on as if Sentry weren't there."""


@dataclass(frozen=True, slots=True)
class HardRepair:
    """Redo the invalid calls; the valid ones still run.

    Attributes:
        findings: At least one for every bad call.
        bad: Positions of the calls that don't run.
        good: Positions of the calls that do.
    """

    findings: tuple[Finding, ...]
    bad: tuple[int, ...]
    good: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SoftRepair:
    """Give guidance, beside the action or instead of it.

    Attributes:
        finding: The failure.
        hold: Whether the calls (or the wish to finish) don't go through.
    """

    finding: Finding
    hold: bool


@dataclass(frozen=True, slots=True)
class Remind:
    """Put the rest of the plan beside the tool results: held actions are still owed."""

    owed: tuple[ActiveRepair, ...]


@dataclass(frozen=True, slots=True)
class Verify:
    """Record verdicts, and learn from recoveries."""

    judgements: tuple[Judgement, ...]


@dataclass(frozen=True, slots=True)
class Suppress:
    """Record a finding that a budget, a cooldown or shadow mode keeps from acting."""

    finding: Finding
    reason: Literal["cooldown", "budget", "confidence", "shadow", "once", "finish"]


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Ask the judge, beside the tools where there are any.

    Attributes:
        why: `suspicion`: rules saw something that they did not act on. `interval`: it is time.
        suspicions: What the rules saw.
    """

    why: Literal["suspicion", "interval"]
    suspicions: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Escalate:
    """Ask a human, or end the run with an honest partial answer.

    Attributes:
        finding: What could not be repaired.
        human: Whether a human is asked first.
    """

    finding: Finding
    human: bool


Decision: TypeAlias = (
    Execute | HardRepair | SoftRepair | Remind | Verify | Suppress | Diagnose | Escalate
)
