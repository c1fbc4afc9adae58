"""What Sentry's nodes ask the judge, and what the ledger says of it.

Everything here is a flow: it yields the calls of the model and does the rest itself. A fault of
ours or of the model ends no run: the rules' verdict, the rules' sentence or no advice stands.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig

from sentry_langgraph import ledger
from sentry_langgraph.decisions import SoftRepair, Suppress, Verify
from sentry_langgraph.graph.scene import Guard
from sentry_langgraph.graph.sends import soft_payload
from sentry_langgraph.graph.sight import seen_again
from sentry_langgraph.judge import Flow, Judges, confirm_recovery, diagnose
from sentry_langgraph.judge import worded as word
from sentry_langgraph.playbook.port import Playbook
from sentry_langgraph.recall import count_outcome
from sentry_langgraph.records import Event, Finding, Judgement, Lesson, Task, Trajectory
from sentry_langgraph.taxonomy import Verdict

logger = logging.getLogger("sentry_langgraph")

Payload: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judging:
    """The judge of one graph.

    Attributes:
        gates: The guarded loops, by the name of their router.
        playbook: Where lessons lie, or None.
        judges: The models, or None.
    """

    gates: Mapping[str, Guard]
    playbook: Playbook | None
    judges: Judges | None

    def diagnosis(
        self, payload: Payload, config: RunnableConfig
    ) -> Flow[tuple[list[Event], Payload | None]]:
        """Events about a diagnosis, and the advice that it leads to, as `sentry_soft_repair`
        takes it."""
        gate = self.gates[payload["loop"]]
        suspicions = [Finding.from_dict(one) for one in payload["suspicions"]]
        try:
            seen = seen_again(gate, config, payload["step"], finish=payload["finish"])
            if seen is None or self.judges is None:
                return [], None
            found = yield from diagnose(self.judges, seen, suspicions)
            why, context = payload["why"], payload["context"]
            event = found.recorded(seen.task, payload["step"], why, suspicions, **context)
            if found.finding is None:
                return [event], None
            events, advice = self._advice(payload, seen, suspicions, found.finding)
            return [event, *events], advice
        except Exception as error:  # our own fault must never be the user's
            logger.exception("a diagnosis failed; the agent goes on without it")
            name, task = type(error).__name__, Task(**payload["task"])
            context = payload["context"]
            return [ledger.notice(_FAULT, task, payload["step"], error=name, **context)], None

    def _advice(
        self, payload: Payload, seen: Trajectory, suspicions: Sequence[Finding], finding: Finding
    ) -> tuple[list[Event], Payload | None]:
        """What a failure leads to within the budgets: advice, or a record."""
        gate, context = self.gates[payload["loop"]], payload["context"]
        events: list[Event] = []
        for decision in gate.pipeline.diagnosed(seen, finding, suspicions):
            match decision:
                case Verify(judgements):
                    for one in judgements:
                        events.append(ledger.verdict(one, seen.task, payload["step"], **context))
                        count_outcome(self.playbook, one.repair.lessons, one.verdict, context["at"])
                case Suppress(held_back, reason):
                    events.append(ledger.suppressed(held_back, seen.task, reason, **context))
                case SoftRepair(acted_on, hold):
                    shown = seen.state.guidance.get(acted_on.key, ())
                    return events, soft_payload(
                        acted_on,
                        seen.task,
                        loop=payload["loop"],
                        model=payload["model"],
                        removed=shown if gate.replaces else (),
                        context=context,
                        hold=hold,
                        back=payload["back"],
                    )
        return events, None

    def reviewed(self, payload: Payload, config: RunnableConfig) -> Flow[list[Event]]:
        """Verdicts that rules leave to the judge: no sign either way within the horizon."""
        events: list[Event] = []
        for review in payload.get("reviews", ()):
            event: Event = review["event"]
            lessons: Sequence[str] = ()
            try:
                gate = self.gates[payload["loop"]]
                seen = seen_again(gate, config, payload["step"], finish=False)
                active = {one.id: one for one in seen.state.active} if seen is not None else {}
                made = active.get(event["repair"])
                if seen is not None and made is not None and self.judges is not None:
                    lessons = made.lessons
                    expired = Judgement(made, Verdict.EXPIRED, event["why"], undecided=True)
                    spent = seen.state.judge_tokens + _tokens(events)
                    given = yield from confirm_recovery(self.judges, expired, seen, spent)
                    event = given.recorded(event)
            except Exception:  # the verdict of the rules stands
                logger.exception("the judge could not be asked for a verdict")
            count_outcome(self.playbook, lessons, Verdict(event["verdict"]), event["at"])
            events.append(event)
        return events

    def worded(
        self, lesson: Lesson, payload: Payload, events: Sequence[Event]
    ) -> Flow[tuple[Lesson, dict[str, Any]]]:
        """The lesson as the judge words it where that is wanted, and what to record of it."""
        if self.judges is None or self.gates[payload["loop"]].pipeline.learn.wording != "judge":
            return lesson, {}
        try:
            made = yield from word(self.judges, lesson, payload["spent"] + _tokens(events))
        except Exception:  # the sentence of the rule stands
            logger.exception("the judge could not be asked for a wording")
            return lesson, {}
        return made.lesson, made.recorded()


_FAULT = "fault:judge"


def _tokens(events: Sequence[Event]) -> int:
    return sum(event.get("judge_tokens", 0) for event in events)
