"""Whether a step serves the request, by the words they share.

The words of a request are its own, those of the first step (which is how the agent reads the
request), and from then on what the calls that serve it were given and brought: an id or a file
name out of a result belongs to the request that led to it. Words are compared by their stems,
in scripts that put spaces between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sentry_langgraph.provenance import leaves
from sentry_langgraph.records import Proposal, Step, ToolCall

_LOOKED_AT = 4_000
_STEM = 5
_SHORT = 2
_LEAST = 2
"""Words that a request has to have before anything can be said."""

_WORDS = re.compile(r"[^\W\d_]+|\d{3,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_STOP = frozenset(
    "hello hi hey help dear "
    "a about all also am an and any are as at be been but by can could did do does done for from "
    "get go going had has have he her here him his how i if in into is it its just let like ll "
    "make me more my need new next no not now of off ok okay on one or our out over own please "
    "re really s she should so some still t than thank thanks that the their them then there "
    "these they this to too two up us use using ve want was we well were what when where which "
    "while who will with would yes yet you your true false null none".split()
)


@dataclass(frozen=True, slots=True)
class Said:
    """The words of one step: of its calls' arguments, and of its text."""

    args: frozenset[str]
    text: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Both together."""
        return self.args | self.text


@lru_cache(maxsize=1024)
def words(text: str) -> frozenset[str]:
    """The content words of a text by their stems; its first 4,000 characters are read."""
    spaced = _CAMEL.sub(" ", text[:_LOOKED_AT])
    found = (word.lower() for word in _WORDS.findall(spaced))
    return frozenset(_stem(word) for word in found if word not in _STOP and len(word) > 1)


def _stem(word: str) -> str:
    if len(word) > 3 and word.endswith("s"):
        word = word[:-1]
    return word[:_STEM]


@lru_cache(maxsize=256)
def comparable(objective: str) -> bool:
    """Whether the words of a request can be compared at all."""
    return len(words(objective)) >= _LEAST and not _SPACELESS.search(objective)


def said(step: Step | Proposal) -> Said:
    """The words of a step."""
    return Said(given(step), words(step.text))


def given(step: Step | Proposal) -> frozenset[str]:
    """The words of the arguments of a step's calls."""
    args: frozenset[str] = frozenset()
    for call in step.calls:
        args |= _of_args(call)
    return args


def _of_args(call: ToolCall) -> frozenset[str]:
    values: Mapping[str, Any] = call.args or {}
    return words(" ".join(str(value) for _, value in leaves(values)))


def touches(one: Said, topic: frozenset[str]) -> bool | None:
    """Whether words belong to a topic; None where there are too few to say.

    An argument that belongs is enough. A text of more than two words has to share two: one,
    such as "page", is shared by chance.
    """
    shared = one.text & topic
    needed = 1 if len(one.text) <= _SHORT else 2
    if not one.args.isdisjoint(topic) or len(shared) >= needed:
        return True
    return False if len(one.args) + len(one.text) >= _LEAST else None


def serves(objective: str, steps: Sequence[Step]) -> tuple[tuple[bool | None, ...], frozenset[str]]:
    """Which steps serve the request, and all the words that have come to belong to it.

    Args:
        objective: The request.
        steps: The steps of its task, oldest first.

    Returns:
        For each step True, False, or None where it says too little; and the words.
    """
    core = words(objective)
    topic = core
    served: list[bool | None] = []
    for position, step in enumerate(steps):
        own = said(step)
        brought = frozenset[str]().union(*(words(seen.text) for seen in step.observations))
        fits = touches(own, topic)
        if fits is False and (position == 0 or len(brought & core) >= _LEAST):
            fits = True
        served.append(fits)
        if fits is not False:
            topic |= own.args | brought
        if position == 0:
            topic |= own.text
    return tuple(served), topic
