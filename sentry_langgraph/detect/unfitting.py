"""A candidate taken for a change although nothing of it fits the request, and another may.

The first of several orders was read, it is another item than the request names, and the change
goes to it all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from sentry_langgraph.detect.choice import PASSAGES_READ, bare_list, look
from sentry_langgraph.detect.conversation import only_request
from sentry_langgraph.detect.flaws import Flaw, shown
from sentry_langgraph.provenance import Passage, fields
from sentry_langgraph.records import ToolCall, Trajectory
from sentry_langgraph.slots import Leaf, words_of
from sentry_langgraph.values import sought

_STEM = 4
_TEXT_READ = 20_000
_WORDS = re.compile(r"[a-z]{3,}|\d+")
_SMALL = frozenset(
    "the and for that her his has have with from but not are was one you his its".split()
)
_NAMED = 20
"""Candidates of a list that are looked at."""


def unfitting_choice(call: ToolCall, ids: Sequence[Leaf], trajectory: Trajectory) -> Flaw | None:
    """The flaw of a change to one of a list whose details have no word of the request.

    Silent where every candidate has been looked at and none fits better: then the agent knows them
    all. Silent in a conversation, too, where the user may have settled it.

    Args:
        call: The change.
        ids: Its identifiers that the agent may not make up.
        trajectory: Its task.
    """
    if not ids or not only_request(trajectory):
        return None
    for leaf in ids:
        items, details = _seen(leaf.value, trajectory)
        if len(items) < 2 or not details:
            continue
        asked = _asked(call, trajectory)
        if not asked or _fits(asked, details):
            continue
        told = {item: _seen(item, trajectory)[1] for item in items if item != leaf.value}
        better = [item for item, other in told.items() if _fits(asked, other)]
        unseen = [item for item, other in told.items() if not other]
        if better:
            others = f"that of '{shown(better[0])}' has"
            advice = f"if the request means that one, call `{call.name}` with it instead."
        elif unseen:
            others = f"{len(unseen)} of {len(items)} candidates were not looked at"
            advice = look(call, leaf.name, trajectory, unseen)
        else:
            continue
        return Flaw(
            call.index,
            call.name,
            leaf.name,
            "unfitting_choice",
            f"what was seen of `{leaf.name}` '{shown(leaf.value)}' has nothing that the request "
            f"names, and {others}",
            confidence=0.75,
            advice=advice,
        )
    return None


def _seen(value: object, trajectory: Trajectory) -> tuple[list[Any], list[Passage]]:
    """The newest list that holds a value as an item, and the results that tell more of it.

    Neither where a user named it: then it is no choice of the agent's.
    """
    wanted = sought(value)
    form = wanted.exact[0] if wanted.exact else ""
    items: list[Any] = []
    details: list[Passage] = []
    for passage in islice(trajectory.provenance.passages(), PASSAGES_READ):
        if not form or form not in passage.text:
            continue
        if passage.user:
            return [], []
        if passage.kind != "result" or passage.failed:
            continue
        found = bare_list(passage, wanted)
        if found is None:
            details.append(passage)
        elif not items:
            items = found[:_NAMED]
    return items, details


def _asked(call: ToolCall, trajectory: Trajectory) -> frozenset[str]:
    """Words of the request that can tell one candidate from another."""
    given = {str(value) for value in (call.args or {}).values()}
    spec = trajectory.catalog.tools[call.name]
    own = _stems(" ".join([*words_of(call.name), spec.description, *given]))
    return _stems(trajectory.task.objective) - own


def _fits(asked: frozenset[str], details: Sequence[Passage]) -> bool:
    return any(asked & _told(passage) for passage in details)


def _told(passage: Passage) -> frozenset[str]:
    """The words of a result's values; of its names none, which every record has."""
    found = fields(passage.text)
    return _stems(" ".join(str(value) for _, value in found) if found else passage.text)


def _stems(text: str) -> frozenset[str]:
    words = _WORDS.findall(text[:_TEXT_READ].lower())
    return frozenset(word[:_STEM] for word in words if word not in _SMALL)
