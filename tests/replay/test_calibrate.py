"""Calibrated thresholds keep their promise, and runs are scored as they would be flagged."""

from __future__ import annotations

import os
import pickle
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentry_langgraph.config import load_config
from sentry_langgraph.detect.registry import BUILT_IN
from sentry_langgraph.replay import Level, Recording, Replay, read_runs
from sentry_langgraph.replay.calibrate import Scorer, Setting, calibrate, with_thresholds
from sentry_langgraph.replay.conformal import (
    TooFewRunsError,
    bound,
    joint_thresholds,
    needed_runs,
)
from sentry_langgraph.replay.runs import run_of as read_run

from .histories import run_of

ALPHAS = st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5])


@settings(max_examples=20)
@given(ALPHAS, st.lists(st.integers(0, 6), min_size=100, max_size=104))
def test_the_bound_holds_for_every_exchangeable_run(alpha: float, scores: list[int]) -> None:
    """Whichever run is left out as the new one: at most a share alpha of them exceeds the bound
    of the others. Under exchangeability each is equally likely to be the new one, so this is
    the guarantee itself."""
    above = 0
    exact = list(map(Fraction, scores))
    for place, score in enumerate(exact):
        above += score > bound([*exact[:place], *exact[place + 1 :]], alpha)
    assert above <= alpha * len(scores)


@settings(max_examples=25)
@given(
    ALPHAS.filter(lambda alpha: alpha >= 0.05),
    st.lists(
        st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.integers(0, 5)}),
        min_size=25,
        max_size=40,
    ),
)
def test_all_thresholds_together(alpha: float, runs: list[dict[str, int]]) -> None:
    """The same for several thresholds at once, dependent ones included."""
    flagged = 0
    for place, run in enumerate(runs):
        found = joint_thresholds([*runs[:place], *runs[place + 1 :]], {"a": 3, "b": 4}, alpha)
        flagged += any(run[name] >= value for name, value in found.items())
    assert flagged <= alpha * len(runs)


@pytest.mark.parametrize(("alpha", "needed"), [(0.01, 99), (0.05, 19), (0.1, 9), (0.3, 3)])
def test_too_few_runs_are_refused(alpha: float, needed: int) -> None:
    """The error says how many there are and how many are needed, and survives pickling."""
    assert needed_runs(alpha) == needed
    assert bound([Fraction(0)] * needed, alpha) == 0
    with pytest.raises(TooFewRunsError, match=f"at least {needed}") as refused:
        bound([Fraction(0)] * (needed - 1), alpha)
    assert (refused.value.runs, refused.value.needed) == (needed - 1, needed)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def recording(pattern: str, **more: Any) -> Recording:
    """A run of the common format."""
    return read_run(run_of(pattern, **more), "here")


SHORT_CYCLES = {"detectors": [{"kind": "repetition_or_looping", "max_period": 2}]}
RULES = {"exact_repeat", "cycle", "nothing_new", "same_error", "thinking_only"}
"""Patterns that a threshold decides."""


@settings(max_examples=25)
@pytest.mark.parametrize("config", [{}, SHORT_CYCLES], ids=["default", "set"])
@given(st.text("aabbAB.", max_size=14), st.sampled_from(["", "", "error: no"]))
def test_a_score_is_where_flagging_ends(config: Any, pattern: str, error: str) -> None:
    """Each threshold by itself flags the run at every value up to the score, and at none above."""
    loaded = load_config(config)
    scorer = Scorer(loaded)
    run = recording(pattern, error=error)
    seen = [prefix.trajectory for prefix in Replay(loaded).prefixes(run)]
    scores = scorer.score(run)
    for measured in scorer.measured:
        score = scores[measured.setting]
        for value in range(measured.threshold.lowest, 20):
            flagged = scorer.reached(measured, value, seen) is not None
            assert flagged == (value <= score), (measured.setting, value)


@given(st.text("aabbAB.", max_size=14), st.sampled_from(["", "", "error: no"]))
def test_what_the_new_settings_flag_a_score_foretells(pattern: str, error: str) -> None:
    """No run is flagged, or held, whose scores are below all the thresholds."""
    scorer = Scorer(load_config())
    values = {one.setting: one.now for one in scorer.measured}
    scores = scorer.score(recording(pattern, error=error))
    look = Replay(load_config(with_thresholds(load_config(), values)))
    found = look.run(recording(pattern, error=error)).hits
    hits = [hit for hit in found if hit.first.pattern in RULES]
    reached = {one.threshold.hold for one in scorer.measured if scores[one.setting] >= one.now}
    if hits:
        assert False in reached
    if any(hit.level is Level.HOLD and hit.first.pattern != "thinking_only" for hit in hits):
        assert True in reached


def test_thresholds_follow_the_runs() -> None:
    """Quiet runs lower the thresholds, runs that repeat raise them, and holds stay above."""
    scorer = Scorer(load_config())
    quiet = calibrate(scorer, [scorer.score(recording("abc"))] * 99, 0.01)
    advise, hold = (Setting("repetition_or_looping", name) for name in ("advise_at", "hold_at"))
    assert quiet.values[advise] == 2
    assert quiet.values[hold] == 6
    busy = calibrate(scorer, [scorer.score(recording("aaaaaaaaa"))] * 99, 0.01)
    assert busy.values[advise] == 10
    assert busy.values[hold] == 10
    assert busy.flagged[advise] == 0
    held = calibrate(scorer, [scorer.score(recording("aaaa"))] * 99, 0.01, hold_alpha=0.01)
    assert held.values[hold] == 5
    with pytest.raises(TooFewRunsError):
        calibrate(scorer, [scorer.score(recording("abc"))] * 99, 0.01, hold_alpha=0.001)


def test_what_is_off_stays_off() -> None:
    """A rule at 0 and a detector that is disabled have no threshold to calibrate."""
    entries = [
        {"kind": "repetition_or_looping", "stale_at": 0},
        {"kind": "planning_stall", "enabled": False},
    ]
    loaded = load_config({"window": 30, "detectors": entries})
    scorer = Scorer(loaded)
    named = {one.setting.option for one in scorer.measured}
    assert "stale_at" not in named
    assert "thinking_steps" not in named
    found = calibrate(scorer, [scorer.score(recording("abc"))] * 9, 0.1)
    data = with_thresholds(loaded, found.values)
    assert data["window"] == 30
    assert data["detectors"][0]["stale_at"] == 0
    assert load_config(data).detectors[1] == entries[1]


def test_declared_thresholds_are_options() -> None:
    """Every name in a declaration is an option of its detector, and what silences is valid."""
    for made in BUILT_IN.values():
        options = getattr(made, "Options")  # noqa: B009 - no attribute of the callable's type
        for threshold in options.thresholds:
            names = {
                threshold.option,
                *threshold.same,
                *threshold.off,
                *filter(None, [threshold.above]),
            }
            assert names <= set(options.model_fields)
            options(**threshold.off)


@pytest.mark.skipif(
    "SENTRY_TRACES" not in os.environ, reason="SENTRY_TRACES names no directory of recorded runs"
)
def test_the_promise_on_recorded_runs() -> None:
    """Calibrated on one random half of the successful runs, the other half keeps the share."""
    path = Path(os.environ["SENTRY_TRACES"]) / "tau2_dev.jsonl.gz"
    scorer = Scorer(load_config())
    scores = [scorer.score(run) for run in read_runs(path) if run.success]
    alpha, shares = 0.02, []
    for seed in range(20):
        random.Random(seed).shuffle(scores)
        half = len(scores) // 2
        found = calibrate(scorer, scores[:half], alpha)
        finds = [one.setting for one in scorer.measured if not one.threshold.hold]
        flagged = sum(
            any(score[name] >= found.values[name] for name in finds) for score in scores[half:]
        )
        shares.append(flagged / (len(scores) - half))
    assert sum(shares) / len(shares) <= alpha * 1.1
