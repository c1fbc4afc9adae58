"""Steps that share nothing with the request, and pursue something of their own.

Rules see words, not meanings, so this one speaks only where both signs are clear: several steps
in a row share nothing with the request or with what it led to, and they share words of their own
with each other: a side goal. What it can't see is a drift in the request's own words, and plans
that are wrong in other ways; a judge may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.options import PositiveCount
from sentry_langgraph.records import Finding, Proposal, Step, Trajectory
from sentry_langgraph.relevance import Said, comparable, given, said, serves, touches, words
from sentry_langgraph.taxonomy import Label, Severity

_SIDE_GOAL = 2
"""Words that the steps have to share with each other."""

_TOLD = 2_000
"""Longest text of user or developer that is read beside the request: a handbook names all."""


class ObjectiveDriftOptions(DetectorOptions):
    """Options of `objective_drift`.

    Attributes:
        steps: Steps in a row, the proposed one included, that share nothing with the request.
    """

    steps: Annotated[PositiveCount, Field(ge=2)] = 4


class ObjectiveDrift:
    """Compares the words of the newest steps with those of the request."""

    Options: ClassVar[type[DetectorOptions]] = ObjectiveDriftOptions

    def __init__(self, options: ObjectiveDriftOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """One finding where the newest steps have left the request."""
        proposal, wanted = trajectory.proposal, self._options.steps
        since = _since_repair(trajectory)
        if not proposal.calls or len(since) < wanted - 1 or len(trajectory.steps) < wanted:
            return ()
        objective = trajectory.task.objective
        if not comparable(objective):
            return ()
        wanted_words = words(objective)
        args = given(proposal)
        if not args.isdisjoint(wanted_words):
            return ()  # most steps: before their text is read
        newest = Said(args, words(proposal.text))
        if touches(newest, wanted_words) is not False:
            return ()
        away = self._away(trajectory, since, newest)
        if not away or touches(newest, _told(trajectory)) is not False:
            return ()
        return (_finding(proposal, away),)

    def _away(
        self, trajectory: Trajectory, since: Sequence[Step], newest: Said
    ) -> tuple[Step, ...]:
        """The latest steps that don't serve the request, as many as are wanted; else none."""
        wanted = self._options.steps - 1
        side_goal = newest.all
        away: list[Step] = []
        for step in reversed(since):
            own = said(step).all
            if len(own) < _SIDE_GOAL:
                continue
            side_goal &= own
            if len(side_goal) < _SIDE_GOAL:
                return ()
            away.append(step)
            if len(away) == wanted:
                break
        else:
            return ()
        # only now what is dear: what each step brought
        served, topic = serves(trajectory.task.objective, trajectory.steps)
        fits = dict(zip((step.id for step in trajectory.steps), served, strict=True))
        if any(fits[step.id] for step in away) or touches(newest, topic) is not False:
            return ()
        return tuple(reversed(away)) if len(side_goal - topic) >= _SIDE_GOAL else ()


def _since_repair(trajectory: Trajectory) -> tuple[Step, ...]:
    """The steps since the agent was last reminded of the request."""
    steps = trajectory.steps
    for repair in trajectory.state.active:
        if repair.label is Label.OBJECTIVE_DRIFT:
            places = [at for at, step in enumerate(steps) if step.id == repair.step]
            steps = steps[places[0] + 1 :] if places else steps
    return steps


def _told(trajectory: Trajectory) -> frozenset[str]:
    """The words of everything else that the agent was told, handbooks left out."""
    texts = (
        passage.text
        for passage in trajectory.provenance.passages()
        if passage.kind == "told" and len(passage.text) <= _TOLD
    )
    return frozenset[str]().union(*map(words, texts))


def _finding(proposal: Proposal, away: Sequence[Step]) -> Finding:
    count = len(away) + 1
    return Finding(
        Label.OBJECTIVE_DRIFT,
        proposal.id,
        key=Label.OBJECTIVE_DRIFT.value,
        confidence=0.7,
        severity=Severity.ADVISE,
        detail=f"the last {count} steps share nothing with the request",
        evidence={"steps": count, "first": away[0].id},
    )
