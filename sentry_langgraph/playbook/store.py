"""What every playbook does, written once over a small shelf.

A backend only says how a shelf is opened: which lock is held, which database is behind it.
Adding, counting, ranking, bounds and ownership are the same for all and stand here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from sentry_langgraph.playbook import ranking
from sentry_langgraph.playbook.embeddings import Embedder, make_embedder, vectors_of
from sentry_langgraph.playbook.lessons import decode, encode, matches, merge, trigger
from sentry_langgraph.playbook.options import PlaybookOptions
from sentry_langgraph.playbook.port import Fingerprint
from sentry_langgraph.playbook.ranking import Entry
from sentry_langgraph.records import Lesson, LessonQuery, ScoredLesson
from sentry_langgraph.taxonomy import Verdict

KEYS = ("label", "type", "tool", "agent", "pattern", "argument", "status", "owner", "model")
"""Text fields by which a shelf can look up; conditions on others are checked afterwards."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which embedding made the vectors of a shelf, and how long they are."""

    embedding: str
    dimension: int


class Shelf(Protocol):
    """An open store of lessons, under a lock. Used by one thread, and closed after one use."""

    def read(
        self,
        *,
        ids: Sequence[str] | None = None,
        equal: Mapping[str, str] | None = None,
        vectors: bool = False,
    ) -> list[Entry]:
        """Lessons with one of these `ids` whose fields (of `KEYS`) equal those in `equal`."""
        ...

    def insert(self, entry: Entry) -> None:
        """Store a new lesson with its vector."""
        ...

    def update(self, lessons: Sequence[Lesson]) -> None:
        """Replace stored lessons; their vectors stay."""
        ...

    def remove(self, lessons: Sequence[Lesson]) -> None:
        """Remove stored lessons."""
        ...

    def size(self) -> int:
        """How many lessons there are."""
        ...


def utc_now() -> datetime:
    """The clock of a playbook, unless another one is passed."""
    return datetime.now(UTC)


def key_of(lesson: Lesson) -> str:
    """The key a lesson is stored under: owners that learn the same have a record each."""
    if lesson.owner is None and "::" not in lesson.id:
        return lesson.id
    owner = lesson.owner or ""
    return f"{len(owner)}:{owner}::{lesson.id}"


def fits(lesson: Lesson, ids: Sequence[str] | None, equal: Mapping[str, str] | None) -> bool:
    """Whether a lesson is among what `Shelf.read` was asked for."""
    if ids is not None and lesson.id not in ids:
        return False
    return all(getattr(lesson, key) == value for key, value in (equal or {}).items())


class StoredPlaybook(ABC):
    """A playbook over a shelf.

    Args:
        options: Bounds, owner, ranking and the place.
        embedder: Gives the vectors; by default what `options.embeddings` names.
        clock: Gives the time that recency is measured from.
    """

    def __init__(
        self,
        options: PlaybookOptions | None = None,
        *,
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.options = options or PlaybookOptions()
        self._embedder = embedder or make_embedder(self.options.embeddings)
        self._clock = clock

    @abstractmethod
    def _open(
        self, stamp: Stamp | None = None, *, create: bool = False
    ) -> AbstractContextManager[Shelf]:
        """The shelf, locked.

        Args:
            stamp: The vectors that will be written or compared; None where none are.
            create: Whether to make the store where there is none yet.

        Raises:
            PlaybookError: The store can't be reached, or holds vectors of another embedding.
        """

    def search(
        self, query: LessonQuery, k: int = 3, *, fingerprint: Fingerprint | None = None
    ) -> list[ScoredLesson]:
        """The `k` active lessons of the query's label that fit best, best first.

        Args:
            query: What is asked.
            k: How many at most.
            fingerprint: Digest that the tools of a lesson's path have now; a lesson whose
                tools have changed weighs less.

        Raises:
            PlaybookError: The store can't be reached.
        """
        if k <= 0:
            return []
        vector = stamp = None
        if query.text.strip():
            vector, stamp = self._embed(query.text)
        equal = {**self._mine(), "label": str(query.label), "status": "active"}
        with self._open(stamp) as shelf:
            entries = shelf.read(equal=equal, vectors=vector is not None)
        return ranking.rank(
            entries,
            query,
            vector,
            k,
            now=self._clock(),
            options=self.options.ranking,
            fingerprint=fingerprint,
        )

    def add(self, lesson: Lesson) -> Lesson:
        """Store a lesson; where its id exists, add its counts to it. Returns what is stored.

        Raises:
            PlaybookError: The store can't be reached, or the lesson holds what it can't keep.
        """
        if self.options.owner is not None:
            lesson = replace(lesson, owner=self.options.owner)
        lesson = decode(encode(lesson))
        vector, stamp = self._embed(trigger(lesson))
        with self._open(stamp, create=True) as shelf:
            key = key_of(lesson)
            stored = [entry.lesson for entry in shelf.read(ids=[lesson.id])]
            known = [other for other in stored if key_of(other) == key]
            if known:
                lesson = ranking.judged(merge(known[0], lesson), self.options.ranking)
                shelf.update([decode(encode(lesson))])
                return lesson
            shelf.insert(Entry(lesson, vector))
            self._bound(shelf, lesson)
        return lesson

    def record(self, ids: Sequence[str], verdict: Verdict, *, at: str) -> None:
        """Count one use of each lesson with its outcome, at ISO 8601 time `at`.

        A use that did not lead to a recovery counts as a relapse, whether the failure came
        back or nothing was seen. A lesson whose lower bound of success falls is quarantined.
        Unknown ids are passed over.

        Raises:
            PlaybookError: The store can't be reached, or `at` is not a time.
        """
        won = verdict is Verdict.RECOVERED
        with self._open() as shelf:
            counted = [
                ranking.judged(
                    replace(
                        lesson.counted(uses=1, recoveries=int(won), relapses=int(not won)),
                        last_used=max(lesson.last_used, at),
                    ),
                    self.options.ranking,
                )
                for lesson in self._named(shelf, ids)
            ]
            if counted:
                shelf.update([decode(encode(lesson)) for lesson in counted])

    def get(self, ids: Sequence[str]) -> list[Lesson]:
        """The lessons with these ids, in that order; unknown ids are passed over.

        Raises:
            PlaybookError: The store can't be reached.
        """
        with self._open() as shelf:
            return self._named(shelf, ids)

    def find(
        self, where: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[Lesson]:
        """Lessons for which every condition in `where` holds, sorted by id.

        Args:
            where: Values by field of the lesson, `type`, or key of its `extra`. A value may be
                a mapping of bounds, `{"gte": 0.2, "lte": 0.8}`.
            limit: How many at most.

        Raises:
            PlaybookError: The store can't be reached, or a value can't be compared.
        """
        where = dict(where or {})
        equal = {key: str(value) for key, value in where.items() if _by_key(key, value)}
        with self._open() as shelf:
            entries = shelf.read(equal={**equal, **self._mine()})
        found = [entry.lesson for entry in entries if matches(entry.lesson, where)]
        found.sort(key=lambda lesson: (lesson.id, lesson.owner or ""))
        return found if limit is None else found[: max(limit, 0)]

    def delete(self, ids: Sequence[str]) -> None:
        """Remove lessons; unknown ids are passed over.

        Raises:
            PlaybookError: The store can't be reached.
        """
        with self._open() as shelf:
            named = self._named(shelf, ids)
            if named:
                shelf.remove(named)

    def count(self) -> int:
        """How many lessons are stored.

        Raises:
            PlaybookError: The store can't be reached.
        """
        mine = self._mine()
        with self._open() as shelf:
            return len(shelf.read(equal=mine)) if mine else shelf.size()

    def _mine(self) -> dict[str, str]:
        return {} if self.options.owner is None else {"owner": self.options.owner}

    def _named(self, shelf: Shelf, ids: Sequence[str]) -> list[Lesson]:
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        place = {id_: index for index, id_ in enumerate(wanted)}
        lessons = [entry.lesson for entry in shelf.read(ids=wanted, equal=self._mine())]
        return sorted(lessons, key=lambda lesson: (place[lesson.id], lesson.owner or ""))

    def _embed(self, text: str) -> tuple[list[float], Stamp]:
        vector = vectors_of(self._embedder, [text])[0]
        return vector, Stamp(self._embedder.name, len(vector))

    def _bound(self, shelf: Shelf, added: Lesson) -> None:
        keep = self.options.max_lessons
        if shelf.size() <= keep:
            return
        lessons = [entry.lesson for entry in shelf.read(equal=self._mine())]
        shelf.remove(
            ranking.surplus(
                lessons, keep, now=self._clock(), options=self.options.ranking, spare=added.id
            )
        )


def _by_key(key: str, value: Any) -> bool:
    return key in KEYS and isinstance(value, str) and bool(value) and value.isprintable()
