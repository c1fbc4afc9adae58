"""`store_ops`: lessons in a real Chroma database."""

from __future__ import annotations

import datetime
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cases.drive import captured
from cases.loader import Case, CaseError
from cases.observe import LABELS, Record
from cases.plans import Run
from sentry_langgraph.playbook import ChromaPlaybook, PlaybookOptions
from sentry_langgraph.records import Lesson, LessonQuery
from sentry_langgraph.taxonomy import Label

_OWN = ("id", "text", "tool", "argument", "pattern", "agent", "created")


def runs(case: Case) -> Iterator[Run]:
    """What the case asks of the store."""
    given = case.input
    if "queries" in given:
        yield Run("queries", lambda mode: _queries(case, given["lessons"]), ("sync",))
        yield Run("empty_collection", lambda mode: _queries(case, []), ("sync",))
    elif "lesson" in given:
        yield Run("main", lambda mode: _round_trip(given["lesson"]), ("sync",))
    else:
        yield Run("main", lambda mode: _ops(given), ("sync",))


def lesson_of(given: Mapping[str, Any], default_id: str = "one") -> Lesson:
    """A lesson from the fields of a case; those that are not ours go into `extra`."""
    created = given.get("created", "")
    if isinstance(created, datetime.date):
        created = created.isoformat()
    label = LABELS.get(given.get("failure", "loop"), given.get("failure", "loop"))
    own = {key: given[key] for key in _OWN if key in given and key != "created"}
    return Lesson(
        **{"id": default_id, "text": "a lesson", **own},
        label=Label(label),
        created=created,
        extra={key: value for key, value in given.items() if key not in (*_OWN, "failure")},
    )


@contextmanager
def opened() -> Iterator[ChromaPlaybook]:
    """A playbook in a directory of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
        yield ChromaPlaybook(PlaybookOptions(path=path, embeddings="hashed"))


@contextmanager
def connections() -> Iterator[list[Any]]:
    """Every connection that is made meanwhile."""
    made: list[Any] = []
    own = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex")}

    def keeping(name: str) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            made.append(address)
            return own[name](self, address)

        return connect

    for name in own:
        setattr(socket.socket, name, keeping(name))
    try:
        yield made
    finally:
        for name, method in own.items():
            setattr(socket.socket, name, method)


def _queries(case: Case, lessons: list[Mapping[str, Any]]) -> Record:
    answers: dict[str, list[str]] = {}
    with opened() as store, captured() as logs:
        for given in lessons:
            store.add(lesson_of(given))
        for name, query in case.input["queries"].items():
            found = store.find(_where(query["filter"]), query["k"])
            answers[name] = [lesson.id for lesson in found]
        scores = [lesson_of({"id": f"s{n}", "score": n / 10}) for n in range(11)]
        bounded = {}
        if lessons:
            for lesson in scores:
                store.add(lesson)
            for name, query in case.input["queries"].items():
                if "score" in query["filter"]:
                    found = store.find(_where(query["filter"]), 50)
                    bounded[name] = [lesson.extra["score"] for lesson in found]
    return Record(
        "queries" if lessons else "empty_collection",
        "sync",
        logs=tuple(logs),
        extra={"answers": answers, "bounded": bounded},
    )


def _where(given: Mapping[str, Any]) -> dict[str, Any]:
    """A filter in our names."""
    return {
        ("label" if key == "failure" else key): (
            LABELS.get(value, value) if isinstance(value, str) and key == "failure" else value
        )
        for key, value in given.items()
    }


def _round_trip(given: Mapping[str, Any]) -> Record:
    lesson = lesson_of(given)
    with opened() as store, captured() as logs:
        store.add(lesson)
        back = store.get([lesson.id])[0]
        found = store.search(LessonQuery(lesson.label, lesson.text), 3)
    return Record(
        "main",
        "sync",
        logs=tuple(logs),
        lessons=(back,),
        extra={"given": dict(given), "lesson": lesson, "found": [s.lesson for s in found]},
    )


def _ops(given: Mapping[str, Any]) -> Record:
    import logging

    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.disabled
    with connections() as made, opened() as store, captured() as logs:
        for words in given["ops"]:
            if words == "open":
                store.count()
            elif words.startswith("add"):
                for number in range(int(words.split()[1])):
                    store.add(lesson_of({"id": f"l{number}", "failure": "loop"}))
            elif words in ("query", "search"):
                store.search(LessonQuery(Label.REPETITION_OR_LOOPING, "a loop"), 3)
            elif words == "count":
                store.count()
            else:
                raise CaseError(f"the operation {words!r} is not known")
        telemetry = store._settings(embedded=True).anonymized_telemetry
        count = store.count()
    return Record(
        "main",
        "sync",
        logs=tuple(logs),
        extra={
            "connections": made,
            "count": count,
            "telemetry": telemetry,
            "root": (root.level, list(root.handlers), root.disabled) == (level, handlers, disabled),
        },
    )
