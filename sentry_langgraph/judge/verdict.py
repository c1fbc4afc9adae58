"""The judge as verifier: asked where rules saw no sign either way within the horizon."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sentry_langgraph import ledger
from sentry_langgraph.judge.asking import Usage
from sentry_langgraph.judge.calls import Flow
from sentry_langgraph.judge.diagnose import affordable, cited_step
from sentry_langgraph.judge.judges import Judges
from sentry_langgraph.judge.prompt import shown_steps, verdict_question
from sentry_langgraph.records import Event, Judgement, Trajectory
from sentry_langgraph.taxonomy import Verdict


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A verdict that the judge was asked for.

    Attributes:
        judgement: The verdict; that of the rules where the judge gave none.
        outcome: `recovered`, `not_recovered`, or why the answer did not count, as in a
            diagnosis.
        usage: What it cost.
    """

    judgement: Judgement
    outcome: str
    usage: Usage = field(default_factory=Usage)

    def recorded(self, event: Event) -> Event:
        """The verdict event of the rules, with what the judge said."""
        recovered = self.judgement.verdict is Verdict.RECOVERED
        return {
            **event,
            "verdict": self.judgement.verdict.value,
            "why": self.judgement.why,
            "by": ledger.JUDGE if recovered else "rules",
            "judge": self.outcome,
            **self.usage.to_dict(),
        }


def confirm_recovery(
    judges: Judges, judgement: Judgement, trajectory: Trajectory, spent: int
) -> Flow[Reviewed]:
    """Ask whether a repair that rules would let expire has recovered.

    An answer counts as recovery only where it cites a step after the repair and words of the
    agent in it. The judge never turns a verdict of the rules into a relapse, and what it says
    teaches no lesson: there is no path that rules have seen to work.

    Args:
        judges: The models; the first is asked.
        judgement: The verdict of the rules.
        trajectory: The steps.
        spent: Tokens that the judge has used in this task.
    """
    # the repaired step has to be in view, however few steps a diagnosis is shown
    everything = judges.options.model_copy(update={"steps": 50})
    shown = shown_steps(trajectory, everything)
    question = verdict_question(trajectory, shown, judgement.repair)
    if question is None:
        return Reviewed(judgement, "out_of_view")
    if not affordable(judges, question, spent):
        return Reviewed(judgement, ledger.CEILING)
    reply = yield from judges.first.ask(question)
    if reply.outcome != "answered":
        return Reviewed(judgement, reply.outcome, reply.usage)
    answer = reply.answer
    if not answer.recovered:
        return Reviewed(judgement, "not_recovered", reply.usage)
    cited = cited_step(answer.step, shown)
    places = [one.id for one in shown]
    if cited is None or places.index(cited.id) <= places.index(judgement.repair.step):
        return Reviewed(judgement, "unknown_step", reply.usage)
    if not cited.holds(answer.quote):
        return Reviewed(judgement, "unfounded_quote", reply.usage)
    if answer.confidence < judges.options.confidence:
        return Reviewed(judgement, "unsure", reply.usage)
    recovered = replace(
        judgement, verdict=Verdict.RECOVERED, why="the judge saw it recover", undecided=False
    )
    return Reviewed(recovered, "recovered", reply.usage)
