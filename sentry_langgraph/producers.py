"""Which tools yield a kind of value: first by what they have given, then by what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sentry_langgraph.provenance import Provenance, fields
from sentry_langgraph.records import Catalog, ToolSpec
from sentry_langgraph.slots import Slot, nouns_of, singular, slot_of, things_of, words_of

RESULTS_READ = 60
"""Newest results whose fields are read."""

_SEEN = 10
_BARE_NOUN = 2.0
_CODE = re.compile(r"(?=.*\d)[\w#./-]{1,64}")
_FIELDS_OF_ONE = 400
_GENERIC = frozenset({"id", "ids", "uuid", "key", "name", "number", "code", "value"})


@dataclass(frozen=True, slots=True)
class Producer:
    """A tool that yields a kind of value.

    Attributes:
        tool: The tool.
        arguments: What it has to be given.
        gives: The field of its result; empty where only its words say that it gives it.
        seen: Whether a result has shown it.
        score: How well it fits; higher is better.
    """

    tool: str
    arguments: tuple[str, ...] = ()
    gives: str = ""
    seen: bool = False
    score: float = 0.0


def producers(
    slot: str, catalog: Catalog, provenance: Provenance, *, consumer: str = ""
) -> tuple[Producer, ...]:
    """The tools that yield values for an argument, best first.

    Fields that results have shown count most: the very name, then its plural, then an `id` in
    the result of a tool that is about the same thing. Without those, names, descriptions and
    schemas of tools that read.

    Args:
        slot: The name of the argument, such as `order_id`.
        catalog: The tools.
        provenance: What was seen.
        consumer: The tool that takes the argument: it says what a bare `id` is an id of.
    """
    wanted = slot_of(slot)
    nouns = nouns_of(wanted, consumer)
    found: dict[str, Producer] = {}
    for tool, key in _shown(provenance):
        spec = catalog.tools.get(tool)
        if spec is None or tool == consumer:
            continue
        score = _by_field(wanted, nouns, key, tool)
        if score and slot not in spec.required:
            _keep(found, Producer(tool, spec.required, key, True, _SEEN + score))
    for name, spec in catalog.tools.items():
        if name == consumer or name in found or spec.read_only is False:
            continue
        if slot in spec.required:
            continue
        score = _by_words(wanted, nouns, spec)
        if score:
            _keep(found, Producer(name, spec.required, _said(slot, spec), False, score))
    return tuple(sorted(found.values(), key=lambda one: (-one.score, len(one.arguments), one.tool)))


def known_values(
    slot: str, catalog: Catalog, provenance: Provenance, *, consumer: str = "", limit: int = 50
) -> tuple[tuple[str, str, object], ...]:
    """Values of a kind that results hold: tool, field and value, newest first.

    What stands under the bare noun, such as `order` for an `order_id`, counts only where it reads
    as a code and nothing is named more clearly: the `title` of a book is no `title_no`.
    """
    wanted = slot_of(slot)
    nouns = nouns_of(wanted, consumer)
    found: list[tuple[str, str, object]] = []
    loose: list[tuple[str, str, object]] = []
    for passage in provenance.results(RESULTS_READ):
        for place, (key, value) in enumerate(fields(passage.text)):
            if place >= _FIELDS_OF_ONE or len(found) >= limit:
                break
            score = _by_field(wanted, nouns, key, passage.tool)
            if score > _BARE_NOUN:
                found.append((passage.tool, key, value))
            elif score and _CODE.fullmatch(str(value)):
                loose.append((passage.tool, key, value))
    return tuple(found or loose[:limit])


def _keep(found: dict[str, Producer], one: Producer) -> None:
    known = found.get(one.tool)
    if known is None or known.score < one.score:
        found[one.tool] = one


def _shown(provenance: Provenance) -> Iterator[tuple[str, str]]:
    """Tools and the fields of their newest results, each pair once."""
    seen: set[tuple[str, str]] = set()
    for passage in provenance.results(RESULTS_READ):
        for place, (key, _) in enumerate(fields(passage.text)):
            if place >= _FIELDS_OF_ONE:
                break
            if (passage.tool, key) not in seen:
                seen.add((passage.tool, key))
                yield passage.tool, key


def _by_field(wanted: Slot, nouns: Sequence[str], key: str, tool: str) -> float:
    """How well a field of a result fits a slot, from 0 to 5."""
    if not key:
        return 0.0
    generic = not wanted.nouns
    if key == wanted.name and not generic:
        return 5.0
    words, slot_words = words_of(key), words_of(wanted.name)
    if words == slot_words and not generic:
        return 4.5
    about = set(things_of(tool))
    if key.lower() in _GENERIC and slot_of(key).kind == "id" and wanted.kind == "id":
        return 4.0 if nouns and nouns[-1] in about else 0.0
    if not nouns:
        return 0.0
    if wanted.kind == "id" and slot_of(key).kind == "id":
        # `customer_id` for a bare `id` of a customer tool, `id_customer`, `customerId`
        return 4.0 if slot_of(key).nouns[-1:] == (nouns[-1],) else 0.0
    if len(words) == 1 and words[0] == nouns[-1] and wanted.kind in ("id", "number"):
        return _BARE_NOUN
    return 0.0


def _by_words(wanted: Slot, nouns: Sequence[str], spec: ToolSpec) -> float:
    """How well a tool's name and description promise a slot, from 0 to 4."""
    words = words_of(spec.name)
    slot_words = words_of(wanted.name)
    # `find_user_id_by_email` names it outright; what stands after `by` is what it takes
    ahead = words[: words.index("by")] if "by" in words[1:] else words
    score = 0.0
    if wanted.nouns and _run(slot_words, ahead):
        score = 4.0
    elif nouns and nouns[-1] in ahead:
        score = 2.5 if spec.read_only else 1.5
    said = spec.description.lower()
    if wanted.nouns and wanted.name.lower() in said:
        score = max(score, 3.0)
    elif nouns and nouns[-1] in {singular(word) for word in words_of(said[:200])}:
        score = max(score, 1.0 if not spec.read_only else 1.5)
    if score and any(slot_of(name).kind == "id" for name in spec.required):
        score -= 0.25
    return score


def _run(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    return any(tuple(whole[at : at + size]) == tuple(part) for at in range(len(whole) - size + 1))


def _said(slot: str, spec: ToolSpec) -> str:
    """The field that a tool promises by name, or nothing."""
    named = _run(words_of(slot), words_of(spec.name)) or slot.lower() in spec.description.lower()
    return slot if named else ""
