"""Changes that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from sentry_langgraph.detect.conversation import only_request
from sentry_langgraph.detect.flaws import Flaw
from sentry_langgraph.detect.verbs import kinds_of, said_as
from sentry_langgraph.records import ToolCall, ToolSpec, Trajectory
from sentry_langgraph.slots import words_of
from sentry_langgraph.wants import wants_change

TOLD_READ = 60
"""Newest texts of users and the system that are read."""

_TEXT_READ = 20_000
_AGREES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|ok|okay|please do|go ahead|do it|do so|do that|proceed|confirm\w*|"
    r"correct|right|fine|sounds good|agree\w*|perfect|great|exactly|absolutely|definitely|of "
    r"course|works for me|let.s|i.d like|i want|the first|the second|both|all of)\b"
)
_MATERIAL = frozenset(
    "file code note todo task memory plan document doc cell page draft log branch commit directory "
    "folder scratchpad state step thought message session context variable table row dashboard "
    "chart report test issue".split()
)
"""What an agent works with: changing it is a means, and nobody asks for it by that word."""

_DESCRIPTION_READ = 300
_NAMED = 2
"""Words of a name that says what is changed; `add` alone may mean anything."""

_SENTENCE = 4
"""Words of a request that says what is wanted; "go" does not."""

_SHORT = 3
"""Words of a tool's name that are shorter say nothing."""


def unrequested(call: ToolCall, spec: ToolSpec, trajectory: Trajectory) -> Flaw | None:
    """The flaw of a change whose kind no text of a user or the system mentions.

    A user who says yes has asked for what the agent had proposed. Only changes whose kind the
    tool's name says are judged, and any change where all that the user has said is a question.

    Args:
        call: The change.
        spec: Its tool.
        trajectory: Its task.
    """
    kinds = kinds_of(call.name)
    words = words_of(call.name)
    if len(words) < _NAMED or not _MATERIAL.isdisjoint(words):
        return None
    if not kinds and (wants_change(trajectory.task.objective) or not only_request(trajectory)):
        return None
    verb = next((word for word in words if len(word) > _SHORT and kinds_of(word)), "")[:5]
    told = said = 0
    for passage in islice(trajectory.provenance.told(), TOLD_READ):
        text = passage.text[:_TEXT_READ].lower()
        if not text:
            continue
        if passage.user and not told and _AGREES.search(text):
            return None
        # in a plain question it is what the question is about
        if _mentions(text, call.name.lower(), verb, kinds, spec) and (
            not passage.user or wants_change(text)
        ):
            return None
        if passage.user:
            told += 1
            said += len(text.split())
    if said < _SENTENCE:
        return None
    return Flaw(
        call.index,
        call.name,
        "",
        "unrequested_change",
        f"the request does not ask for this change (`{call.name}`)",
        confidence=0.7,
        owed=False,
        advice="do what the request asks for, and nothing else. If it asks only for an answer, "
        "look it up and give it.",
    )


def _mentions(text: str, tool: str, verb: str, kinds: Sequence[str], spec: ToolSpec) -> bool:
    """Whether a text speaks of a kind of change, cheapest signs first."""
    if (verb and verb in text) or tool in text:
        return True
    return any(said_as(kind).search(text) for kind in kinds) or _in_its_own_words(spec, text)


def _in_its_own_words(spec: ToolSpec, text: str) -> bool:
    """Whether a text has a phrase of the tool: where its name leads to, three words in a row."""
    name = words_of(spec.name)
    to = {word for at, word in enumerate(name) if len(word) > _SHORT and "to" in name[:at]}
    if any(word in text for word in to):
        return True
    words = re.findall(r"\w+", spec.description[:_DESCRIPTION_READ].lower())
    said = " ".join(re.findall(r"\w+", text))
    return any(f" {' '.join(words[at : at + 3])} " in f" {said} " for at in range(len(words) - 2))
