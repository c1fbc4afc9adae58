"""What every playbook keeps, over every backend."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.playbook import MemoryPlaybook, Playbook
from sentry_langgraph.playbook.store import StoredPlaybook
from sentry_langgraph.records import Lesson, LessonQuery, PathStep
from sentry_langgraph.taxonomy import Label, Verdict

from .conftest import lesson

AT = "2026-02-01T00:00:00+00:00"
NAMES = st.text(min_size=1, max_size=20)
NAME_OR_NONE = st.none() | NAMES
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
TIMES = st.just("") | st.datetimes().map(datetime.isoformat)
LESSONS = st.builds(
    Lesson,
    id=NAMES,
    label=st.sampled_from(Label),
    text=st.text(max_size=100),
    tool=NAME_OR_NONE,
    argument=NAME_OR_NONE,
    pattern=NAME_OR_NONE,
    agent=NAME_OR_NONE,
    path=st.lists(
        st.builds(PathStep, NAMES, st.lists(NAMES, max_size=3).map(tuple)), max_size=3
    ).map(tuple),
    uses=st.integers(0, 10_000),
    recoveries=st.integers(0, 10_000),
    relapses=st.integers(0, 10_000),
    status=st.sampled_from(["active", "quarantined"]),
    created=TIMES,
    last_used=TIMES,
    thread_id=NAME_OR_NONE,
    checkpoint_id=NAME_OR_NONE,
    checkpoint_ns=NAME_OR_NONE,
    model=NAME_OR_NONE,
    tool_fingerprint=NAME_OR_NONE,
    owner=NAME_OR_NONE,
    extra=st.dictionaries(st.text(max_size=8), JSON, max_size=3),
)


def exact(value: Any) -> str:
    """A text that tells True from 1 and 1 from 1.0."""
    return repr(value)


def test_is_a_playbook(playbook: StoredPlaybook) -> None:
    """Every backend is what the port describes."""
    assert isinstance(playbook, Playbook)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(one=LESSONS)
def test_round_trip(playbook: StoredPlaybook, one: Lesson) -> None:
    """What is stored comes back exactly: None, lists, nesting, booleans, NUL and all."""
    playbook.delete([one.id])
    assert exact(playbook.add(one)) == exact(one)
    assert exact(playbook.get([one.id])) == exact([one])


def test_values_that_vector_stores_refuse(playbook: StoredPlaybook) -> None:
    """None, lists, nesting and booleans come back as they were, times as ISO 8601 text."""
    extra = {"tool": None, "tags": ["a", "b"], "context": {"step": 3}, "score": 0.5, "ok": True}
    playbook.add(lesson(extra={**extra, "seen": datetime(2026, 1, 2), "pair": (1, None)}))
    expected = {**extra, "seen": "2026-01-02T00:00:00", "pair": [1, None]}
    assert exact(playbook.get(["a"])[0].extra) == exact(expected)
    assert [s.lesson.id for s in playbook.search(LessonQuery(Label.HALLUCINATION, "x"))] == ["a"]


@given(one=LESSONS)
def test_dict_round_trip(one: Lesson) -> None:
    """`from_dict` is the inverse of `to_dict`."""
    assert exact(Lesson.from_dict(one.to_dict())) == exact(one)


def test_empty(playbook: StoredPlaybook) -> None:
    """An empty playbook answers every question with nothing."""
    assert playbook.count() == 0
    assert playbook.search(LessonQuery(Label.HALLUCINATION, "anything")) == []
    assert playbook.find() == playbook.find({"label": "x", "score": {"gte": 0}}) == []
    assert playbook.get(["a"]) == []
    playbook.record(["a"], Verdict.RECOVERED, at=AT)
    playbook.delete(["a"])
    assert playbook.count() == 0


def test_same_lesson_twice(playbook: StoredPlaybook) -> None:
    """A lesson whose id exists is one record, and its counts add up."""
    playbook.add(lesson(created="2026-01-01T00:00:00+00:00", thread_id="t1"))
    again = playbook.add(
        lesson(created="2026-02-01T00:00:00+00:00", thread_id="t2", model="new", relapses=2)
    )
    assert playbook.count() == 1
    assert playbook.get(["a"]) == [again]
    assert (again.recoveries, again.relapses) == (2, 2)
    assert (again.created, again.thread_id, again.model) == (
        "2026-01-01T00:00:00+00:00",
        "t1",
        "new",
    )


def test_search_by_label(playbook: StoredPlaybook) -> None:
    """Only active lessons of the label are found, the best first, at most k."""
    playbook.add(lesson("near", text="look the order id up by the customer"))
    playbook.add(lesson("far", text="stop and answer"))
    playbook.add(lesson("other", label=Label.PLANNING_STALL))
    playbook.add(lesson("out", status="quarantined"))
    query = LessonQuery(Label.HALLUCINATION, "the order id was not looked up")
    assert [s.lesson.id for s in playbook.search(query)] == ["near", "far"]
    assert [s.lesson.id for s in playbook.search(query, 1)] == ["near"]
    assert playbook.search(query, 0) == []
    assert all(0 < s.score <= 1 for s in playbook.search(query))


def test_search_without_text(playbook: StoredPlaybook) -> None:
    """Without a text, the record of success decides."""
    playbook.add(lesson("weak", relapses=3))
    playbook.add(lesson("strong", recoveries=4))
    found = playbook.search(LessonQuery(Label.HALLUCINATION))
    assert [s.lesson.id for s in found] == ["strong", "weak"]


def test_search_keeps_to_the_tools(playbook: StoredPlaybook) -> None:
    """A lesson whose path needs a tool that the agent lacks is never shown."""
    playbook.add(lesson("can", path=(PathStep("list_orders", ("customer_id",)),)))
    playbook.add(lesson("cannot", path=(PathStep("sql", ("query",)),)))
    query = LessonQuery(Label.HALLUCINATION, tools=frozenset({"list_orders"}))
    assert [s.lesson.id for s in playbook.search(query)] == ["can"]


def test_changed_tools_weigh_less(playbook: StoredPlaybook) -> None:
    """A lesson whose tools have another schema by now comes after one whose tools have not."""
    playbook.add(lesson("a-old", tool_fingerprint="1"))
    playbook.add(lesson("b-new", tool_fingerprint="2"))
    query = LessonQuery(Label.HALLUCINATION)
    assert [s.lesson.id for s in playbook.search(query)] == ["a-old", "b-new"]
    found = playbook.search(query, fingerprint=lambda _: "2")
    assert [s.lesson.id for s in found] == ["b-new", "a-old"]


def test_record(playbook: StoredPlaybook) -> None:
    """A verdict counts one use of each lesson; expiry is not a recovery."""
    playbook.add(lesson("a"))
    playbook.add(lesson("b"))
    playbook.record(["a", "nowhere", "b"], Verdict.RECOVERED, at=AT)
    playbook.record(["a"], Verdict.RELAPSED, at=AT)
    playbook.record(["a"], Verdict.EXPIRED, at=AT)
    a, b = playbook.get(["a", "b"])
    assert (a.uses, a.recoveries, a.relapses, a.last_used) == (3, 2, 2, AT)
    assert (b.uses, b.recoveries, b.relapses) == (1, 2, 0)


def test_quarantine(playbook: StoredPlaybook) -> None:
    """A lesson that keeps failing is no longer found, and still kept."""
    playbook.add(lesson())
    for _ in range(4):
        playbook.record(["a"], Verdict.RELAPSED, at=AT)
    assert playbook.search(LessonQuery(Label.HALLUCINATION))
    playbook.record(["a"], Verdict.RELAPSED, at=AT)
    assert playbook.search(LessonQuery(Label.HALLUCINATION)) == []
    assert playbook.get(["a"])[0].status == "quarantined"
    assert playbook.find({"status": "quarantined"}) == playbook.get(["a"])


def test_record_refuses_what_is_no_time(playbook: StoredPlaybook) -> None:
    """A time that is none is an error, and nothing is counted."""
    playbook.add(lesson())
    with pytest.raises(PlaybookError, match="last_used"):
        playbook.record(["a"], Verdict.RECOVERED, at="yesterday")
    assert playbook.get(["a"])[0].uses == 0


def test_get_keeps_the_order(playbook: StoredPlaybook) -> None:
    """Lessons come in the order of the ids asked for, each once."""
    for id_ in "abc":
        playbook.add(lesson(id_))
    assert [found.id for found in playbook.get(["c", "x", "a", "c"])] == ["c", "a"]
    assert playbook.get([]) == []


def test_find(playbook: StoredPlaybook) -> None:
    """Every condition counts, on fields and on extra, with bounds, exactly."""
    playbook.add(lesson("a", tool="sql", uses=1, extra={"verified": True, "score": 0.5}))
    playbook.add(lesson("b", tool="sql", uses=3, extra={"verified": 1, "score": 0.9}))
    playbook.add(lesson("c", label=Label.PLANNING_STALL, extra={"tags": ["x"], "id": "mine"}))
    table: list[tuple[dict[str, Any], str]] = [
        ({}, "abc"),
        ({"tool": "sql"}, "ab"),
        ({"tool": None}, "c"),
        ({"label": Label.HALLUCINATION, "tool": "sql", "verified": True}, "a"),
        ({"verified": 1}, "b"),
        ({"type": "progress_failure"}, "c"),
        ({"score": {"gte": 0.2, "lte": 0.8}}, "a"),
        ({"score": {"gte": 0.6}}, "b"),
        ({"uses": {"lte": 1}}, "ac"),
        ({"uses": {"gte": 1.5, "lte": 3}}, "b"),
        ({"verified": {"gte": 0}}, "b"),
        ({"tags": ["x"]}, "c"),
        ({"extra.id": "mine"}, "c"),
        ({"tool": "s\x00l"}, ""),
        ({"nowhere": None}, ""),
        ({"label": "nothing"}, ""),
        ({"tool": {"$ne": "sql"}}, ""),
    ]
    for where, ids in table:
        assert [found.id for found in playbook.find(where)] == list(ids), where
    assert [found.id for found in playbook.find(limit=2)] == ["a", "b"]
    assert playbook.find(limit=0) == []


def test_delete(playbook: StoredPlaybook) -> None:
    """What is deleted is gone, and may be learned again."""
    playbook.add(lesson("a"))
    playbook.add(lesson("b"))
    playbook.delete(["a", "nowhere"])
    assert [found.id for found in playbook.find()] == ["b"]
    playbook.add(lesson("a"))
    assert playbook.count() == 2


def test_bound(open_backend: Callable[..., StoredPlaybook]) -> None:
    """Beyond the bound the least useful lesson goes, never the one just learned."""
    playbook = open_backend(max_lessons=3)
    playbook.add(lesson("good", recoveries=9))
    playbook.add(lesson("bad", relapses=9))
    playbook.add(lesson("ok", recoveries=2))
    playbook.add(lesson("new", recoveries=0, relapses=20))
    assert [found.id for found in playbook.find()] == ["good", "new", "ok"]


def test_owners(open_backend: Callable[..., StoredPlaybook]) -> None:
    """An owner sees its own lessons alone; the same lesson of two owners is two records."""
    playbook = open_backend(owner="ann")
    mine = playbook.add(lesson())
    assert mine.owner == "ann"
    assert playbook.get(["a"]) == playbook.find() == [mine]
    assert playbook.count() == 1


def test_owners_share_a_store(open_backend: Callable[..., StoredPlaybook]) -> None:
    """Two owners of one store do not see, count or delete each other's lessons."""
    ann, bob, everyone = open_backend(owner="ann"), open_backend(owner="bob"), open_backend()
    if isinstance(ann, MemoryPlaybook):
        everyone.add(lesson(owner="ann"))
        everyone.add(lesson(owner="bob"))
    else:
        ann.add(lesson())
        bob.add(lesson())
        bob.record(["a"], Verdict.RELAPSED, at=AT)
        assert [ann.get(["a"])[0].uses, bob.get(["a"])[0].uses] == [0, 1]
        bob.delete(["a"])
        assert [ann.count(), bob.count()] == [1, 0]
        assert bob.search(LessonQuery(Label.HALLUCINATION)) == []
        bob.add(lesson())
    assert [found.owner for found in everyone.get(["a"])] == ["ann", "bob"]


def test_stored_lessons_cannot_be_changed_from_outside(playbook: StoredPlaybook) -> None:
    """A caller that changes what it passed or got does not change the store."""
    tags = ["a"]
    stored = playbook.add(lesson(extra={"tags": tags}))
    tags.append("b")
    stored.extra["tags"].append("c")
    assert playbook.get(["a"])[0].extra == {"tags": ["a"]}


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "x" * 501},
        {"tool": "x" * 201},
        {"id": ""},
        {"uses": -1},
        {"created": "soon"},
        {"extra": {"a": object()}},
        {"extra": {1: "a"}},
        {"extra": {"a": float("nan")}},
        {"extra": {"a": "x" * 20_000}},
        {"extra": {"a": 10**5000}},
        {"text": "\ud800"},
        {"label": "nothing"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_add_refuses(playbook: StoredPlaybook, fields: dict[str, Any]) -> None:
    """What can't be stored exactly is refused in words, and nothing is stored."""
    with pytest.raises(PlaybookError):
        playbook.add(replace(lesson(), **fields))
    assert playbook.count() == 0


def test_hostile_texts(playbook: StoredPlaybook) -> None:
    """NUL, lone surrogates and megabytes in a query do no harm."""
    playbook.add(lesson())
    for text in ("\x00", "\ud800", "x" * 5_000_000, " ", "🙂"):
        assert len(playbook.search(LessonQuery(Label.HALLUCINATION, text))) == 1


def test_threads(open_backend: Callable[..., StoredPlaybook]) -> None:
    """Sixteen threads, each with its own playbook where there is a store, lose no lesson."""
    shared = open_backend()
    own = not isinstance(shared, MemoryPlaybook)

    def work(thread: int) -> None:
        playbook = open_backend() if own else shared
        for number in range(5):
            playbook.add(lesson(f"{thread}-{number}"))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert shared.count() == 80
    assert len(shared.search(LessonQuery(Label.HALLUCINATION, "order"), 100)) == 80


def test_threads_count_one_lesson(playbook: StoredPlaybook) -> None:
    """Counts of one lesson from several threads all arrive."""
    playbook.add(lesson())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: playbook.record(["a"], Verdict.RECOVERED, at=AT), range(16)))
    assert playbook.get(["a"])[0].uses == 16
