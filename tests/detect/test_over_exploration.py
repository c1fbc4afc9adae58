"""Reading on and on is seen once, and only where it leads nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from builders import SHOP, Ran, call, catalog, failed, held, proposal, ran, steps, tool, trajectory
from hypothesis import given
from hypothesis import strategies as st
from strategies import trajectories

from sentry_langgraph.detect.over_exploration import OverExploration, OverExplorationOptions
from sentry_langgraph.records import Catalog, Finding, Trajectory
from sentry_langgraph.taxonomy import Label, Severity

READER = catalog(tool("search", read_only=True))


def found(
    turns: Sequence[Ran], tools: Catalog = SHOP, newest: Any = None, **options: Any
) -> list[Finding]:
    """What the detector says of these turns and one more look-up."""
    seen = trajectory(steps(*turns), newest or proposal(call(q="new")), tools=tools)
    return list(OverExploration(OverExplorationOptions(**options)).detect(seen))


def reads(count: int, text: str = "page {n}: words{n} more{n} of{n} this{n}") -> list[Ran]:
    """Different look-ups with different results."""
    return [ran(q=n, text=text.format(n=n)) for n in range(count)]


@pytest.mark.parametrize(("done", "seen"), [(6, False), (7, True), (8, False), (15, False)])
def test_many_look_ups_without_a_change_are_advised_on_once(done: int, seen: bool) -> None:
    """At the step that makes the count full, and not at each one after it."""
    findings = found(reads(done), reads_at=8)
    assert [one.pattern for one in findings] == ["no_change"] * seen
    for one in findings:
        assert one.label is Label.OVER_EXPLORATION
        assert one.severity is Severity.ADVISE
        assert one.evidence == {"count": 8, "by": ["configuration"]}


@given(before=st.integers(0, 15), after=st.integers(0, 15))
def test_a_change_begins_the_count_again(before: int, after: int) -> None:
    """Only the look-ups after the last change count."""
    change = ran("add_note", "noted", note="n")
    with_change = found([*reads(before), change, *reads(after)], reads_at=8)
    assert bool(with_change) is (after == 7)


def test_an_agent_that_can_change_nothing_may_read_on() -> None:
    """Looking things up is all it has; only what it learns counts there."""
    assert found(reads(11), READER) == []
    assert found(reads(11), SHOP)


@pytest.mark.parametrize("tools", [SHOP, READER])
def test_look_ups_that_say_nothing_new_are_advised_on_once(tools: Catalog) -> None:
    """Different questions, the same words in every answer."""
    same = [ran(q=f"where is thing {n}", text="red lamp, blue desk, chair") for n in range(12)]
    newest = proposal(call(q="where is it"))
    fired = [
        count for count in range(12) if found(same[:count], tools, newest, reads_at=0, novelty_at=6)
    ]
    assert fired == [5]
    assert [one.pattern for one in found(same[:5], tools, newest)] == ["nothing_learned"]


def test_records_that_are_alike_may_be_read_one_by_one() -> None:
    """Five orders that all are open say the same words, and each is news."""
    alike = [ran("get_order", "status open, paid yes", order_id=f"o{n}") for n in range(18)]
    for count in range(10):
        assert found(alike[:count], newest=proposal(call("get_order", order_id="new"))) == []


def test_look_ups_that_say_something_new_go_on() -> None:
    """As long as results hold new words, reading is work."""
    for count in range(20):
        assert found(reads(count), READER) == []


def test_repeats_are_loops_and_not_counted() -> None:
    """The same look-up again is the other detector's."""
    again = [ran(q=1, text="same")] * 15
    assert found(again, reads_at=8) == []
    assert found([*reads(6), *again], newest=proposal(call(q=1)), reads_at=8) == []
    assert found([*reads(7), *[ran(q=0)] * 4], reads_at=8)


@pytest.mark.parametrize(
    "spec",
    [
        replace(tool("search", read_only=True), batch=True),
        tool("search", read_only=True, polling=True),
        tool("search"),
    ],
    ids=["batch", "polling", "unknown"],
)
def test_batch_work_polling_and_the_unknown_are_no_exploring(spec: Any) -> None:
    """Where nothing says that a tool only reads, its calls may be the work itself."""
    tools = catalog(spec, tool("add_note", note="string", read_only=False))
    assert all(not found(reads(count), tools, reads_at=8) for count in range(18))


def test_held_calls_and_failures() -> None:
    """A held call never ran; a look-up that failed was one."""
    assert found([*reads(7), held(q=50), held(q=51)], reads_at=8)
    assert found([*reads(6), failed(q=50)], reads_at=8)


def test_zero_is_off() -> None:
    """Both parts can be switched off."""
    same = [ran(q=n, text="red lamp") for n in range(12)]
    assert found(same, reads_at=0, novelty_at=0) == []


def test_commands_that_read_count_where_the_tool_runs_commands() -> None:
    """A shell both reads and changes, so its commands decide."""
    shell = catalog(tool("sh", command="string"))
    turns = [ran("sh", f"text{n}", command=f"cat f{n}") for n in range(7)]
    newest = proposal(call("sh", command="cat last"))
    (one,) = found(turns, shell, newest, reads_at=8)
    assert one.evidence["by"] == ["command"]
    writes = [*turns[:4], ran("sh", "", command="echo a > b"), *turns[4:]]
    assert found(writes, shell, newest, reads_at=8) == []


@given(trajectories(SHOP), st.integers(0, 3))
def test_no_trajectory_makes_it_raise(seen: Trajectory, count: int) -> None:
    """Whatever a model or a tool writes, there are findings or none."""
    options = OverExplorationOptions(reads_at=count, novelty_at=count, novelty_over=1)
    for one in OverExploration(options).detect(seen):
        assert one.severity is Severity.ADVISE
        assert Finding.from_dict(one.to_dict()) == one
