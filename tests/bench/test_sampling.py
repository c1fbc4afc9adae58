"""The statistics of the benchmark."""

from __future__ import annotations

import gc
import random

import pytest

from sentry_langgraph.bench.sampling import compare, interval_ranks, quiet_collector, summary


@pytest.mark.parametrize(
    ("count", "ranks"), [(1, (0, 0)), (5, (0, 4)), (20, (5, 14)), (100, (40, 59))]
)
def test_interval_ranks(count: int, ranks: tuple[int, int]) -> None:
    """The ranks are those of the sign test, and never outside the values."""
    assert interval_ranks(count) == ranks


def test_summary_takes_the_ratio_within_each_round() -> None:
    """Noise that hits both runs of a round does not change the ratio."""
    rng = random.Random(1)
    pairs = [(base := rng.randint(1_000, 100_000) * 100, base * 11 // 10) for _ in range(50)]
    found = summary(pairs)
    assert found.ratio == pytest.approx(1.1)
    assert (found.low, found.high) == (pytest.approx(1.1), pytest.approx(1.1))
    assert found.rounds == 50


def test_interval_holds_the_median_nineteen_times_in_twenty() -> None:
    """Of 400 samples of noise around 1.0, about 95 % have an interval with 1.0 in it."""
    rng = random.Random(2)
    hits = 0
    for _ in range(400):
        pairs = [(10_000, int(10_000 * rng.lognormvariate(0, 0.2))) for _ in range(30)]
        found = summary(pairs)
        hits += found.low <= 1.0 <= found.high
    assert 0.92 <= hits / 400 <= 0.99


def test_compare_sees_twice_the_work() -> None:
    """Twice the work is about twice the time, and both orders are run."""
    order: list[str] = []

    def work(name: str, size: int) -> int:
        order.append(name)
        return sum(number * number for number in range(size))

    found = compare(
        lambda: work("one", 60_000), lambda: work("two", 120_000), seconds=0, least=20, most=20
    )
    assert found.rounds == 20
    assert found.ratio == pytest.approx(2.0, rel=0.3)
    assert found.low <= found.ratio <= found.high
    rounds = [tuple(order[at : at + 2]) for at in range(2, len(order), 2)]
    assert set(rounds) == {("one", "two"), ("two", "one")}


def test_compare_ends_after_its_time_and_its_most() -> None:
    """No more rounds than `most`, and no fewer than `least`, whatever the time says."""
    assert compare(int, int, seconds=60, least=2, most=4).rounds == 4
    assert compare(int, int, seconds=0, least=3, most=9).rounds == 3


def test_collector_is_left_as_it_was() -> None:
    """The garbage collector runs again afterwards, after an error too."""

    def fail() -> None:
        with quiet_collector():
            assert not gc.isenabled()
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
