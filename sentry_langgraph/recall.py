"""Lessons in and out of a playbook, which may fail and never breaks a run.

What a graph and a loop without one share around their repairs and verdicts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.learn import fingerprint
from sentry_langgraph.playbook.port import Playbook
from sentry_langgraph.records import Catalog, Finding, Lesson, LessonQuery, ScoredLesson
from sentry_langgraph.taxonomy import Verdict

logger = logging.getLogger("sentry_langgraph")


def find_lessons(
    playbook: Playbook | None,
    finding: Finding,
    catalog: Catalog,
    *,
    wanted: int,
    agent: str | None = None,
    model: str | None = None,
) -> tuple[list[ScoredLesson], str | None]:
    """The lessons that fit a failure.

    Args:
        playbook: Where they lie; None has none.
        finding: The failure.
        catalog: The tools, so that a lesson whose tools have changed weighs less.
        wanted: How many at most.
        agent: The agent.
        model: The chat model.

    Returns:
        The lessons, best first, and the name of the error where they could not be looked up.
    """
    if playbook is None or not wanted:
        return [], None

    def current(lesson: Lesson) -> str:
        return fingerprint(catalog, [step.tool for step in lesson.path])

    words = (finding.label.value, finding.pattern, finding.tool)
    query = LessonQuery(
        label=finding.label,
        text=" ".join(word for word in words if word),
        tool=finding.tool,
        agent=agent,
        tools=frozenset(catalog.tools),
        model=model,
    )
    try:
        return playbook.search(query, wanted, fingerprint=current), None
    except Exception as error:  # the port promises PlaybookError; a user's may raise more
        _fault("lessons could not be looked up", error)
        return [], type(error).__name__


def count_outcome(playbook: Playbook | None, ids: Sequence[str], verdict: Verdict, at: str) -> None:
    """Count one use of the lessons that a repair showed."""
    if playbook is None or not ids:
        return
    try:
        playbook.record(ids, verdict, at=at)
    except Exception as error:
        _fault("the outcome of lessons could not be counted", error)


def store_lesson(playbook: Playbook | None, lesson: Lesson) -> bool:
    """Whether the playbook took the lesson."""
    if playbook is None:
        return False
    try:
        playbook.add(lesson)
    except Exception as error:
        _fault("a lesson could not be stored; it stays in the ledger", error)
        return False
    return True


def _fault(what: str, error: Exception) -> None:
    if isinstance(error, PlaybookError):
        logger.warning("%s: %s", what, error)
    else:
        logger.exception("%s", what)
