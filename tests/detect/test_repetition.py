"""Loops are the same calls with the same results, and nothing else is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from builders import (
    SHOP,
    Ran,
    call,
    catalog,
    failed,
    held,
    proposal,
    ran,
    step,
    steps,
    tool,
    trajectory,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import PLAIN, PLANS, TEXTS, Turn, Words, shape, told, trajectories

from sentry_langgraph.detect.repetition import Repetition, RepetitionOptions
from sentry_langgraph.records import Catalog, Finding, Proposal, Step, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Severity


def found(seen: Trajectory, **options: Any) -> list[Finding]:
    """What the detector says."""
    return list(Repetition(RepetitionOptions(**options)).detect(seen))


def looping(
    done: Sequence[Step], newest: ToolCall | Proposal, tools: Catalog = SHOP
) -> Finding | None:
    """The one finding of a run, or None."""
    proposed = newest if isinstance(newest, Proposal) else proposal(newest)
    findings = found(trajectory(done, proposed, tools=tools))
    assert len(findings) <= 1
    return findings[0] if findings else None


A, B, C = ran(q=1), ran(q=2), ran(q=3)


@pytest.mark.parametrize(
    ("done", "severity"),
    [
        ([A], None),
        ([A, A], Severity.ADVISE),
        ([A] * 4, Severity.ADVISE),
        ([A] * 5, Severity.HOLD),
        ([A] * 12, Severity.HOLD),
    ],
)
def test_exact_repeats_are_advised_at_three_and_held_at_six(
    done: list[Ran], severity: Severity | None
) -> None:
    """The counts include the proposed call."""
    finding = looping(steps(*done), call(q=1))
    assert (finding and finding.severity) == severity
    if finding is not None:
        assert finding.pattern == "exact_repeat"
        assert finding.evidence["count"] == len(done) + 1
        assert finding.tool == "search"
        assert finding.calls == (0,)
        assert not finding.intention


@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_cycles_of_every_period_are_seen(period: int) -> None:
    """A round that comes back with the same calls and results is a cycle, whatever its length."""
    round_ = [ran(q=number) for number in range(period)]
    done = steps(*round_, *round_)
    assert looping(done[: period + 1], call(q=(period + 1) % period)) is None or period == 2
    finding = looping(done, call(q=0))
    assert finding is not None
    assert finding.pattern in {"cycle", "nothing_new"}
    third = looping(steps(*round_, *round_, *round_), call(q=0))
    assert third is not None
    assert third.pattern == "cycle"
    assert third.evidence["period"] == period
    assert len(third.related) == period


def test_a_cycle_that_goes_on_is_held() -> None:
    """Six rounds of a cycle are held like six exact repeats."""
    finding = looping(steps(*[A, B] * 5), call(q=1))
    assert finding is not None
    assert (finding.pattern, finding.severity) == ("cycle", Severity.HOLD)


def test_a_cycle_in_which_a_result_changes_is_none() -> None:
    """Looking at two things in turn while one of them moves is watching."""
    turns = [one for n in range(4) for one in (ran(q=1, text=f"state {n}"), B)]
    finding = looping(steps(*turns), call(q=1))
    assert finding is None or finding.pattern != "cycle"


def test_longer_cycles_than_asked_for_are_left() -> None:
    """`max_period` bounds the rounds that are compared."""
    done = steps(*[A, B, C] * 3)
    seen = trajectory(done, proposal(call(q=1)))
    assert found(seen, stale_at=0)[0].pattern == "cycle"
    assert [one.pattern for one in found(seen, stale_at=0, max_period=2)] == ["exact_repeat"]


def test_calls_that_bring_nothing_new_count_over_all_tools() -> None:
    """Going over old ground in any order is a loop too."""
    order = [1, 2, 3, 1, 3, 2]
    finding = looping(steps(*[ran(q=n) for n in order]), call(q=1))
    assert finding is not None
    assert finding.pattern in {"exact_repeat", "nothing_new"}
    mixed = looping(steps(*[ran(q=n) for n in [1, 2, 3, 4, 4, 2, 3]]), call(q=1))
    assert mixed is not None
    assert mixed.pattern == "nothing_new"
    assert mixed.evidence["count"] == 4


@pytest.mark.parametrize(("times", "seen"), [(2, False), (3, True), (7, True)])
def test_the_same_error_with_other_arguments_is_advised_and_never_held(
    times: int, seen: bool
) -> None:
    """Each try may differ: if the environment says the same, the agent is stuck."""
    turns = [
        failed("get_order", f"error: order {n} is not yours", order_id=f"o{n}")
        for n in range(times)
    ]
    finding = looping(steps(*turns), call("get_order", order_id="o99"))
    assert (finding is not None) is seen
    if finding is not None:
        assert (finding.pattern, finding.severity) == ("same_error", Severity.ADVISE)
        assert finding.evidence["failing"] is True


@pytest.mark.parametrize(
    "text",
    ["error: request timed out", "Error 429: too many requests", "error: 503 service unavailable"],
)
def test_faults_of_the_infrastructure_are_no_loop_of_errors(text: str) -> None:
    """Trying again after an outage is right, and the breaker's business."""
    turns = [failed("get_order", text, order_id=f"o{n}") for n in range(8)]
    assert looping(steps(*turns), call("get_order", order_id="o99")) is None


def test_a_different_error_ends_the_row_of_errors() -> None:
    """The row is one of equal errors."""
    turns = [failed("get_order", f"error: {'ab'[n % 2]}", order_id=f"o{n}") for n in range(8)]
    assert looping(steps(*turns), call("get_order", order_id="o99")) is None


def test_an_exact_repeat_that_fails_says_so() -> None:
    """There is no result to take an answer from, and the text must not send the agent there."""
    finding = looping(steps(*[failed(q=1)] * 3), call(q=1))
    assert finding is not None
    assert finding.evidence["failing"] is True
    assert looping(steps(*[A] * 3), call(q=1)).evidence["failing"] is False  # type: ignore[union-attr]


@given(
    order=st.permutations(["a", "b", "c"]),
    results=st.lists(TEXTS, min_size=1, max_size=10, unique=True),
)
def test_identical_arguments_with_changing_results_are_never_a_loop(
    order: list[str], results: list[str]
) -> None:
    """Polling that moves is progress, whatever the order of the argument keys."""
    turns = [
        Ran(ToolCall("", "search", {key: key for key in (order if n % 2 else order[::-1])}), text)
        for n, text in enumerate(results)
    ]
    newest = ToolCall("c0", "search", {key: key for key in order})
    assert looping(steps(*turns), newest) is None


@given(order=st.permutations(["a", "b", "c"]))
def test_the_order_of_keys_does_not_hide_a_loop(order: list[str]) -> None:
    """Two spellings of one call are one call."""
    turns = [Ran(ToolCall("", "search", dict.fromkeys("abc", 1)), "same") for _ in range(3)]
    newest = ToolCall("c0", "search", dict.fromkeys(order, 1))
    assert looping(steps(*turns), newest) is not None


@given(
    count=st.integers(1, 20),
    width=st.integers(1, 4),
    name=st.sampled_from(["search", "get_order", "cancel_order"]),
    argument=st.sampled_from(["q", "order_id", "path", "page", "cursor"]),
)
def test_batch_work_over_distinct_arguments_never_alarms(
    count: int, width: int, name: str, argument: str
) -> None:
    """The same tool over a list of things is work, though each result reads the same."""
    done = [
        step(f"s{n}", *[ran(name, "ok", **{argument: f"{n}.{part}"}) for part in range(width)])
        for n in range(count)
    ]
    newest = proposal(*[call(name, **{argument: f"new.{part}"}) for part in range(width)])
    assert looping(done, newest) is None


@pytest.mark.parametrize("argument", ["request_id", "timestamp", "nonce"])
def test_an_argument_that_is_the_target_counts_whatever_its_name(argument: str) -> None:
    """`approve_request(request_id=…)` over six requests is batch work."""
    tools = catalog(
        tool("approve", **{argument: "string"}, required=[argument], read_only=False)  # type: ignore[arg-type]
    )
    turns = [ran("approve", "approved", **{argument: str(n)}) for n in range(6)]
    assert looping(steps(*turns), call("approve", **{argument: "99"}), tools) is None


def test_volatile_arguments_beside_others_do_not_hide_a_loop() -> None:
    """A fresh request id on each try does not make it another call."""
    turns = [ran(q=1, request_id=f"r{n}") for n in range(3)]
    assert looping(steps(*turns), call(q=1, request_id="r9")) is not None


def test_ignored_arguments_do_not_count() -> None:
    """`ignore_args` of the tool leaves an argument out of the comparison."""
    turns = steps(*[ran(q=1, page=n) for n in range(3)])
    newest = proposal(call(q=1, page=9))
    assert found(trajectory(turns, newest)) == []
    by_tool = catalog(tool("search", ignore_args=["page"]))
    assert found(trajectory(turns, newest, tools=by_tool))


@pytest.mark.parametrize(
    "spec",
    [tool("search", polling=True), tool("search", exempt=[Label.REPETITION_OR_LOOPING])],
    ids=["polling", "exempt"],
)
@pytest.mark.parametrize("made", [ran, failed])
def test_polling_and_exempt_tools_never_loop(spec: Any, made: Any) -> None:
    """What the user says of a tool is respected, errors included."""
    turns = steps(*[made("search", "error: same", q=1) for _ in range(12)])
    assert looping(turns, call(q=1), catalog(spec)) is None


@given(count=st.integers(2, 8), vetoes=st.lists(st.integers(0, 8), max_size=4))
def test_our_own_vetoes_do_not_reset_a_streak(count: int, vetoes: list[int]) -> None:
    """A held call stays part of the streak, wherever it was held."""
    turns: list[Ran] = [A] * count
    for place in vetoes:
        turns.insert(min(place, len(turns)), held(q=1))
    finding = looping(steps(*turns), call(q=1))
    assert finding is not None
    assert finding.evidence["count"] == len(turns) + 1


def test_vetoes_alone_are_no_loop() -> None:
    """Calls that never ran have no result that could be the same."""
    finding = looping(steps(*[held(q=1)] * 2), call(q=1))
    assert finding is None


@given(before=st.integers(0, 8), after=st.integers(0, 8))
def test_a_new_change_between_repeats_begins_the_count_again(before: int, after: int) -> None:
    """Reading again after a change is checking; only the reads after the change count."""
    change = ran("add_note", "noted", note="n")
    with_change = looping(steps(*[A] * before, change, *[A] * after), call(q=1))
    without = looping(steps(*[A] * after), call(q=1))
    assert (with_change and with_change.evidence["count"]) == (
        without and without.evidence["count"]
    )


@pytest.mark.parametrize(
    "change",
    [failed("add_note", note="n"), held("add_note", note="n"), ran("get_order", order_id="o")],
)
def test_only_a_change_that_worked_resets(change: Ran) -> None:
    """A refused change, one that we held, and a look-up leave the streak as it is."""
    finding = looping(steps(A, A, change, A, A), call(q=1))
    assert finding is not None
    assert finding.evidence["count"] == 5


def test_a_change_that_repeats_itself_is_a_loop() -> None:
    """Successful changes can loop too."""
    turns = steps(*[ran("cancel_order", "cancelled", order_id="o", reason="late")] * 3)
    finding = looping(turns, call("cancel_order", order_id="o", reason="late"))
    assert finding is not None
    assert finding.pattern == "exact_repeat"


def test_two_equal_calls_of_one_message_are_both_named() -> None:
    """Every position of the repeated call is concerned, and no other one."""
    newest = proposal(call(q=1), call(q=7), call(q=1))
    finding = looping(steps(*[A] * 3), newest)
    assert finding is not None
    assert finding.calls == (0, 2)


def test_a_wish_to_finish_is_no_loop() -> None:
    """Without a call there is nothing that could repeat."""
    assert looping(steps(*[A] * 10), proposal(text="It is done.")) is None


@given(PLANS, st.randoms(use_true_random=False))
def test_findings_do_not_hang_on_names_and_ids(plan: list[list[Turn]], random: Any) -> None:
    """Renaming every tool, argument, value, result and id consistently changes no finding."""
    tools = ["verify_thing", "zz", "delete"]
    random.shuffle(tools)
    values, results = ["other", "wörter"], ["lamp", "desk"]
    random.shuffle(values)
    random.shuffle(results)
    other = Words(tools, "column", values, results, f"id-{random.random()}-")
    first = [shape(one) for one in found(told(plan, PLAIN))]
    assert [shape(one) for one in found(told(plan, other))] == first


@given(trajectories(SHOP), st.integers(2, 4), st.integers(0, 4))
def test_no_trajectory_makes_it_raise(seen: Trajectory, advise_at: int, stale_at: int) -> None:
    """Whatever a model or a tool writes, there are findings or none."""
    for finding in found(seen, advise_at=advise_at, stale_at=stale_at):
        assert finding.label is Label.REPETITION_OR_LOOPING
        assert set(finding.calls) <= {made.index for made in seen.proposal.calls}
        assert Finding.from_dict(finding.to_dict()) == finding


@pytest.mark.parametrize(
    "wrong", [{"advise_at": 1}, {"hold_at": 0}, {"max_period": 21}, {"stale_at": -1}, {"a": 1}]
)
def test_options_have_bounds(wrong: dict[str, int]) -> None:
    """A count that would alarm on the first call is refused."""
    with pytest.raises(ValidationError):
        RepetitionOptions(**wrong)


def with_own(**fields: Any) -> Catalog:
    """The shop, with more known of its search."""
    return catalog(replace(SHOP.tools["search"], **fields), *list(SHOP.tools.values())[1:])


@pytest.mark.parametrize(
    ("spec", "done", "severity"),
    [
        ({"advise_at": 2}, 1, Severity.ADVISE),
        ({"advise_at": 5}, 3, None),
        ({"advise_at": 5}, 4, Severity.ADVISE),
        ({"hold_at": 3}, 2, Severity.HOLD),
        ({"advise_at": 8, "hold_at": 9}, 7, Severity.ADVISE),
        ({"advise_at": 8, "hold_at": 9}, 8, Severity.HOLD),
    ],
)
def test_a_tool_has_thresholds_of_its_own(
    spec: dict[str, int], done: int, severity: Severity | None
) -> None:
    """They replace the detector's, for its repeats alone."""
    finding = looping(steps(*[A] * done), call(q=1), with_own(**spec))
    assert (finding and finding.severity) == severity


def test_steps_of_a_tool_with_thresholds_of_its_own_are_not_stale() -> None:
    """Other tools neither gain nor lose by them."""
    turns = steps(*[A, B] * 5, ran("get_order", order_id="o"))
    newest = call("get_order", order_id="o")
    assert looping(turns, newest, with_own(advise_at=50)) is None


@pytest.mark.parametrize(
    ("made", "done", "seen"),
    [
        (ran(q=1), 3, False),
        (ran(q=1), 4, True),
        (failed(q=1), 2, True),
        (ran("cancel_order", order_id="o", reason="late"), 2, True),
    ],
)
def test_look_ups_that_work_may_repeat_more_often(made: Ran, done: int, seen: bool) -> None:
    """`advise_reads_at` leaves failures and changes as they are."""
    newest = proposal(call(made.call.name, **(made.call.args or {})))
    findings = found(trajectory(steps(*[made] * done), newest), advise_reads_at=5)
    assert bool(findings) is seen


@pytest.mark.parametrize(
    ("order", "severity"),
    [
        ([1, 2, 3, 1, 2], Severity.ADVISE),
        ([1, 2, 3, 1], None),
        ([1, 2, 3, 1, 4, 2], None),
        ([1, 2, 3, 1, 4, 2, 4, 1], Severity.ADVISE),
        ([1, 2, 3, 1, 3, 2, 1], Severity.HOLD),
    ],
)
def test_steps_with_nothing_new_are_paid_off_by_news(
    order: list[int], severity: Severity | None
) -> None:
    """Three more old steps than new ones since the old began are advised on, five are held."""
    finding = looping(steps(*[ran(q=n) for n in order]), call(q=3))
    assert (finding and finding.severity) == severity


def test_a_message_of_several_old_calls_is_one_step() -> None:
    """Reading five records once more in one message is one look back, not a loop."""
    five = [ran(q=n) for n in range(5)]
    again = proposal(*[call(q=n) for n in range(5)])
    assert looping(steps(five), again) is None
    assert looping(steps(five, [five[0]], [five[1]]), again) is not None


def test_a_cycle_has_one_name_from_the_first_sight_on() -> None:
    """Its second and third round are the same failure."""
    round_ = [ran(q=number) for number in range(4)]
    turns = [*round_, *round_, *round_]
    seen = [
        finding
        for count in range(1, len(turns))
        if (finding := looping(steps(*turns[:count]), turns[count].call)) is not None
    ]
    assert {one.pattern for one in seen} == {"cycle"}
    assert len({one.key for one in seen}) == 1
    assert seen[0].evidence["count"] == 2


WORDED = ["blue lamp", "blue lamp attic", "tall blue lamp attic", "old tall blue lamp attic"]


@pytest.mark.parametrize("text", ["nothing found", ""])
def test_the_same_question_in_more_words_with_the_same_answer_is_a_loop(text: str) -> None:
    """It is advised on and never held."""
    turns = [ran(q=words, text=text) for words in WORDED]
    finding = looping(steps(*turns), call(q="very old tall blue lamp attic"))
    assert finding is not None
    assert (finding.pattern, finding.severity) == ("reworded", Severity.ADVISE)
    longer = [*turns, *[ran(q=" ".join(["lamp"] * n) + " blue", text=text) for n in range(6)]]
    again = looping(steps(*longer), call(q="a blue lamp"))
    assert again is None or again.severity is Severity.ADVISE
    newest = trajectory(steps(*turns), proposal(call(q="very old tall blue lamp attic")))
    assert found(newest, reworded=False) == []


@given(
    values=st.lists(
        st.text("abc123 ", min_size=1, max_size=12), min_size=2, max_size=12, unique=True
    )
)
def test_other_words_with_other_answers_are_no_loop(values: list[str]) -> None:
    """Near repeats alone never alarm: the answers have to be the same as well."""
    turns = [ran(q=value, text=f"answer {n}") for n, value in enumerate(values[:-1])]
    assert looping(steps(*turns), call(q=values[-1])) is None


def test_a_batch_tool_is_never_reworded_nor_stuck_on_an_error() -> None:
    """Many calls that differ little are its normal use."""
    tools = with_own(batch=True)
    turns = [ran(q=words, text="nothing") for words in WORDED]
    assert looping(steps(*turns), call(q="very old tall blue lamp attic"), tools) is None
    errors = [failed(q=n, text="error: not there") for n in range(8)]
    assert looping(steps(*errors), call(q=99), tools) is None


def test_results_that_differ_in_clocks_only_are_the_same() -> None:
    """A request id and a response time say nothing about the thing asked for."""
    turns = [
        ran(q=1, text=f'{{"state": "queued", "request_id": "r{n}", "took": 0.{n}}}')
        for n in range(3)
    ]
    assert looping(steps(*turns), call(q=1)) is not None
    moving = [ran(q=1, text=f'{{"state": "s{n}", "request_id": "r{n}"}}') for n in range(3)]
    assert looping(steps(*moving), call(q=1)) is None


def test_a_command_that_reads_does_not_begin_a_stretch() -> None:
    """In a shell the command tells a look from a change."""
    tools = catalog(tool("sh", command="string"))
    look, edit = ran("sh", "a b", command="ls"), "sed -i s/a/b/ f"
    between = ran("sh", "text", command="cat f")
    newest = call("sh", command="ls")
    assert looping(steps(look, look, between), newest, tools) is not None
    assert looping(steps(look, look, ran("sh", "", command=edit)), newest, tools) is None


def test_an_outage_is_advised_on_and_not_held() -> None:
    """Trying again after an outage is not wrong; retries and breakers are the guard's."""
    turns = steps(*[failed(q=1, text="error: request timed out")] * 9)
    finding = looping(turns, call(q=1))
    assert finding is not None
    assert finding.severity is Severity.ADVISE
