"""Failures, the repairs that answer them, and how those ended."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, field
from typing import Any

from sentry_langgraph.taxonomy import Label, Origin, Severity, Strategy, Verdict, is_hard


@dataclass(frozen=True, slots=True)
class PathStep:
    """One call of a plan or of a remembered path: names only, never values.

    Attributes:
        tool: The tool.
        arguments: The names of the arguments it is given.
        gives: The field of its result that the next call needs; empty where none is known.
    """

    tool: str
    arguments: tuple[str, ...] = ()
    gives: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the inverse of `from_dict`."""
        data: dict[str, Any] = {"tool": self.tool, "arguments": list(self.arguments)}
        return {**data, "gives": self.gives} if self.gives else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PathStep:
        """Rebuild a step from `to_dict`."""
        return cls(data["tool"], tuple(data["arguments"]), data.get("gives", ""))


@dataclass(frozen=True, slots=True)
class Finding:
    """One failure that a detector sees.

    Attributes:
        label: What it is.
        step: The id of the message that shows it.
        key: Names this failure within the task, so that its return is recognised. Holds
            names and digests, never values.
        confidence: From 0 to 1.
        severity: How far a repair may go.
        detail: One line for the model: what was wrong, field and value. Not stored.
        advice: The next step in words, instead of the label's own; for detectors of yours.
            Not stored.
        evidence: Short facts for people and the ledger: names, counts, step ids.
        calls: Positions of the calls concerned, in the message.
        tool: The tool concerned.
        argument: The argument concerned.
        pattern: A finer name within the label.
        suggestion: The tool to call instead, where one is known.
        origin: Who caused it.
        intention: Whether the held action stays owed until it is done or given up.
        related: Keys of the calls that make up the failure, for verification.
        plan: Calls that lead to the held one, in order, where they are known.
    """

    label: Label
    step: str
    key: str
    confidence: float = 1.0
    severity: Severity = Severity.HOLD
    detail: str = ""
    advice: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[int, ...] = ()
    tool: str | None = None
    argument: str | None = None
    pattern: str | None = None
    suggestion: str | None = None
    origin: Origin = Origin.MODEL
    intention: bool = False
    related: tuple[str, ...] = ()
    plan: tuple[PathStep, ...] = ()

    @property
    def hard(self) -> bool:
        """Whether the invalid action has to be redone."""
        return is_hard(self.label)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the inverse of `from_dict`."""
        data = asdict(self)
        for name in ("label", "severity", "origin"):
            data[name] = str(data[name])
        for name in ("calls", "related"):
            data[name] = list(data[name])
        data["plan"] = [step.to_dict() for step in self.plan]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """Rebuild a finding from `to_dict`."""
        return cls(
            **{
                **data,
                "label": Label(data["label"]),
                "severity": Severity(data["severity"]),
                "origin": Origin(data["origin"]),
                "calls": tuple(data["calls"]),
                "related": tuple(data["related"]),
                "plan": tuple(map(PathStep.from_dict, data.get("plan", ()))),
            }
        )


@dataclass(frozen=True, slots=True)
class ActiveRepair:
    """A repair whose verdict is open.

    Attributes:
        id: The repair event's id.
        label: The failure it answers.
        key: The failure's key.
        step: The id of the message it answered.
        strategy: What was done.
        tool: The tool concerned, or the one suggested.
        argument: The argument concerned.
        pattern: The finer name.
        related: Keys of the calls that made up the failure.
        lessons: Ids of the lessons that were shown.
        owes: The tool that still has to run with success: the intention of the held call.
        plan: The calls that lead to the held one.
    """

    id: str
    label: Label
    key: str
    step: str
    strategy: Strategy
    tool: str | None = None
    argument: str | None = None
    pattern: str | None = None
    related: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    owes: str | None = None
    plan: tuple[PathStep, ...] = ()

    @property
    def hard(self) -> bool:
        """Whether it asked for an invalid action to be redone."""
        return self.strategy is Strategy.HARD

    def rest(self, done: Set[str]) -> tuple[PathStep, ...]:
        """The steps of the plan after the last one whose tool is in `done`."""
        last = max((at for at, step in enumerate(self.plan) if step.tool in done), default=-1)
        return self.plan[last + 1 :]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one repair, and why.

    Attributes:
        repair: The repair.
        verdict: What the steps say.
        why: One clause for people.
        path: The calls that led to the recovery: what a lesson is made of.
        undecided: Whether the steps ran out without a sign either way.
    """

    repair: ActiveRepair
    verdict: Verdict
    why: str
    path: tuple[PathStep, ...] = ()
    undecided: bool = False
