"""Where a value comes from: which request, result or accepted call holds it.

Nothing is copied or kept up to date. Passages are read from the newest to the oldest when
somebody asks, and where a value was found is remembered as a place to look first. What is found
there is checked again each time, so an edited or forked history can't be answered wrongly. A
step that asks nothing costs nothing, and a value in steady use costs one look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from sentry_langgraph.values import Sought, sought

Kind: TypeAlias = Literal["told", "result", "given"]

PASSAGES_READ = 20_000
"""Passages that one look goes back. What lies beyond is not judged."""

FIELDS_READ = 100_000
"""Characters of a passage that is read as JSON."""

_PLACES_KEPT = 512
_PAIRS = re.compile(
    r"[\"']?\b([A-Za-z_][\w-]{0,40})[\"']?\s{0,3}[:=]\s{0,3}"
    r"(?:\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|([^\s\"',;{}\[\]]{1,200}))"
)
_PAIRS_READ = 20_000
_FIELDS_KEPT = 5_000
_PLAIN = frozenset((str, int, float, bool))


class Passage(NamedTuple):
    """Something the agent was told or saw; a named tuple, because several are made for a step.

    Attributes:
        kind: `told`: a system or user text. `result`: what a tool gave. `given`: the arguments
            of a call that worked, which exist from then on.
        text: The complete text; for `given`, the arguments as JSON.
        tool: The tool, where there is one.
        failed: Whether the result is an error.
        step: The id of the message it stands in, or of the message that made the call; empty
            for texts outside of the messages.
        place: Where it stands in the history, for `Provenance.holds`.
        user: Whether the user said it.
        asked: The arguments of a call that failed: what they said, its error may only repeat.
    """

    kind: Kind
    text: str
    tool: str = ""
    failed: bool = False
    step: str = ""
    place: int = -1
    user: bool = False
    asked: str = ""

    def holds(self, wanted: Sought) -> bool:
        """Whether `wanted` stands here, and not only as the echo of a call that failed."""
        if not wanted.stands_in(self.text):
            return False
        return not self.asked or not wanted.stands_in(self.asked)


Passages: TypeAlias = Callable[[], Iterator[Passage]]
"""Gives the passages, newest first."""

Holds: TypeAlias = Callable[[int, Sought], bool]
"""Whether a value stands at a place of the history."""


def _nothing() -> Iterator[Passage]:
    return iter(())


def _nowhere(_: int, __: Sought) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a value stands.

    Attributes:
        passage: The passage.
        keys: Names of the fields that hold it and nothing more, where the passage has fields.
    """

    passage: Passage
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the agent was told and saw, up to the newest message.

    Attributes:
        passages: Gives the passages, newest first.
        holds: Whether a value stands at a place, so that a remembered one is looked at first.
        places: Where values were found, by their plain form. Only a hint: what is found there
            is checked each time. Kept by whoever owns the history.
        users: How many texts users have said, where whoever owns the history counts them; None:
            they are looked for.
    """

    passages: Passages = _nothing
    holds: Holds = _nowhere
    places: MutableMapping[str, int] = field(default_factory=dict)
    users: int | None = None

    @classmethod
    def of(
        cls, passages: Iterable[Passage], places: MutableMapping[str, int] | None = None
    ) -> Provenance:
        """From passages in order, oldest first.

        Args:
            passages: A list or tuple is read where it stands and not copied.
            places: What earlier looks at the same history remembered.
        """
        kept = passages if isinstance(passages, list | tuple) else tuple(passages)
        return cls(
            lambda: _backwards(kept),
            lambda place, wanted: place < len(kept) and kept[place].holds(wanted),
            {} if places is None else places,
        )

    def sources(self, value: object) -> Iterator[Source]:
        """Where `value` stands, newest first, each passage once."""
        wanted = sought(value)
        for passage in self._read():
            if passage.holds(wanted):
                yield Source(passage, keys_of(passage, wanted))

    def grounded(self, value: object) -> bool:
        """Whether `value` stands anywhere, in any of the forms of `sentry_langgraph.values`.

        A value beyond what one look reads counts as grounded: it was not looked for. So does
        every value where there is nothing to read.
        """
        wanted = sought(value)
        if not wanted.plain:
            return True
        known = self.places.get(wanted.plain)
        if known is not None and self.holds(known, wanted):
            return True
        count = 0
        for count, passage in enumerate(self.passages(), 1):
            if passage.holds(wanted):
                self._remember(wanted.plain, passage.place)
                return True
            if count >= PASSAGES_READ:
                return True
        return not count

    def told(self) -> Iterator[Passage]:
        """What users and the system said, newest first."""
        return (passage for passage in self._read() if passage.kind == "told")

    def results(self, limit: int) -> Iterator[Passage]:
        """The newest `limit` results that are no errors, newest first."""
        for passage in self._read():
            if passage.kind == "result" and not passage.failed:
                if limit <= 0:
                    return
                limit -= 1
                yield passage

    def _read(self) -> Iterator[Passage]:
        for count, passage in enumerate(self.passages()):
            if count >= PASSAGES_READ:
                return
            yield passage

    def _remember(self, key: str, place: int) -> None:
        if place < 0:
            return
        if len(self.places) >= _PLACES_KEPT:
            self.places.clear()
        self.places[key] = place


def _backwards(kept: Sequence[Passage]) -> Iterator[Passage]:
    for place in range(len(kept) - 1, -1, -1):
        passage = kept[place]
        yield passage if passage.place == place else passage._replace(place=place)


def written(args: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON: the text of a `given` passage."""
    try:
        return orjson.dumps(args, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):  # such as an integer of more than 64 bits
        return json.dumps(args, default=str, ensure_ascii=False)


def keys_of(passage: Passage, wanted: Sought) -> tuple[str, ...]:
    """The fields of a passage whose value is `wanted`, in the order they stand."""
    if passage.kind == "told":
        return ()
    found = (key for key, value in fields(passage.text) if wanted.is_value(value))
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=32)
def fields(text: str) -> tuple[tuple[str, Any], ...]:
    """The leaves of a text with the names they stand under.

    JSON is read as such; of other texts, pairs such as `order_id: W1` or `'id'='k-1'`.
    """
    value = parsed(text)
    if value is not None:
        return tuple(islice(leaves(value), _FIELDS_KEPT))
    return tuple(
        (key, quoted or single or bare.rstrip(".)"))
        for key, quoted, single, bare in _PAIRS.findall(text[:_PAIRS_READ])
    )


def parsed(text: str) -> Any:
    """The object or list that a text is as JSON, or None."""
    if len(text) > FIELDS_READ or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON value; items of a list stand under the name of the list."""
    kind = type(value)
    if kind is dict or isinstance(value, Mapping):
        for name, inner in value.items():
            if type(inner) in _PLAIN:  # most of them: no generator for each
                yield str(name), inner
            else:
                yield from leaves(inner, str(name))
    elif kind is list or isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, key)
    elif value is not None:
        yield key, value
