"""Where the answer to a question stands: fields of results that the request names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sentry_langgraph.provenance import fields
from sentry_langgraph.records import Step
from sentry_langgraph.slots import singular, slot_of, words_of

_REQUEST_READ = 4_000
_STEM = 5
_CLIP = 60
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}\Z")
"""Names that may be shown: a tool may call its fields anything."""

_STATE_OF = frozenset("due left owed open remaining outstanding".split())
"""Last words of a name that say in what state the thing before is: `fees_due` are fees."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A field of a result that the request names.

    Attributes:
        tool: The tool that gave it.
        field: Its name.
        value: Its value.
        outright: Whether the request has every word of the name.
    """

    tool: str
    field: str
    value: Any
    outright: bool

    @property
    def shown(self) -> str:
        """The value, as a text for the model or the user may quote it."""
        flat = " ".join(str(self.value).split())
        flat = flat if len(flat) <= _CLIP else f"{flat[: _CLIP - 1]}…"
        return f"'{flat}'" if isinstance(self.value, str) else flat


def answers(request: str, steps: Sequence[Step]) -> Iterator[Answer]:
    """The fields of a task's results that the request names, newest result first.

    The request has to have the last word of the name. Names of identifiers don't count: a
    request is seldom about them.
    """
    asked = _asked(request[-_REQUEST_READ:])
    for step in reversed(steps):
        for seen in reversed(step.observations):
            if not seen.worked:
                continue
            for key, value in fields(seen.text):
                said = _said(key, asked)
                if said:
                    yield Answer(seen.name, key, value, all(said))


def _said(key: str, asked: frozenset[str]) -> list[bool]:
    """Which words of a field's name the request has; empty where it does not name the field."""
    if slot_of(key).kind in ("id", "number") or not _NAME.match(key):
        return []
    words = list(words_of(key))
    if len(words) > 1 and words[-1] in _STATE_OF:
        words.pop()
    said = [word[:_STEM] in asked for word in words]
    return said if said and said[-1] else []


@lru_cache(maxsize=64)
def _asked(request: str) -> frozenset[str]:
    """The stems of the words of a request; `e-mail` is `email`."""
    words = re.findall(r"[a-z]{3,}", request.lower().replace("-", ""))
    return frozenset(singular(word)[:_STEM] for word in words)
