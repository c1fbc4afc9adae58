"""A look-up that found nothing, made again with a value that nobody gave."""

from __future__ import annotations

from sentry_langgraph.detect.flaws import Flaw, shown
from sentry_langgraph.records import ToolCall, Trajectory, reads_as_not_there
from sentry_langgraph.slots import leaves_of, words_of

_SEARCHED = frozenset(
    "query q search keyword pattern regex filter term text expression expr command cmd sql code "
    "script input path file filename url uri link glob prefix selector topic prompt question "
    "page offset limit index cursor".split()
)
"""Arguments whose values are made up on purpose: trying another one is what searching is."""

_LONGEST = 80


def guessed_again(call: ToolCall, trajectory: Trajectory) -> Flaw | None:
    """The flaw of another guess, right after the same tool said that its target is not there."""
    last = trajectory.steps[-1] if trajectory.steps else None
    if last is None or all(seen.status != "error" for seen in last.observations):
        return None
    refused = any(
        made.name == call.name
        and (seen := last.observation_of(made)) is not None
        and not seen.own
        and seen.status == "error"
        and reads_as_not_there(seen.text)
        for made in last.calls
    )
    if not refused:
        return None
    for leaf in leaves_of(call.args or {}, trajectory.catalog.tools.get(call.name)):
        value = leaf.value
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or "enum" in leaf.schema:
            continue
        if not _SEARCHED.isdisjoint(words_of(leaf.name)) or trajectory.provenance.grounded(value):
            continue
        return Flaw(
            call.index,
            call.name,
            leaf.name,
            "guessed_again",
            f"`{leaf.name}` is '{shown(value)}', which nobody has named: another guess after the "
            "first one was not found",
            confidence=0.8,
            owed=False,
        )
    return None
