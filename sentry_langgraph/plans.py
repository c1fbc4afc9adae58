"""The calls that lead from what is known to a value that is missing, by search over tools."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sentry_langgraph.producers import known_values, producers
from sentry_langgraph.provenance import Provenance
from sentry_langgraph.records import Catalog, PathStep, ToolSpec
from sentry_langgraph.slots import nouns_of, slot_of

HOPS = 3
"""Calls of the longest plan."""

_BREADTH = 4
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{2,63}")
_PHONE = re.compile(r"\+?\d[\d\s().-]{5,22}\d")
_URL = re.compile(r"\bhttps?://\S")
_TOLD_READ = 20
_TEXT_READ = 20_000


def plan_to(
    slot: str, catalog: Catalog, provenance: Provenance, *, consumer: str = "", hops: int = HOPS
) -> tuple[PathStep, ...]:
    """The calls that yield a value for an argument, first call first; the held call not among them.

    A call can be planned where each of its identifiers is known: from the request, from a
    result, or from the call before it. Of several plans the shortest that fits best is taken.

    Args:
        slot: The name of the argument.
        catalog: The tools.
        provenance: What was told and seen.
        consumer: The tool that takes the argument.
        hops: Calls at most.

    Returns:
        The plan; empty where a result already holds values of this kind, or no way is known.
    """
    if known_values(slot, catalog, provenance, consumer=consumer, limit=1):
        return ()
    return _Search(catalog, provenance).to(slot, consumer, hops, frozenset({consumer})) or ()


class _Search:
    def __init__(self, catalog: Catalog, provenance: Provenance) -> None:
        self._catalog = catalog
        self._provenance = provenance
        self._told = [
            passage.text[:_TEXT_READ]
            for _, passage in zip(range(_TOLD_READ), provenance.told(), strict=False)
            if passage.user
        ]

    def to(
        self, slot: str, consumer: str, hops: int, used: frozenset[str]
    ) -> tuple[PathStep, ...] | None:
        """The best plan that gives `slot`, or None."""
        best: tuple[PathStep, ...] | None = None
        candidates = producers(slot, self._catalog, self._provenance, consumer=consumer)
        for one in [c for c in candidates if c.tool not in used][:_BREADTH]:
            spec = self._catalog.tools[one.tool]
            before = self._before(spec, hops - 1, used | {one.tool})
            if before is None:
                continue
            plan = (*before, PathStep(one.tool, one.arguments, one.gives))
            if best is None or len(plan) < len(best):
                best = plan
        return best

    def _before(
        self, spec: ToolSpec, hops: int, used: frozenset[str]
    ) -> tuple[PathStep, ...] | None:
        """The calls that give what `spec` needs and nobody has said; None where none do."""
        missing = [name for name in spec.required if not self._known(name, spec)]
        if not missing:
            return ()
        if len(missing) > 1 or not hops:
            return None
        return self.to(missing[0], spec.name, hops, used)

    def _known(self, name: str, spec: ToolSpec) -> bool:
        slot = slot_of(name)
        match slot.kind:
            case "email":
                return self._says(_EMAIL)
            case "phone":
                return self._says(_PHONE)
            case "url":
                return self._says(_URL)
            case "id" | "number":
                schema = spec.arguments.get(name)
                if isinstance(schema, dict) and ("enum" in schema or "default" in schema):
                    return True
                return self._says(_named(nouns_of(slot, spec.name))) or bool(
                    known_values(name, self._catalog, self._provenance, consumer=spec.name, limit=1)
                )
            case _:
                return True

    def _says(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(text) for text in self._told)


def _named(nouns: Sequence[str]) -> re.Pattern[str]:
    """A token with a digit shortly after the noun: `order #W123`, `user ID is sara_496`."""
    noun = re.escape(nouns[-1]) if nouns else r"\bid"
    return re.compile(
        rf"{noun}s?\b[^.?!\n]{{0,24}}?(?<![\w$€£-])[#\w-]{{0,24}}\d[\w-]{{1,24}}", re.IGNORECASE
    )
