"""The intervals of the detection benchmark."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentry_langgraph.bench.detection.intervals import (
    Share,
    median_of,
    rate_of,
    wilson,
)


@pytest.mark.parametrize(
    ("count", "total", "interval"),
    [
        (0, 10, (0.0, 0.2775)),
        (1, 10, (0.0179, 0.4042)),
        (10, 10, (0.7225, 1.0)),
        (26, 1254, (0.0142, 0.0302)),
    ],
)
def test_wilson(count: int, total: int, interval: tuple[float, float]) -> None:
    """The score interval of Wilson, as published tables have it."""
    assert wilson(count, total) == pytest.approx(interval, abs=5e-5)


def test_nothing_to_count() -> None:
    """Without a denominator there is no value and no interval."""
    assert Share(0, 0).to_dict() == {"count": 0, "total": 0, "value": None, "interval": None}
    assert median_of([]).value is None
    assert rate_of([]).value is None
    assert rate_of([(0, 0), (0, 0)]).interval is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share(pair: tuple[int, int]) -> None:
    """The interval lies in [0, 1] and holds the share."""
    count, total = pair
    found = wilson(count, total)
    assert found is not None
    assert 0 <= found[0] <= count / total <= found[1] <= 1


@given(st.lists(st.integers(0, 200), min_size=1, max_size=60))
def test_median_lies_in_its_interval(values: list[int]) -> None:
    """The ends are values that were seen, on both sides of the median."""
    found = median_of(values)
    assert found.value == statistics.median(values)
    if found.interval is None:
        assert len(values) == 1
    else:
        low, high = found.interval
        assert {low, high} <= set(values)
        assert low <= found.value <= high


@pytest.mark.parametrize("count", [3, 15, 60])
def test_median_interval_is_that_of_the_bootstrap(count: int) -> None:
    """For an odd number of values it is what ten thousand resamples give."""
    draw = random.Random(count)
    values = sorted(draw.expovariate(0.05) for _ in range(count | 1))
    found = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(10_000))
    interval = median_of(values).interval
    assert interval is not None
    for end, drawn in zip(interval, (found[250], found[9_749]), strict=True):
        assert abs(values.index(end) - values.index(drawn)) <= 1


def test_rate_takes_runs_as_the_sample() -> None:
    """Events that come together in few runs make the interval wide."""
    spread = rate_of([(1, 10)] * 40)
    heaped = rate_of([(20, 10)] * 2 + [(0, 10)] * 38)
    assert spread.value == heaped.value == 10
    assert spread.interval == pytest.approx((10, 10))
    assert heaped.interval is not None
    assert heaped.interval[0] == 0
    assert heaped.interval[1] > 20
