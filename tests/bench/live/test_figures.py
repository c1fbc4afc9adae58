"""The statistics, and the figures made of results."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from sentry_langgraph.bench.live.figures import figures
from sentry_langgraph.bench.live.paired import difference, mcnemar
from sentry_langgraph.bench.live.run import Result
from sentry_langgraph.bench.live.show import NOT_SHOWN, render


def result(task: int, arm: str, solved: bool, domain: str = "shop", **more: Any) -> Result:
    """A result of 100 tokens."""
    given = {
        "kind": "lookup",
        "state_right": True,
        "answer_right": solved,
        "wrong_changes": 0,
        "turns": 2,
        "tool_calls": 1,
        "prompt_tokens": 90,
        "completion_tokens": 10,
        "approximate": False,
        "repairs": {},
        "end": "answer",
        "answer": "",
        "seconds": 1.0,
    }
    return Result(domain=domain, task=str(task), arm=arm, solved=solved, **{**given, **more})


RESULTS = [
    *(result(n, "off", n < 4) for n in range(10)),
    *(result(n, "rules", n > 0, turns=3, prompt_tokens=190) for n in range(10)),
    *(result(n, "off", False, "library") for n in range(3)),
]


def test_each_domain_and_arm_has_its_figures() -> None:
    """Nothing is pooled over domains."""
    shop_off, shop_rules, library_off = figures(RESULTS)
    assert [(one.domain, one.arm) for one in (shop_off, shop_rules, library_off)] == [
        ("shop", "off"),
        ("shop", "rules"),
        ("library", "off"),
    ]
    assert (shop_off.solved, shop_off.tasks, shop_off.tokens_per_solved) == (4, 10, 250)
    assert (shop_rules.solved, shop_rules.turns, shop_rules.tokens) == (9, 30, 2000)
    assert library_off.tokens_per_solved is None
    assert shop_off.compared is None
    assert json.loads(json.dumps(shop_rules.to_dict()))["compared"]["won"] == 6


def test_differences_are_paired() -> None:
    """Wins and losses count by task, and intervals hold the mean."""
    compared = figures(RESULTS)[1].compared
    assert compared is not None
    assert (compared.tasks, compared.won, compared.lost) == (10, 6, 1)
    assert compared.solved.mean == pytest.approx(0.5)
    assert compared.solved.low < 0.5 < compared.solved.high
    assert (compared.turns.low, compared.turns.mean, compared.turns.high) == (1, 1, 1)
    assert compared.p == pytest.approx(2 * (1 + 7) / 2**7)


def test_only_common_tasks_are_compared() -> None:
    """A run that is not finished compares what both arms have."""
    compared = figures(RESULTS[:13])[1].compared
    assert compared is not None
    assert compared.tasks == 3


@pytest.mark.parametrize(
    ("base", "other", "p"),
    [
        ([True] * 4, [True] * 4, 1.0),
        ([False] * 5, [True] * 5, 2 / 2**5),
        ([True, False], [False, True], 1.0),
    ],
)
def test_mcnemar(base: list[bool], other: list[bool], p: float) -> None:
    """Only tasks on which the arms differ count; exact and two-sided."""
    assert mcnemar(base, other) == pytest.approx(p)


def test_a_difference_needs_pairs() -> None:
    """Two arms of different length can't be paired; the same values differ by nothing."""
    with pytest.raises(ValueError, match="can't be paired"):
        difference([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="can't be paired"):
        difference([], [])
    same = difference([1.0, 2.0], [1.0, 2.0])
    assert (same.low, same.mean, same.high) == (0, 0, 0)


def test_the_tables_say_what_they_do_not_show() -> None:
    """Every figure and every caveat is printed."""
    out = io.StringIO()
    Console(file=out, width=80).print(render(figures(RESULTS)))
    text = " ".join(out.getvalue().split())
    assert "9/10" in text
    assert "6, 1 (McNemar" in text
    assert "+0.50 (" in text
    assert all(line[:60] in text for line in NOT_SHOWN)
