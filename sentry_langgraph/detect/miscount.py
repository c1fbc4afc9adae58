"""A count in an answer that a list of the results speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sentry_langgraph.detect.unfinished import finding
from sentry_langgraph.provenance import parsed
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.slots import singular, words_of
from sentry_langgraph.taxonomy import Severity

_REQUEST_READ = 2_000
_ANSWER_READ = 2_000
_COUNTS = re.compile(r"\b(?:how many|count (?:the|all|all the)|number of)\s+([a-z]{3,})", re.I)
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,4}(?![\w.,-]\d|\w)|\b[a-z]+\b", re.I)
_WORDS = {
    word: number
    for number, word in enumerate(
        "no one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"none": 0, "zero": 0, "single": 1}


class _Listed(NamedTuple):
    tool: str
    field: str
    items: tuple[str, ...]


def miscounted(trajectory: Trajectory) -> Finding | None:
    """The finding of a wrong count, where the request asks for one.

    Only where the task's results have one list of what is to be counted, under that name. Silent
    where every item was looked at: then the agent may have counted some.

    Args:
        trajectory: The newest message wants to finish, and no user has said more than the request.
    """
    asked = _COUNTS.search(trajectory.task.objective[-_REQUEST_READ:])
    if asked is None:
        return None
    lists = set(_lists(singular(asked[1].lower()), trajectory))
    if len(lists) != 1:
        return None
    (listed,) = lists
    count, said = len(listed.items), _numbers(trajectory.proposal.text[:_ANSWER_READ])
    if not said or count in said:
        return None
    if listed.items and trajectory.given_values.issuperset(listed.items):
        return None
    entries = "1 entry" if count == 1 else f"{count} entries"
    return finding(
        trajectory,
        "miscounted",
        f"`{listed.field}` in the result of `{listed.tool}` has {entries}, and the answer says "
        f"{said[0]}",
        tool=listed.tool,
        severity=Severity.HOLD,
        evidence={"listed": count, "said": said[0]},
    )


def _lists(noun: str, trajectory: Trajectory) -> Iterator[_Listed]:
    """The lists of results whose name has the noun."""
    for step in trajectory.steps:
        for seen in step.observations:
            value = parsed(seen.text) if seen.worked else None
            for key, items in value.items() if isinstance(value, dict) else ():
                if isinstance(items, list) and noun in words_of(key):
                    yield _Listed(seen.name, key, tuple(map(str, items)))


def _numbers(text: str) -> Sequence[int]:
    found: list[int] = []
    for word in _NUMBER.findall(text):
        number = int(word) if word.isdigit() else _WORDS.get(word.lower())
        if number is not None:
            found.append(number)
    return found
