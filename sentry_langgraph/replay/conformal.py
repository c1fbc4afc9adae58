"""Split-conformal thresholds: a bound on false alarms without a model of the runs.

Each good run has a score. Where a further good run is exchangeable with those, its score is
above the k-th smallest of n scores with probability at most alpha, for k = n + 1 - floor(alpha
(n + 1)). Several thresholds are calibrated by one score, the largest of theirs on a common
scale, so the bound holds for all of them together, however they depend on each other.

Vovk, Gammerman, Shafer: Algorithmic Learning in a Random World, 2005; Lei et al.:
Distribution-Free Predictive Inference for Regression, JASA 113, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import TypeVar

Name = TypeVar("Name")


class TooFewRunsError(ValueError):
    """There are fewer runs than the share of false alarms asks for.

    Attributes:
        runs: How many there are.
        needed: How many are needed.
        alpha: The share of false alarms.
    """

    def __init__(self, runs: int, needed: int, alpha: float) -> None:
        super().__init__(runs, needed, alpha)
        self.runs = runs
        self.needed = needed
        self.alpha = alpha

    def __str__(self) -> str:
        return (
            f"{self.runs:,} good runs are too few for a share of {self.alpha:g}: at least "
            f"{self.needed:,} are needed. Collect more with `mode: shadow`, or give a larger share"
        )


def needed_runs(alpha: float) -> int:
    """The fewest runs that allow a bound of `alpha`."""
    return ceil(1 / _exact(alpha)) - 1


def bound(scores: Sequence[Fraction], alpha: float) -> Fraction:
    """The score that a further run exceeds with probability at most `alpha`.

    Args:
        scores: One for each good run.
        alpha: The share of false alarms, above 0 and below 1.

    Raises:
        TooFewRunsError: There are fewer than `needed_runs(alpha)`.
    """
    count = len(scores)
    spare = floor(_exact(alpha) * (count + 1))
    if spare < 1:
        raise TooFewRunsError(count, needed_runs(alpha), alpha)
    return sorted(scores)[count - spare]


def joint_thresholds(
    runs: Sequence[Mapping[Name, int]], scale: Mapping[Name, int], alpha: float
) -> dict[Name, int]:
    """The lowest thresholds, in the proportions of `scale`, that flag at most `alpha` of runs.

    Args:
        runs: For each good run and threshold, the highest value that still flags the run; 0
            where none does.
        scale: The thresholds in their usual proportions, such as the defaults.
        alpha: The share of good runs that any of the thresholds may flag.

    Raises:
        TooFewRunsError: There are too few runs.
    """
    scores = [
        max((Fraction(run[name], usual) for name, usual in scale.items()), default=Fraction(0))
        for run in runs
    ]
    limit = bound(scores, alpha)
    return {name: floor(limit * usual) + 1 for name, usual in scale.items()}


def _exact(alpha: float) -> Fraction:
    """The share as it was written: 0.01 is one hundredth."""
    return Fraction(repr(alpha))
