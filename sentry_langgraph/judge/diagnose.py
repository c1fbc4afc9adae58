"""One diagnosis: ask, check the answer against the run, and let a second model confirm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sentry_langgraph import ledger
from sentry_langgraph.judge.answer import NONE, DiagnosisAnswer
from sentry_langgraph.judge.asking import Question, Usage
from sentry_langgraph.judge.calls import Flow
from sentry_langgraph.judge.judges import Judges
from sentry_langgraph.judge.prompt import (
    LABELS,
    ShownStep,
    clipped,
    diagnosis_question,
    look_ups,
    shown_steps,
)
from sentry_langgraph.records import Catalog, Event, Finding, Task, Trajectory
from sentry_langgraph.taxonomy import DEFINITIONS, Label, Severity

_NO_FAILURE = frozenset({"", NONE, "null", "no_failure", "no failure"})
_QUOTED = 120
_ANSWER_TOKENS = 300
"""Tokens that an answer is expected to take, for the budget."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What came of asking.

    Attributes:
        outcome: `failure`; `no_failure`; `unsure` where the confidence is too low; what was
            wrong with the answer: `unparsed`, `unknown_label`, `unknown_step`,
            `unfounded_quote`; `timeout` or `error`; `unconfirmed` where the second model did
            not name the same failure; `ceiling` where the budget of tokens did not allow it.
        finding: The failure.
        label: The failure that was named, whatever became of it.
        cited: The id of the cited message.
        confidence: How sure the judge was.
        usage: What it cost.
    """

    outcome: str
    finding: Finding | None = None
    label: Label | None = None
    cited: str | None = None
    confidence: float | None = None
    usage: Usage = field(default_factory=Usage)

    def recorded(
        self, task: Task, step: str, why: str, suspicions: Sequence[Finding], **context: Any
    ) -> Event:
        """The event that says so.

        Args:
            task: The task.
            step: The id of the newest message.
            why: `suspicion` or `interval`.
            suspicions: What rules had seen.
            **context: Where it happened.
        """
        return ledger.diagnosis(
            task,
            step,
            why=why,
            outcome=self.outcome,
            label=self.label,
            cited=self.cited,
            confidence=self.confidence,
            suspicions=[one.label.value for one in suspicions],
            usage=self.usage.to_dict(),
            **context,
        )


@dataclass(frozen=True, slots=True)
class _Read:
    outcome: str
    label: Label | None = None
    step: ShownStep | None = None
    confidence: float | None = None
    next_tool: str = ""
    quote: str = ""


def diagnose(
    judges: Judges, trajectory: Trajectory, suspicions: Sequence[Finding] = ()
) -> Flow[Diagnosis]:
    """Ask the judge about the newest steps.

    Args:
        judges: The models.
        trajectory: What they are asked about.
        suspicions: What rules saw and did not act on.
    """
    shown = shown_steps(trajectory, judges.options)
    question = diagnosis_question(trajectory, shown, suspicions)
    spent = trajectory.state.judge_tokens
    if not affordable(judges, question, spent):
        return Diagnosis(ledger.CEILING)
    reply = yield from judges.first.ask(question)
    usage = reply.usage
    if reply.outcome != "answered":
        return Diagnosis(reply.outcome, usage=usage)
    read = _checked(reply.answer, shown, judges.options.confidence)
    if read.outcome == "failure" and judges.second is not None:
        if not affordable(judges, question, spent + usage.tokens):
            read = _outcome(read, "unconfirmed")
        else:
            other = yield from judges.second.ask(question)
            usage += other.usage
            if other.outcome != "answered" or not _agrees(read, other.answer, shown, judges):
                read = _outcome(read, "unconfirmed")
    return Diagnosis(
        read.outcome,
        finding=_finding(read, trajectory) if read.outcome == "failure" else None,
        label=read.label,
        cited=read.step.id if read.step is not None else None,
        confidence=read.confidence,
        usage=usage,
    )


def affordable(judges: Judges, question: Question, spent: int) -> bool:
    """Whether the budget of tokens allows one more question."""
    return spent + question.tokens + _ANSWER_TOKENS <= judges.options.max_tokens_per_run


def _checked(answer: DiagnosisAnswer, shown: Sequence[ShownStep], floor: float) -> _Read:
    """What an answer is worth: each claim is compared with the run."""
    name = answer.label.strip().lower()
    if name in _NO_FAILURE:
        return _Read("no_failure", confidence=answer.confidence)
    label = next((one for one in LABELS if one.value == name), None)
    if label is None:
        return _Read("unknown_label", confidence=answer.confidence)
    cited = cited_step(answer.step, shown)
    read = _Read("failure", label, cited, answer.confidence, answer.next_tool, answer.quote)
    if cited is None:
        return _outcome(read, "unknown_step")
    if not cited.holds(answer.quote):
        return _outcome(read, "unfounded_quote")
    if answer.confidence < floor:
        return _outcome(read, "unsure")
    return read


def cited_step(name: str, shown: Sequence[ShownStep]) -> ShownStep | None:
    """The step that an answer cites, by its short name or by its id."""
    wanted = name.strip().strip("`\"'")
    return next((one for one in shown if wanted and wanted in (one.name, one.id)), None)


def _outcome(read: _Read, outcome: str) -> _Read:
    return _Read(outcome, read.label, read.step, read.confidence, read.next_tool, read.quote)


def _agrees(
    read: _Read, answer: DiagnosisAnswer, shown: Sequence[ShownStep], judges: Judges
) -> bool:
    other = _checked(answer, shown, judges.options.confidence)
    return other.outcome == "failure" and other.label is read.label


def _finding(read: _Read, trajectory: Trajectory) -> Finding | None:
    """The diagnosis as a finding: of the judge's own words nothing but the checked quote."""
    if read.label is None or read.step is None:
        return None
    tool = read.step.tools[0] if len(read.step.tools) == 1 else None
    known = tool if tool in trajectory.catalog.tools else None
    meaning = DEFINITIONS[read.label].meaning
    return Finding(
        read.label,
        trajectory.proposal.id,
        key=f"{read.label}:{ledger.JUDGE}" + (f":{known}" if known else ""),
        confidence=read.confidence or 0.0,
        severity=Severity.ADVISE,
        detail=f"{meaning}, as in: “{clipped(' '.join(read.quote.split()), _QUOTED)}”",
        evidence={"cited": read.step.id},
        tool=known,
        pattern=ledger.JUDGE,
        suggestion=_suggested(read.next_tool, trajectory.catalog),
    )


def _suggested(name: str, catalog: Catalog) -> str | None:
    """A tool of the catalog that changes nothing: a judge that was misled can do no harm."""
    return name if name in look_ups(catalog) else None
