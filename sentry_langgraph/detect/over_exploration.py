"""Reads on and on: many look-ups without a change, or look-ups that say ever less that is new.

There are no labels by people for this failure, so the defaults are chosen by what successful
runs do, and the detector advises and never holds. Repeated calls are `repetition_or_looping`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from sentry_langgraph.detect.access import COMMANDS, access_of
from sentry_langgraph.detect.base import DetectorOptions, Threshold
from sentry_langgraph.detect.novelty import words_of
from sentry_langgraph.options import Count, PositiveCount, Share
from sentry_langgraph.records import Finding, Step, ToolCall, Trajectory
from sentry_langgraph.signature import call_key
from sentry_langgraph.taxonomy import Label, Severity


class OverExplorationOptions(DetectorOptions):
    """Options of `over_exploration`.

    Attributes:
        reads_at: Steps in a row that only read before advice, the proposed one included, where
            the agent has a tool that changes something; 0 is off. At most `window`.
        novelty_at: Look-ups in a row, asked in several words, before it counts that they say
            little new, the proposed one included; 0 is off. Records that are read by id are
            alike and still not the same, so they never count.
        low_novelty: Share of words that the stretch has not had, below which a result says
            little new.
        novelty_over: Results whose mean share is looked at.
    """

    reads_at: Count = 12
    novelty_at: Count = 6
    low_novelty: Share = 0.1
    novelty_over: Annotated[PositiveCount, Field(le=20)] = 4

    thresholds: ClassVar[tuple[Threshold, ...]] = (
        Threshold("reads_at", lowest=3, off={"novelty_at": 0}),
        Threshold("novelty_at", lowest=3, off={"reads_at": 0}),
    )


@dataclass(frozen=True, slots=True)
class _Reads:
    """The steps at the end that only read.

    Attributes:
        news: The steps that made a call that was not made before, oldest first. A repeat is a
            loop, not reading on.
        keys: The calls of all of them.
        by: How it is known that they read.
    """

    news: tuple[Step, ...]
    keys: frozenset[str]
    by: frozenset[str]

    @property
    def count(self) -> int:
        """Steps that made a new call."""
        return len(self.news)

    @property
    def asked(self) -> tuple[tuple[ToolCall, ...], ...]:
        """The calls of those steps."""
        return tuple(step.calls for step in self.news)


class OverExploration:
    """Many look-ups and no change, or look-ups that bring ever less that is new."""

    Options: ClassVar[type[DetectorOptions]] = OverExplorationOptions

    def __init__(self, options: OverExplorationOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding, when a count is reached; not again while the agent reads on."""
        calls = trajectory.proposal.calls
        least = self._least(trajectory) if calls else 0
        if not least:
            return ()
        by = _reads(trajectory, calls)
        if not by:
            return ()
        before = _reads_before(trajectory, least - 1)
        if before is None:
            return ()
        if not before.keys.isdisjoint(_keys(trajectory, calls)):
            return ()
        count, by = before.count + 1, by | before.by
        options = self._options
        if options.reads_at and count == options.reads_at and _can_change(trajectory):
            detail = f"this is step {count} in a row that only reads, and nothing was changed"
            return (_finding(trajectory, "no_change", detail, count, by),)
        in_words = options.novelty_at and all(map(_in_words, (calls, *before.asked)))
        if in_words and count >= options.novelty_at:
            shares = _new_words(before, options.novelty_over, options.low_novelty)
            if self._low(shares) and not (count > options.novelty_at and self._low(shares[:-1])):
                detail = (
                    f"the last {options.novelty_over} of {count - 1} look-ups in a row said "
                    "almost nothing that was not known from those before"
                )
                return (_finding(trajectory, "nothing_learned", detail, count, by),)
        return ()

    def _least(self, trajectory: Trajectory) -> int:
        """The lowest count that can matter for the newest message; 0 where none can."""
        options, count = self._options, len(trajectory.steps) + 1
        able: list[int] = []
        if 0 < options.novelty_at <= count and _in_words(trajectory.proposal.calls):
            able.append(options.novelty_at)
        if 0 < options.reads_at <= count and _can_change(trajectory):
            able.append(options.reads_at)
        return min(able, default=0)

    def _low(self, shares: Sequence[float]) -> bool:
        over = self._options.novelty_over
        if len(shares) <= over:
            return False
        return sum(shares[-over:]) < self._options.low_novelty * over


def _finding(
    trajectory: Trajectory, pattern: str, detail: str, count: int, by: frozenset[str]
) -> Finding:
    calls = trajectory.proposal.calls
    return Finding(
        Label.OVER_EXPLORATION,
        trajectory.proposal.id,
        key=Label.OVER_EXPLORATION.value,
        confidence=0.7,
        severity=Severity.ADVISE,
        detail=detail,
        evidence={"count": count, "by": sorted(by)},
        calls=tuple(call.index for call in calls),
        tool=calls[0].name,
        pattern=pattern,
    )


def _in_words(calls: Sequence[ToolCall]) -> bool:
    """Whether every call asks in a text of several words: a question, a query, a command."""
    return all(
        any(isinstance(value, str) and value.count(" ") > 1 for value in (call.args or {}).values())
        for call in calls
    )


def _keys(trajectory: Trajectory, calls: Sequence[ToolCall]) -> frozenset[str]:
    catalog = trajectory.catalog
    return frozenset(call_key(call, catalog.spec(call.name)) for call in calls)


def _new_words(reads: _Reads, over: int, low: float) -> list[float]:
    """For each step: the share of its result's words that are new; empty where one look tells
    that the mean of the last `over` is not below `low`."""
    words = [
        frozenset().union(*(words_of(result.text) for result in step.observations))
        for step in reads.news
    ]
    known: set[str] = set().union(*words[:-1])
    newest = words[-1]
    if newest and len(newest - known) >= low * over * len(newest):
        return []
    shares: list[float] = []
    known = set()
    for one in words:
        shares.append(len(one - known) / len(one) if one else 0.0)
        known |= one
    return shares


def _reads(trajectory: Trajectory, calls: Sequence[ToolCall]) -> frozenset[str]:
    """How it is known that all of `calls` read; empty where one may change something.

    Batch work and polling are no exploring.
    """
    by: set[str] = set()
    for call in calls:
        spec = trajectory.catalog.spec(call.name)
        reads, known_by = access_of(call, spec)
        if not reads or spec.batch or spec.polling or spec.finish:
            return frozenset()
        by.add(known_by)
    return frozenset(by)


def _reads_before(trajectory: Trajectory, least: int) -> _Reads | None:
    """The steps right before the proposal that only read, or None where they are too few.

    A step without calls, or whose calls Sentry held, is passed over: nothing ran in it.
    """
    found: list[Step] = []
    by: set[str] = set()
    for step in reversed(trajectory.steps):
        results = step.observations
        if not results or (results[0].own and all(result.own for result in results)):
            continue
        known_by = _reads(trajectory, step.calls)
        if not known_by:
            if _aside(trajectory, step.calls):
                continue
            break
        found.append(step)
        by |= known_by
    if len(found) < least:
        return None
    made: set[str] = set()
    news: list[Step] = []
    for step in reversed(found):
        keys = _keys(trajectory, step.calls)
        if not keys <= made:
            news.append(step)
            made |= keys
    return _Reads(tuple(news), frozenset(made), frozenset(by))


def _aside(trajectory: Trajectory, calls: Sequence[ToolCall]) -> bool:
    """Whether a step is batch reading or polling, which neither counts nor ends a stretch."""
    for call in calls:
        spec = trajectory.catalog.spec(call.name)
        if not (spec.batch or spec.polling) or access_of(call, spec).reads is False:
            return False
    return True


def _can_change(trajectory: Trajectory) -> bool:
    """Whether the agent has a tool that changes something, or one that runs commands."""
    return any(
        spec.read_only is False
        or (spec.read_only is None and not COMMANDS.isdisjoint(spec.arguments))
        for spec in trajectory.catalog.tools.values()
    )
