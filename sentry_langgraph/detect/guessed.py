"""A look-up that found nothing, made again with a value that nobody gave."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sentry_langgraph.detect.flaws import Flaw, shown
from sentry_langgraph.records import ToolCall, Trajectory
from sentry_langgraph.slots import Leaf, words_of

_SEARCHED = frozenset(
    "query q search keyword pattern regex filter term text expression expr command cmd sql code "
    "script input path file filename url uri link glob prefix selector topic prompt question "
    "page offset limit index cursor".split()
)
"""Arguments whose values are made up on purpose: trying another one is what searching is."""

_LONGEST = 80
_GUESSES = 2
"""Guesses that found nothing before another one is held."""


def guessed_again(call: ToolCall, leaves: Sequence[Leaf], trajectory: Trajectory) -> Flaw | None:
    """The flaw of one more guess, after the same tool has found nothing for two others.

    One more try is how names of tables and cities are found; a third is guessing. A value that
    has a word of the request is another way to say it, and no guess.
    """
    if _not_found(call.name, trajectory) < _GUESSES:
        return None
    for leaf in leaves:
        value = leaf.value
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or "enum" in leaf.schema:
            continue
        if not _SEARCHED.isdisjoint(words_of(leaf.name)) or _said(value, trajectory):
            continue
        return Flaw(
            call.index,
            call.name,
            leaf.name,
            "guessed_again",
            f"`{leaf.name}` is '{shown(value)}', which nobody has named: another guess after "
            "others were not found",
            confidence=0.8,
            owed=False,
        )
    return None


def _not_found(tool: str, trajectory: Trajectory) -> int:
    """How many different calls of a tool in a row, up to the last step, found nothing."""
    found: set[str] = set()
    for step in reversed(trajectory.steps):
        for made in step.calls:
            seen = step.observation_of(made)
            if seen is None or seen.own:
                continue
            if made.name != tool or not seen.found_nothing:
                return len(found)
            found.add(str(made.args))
    return len(found)


def _said(value: str, trajectory: Trajectory) -> bool:
    request = trajectory.task.objective.lower()
    words = re.findall(r"\w{4,}", value.lower())
    return any(word in request for word in words) or trajectory.provenance.grounded(value)
