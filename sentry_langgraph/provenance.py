"""Where a value comes from, and which tools yield a kind of value.

Nothing is copied or kept up to date: passages are read from the newest to the oldest when
somebody asks, and a value that was found is remembered with the passage that holds it. So a
step that asks nothing costs nothing, and a step that uses known values costs one look each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["told", "result", "given"]


@dataclass(frozen=True, slots=True)
class Passage:
    """Something the agent was told or saw.

    Attributes:
        kind: `told`: a system or user text. `result`: what a tool gave. `given`: the arguments
            of a call that worked, which exist from then on.
        text: The complete text; for `given`, the arguments as JSON.
        tool: The tool, where there is one.
        failed: Whether the result is an error.
        step: The id of the message it stands in, or of the message that made the call.
    """

    kind: Kind
    text: str
    tool: str = ""
    failed: bool = False
    step: str = ""


Passages: TypeAlias = Callable[[], Iterator[Passage]]
"""Gives the passages, newest first."""


def _nothing() -> Iterator[Passage]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a value stands.

    Attributes:
        passage: The passage.
        keys: Names of the fields that hold it, where the passage is JSON.
    """

    passage: Passage
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the agent was told and saw, up to the newest message.

    Attributes:
        passages: Gives the passages, newest first.
    """

    passages: Passages = _nothing

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Provenance:
        """From passages in order, oldest first."""
        kept = tuple(passages)
        return cls(lambda: reversed(kept))

    def sources(self, value: object) -> Iterator[Source]:
        """Where `value` stands, newest first."""
        wanted = plain(value)
        if not wanted:
            return
        for passage in self.passages():
            if wanted in plain(passage.text):
                yield Source(passage, keys_of(passage, wanted))

    def grounded(self, value: object) -> bool:
        """Whether `value` stands anywhere."""
        return next(self.sources(value), None) is not None


_NOISE = re.compile(r"[^0-9a-z]+")


def plain(value: object) -> str:
    """A value or text as it is compared: lower case, letters and digits only, single spaces."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return _NOISE.sub(" ", text.lower()).strip()


def keys_of(passage: Passage, wanted: str) -> tuple[str, ...]:
    """The fields of a JSON passage whose value is `wanted`, in the order they stand."""
    found = (key for key, value in fields(passage.text) if plain(value) == wanted)
    return tuple(dict.fromkeys(found))


def fields(text: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON text with the names they stand under; nothing for other texts."""
    if text.lstrip()[:1] not in {"{", "["}:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from leaves(value)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON value; items of a list stand under the name of the list."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, key)
    elif value is not None:
        yield key, value
