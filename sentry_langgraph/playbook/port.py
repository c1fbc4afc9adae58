"""What a playbook offers: the port that the memory and Chroma backends implement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from sentry_langgraph.records import Lesson, LessonQuery, ScoredLesson
from sentry_langgraph.taxonomy import Verdict

Fingerprint: TypeAlias = Callable[[Lesson], str | None]
"""The digest that the tools on a lesson's path have now, or None where it isn't known."""


@runtime_checkable
class Playbook(Protocol):
    """A store of lessons, keyed by failure label.

    Every method is synchronous and safe to call from several threads; async callers run it in
    a worker thread. Each raises `PlaybookError` when the store can't be reached.
    """

    def search(
        self, query: LessonQuery, k: int = 3, *, fingerprint: Fingerprint | None = None
    ) -> list[ScoredLesson]:
        """The `k` active lessons of the query's label that fit best, best first.

        `fingerprint` gives the digest that the tools of a lesson's path have now; a lesson
        whose tools have changed weighs less.
        """
        ...

    def add(self, lesson: Lesson) -> Lesson:
        """Store a lesson; where its id exists, add its counts to it. Returns what is stored."""
        ...

    def record(self, ids: Sequence[str], verdict: Verdict, *, at: str) -> None:
        """Count one use of each lesson with its outcome, at ISO 8601 time `at`.

        A lesson whose lower bound of success falls is quarantined. Unknown ids are passed over.
        """
        ...

    def get(self, ids: Sequence[str]) -> list[Lesson]:
        """The lessons with these ids, in that order; unknown ids are passed over."""
        ...

    def find(
        self, where: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[Lesson]:
        """Lessons whose fields equal those in `where`, sorted by id.

        A value may be a mapping of bounds, `{"gte": 0.2, "lte": 0.8}`.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Remove lessons; unknown ids are passed over."""
        ...

    def count(self) -> int:
        """How many lessons are stored."""
        ...
