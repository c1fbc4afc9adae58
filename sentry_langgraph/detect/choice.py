"""One of several candidates, taken for a change without a look at any of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from sentry_langgraph.detect.conversation import only_request
from sentry_langgraph.detect.flaws import Flaw, shown
from sentry_langgraph.provenance import Passage, parsed
from sentry_langgraph.records import ToolCall, Trajectory
from sentry_langgraph.slots import Leaf
from sentry_langgraph.taxonomy import Severity
from sentry_langgraph.values import Sought, as_text, sought

PASSAGES_READ = 400
"""Newest passages that are read."""

_ALL = re.compile(
    r"\b(?:all|every|each|both|any|everything|whichever|the (?:two|three|four))\b", re.I
)
_DEPTH = 12
_AROUND = 40
_QUOTES = '" \n\r\t'


def unlooked_choice(call: ToolCall, ids: Sequence[Leaf], trajectory: Trajectory) -> Flaw | None:
    """The flaw of a change to an id that is known only as one item of a bare list of ids.

    An id that a person named, that a call was given, or that stands beside details of its own
    has been looked at. So has one whose sibling was looked at: it may be what was left.

    Args:
        call: The change.
        ids: Its identifiers that the agent may not make up.
        trajectory: Its task.
    """
    if _means_all(trajectory.task.objective):
        return None
    for leaf in ids:
        candidates = _candidates(sought(leaf.value), trajectory)
        if candidates < 2 or _all_taken(candidates, call, trajectory):
            continue
        return Flaw(
            call.index,
            call.name,
            leaf.name,
            "unlooked_choice",
            f"`{leaf.name}` is '{shown(leaf.value)}', one of {candidates} candidates, and none of "
            "them was looked at",
            # in a conversation the user may have settled which one is meant
            severity=Severity.HOLD if only_request(trajectory) else Severity.ADVISE,
            confidence=0.8,
            advice=look(call, leaf.name, trajectory),
        )
    return None


def look(call: ToolCall, slot: str, trajectory: Trajectory, unseen: Sequence[Any] = ()) -> str:
    """What to do first: read the candidates, with a tool that takes one.

    Args:
        call: The change.
        slot: The argument that one of them was given for.
        trajectory: Its task.
        unseen: Candidates that were not looked at, where others were.
    """
    reader = next(
        (
            name
            for name, spec in trajectory.catalog.tools.items()
            if spec.read_only is not False and slot in spec.required
        ),
        None,
    )
    if reader is None:
        return "look at the candidates, and take the one that the request means."
    if unseen:
        return (
            f"call `{reader}` with {slot} '{shown(unseen[0])}', and go on until you have seen the "
            "one that the request means. Change only that one."
        )
    value = shown((call.args or {}).get(slot, ""))
    return (
        f"call `{reader}` with {slot} '{value}', and with the other candidates. Then take the one "
        "that the request means."
    )


@lru_cache(maxsize=256)
def _means_all(request: str) -> bool:
    return _ALL.search(request) is not None


def _all_taken(candidates: int, call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether the message changes as many things as there are candidates."""
    same = sum(other.name == call.name for other in trajectory.proposal.calls)
    return same >= candidates


def _candidates(wanted: Sought, trajectory: Trajectory) -> int:
    """How many items the list has that alone holds a value; 0 where anything singles it out."""
    items: list[Any] = []
    others: list[Passage] = []
    for passage in islice(trajectory.provenance.passages(), PASSAGES_READ):
        if not passage.holds(wanted):
            if passage.kind != "result":
                others.append(passage)
            continue
        found = bare_list(passage, wanted)
        if found is None:
            return 0
        items = items or found
    siblings = [sought(item) for item in items[:20]]
    if any(one.stands_in(passage.text) for passage in others for one in siblings):
        return 0
    return len(items)


def bare_list(passage: Passage, wanted: Sought) -> list[Any] | None:
    """The list of bare values that holds `wanted`, where nothing else in the passage does."""
    if passage.kind != "result" or passage.failed or not _only_items(passage.text, wanted):
        return None
    found: list[Any] | None = None
    for inside in _holders(parsed(passage.text), wanted.exact[0], _DEPTH):
        if inside is None or found is not None:
            return None
        found = inside
    return found


def _only_items(text: str, wanted: Sought) -> bool:
    """Whether each exact place of `wanted` looks like an item of a list: spares the parsing."""
    form = wanted.exact[0]
    at = text.find(form)
    while at >= 0:
        before = text[max(at - _AROUND, 0) : at].rstrip(_QUOTES)
        after = text[at + len(form) : at + len(form) + _AROUND].lstrip(_QUOTES)
        if before[-1:] not in ("[", ",") or after[:1] not in (",", "]"):
            return False
        at = text.find(form, at + len(form))
    return True


def _holders(value: Any, form: str, depth: int) -> Iterator[list[Any] | None]:
    """For each place of `form`: the bare list it is an item of, or None for another place."""
    if isinstance(value, dict) and depth:
        for name, inner in value.items():
            if form in name:
                yield None
            yield from _holders(inner, form, depth - 1)
    elif isinstance(value, list) and depth:
        bare = all(isinstance(item, str | int) for item in value)
        if bare and any(as_text(item) == form for item in value):
            yield value
        else:
            for inner in value:
                yield from _holders(inner, form, depth - 1)
    elif value is not None and form in as_text(value):
        yield None
