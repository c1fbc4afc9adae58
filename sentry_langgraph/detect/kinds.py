"""Words of the request where an identifier belongs.

That a text stands in the request does not make it an identifier: `customer_id="Ana Ruiz"` is
grounded as a text and not as this kind of value.
"""

from __future__ import annotations

import re
from itertools import islice

from sentry_langgraph.detect.flaws import Flaw, shown
from sentry_langgraph.detect.identifiers import no_code
from sentry_langgraph.producers import known_values, producers
from sentry_langgraph.provenance import Provenance
from sentry_langgraph.records import ToolCall, Trajectory
from sentry_langgraph.slots import Leaf, identifies, nouns_of, slot_of

_SOURCES = 40
_TEXT_READ = 20_000
_PROMISES = 2.0
"""Least score of a tool that counts as one that yields the identifier."""


def are_words(leaf: Leaf) -> bool:
    """Whether a value in the slot of an identifier has no digit and is no code in capitals."""
    return isinstance(leaf.value, str) and no_code(leaf.value) and identifies(leaf.name)


def wrong_kind(leaf: Leaf, call: ToolCall, trajectory: Trajectory) -> Flaw | None:
    """The flaw of an identifier that is only words of the request."""
    if _stands_as_id(leaf, call, trajectory.provenance):
        return None
    if not _another_kind(leaf, call, trajectory):
        return None
    return Flaw(
        call.index,
        call.name,
        leaf.name,
        "wrong_kind",
        f"`{leaf.name}` is '{shown(leaf.value)}': words of the request, and no identifier",
        confidence=0.8,
    )


def _stands_as_id(leaf: Leaf, call: ToolCall, provenance: Provenance) -> bool:
    """Whether anything uses the value as an identifier: a field, a call that worked, a person."""
    slot = slot_of(leaf.name)
    # what stands behind the noun may be a name: `member Eriksen` is no `member_no`
    nouns = nouns_of(slot, call.name) if slot.kind == "id" else ()
    typed = _typed(str(leaf.value), nouns)
    for source in islice(provenance.sources(leaf.value), _SOURCES):
        passage = source.passage
        if passage.kind == "told":
            if not passage.user or typed.search(passage.text[:_TEXT_READ]):
                return True
        elif any(slot_of(key).kind == "id" or key == leaf.name for key in source.keys):
            return True
        elif passage.kind == "result" and not source.keys and not passage.failed:
            # in a text of words nobody can tell
            return True
    return False


def _typed(value: str, nouns: tuple[str, ...]) -> re.Pattern[str]:
    """The value right behind a word that says it is an identifier."""
    said = "|".join(map(re.escape, ("id", "ids", "code", "number", "username", "login", *nouns)))
    return re.compile(
        rf"\b(?:{said})s?\b[\s\"'`:=#(]{{0,4}}(?:is|are|as|named|called)?[\s\"'`:=#(]{{0,4}}"
        + re.escape(value),
        re.IGNORECASE,
    )


def _another_kind(leaf: Leaf, call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether known identifiers of the slot look otherwise, or a tool yields them."""
    catalog, provenance = trajectory.catalog, trajectory.provenance
    known = known_values(leaf.name, catalog, provenance, consumer=call.name, limit=20)
    if known:
        return all(any(map(str.isdigit, str(value))) for _, _, value in known)
    several = " " in str(leaf.value).strip() or "_" in str(leaf.value)
    found = producers(leaf.name, catalog, provenance, consumer=call.name)
    return bool(found) and (several or found[0].score >= _PROMISES)
