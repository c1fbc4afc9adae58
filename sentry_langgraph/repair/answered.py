"""Where the answer to a plain question has been seen: the repair says it, instead of a way on."""

from __future__ import annotations

from dataclasses import replace

from sentry_langgraph.answers import Answer, answers
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.repair.templates import ANSWER_AT
from sentry_langgraph.wants import wants_change


def outright_answer(trajectory: Trajectory) -> Answer | None:
    """Where the answer to a plain question stands, if the request names it outright."""
    if wants_change(trajectory.task.objective):
        return None
    seen = answers(trajectory.task.objective, trajectory.steps)
    return next((one for one in seen if one.outright), None)


def with_answer(finding: Finding, trajectory: Trajectory, otherwise: str = "") -> Finding:
    """A finding about a question, with where its answer stands, if that has been seen."""
    seen = answers(trajectory.task.objective, trajectory.steps)
    place = None if finding.advice else next(seen, None)
    if place is None:
        return replace(finding, advice=otherwise) if otherwise else finding
    return replace(finding, advice=quoting(ANSWER_AT, place))


def quoting(text: str, place: Answer, **more: str) -> str:
    """A text with the place of an answer, and its value."""
    return text.format(tool=place.tool, field=place.field, value=place.shown, **more)
