"""Lessons for the life of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from sentry_langgraph.playbook.embeddings import Embedder
from sentry_langgraph.playbook.lessons import decode, encode
from sentry_langgraph.playbook.options import PlaybookOptions
from sentry_langgraph.playbook.ranking import Entry, Vector
from sentry_langgraph.playbook.store import Shelf, Stamp, StoredPlaybook, fits, key_of, utc_now
from sentry_langgraph.records import Lesson


class MemoryShelf:
    """Lessons in a dict, as JSON text so that no reader can change what is stored."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Vector]] = {}

    def read(
        self,
        *,
        ids: Sequence[str] | None = None,
        equal: Mapping[str, str] | None = None,
        vectors: bool = False,
    ) -> list[Entry]:
        """Lessons with one of these `ids` whose fields equal those in `equal`."""
        found = []
        for text, vector in self._kept.values():
            lesson = decode(text)
            if fits(lesson, ids, equal):
                found.append(Entry(lesson, vector if vectors else ()))
        return found

    def insert(self, entry: Entry) -> None:
        """Store a new lesson with its vector."""
        self._kept[key_of(entry.lesson)] = (encode(entry.lesson), entry.vector)

    def update(self, lessons: Sequence[Lesson]) -> None:
        """Replace stored lessons; their vectors stay."""
        for lesson in lessons:
            key = key_of(lesson)
            self._kept[key] = (encode(lesson), self._kept[key][1])

    def remove(self, lessons: Sequence[Lesson]) -> None:
        """Remove stored lessons."""
        for lesson in lessons:
            self._kept.pop(key_of(lesson), None)

    def size(self) -> int:
        """How many lessons there are."""
        return len(self._kept)


class MemoryPlaybook(StoredPlaybook):
    """A playbook that is gone with the process: for tests, and for runs that leave no trace.

    Args:
        options: Bounds, owner and ranking; the place is not used.
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
        super().__init__(options, embedder=embedder, clock=clock)
        self._shelf = MemoryShelf()
        self._lock = threading.Lock()

    @contextmanager
    def _open(self, stamp: Stamp | None = None, *, create: bool = False) -> Iterator[Shelf]:
        with self._lock:
            yield self._shelf
