"""Whether a result brings something new, and whether two calls differ only in wording."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sentry_langgraph.detect.access import COMMANDS
from sentry_langgraph.records import Observation

_LOOKED_AT = 4_000
_CLIPPED = 4_000
"""Texts of this length may have been cut: what follows is not known."""

_VOLATILE = re.compile(
    r"""["']?\b(?:timestamp|ts|date|server_?time|request[-_ ]?id|x-request-id|trace[-_ ]?id|"""
    r"""span[-_ ]?id|correlation[-_ ]?id|nonce|took|took_ms|latency|latency_ms|response_time|"""
    r"""query_time|generated_at|fetched_at|retrieved_at)\b["']?\s{0,3}[:=]\s{0,3}"""
    r"""(?:"[^"\n]{0,80}"|'[^'\n]{0,80}'|[A-Z][a-z]{2}, [^\n]{10,30}GMT|[^\s,;}\])]{1,80})"""
    r"""|\b(?:in|took) \d{1,9}(?:\.\d{1,9})? ?(?:ms|s|sec|secs|seconds?)\b"""
    r"""|^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?\]?""",
    re.IGNORECASE | re.MULTILINE,
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_WORDS = re.compile(r"\w+")
_NUMBER = re.compile(r"\d")
_LEAST_SHARED = 2


def steady(text: str) -> str | None:
    """The text without what differs from call to call: request ids, clocks, response times.

    None where nothing of that kind stands in it, where nothing else does, or where it is so
    long that its end is not known: there only the complete text is compared.
    """
    if len(text) >= _CLIPPED:
        return None
    kept, found = _VOLATILE.subn("", text)
    return kept if found and _LETTERS.search(kept) else None


def same_text(first: str, second: str) -> bool:
    """Whether two results differ in nothing but volatile parts."""
    if first == second:
        return True
    rest = steady(first)
    return rest is not None and rest == steady(second)


def same_result(first: Observation, second: Observation) -> bool:
    """Whether two results say the same."""
    if first.digest == second.digest:
        return True
    return first.status == second.status and (
        first.text != second.text and same_text(first.text, second.text)
    )


@lru_cache(maxsize=1_024)
def words_of(text: str) -> frozenset[str]:
    """The words of a text, lower case; of its first 4,000 characters."""
    return frozenset(_WORDS.findall(text[:_LOOKED_AT].lower()))


def reworded(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two calls of one tool ask the same in other words.

    Only texts of several words may differ, and only by words that one of them has more: another
    name, id, page or date is another target, never a rewording. A command says exactly what it
    says.
    """
    if first.keys() != second.keys():
        return False
    names = [name for name in first if first[name] != second[name]]
    return bool(names) and all(
        str(name).lower() not in COMMANDS and _alike(first[name], second[name]) for name in names
    )


def _alike(first: Any, second: Any) -> bool:
    if not (isinstance(first, str) and isinstance(second, str)):
        return False
    if " " not in first or " " not in second:
        return False
    one, other = words_of(first), words_of(second)
    shared, differing = one & other, one ^ other
    if len(shared) < _LEAST_SHARED or len(differing) > len(shared):
        return False
    more_in_one = one <= other or other <= one
    return more_in_one and not any(_NUMBER.search(word) for word in differing)
