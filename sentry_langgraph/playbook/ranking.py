"""Which lessons fit best, and which have failed too often. Pure: the clock is passed in.

score = similarity × expected success × recency × scope, each from 0 to 1. Success is the
posterior of a Beta-Bernoulli model over the recoveries and relapses of a lesson; quarantine
looks at its lower quantile, so that a few unlucky uses don't condemn a lesson.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import mul
from statistics import NormalDist
from typing import TypeAlias

from sentry_langgraph.playbook.options import RankingOptions
from sentry_langgraph.playbook.port import Fingerprint
from sentry_langgraph.records import Lesson, LessonQuery, ScoredLesson

Vector: TypeAlias = Sequence[float]
OTHER_TOOL = 0.5
OTHER_AGENT = 0.8
OTHER_MODEL = 0.8
CHANGED_TOOLS = 0.5
UNSAID = 0.9
"""Weight where the lesson or the query does not say."""

_DAY = 86_400.0
_MANY = 1_000
"""Counts above which the posterior is as good as normal."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A lesson and the vector of its trigger; the vector is empty where it wasn't read."""

    lesson: Lesson
    vector: Vector = ()


def rank(
    entries: Iterable[Entry],
    query: LessonQuery,
    vector: Vector | None,
    k: int,
    *,
    now: datetime,
    options: RankingOptions,
    fingerprint: Fingerprint | None = None,
) -> list[ScoredLesson]:
    """The `k` best active lessons of the query's label, best first; equals go by id.

    Args:
        entries: The candidates.
        query: What is asked.
        vector: The vector of `query.text`, or None where there is no text to compare.
        k: How many at most.
        now: The time that recency is measured from.
        options: The weights.
        fingerprint: What the tools of a lesson look like now.
    """
    scored = (
        ScoredLesson(
            entry.lesson,
            score(entry, query, vector, now=now, options=options, fingerprint=fingerprint),
        )
        for entry in entries
        if entry.lesson.label == query.label and entry.lesson.status == "active"
    )
    best = sorted((s for s in scored if s.score > 0.0), key=lambda s: (-s.score, s.lesson.id))
    return best[: max(k, 0)]


def score(
    entry: Entry,
    query: LessonQuery,
    vector: Vector | None,
    *,
    now: datetime,
    options: RankingOptions,
    fingerprint: Fingerprint | None = None,
) -> float:
    """How well a lesson fits, from 0 (of no use) to 1."""
    lesson = entry.lesson
    return (
        (1.0 if vector is None else similarity(entry.vector, vector))
        * success(lesson, options)
        * recency(lesson, now, options)
        * scope(lesson, query, fingerprint(lesson) if fingerprint else None)
    )


def similarity(a: Vector, b: Vector) -> float:
    """The cosine of two vectors, moved from -1…1 to 0…1; a half where one says nothing."""
    norm = math.sqrt(sum(map(mul, a, a))) * math.sqrt(sum(map(mul, b, b)))
    if not norm:
        return 0.5
    cosine: float = sum(map(mul, a, b)) / norm
    return min(1.0, max(0.0, (1.0 + cosine) / 2.0))


def success(lesson: Lesson, options: RankingOptions) -> float:
    """The expected share of recoveries: the mean of the posterior."""
    won, lost = _posterior(lesson, options)
    return won / (won + lost)


def lower_bound(lesson: Lesson, options: RankingOptions) -> float:
    """The share of recoveries that the lesson exceeds with the probability `credibility`."""
    won, lost = _posterior(lesson, options)
    return _beta_quantile(1.0 - options.credibility, won, lost)


def recency(lesson: Lesson, now: datetime, options: RankingOptions) -> float:
    """1 for a lesson of today, a half after each half-life; 1 where it has no date."""
    times = [time for time in map(_time, (lesson.created, lesson.last_used)) if time is not None]
    if not times:
        return 1.0
    age = max(0.0, (_aware(now) - max(times)).total_seconds() / _DAY)
    return math.pow(0.5, age / options.half_life_days)


def scope(lesson: Lesson, query: LessonQuery, fingerprint: str | None = None) -> float:
    """How near the lesson's situation is; 0 where its path needs tools the agent lacks."""
    if query.tools and any(step.tool not in query.tools for step in lesson.path):
        return 0.0
    weight = _agreement(lesson.tool, query.tool, OTHER_TOOL)
    weight *= _agreement(lesson.agent, query.agent, OTHER_AGENT)
    if lesson.model and query.model and lesson.model != query.model:
        weight *= OTHER_MODEL
    if lesson.tool_fingerprint and fingerprint and lesson.tool_fingerprint != fingerprint:
        weight *= CHANGED_TOOLS
    return weight


def judged(lesson: Lesson, options: RankingOptions) -> Lesson:
    """The lesson with the status that its counts earn; too few uses change nothing."""
    if lesson.uses < options.quarantine_uses:
        return lesson
    failed = lower_bound(lesson, options) < options.quarantine_below
    return replace(lesson, status="quarantined" if failed else "active")


def surplus(
    lessons: Sequence[Lesson], keep: int, *, now: datetime, options: RankingOptions, spare: str = ""
) -> list[Lesson]:
    """The least useful lessons beyond `keep`: quarantined first, then low success and age.

    The lesson with the id `spare` is never among them.
    """
    excess = len(lessons) - keep
    if excess <= 0:
        return []

    def worth(lesson: Lesson) -> tuple[bool, float, str]:
        value = success(lesson, options) * recency(lesson, now, options)
        return (lesson.status == "active", value, lesson.id)

    return sorted((lesson for lesson in lessons if lesson.id != spare), key=worth)[:excess]


def _agreement(mine: str | None, theirs: str | None, other: float) -> float:
    if mine is None or theirs is None:
        return UNSAID
    return 1.0 if mine == theirs else other


def _posterior(lesson: Lesson, options: RankingOptions) -> tuple[int, int]:
    return (
        options.prior_recoveries + lesson.recoveries,
        options.prior_relapses + lesson.relapses,
    )


def _beta_quantile(q: float, a: int, b: int) -> float:
    """The `q` quantile of Beta(a, b): by bisection to nine digits, by its normal limit far out."""
    n = a + b
    if n > _MANY:
        spread = math.sqrt(a * b / (n + 1)) / n
        return min(1.0, max(0.0, a / n + NormalDist().inv_cdf(q) * spread))
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2.0
        if _beta_cdf(middle, a, b) < q:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _beta_cdf(x: float, a: int, b: int) -> float:
    """P(Beta(a, b) ≤ x) for whole a and b: the chance of at least `a` hits in a+b-1 draws.

    The shorter tail is summed and each term taken through logarithms, so that counts of any
    size stay in range.
    """
    n = a + b - 1
    log_x, log_y = math.log(x), math.log1p(-x)

    def tail(first: int, last: int) -> float:
        return sum(
            math.exp(
                math.lgamma(n + 1)
                - math.lgamma(i + 1)
                - math.lgamma(n - i + 1)
                + i * log_x
                + (n - i) * log_y
            )
            for i in range(first, last + 1)
        )

    return tail(a, n) if b <= a else 1.0 - tail(0, a - 1)


def _time(text: str) -> datetime | None:
    try:
        return _aware(datetime.fromisoformat(text))
    except ValueError:
        return None


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
