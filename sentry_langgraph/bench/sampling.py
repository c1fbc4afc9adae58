"""Measuring two things against each other on a machine that is never quiet."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_Z = 1.96
"""Two-sided 95 %."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much more one thing costs than another.

    Attributes:
        ratio: The median of the ratios of all rounds.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        base: Median of the one, in nanoseconds.
        other: Median of the other, in nanoseconds.
        rounds: How many rounds were run.
    """

    ratio: float
    low: float
    high: float
    base: float
    other: float
    rounds: int


def compare(
    base: Callable[[], object],
    other: Callable[[], object],
    *,
    seconds: float,
    least: int = 20,
    most: int = 200,
) -> Ratio:
    """CPU time of `other` in relation to `base`, run by turns in this process.

    Each round runs both, the order changes from round to round, and their ratio is taken within
    the round: what else the machine does hits both. The process's CPU time counts, all its
    threads included. The garbage collector is off while a run is timed, and collecting what
    the run left is part of its time.

    Args:
        base: One run of the one.
        other: One run of the other.
        seconds: No round begins after this time, once there are enough.
        least: Rounds that are run in any case; one more is run first and not counted.
        most: Rounds after which it ends in any case.

    Returns:
        Median and interval of the ratio, and both medians.
    """
    pairs: list[tuple[int, int]] = []
    with quiet_collector():
        _cpu(base), _cpu(other)
        end = time.monotonic() + seconds
        while len(pairs) < most and (len(pairs) < least or time.monotonic() < end):
            if len(pairs) % 2:
                second, first = _cpu(other), _cpu(base)
            else:
                first, second = _cpu(base), _cpu(other)
            pairs.append((first, second))
    return summary(pairs)


def summary(pairs: Sequence[tuple[int, int]]) -> Ratio:
    """Median and distribution-free 95 % interval of the ratios of `pairs`.

    The interval lies between two of the ordered ratios, whose ranks the binomial distribution
    gives; nothing is assumed about the form of the noise.
    """
    ratios = sorted(other / base for base, other in pairs)
    low, high = interval_ranks(len(ratios))
    return Ratio(
        ratio=statistics.median(ratios),
        low=ratios[low],
        high=ratios[high],
        base=statistics.median(base for base, _ in pairs),
        other=statistics.median(other for _, other in pairs),
        rounds=len(pairs),
    )


def interval_ranks(count: int) -> tuple[int, int]:
    """Positions of the ordered values between which the median lies, with 95 %."""
    spread = _Z * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - spread))
    return low, min(count - 1, math.ceil(count / 2 + spread) - 1)


@contextmanager
def quiet_collector() -> Iterator[None]:
    """The garbage collector off, and what exists now left out of every later collection."""
    enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def _cpu(run: Callable[[], object]) -> int:
    start = time.process_time_ns()
    run()
    gc.collect()
    return time.process_time_ns() - start
