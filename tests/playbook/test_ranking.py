"""The ranking is bounded, monotone and never looks at the clock itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentry_langgraph.playbook import RankingOptions, ranking
from sentry_langgraph.playbook.ranking import Entry
from sentry_langgraph.records import Lesson, LessonQuery, PathStep
from sentry_langgraph.taxonomy import Label

from .conftest import NOW, lesson

OPTIONS = RankingOptions()
QUERY = LessonQuery(
    Label.HALLUCINATION, "x", tool="t", agent="g", tools=frozenset({"t"}), model="m"
)
VECTORS = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3)
COUNTS = st.integers(0, 5_000)
WORDS = st.sampled_from([None, "t", "g", "m", "other"])


@given(
    vector=VECTORS,
    asked=VECTORS,
    one=st.builds(
        lesson,
        recoveries=COUNTS,
        relapses=COUNTS,
        tool=WORDS,
        agent=WORDS,
        model=WORDS,
        created=st.integers(-9, 9_000).map(lambda days: (NOW - timedelta(days)).isoformat()),
    ),
)
def test_bounded(vector: list[float], asked: list[float], one: Lesson) -> None:
    """Every score lies within 0 and 1, and so does the lower bound."""
    got = ranking.score(Entry(one, vector), QUERY, asked, now=NOW, options=OPTIONS)
    assert 0.0 <= got <= 1.0
    assert 0.0 <= ranking.lower_bound(one, OPTIONS) <= 1.0


@given(recoveries=COUNTS, relapses=COUNTS)
def test_monotone(recoveries: int, relapses: int) -> None:
    """One more recovery raises score and lower bound; one more relapse lowers them."""
    one = lesson(recoveries=recoveries, relapses=relapses)
    better, worse = one.counted(recoveries=1), one.counted(relapses=1)

    def score(of: Lesson) -> float:
        return ranking.score(Entry(of), QUERY, None, now=NOW, options=OPTIONS)

    assert score(worse) < score(one) < score(better)
    if recoveries + relapses < 900:
        assert (
            ranking.lower_bound(worse, OPTIONS)
            <= ranking.lower_bound(one, OPTIONS)
            <= ranking.lower_bound(better, OPTIONS)
        )


@pytest.mark.parametrize(
    ("won", "lost", "bound"),
    [(1, 1, 0.1), (1, 2, 1 - 0.9**0.5), (2, 1, 0.1**0.5), (5, 1, 0.1**0.2)],
)
def test_lower_bound_in_closed_form(won: int, lost: int, bound: float) -> None:
    """The 10 % quantile of Beta(a, 1) is 0.1^(1/a), that of Beta(1, b) is 1 - 0.9^(1/b)."""
    one = lesson(recoveries=won - 1, relapses=lost - 1)
    assert ranking.lower_bound(one, OPTIONS) == pytest.approx(bound, abs=1e-6)


def test_lower_bound_of_many_is_near_that_of_few() -> None:
    """Where the normal limit takes over, there is no jump."""
    exact = ranking.lower_bound(lesson(recoveries=498, relapses=498), OPTIONS)
    limit = ranking.lower_bound(lesson(recoveries=500, relapses=500), OPTIONS)
    assert exact == pytest.approx(limit, abs=1e-3)
    huge = lesson(recoveries=10**9, relapses=10**9)
    assert ranking.lower_bound(huge, OPTIONS) == pytest.approx(0.5, abs=1e-3)


def test_recency_halves() -> None:
    """A lesson that was not used for one half-life counts half; a use renews it."""
    old = lesson(created=(NOW - timedelta(days=30)).isoformat())
    assert ranking.recency(old, NOW, OPTIONS) == pytest.approx(0.5)
    assert ranking.recency(replace(old, last_used=NOW.isoformat()), NOW, OPTIONS) == 1.0
    naive = replace(old, created=(NOW - timedelta(days=60)).replace(tzinfo=None).isoformat())
    assert ranking.recency(naive, NOW, OPTIONS) == pytest.approx(0.25)
    assert ranking.recency(lesson(), NOW, OPTIONS) == 1.0
    later = lesson(created=(NOW + timedelta(days=5)).isoformat())
    assert ranking.recency(later, NOW, OPTIONS) == 1.0


def test_scope() -> None:
    """Same tool and agent count fully; others less; a path through unknown tools nothing."""
    same = lesson(tool="t", agent="g", model="m", path=(PathStep("t"),), tool_fingerprint="1")
    assert ranking.scope(same, QUERY) == ranking.scope(same, QUERY, "1") == 1.0
    for change in ({"tool": "o"}, {"agent": "o"}, {"model": "o"}, {"tool": None}, {"agent": None}):
        assert 0.0 < ranking.scope(replace(same, **change), QUERY) < 1.0
    assert ranking.scope(same, QUERY, "2") == ranking.CHANGED_TOOLS
    assert ranking.scope(replace(same, path=(PathStep("o"),)), QUERY) == 0.0
    assert (
        ranking.scope(replace(same, path=(PathStep("o"),)), replace(QUERY, tools=frozenset())) > 0
    )


def test_quarantine_needs_uses_and_can_be_left() -> None:
    """Too few uses never quarantine; new recoveries lift it."""
    failing = lesson(uses=4, recoveries=0, relapses=4)
    assert ranking.judged(failing, OPTIONS).status == "active"
    out = ranking.judged(failing.counted(uses=1, relapses=1), OPTIONS)
    assert out.status == "quarantined"
    assert ranking.judged(out.counted(recoveries=9), OPTIONS).status == "active"


def test_rank_breaks_ties_by_id() -> None:
    """Equal scores come in the order of their ids, whatever the order of the store."""
    entries = [Entry(lesson(id_)) for id_ in ("c", "a", "b")]
    best = ranking.rank(entries, QUERY, None, 2, now=NOW, options=OPTIONS)
    assert [s.lesson.id for s in best] == ["a", "b"]
