"""Lessons from outside: from the ledgers of runs that could not store them, and from files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.playbook.lessons import encode, parse_lesson
from sentry_langgraph.playbook.port import Playbook
from sentry_langgraph.records import Event, Lesson


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What became of the lessons.

    Attributes:
        added: Ids that are new in the playbook.
        present: Ids that were there already and were left as they are.
        refused: Why others were not taken, by their position from 0.
    """

    added: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    refused: Mapping[int, str] | None = None


def unstored_lessons(events: Iterable[Event]) -> list[Any]:
    """The lessons in a ledger that the playbook could not take, as they stand there."""
    return [
        event.get("lesson")
        for event in events
        if event.get("kind") == "lesson" and not event.get("stored", True)
    ]


def import_lessons(
    playbook: Playbook,
    items: Iterable[object],
    *,
    accept: Callable[[str], bool] | None = None,
) -> SyncReport:
    """Bring lessons into a playbook. Doing it twice changes nothing more.

    Each item is checked strictly; one that is refused doesn't keep the others out. A lesson
    whose id is stored already is left as it is, so that its counts are not added twice.

    Args:
        playbook: Where they go.
        items: Plain JSON, such as `Lesson.to_dict` gives.
        accept: Says whether a lesson's sentence may be shown to a model; by default any may.

    Raises:
        PlaybookError: The store can't be reached.
    """
    added: list[str] = []
    present: list[str] = []
    refused: dict[int, str] = {}
    for position, item in enumerate(items):
        try:
            lesson = parse_lesson(item)
            encode(lesson)
        except PlaybookError as error:
            refused[position] = str(error)
            continue
        if accept is not None and not accept(lesson.text):
            refused[position] = f"The text of lesson {lesson.id!r} reads like an instruction."
        elif playbook.get([lesson.id]):
            present.append(lesson.id)
        else:
            playbook.add(lesson)
            added.append(lesson.id)
    return SyncReport(tuple(added), tuple(present), refused)


def read_lessons(text: str) -> list[object]:
    """The items of a file of lessons: one JSON object a line, or one JSON list.

    Raises:
        PlaybookError: The text is not JSON; the message names the line.
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    try:
        if stripped.startswith("["):
            items = json.loads(stripped)
            return list(items)
    except (ValueError, RecursionError):
        raise PlaybookError("The file of lessons is not a JSON list.") from None
    found: list[object] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                raise PlaybookError(
                    f"Line {number} of the file of lessons is not JSON; write one object a line."
                ) from None
    return found


def write_lessons(lessons: Iterable[Lesson]) -> str:
    """Lessons as one JSON object a line, which `read_lessons` reads."""
    return "".join(encode(lesson) + "\n" for lesson in lessons)
