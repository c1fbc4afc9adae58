"""Where the answer to a question stands: fields of results that the request names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sentry_langgraph.provenance import fields
from sentry_langgraph.records import Step
from sentry_langgraph.slots import identifies, plain_name, singular, words_of

_REQUEST_READ = 4_000
_STEM = 5
_CLIP = 60

_ASKS = (
    r"\b(?:what|which|whose|tell me|give me|show me|name|say)(?:['’]s|\s+(?:is|are|was|were))?\s+"
    r"(?:(?:the|their|his|her|its|your|my|our|an?)\s+)?"
)
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
        words: The words of its name.
    """

    tool: str
    field: str
    value: Any
    outright: bool
    words: tuple[str, ...] = ()

    def wanted_by(self, request: str) -> bool:
        """Whether it is what the request asks for, and not only what the request speaks of.

        `which year …` asks for a year; `what does the item cost` asks for no item.
        """
        name = r"[\s_-]+".join(map(re.escape, self.words))
        return re.search(_ASKS + name + r"s?\b", request, re.IGNORECASE) is not None

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
                words = _words(key)
                if words and words[-1][:_STEM] in asked:
                    outright = all(word[:_STEM] in asked for word in words)
                    yield Answer(seen.name, key, value, outright, words)


def _words(key: str) -> tuple[str, ...]:
    """The words of a field's name that a question would have; none for an identifier's."""
    if identifies(key) or not plain_name(key):
        return ()
    words = words_of(key)
    return words[:-1] if len(words) > 1 and words[-1] in _STATE_OF else words


@lru_cache(maxsize=64)
def _asked(request: str) -> frozenset[str]:
    """The stems of the words of a request; `e-mail` is `email`."""
    words = re.findall(r"[a-z]{3,}", request.lower().replace("-", ""))
    return frozenset(singular(word)[:_STEM] for word in words)
