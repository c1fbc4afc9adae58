"""What a loop gets back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sentry_langgraph.records import Event, Finding, Lesson
from sentry_langgraph.taxonomy import FailureType, Label, Strategy, type_of


@dataclass(frozen=True, slots=True)
class Repair:
    """What to put into the agent's context before its next step.

    Attributes:
        id: Names the repair; the ledger's event has the same id.
        step: The id of the step it answers.
        strategy: `hard`: the action could not run and has to be redone. `advise`: advice
            beside an action that ran. `hold`: don't go on with this, and don't end here.
            `stop`: repairs did not help; end the task. `human`: ask a person first.
        findings: The failures, the one that decided first. Empty in a reminder.
        prompt_text: The text for the context.
        lessons: Lessons that the text shows.
        answer: With `stop` and `human`: an honest partial answer to end the task with.
        owed: Tools whose held calls are still to be done, in a reminder.
    """

    id: str
    step: str
    strategy: Strategy
    prompt_text: str
    findings: tuple[Finding, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    answer: str = ""
    owed: tuple[str, ...] = ()

    @property
    def label(self) -> Label | None:
        """The failure, or None in a reminder."""
        return self.findings[0].label if self.findings else None

    @property
    def type(self) -> FailureType | None:
        """The coarse kind of the failure, or None in a reminder."""
        return type_of(self.findings[0].label) if self.findings else None

    @property
    def hold(self) -> bool:
        """Whether the step does not count: redo it, or don't end with it."""
        return self.strategy is not Strategy.ADVISE

    @property
    def stop(self) -> bool:
        """Whether the ladder has ended: `answer` is what to end the task with."""
        return self.strategy in (Strategy.STOP, Strategy.HUMAN)

    @property
    def reminder(self) -> bool:
        """Whether it only reminds of what is still to be done."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened in a task. The lists hold the ledger's events, oldest first.

    Attributes:
        task: The id of the task.
        steps: How many steps it had.
        failures: Failures that were seen and acted on.
        repairs: Repairs that were made.
        verdicts: What became of them.
        lessons: Lessons that were learned.
        suppressed: Failures that a budget, a cooldown or shadow mode kept from acting.
        open: Ids of repairs without a verdict.
        events: The whole ledger.
    """

    task: str
    steps: int
    failures: tuple[Event, ...] = ()
    repairs: tuple[Event, ...] = ()
    verdicts: tuple[Event, ...] = ()
    lessons: tuple[Event, ...] = ()
    suppressed: tuple[Event, ...] = ()
    open: tuple[str, ...] = ()
    events: tuple[Event, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "task": self.task,
            "steps": self.steps,
            "failures": list(self.failures),
            "repairs": list(self.repairs),
            "verdicts": list(self.verdicts),
            "lessons": list(self.lessons),
            "suppressed": list(self.suppressed),
            "open": list(self.open),
        }

    @classmethod
    def of(cls, task: str, steps: int, events: list[Event], open_: tuple[str, ...]) -> Summary:
        """The summary of a ledger."""

        def every(kind: str) -> tuple[Event, ...]:
            return tuple(event for event in events if event["kind"] == kind)

        return cls(
            task=task,
            steps=steps,
            failures=every("failure"),
            repairs=every("repair"),
            verdicts=every("verdict"),
            lessons=every("lesson"),
            suppressed=every("suppressed"),
            open=open_,
            events=tuple(events),
        )
