"""What people say about steps: their labels, and pointers to clear cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentry_langgraph.bench.detection.intervals import Share
from sentry_langgraph.bench.detection.watch import Watched
from sentry_langgraph.replay.recording import RecordingError
from sentry_langgraph.taxonomy import Label, is_hard

NEAR = 2
"""A label counts as caught up to so many messages of the agent before or after its step."""

INVALID = "invalid_action"
"""The annotators' mapping for any invalid call; it stands for all our hard labels."""

_HARD = frozenset(str(label) for label in Label if is_hard(label))


@dataclass(frozen=True, slots=True)
class PeopleScore:
    """One kind of label that people gave, on one source.

    Attributes:
        source: The source.
        label: Our name for it; empty where the mapping has none.
        map: How well the mapping fits: `direct`, `partial`, or empty.
        source_label: The annotators' own word.
        same: Labelled steps near which we report the same label.
        any: Labelled steps near which we report any label.
        root_same: The same for steps that the annotators call the root cause.
        unplaced: Labels that name no step, which can't be compared.
    """

    source: str
    label: str
    map: str
    source_label: str
    same: Share
    any: Share
    root_same: Share
    unplaced: int = 0


@dataclass(frozen=True, slots=True)
class Pointer:
    """A step that is a clear positive or a hard negative.

    Attributes:
        file: The file of the run.
        id: The run.
        step: The message, as a position.
        label: The failure that is or isn't there.
        positive: Whether it is there.
        why: Why, in words.
    """

    file: str
    id: str
    step: int
    label: str
    positive: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class PointerScore:
    """What we say near one pointer.

    Attributes:
        pointer: The pointer.
        acts: What findings of its label lead to, within `NEAR` messages of the agent.
        others: Other labels that are reported there.
    """

    pointer: Pointer
    acts: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether a positive is reported at all, and a negative is not held."""
        if self.pointer.positive:
            return bool(self.acts)
        return not {"held", "refused"} & set(self.acts)


def people(source: str, runs: Sequence[Watched]) -> Iterator[PeopleScore]:
    """Recall on people's labels, by their own word."""
    kinds = {_kind(note) for run in runs for note in run.annotations}
    for kind in sorted(kinds):
        same: Counter[bool] = Counter()
        any_: Counter[bool] = Counter()
        root: Counter[bool] = Counter()
        unplaced = 0
        for run in runs:
            for note in run.annotations:
                if _kind(note) != kind:
                    continue
                if not isinstance(note.get("step"), int):
                    unplaced += 1
                    continue
                labels = {label for label, _ in near(run, note["step"])}
                hit = bool(kind[0]) and bool(labels & _names(kind[0]))
                same[hit] += 1
                any_[bool(labels)] += 1
                if note.get("root_cause"):
                    root[hit] += 1
        yield PeopleScore(
            source,
            *kind,
            same=Share(same[True], same.total() if kind[0] else 0),
            any=Share(any_[True], any_.total()),
            root_same=Share(root[True], root.total() if kind[0] else 0),
            unplaced=unplaced,
        )


def near(run: Watched, step: int) -> set[tuple[str, str]]:
    """Labels and acts that we report within `NEAR` messages of the agent around a step."""
    turn = run.turn_of(step)
    return {
        (found.label, found.act)
        for found in run.ours
        if abs(run.turn_of(found.position) - turn) <= NEAR
    }


def pointed(pointers: Iterable[Pointer], runs: Iterable[Watched]) -> Iterator[PointerScore]:
    """What we say near each pointer whose run was watched."""
    known = {(run.file, run.id): run for run in runs}
    for pointer in pointers:
        run = known.get((pointer.file, pointer.id))
        if run is None:
            continue
        found = near(run, pointer.step)
        names = _names(pointer.label)
        yield PointerScore(
            pointer,
            tuple(sorted({act for label, act in found if label in names})),
            tuple(sorted({label for label, _ in found if label not in names})),
        )


def read_pointers(path: Path) -> tuple[Pointer, ...]:
    """The pointers of a file with one JSON object a line; none where there is no such file.

    Raises:
        RecordingError: A line is not of the form.
    """
    if not path.is_file():
        return ()
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            one = json.loads(line)
            found.append(
                Pointer(
                    one["file"],
                    one["id"],
                    int(one["step"]),
                    one["label"],
                    bool(one["positive"]),
                    str(one.get("why") or ""),
                )
            )
        except (ValueError, KeyError, TypeError) as error:
            raise RecordingError(f"{path}:{number}: not a pointer to a step: {error!r}") from error
    return tuple(found)


def _kind(note: Mapping[str, Any]) -> tuple[str, str, str]:
    return (
        str(note.get("label") or ""),
        str(note.get("map") or ""),
        str(note.get("source_label") or ""),
    )


def _names(label: str) -> frozenset[str]:
    return _HARD if label == INVALID else frozenset({label})
