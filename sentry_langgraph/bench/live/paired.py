"""Differences between two arms on the same tasks, with their 95 % intervals."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

_RESAMPLES = 10_000
_SEED = 20_261_130


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference for one task.

    Attributes:
        mean: The mean of other minus base.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
    """

    mean: float
    low: float
    high: float


def difference(base: Sequence[float], other: Sequence[float]) -> Difference:
    """The mean paired difference; its interval is a percentile bootstrap over tasks.

    Args:
        base: One value for each task.
        other: The values of the other arm, in the same order.

    Raises:
        ValueError: There are no values, or not as many.
    """
    if not base or len(base) != len(other):
        raise ValueError(f"{len(base)} and {len(other)} values can't be paired")
    gaps = [b - a for a, b in zip(base, other, strict=True)]
    count, draw = len(gaps), random.Random(_SEED)
    means = sorted(sum(draw.choices(gaps, k=count)) / count for _ in range(_RESAMPLES))
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]
    return Difference(sum(gaps) / count, low, high)


def mcnemar(base: Sequence[bool], other: Sequence[bool]) -> float:
    """The exact two-sided p-value of McNemar's test: are wins and losses evenly spread?"""
    won = sum(b and not a for a, b in zip(base, other, strict=True))
    lost = sum(a and not b for a, b in zip(base, other, strict=True))
    trials, least = won + lost, min(won, lost)
    if not trials:
        return 1.0
    tail = sum(comb(trials, k) for k in range(least + 1)) / float(2**trials)
    return min(1.0, 2 * tail)
