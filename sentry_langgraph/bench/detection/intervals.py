"""Shares, medians and rates with 95 % intervals."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_Z = 1.959964
"""Two-sided 95 % of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many.

    Attributes:
        count: The numerator.
        total: The denominator.
    """

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None where there is nothing to count."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % score interval of Wilson (1927)."""
        return wilson(self.count, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: numerator, denominator, value and interval."""
        return {
            "count": self.count,
            "total": self.total,
            "value": _rounded(self.value),
            "interval": _pair(self.interval),
        }


@dataclass(frozen=True, slots=True)
class Middle:
    """A median of `count` values.

    Attributes:
        value: The median; None without values.
        interval: Its 95 % interval by the bootstrap; None under two values.
        count: How many values there were.
    """

    value: float | None
    interval: tuple[float, float] | None
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: value, interval and number of values."""
        return {
            "value": _rounded(self.value),
            "interval": _pair(self.interval),
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Rate:
    """Events for each hundred of something.

    Attributes:
        count: The events.
        total: What they are counted against.
        interval: The 95 % interval, runs being what was sampled; None under two runs.
    """

    count: int
    total: int
    interval: tuple[float, float] | None

    @property
    def value(self) -> float | None:
        """Events per 100; None where there is nothing to count against."""
        return 100 * self.count / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: numerator, denominator, value and interval."""
        return {
            "count": self.count,
            "total": self.total,
            "value": _rounded(self.value),
            "interval": _pair(self.interval),
        }


def wilson(count: int, total: int) -> tuple[float, float] | None:
    """The 95 % score interval of a share; None where the total is 0."""
    if not total:
        return None
    share, z2 = count / total, _Z * _Z
    centre = share + z2 / (2 * total)
    spread = _Z * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    scale = 1 + z2 / total
    low = 0.0 if count == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if count == total else min(1.0, (centre + spread) / scale)
    return low, high


def median_of(values: Sequence[float]) -> Middle:
    """The median with the 95 % percentile interval of the bootstrap.

    How the median of a resample is distributed is worked out exactly (Efron 1979), not drawn:
    it is at most the k-th smallest of n values where at least half of n draws hit one of those
    k. So the same values always give the same interval.
    """
    count = len(values)
    if count < 2:
        return Middle(values[0] if count else None, None, count)
    ordered = sorted(values)
    low, high = (count + 1) // 2, count // 2 + 1
    ranks = range(count + 1)
    first = bisect_left(ranks, 0.025, 1, key=lambda k: _reaches(low, count, k / count))
    last = bisect_right(ranks, 0.975, 1, key=lambda k: _reaches(high, count, k / count))
    last = min(last, count)
    return Middle(statistics.median(ordered), (ordered[first - 1], ordered[last - 1]), count)


def _reaches(least: int, draws: int, chance: float) -> float:
    """The chance of at least `least` hits."""
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    hit, miss, all_ = math.log(chance), math.log1p(-chance), math.lgamma(draws + 1)
    return math.fsum(
        math.exp(
            all_
            - math.lgamma(hits + 1)
            - math.lgamma(draws - hits + 1)
            + hits * hit
            + (draws - hits) * miss
        )
        for hits in range(least, draws + 1)
    )


def rate_of(pairs: Sequence[tuple[int, int]]) -> Rate:
    """Events per 100, from a pair of events and opportunities for each run.

    The interval takes whole runs as the sample (ratio estimator, delta method), because the
    events of one run come together.
    """
    count, total = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    if not total or len(pairs) < 2:
        return Rate(count, total, None)
    ratio, runs = count / total, len(pairs)
    squares = sum((events - ratio * chances) ** 2 for events, chances in pairs)
    error = math.sqrt(squares * runs / (runs - 1)) / total
    return Rate(count, total, (100 * max(0.0, ratio - _Z * error), 100 * (ratio + _Z * error)))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [round(end, 5) for end in interval]
