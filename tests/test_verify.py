"""Recovered, relapsed or expired: judged by the steps that follow a repair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import (
    SHOP,
    Ran,
    active,
    call,
    failed,
    finding,
    held,
    proposal,
    ran,
    state,
    steps,
    trajectory,
)
from pydantic import ValidationError

from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import ActiveRepair, Judgement, PathStep, Proposal, Step
from sentry_langgraph.signature import call_key
from sentry_langgraph.taxonomy import DEFINITIONS, Label, Strategy, Verdict
from sentry_langgraph.verify import VerifyOptions, returned, settled

REPAIRED = held("get_order")
"""The step `s0`, which the repair answered."""

CANCEL = ran("cancel_order", "cancelled", order_id="o", reason="late")
SEARCH = ran("search", "three orders", q=5)
ORDER = ran("get_order", "order o", order_id="o")


def by_steps(repair: ActiveRepair, *following: Ran | list[Ran], **options: int) -> Judgement | None:
    """The verdict of the steps after the repaired one."""
    seen = trajectory(steps(REPAIRED, *following), proposal(call()), state=state(repair))
    judged = settled(seen, VerifyOptions(**options))
    assert len(judged) <= 1
    return judged[0] if judged else None


def verdict(judgement: Judgement | None) -> Verdict | None:
    """What it says."""
    return judgement.verdict if judgement is not None else None


SAME_TOOL = [
    Label.UNKNOWN_TOOL,
    Label.MALFORMED_ARGUMENTS,
    Label.INVALID_ARGUMENTS,
    Label.HALLUCINATION,
    Label.REASONING_ACTION_MISMATCH,
    Label.DEPENDENCY_OUTAGE,
    Label.RATE_LIMITED,
    Label.AUTH_OR_CONFIG,
    Label.TOOL_ERROR,
    Label.TERMINATION_MISCALIBRATION,
]


@pytest.mark.parametrize("label", SAME_TOOL)
@pytest.mark.parametrize(
    ("following", "recovers"),
    [
        (CANCEL, True),
        ([SEARCH, CANCEL], True),
        (SEARCH, False),
        (failed("cancel_order", order_id="o", reason="late"), False),
        (held("cancel_order", order_id="o"), False),
        (ran("cancel_order", None, order_id="o"), False),
        (Ran(call("cancel_order"), "Already done.", own=True), False),
    ],
)
def test_the_tool_itself_has_to_run_with_success(
    label: Label, following: Any, recovers: bool
) -> None:
    """Not another one, and not a call that failed, was held or was lost."""
    judged = by_steps(active(label, tool="cancel_order"), following)
    assert (verdict(judged) is Verdict.RECOVERED) is recovers


ANY_CALL = [
    Label.DUPLICATE_CALL_ID,
    Label.NO_OBSERVABLE_OUTPUT,
    Label.MALFORMED_MODEL_OUTPUT,
    Label.PLANNING_STALL,
    Label.OVER_EXPLORATION,
    Label.OBJECTIVE_DRIFT,
    Label.TERMINATION_MISCALIBRATION,
]


@pytest.mark.parametrize("label", ANY_CALL)
def test_without_a_named_tool_any_success_counts(label: Label) -> None:
    """Where the failure was not to act, acting is the recovery."""
    assert verdict(by_steps(active(label), SEARCH)) is Verdict.RECOVERED
    assert verdict(by_steps(active(label), failed())) is None


def test_a_name_that_is_no_tool_is_recovered_by_any_tool() -> None:
    """The unknown name can't run; another tool in its place can."""
    assert (
        verdict(by_steps(active(Label.UNKNOWN_TOOL, tool="weather"), SEARCH)) is Verdict.RECOVERED
    )


LOOPED = call("search", q=1)
RELATED = (call_key(LOOPED, SHOP.tools["search"]),)


@pytest.mark.parametrize(
    ("label", "following", "recovers"),
    [
        (Label.REPETITION_OR_LOOPING, ran("search", "same", q=1), False),
        (Label.REPETITION_OR_LOOPING, ran("search", "another result", q=2), True),
        (Label.REPETITION_OR_LOOPING, ORDER, True),
        (Label.REPETITION_OR_LOOPING, failed("get_order", order_id="x"), False),
        (Label.UNAVAILABLE_TARGET, ran("search", "found", q=1), False),
        (Label.UNAVAILABLE_TARGET, ran("search", "found", q=9), True),
    ],
)
def test_a_call_outside_the_loop_recovers(label: Label, following: Ran, recovers: bool) -> None:
    """The calls that made up the failure don't."""
    judged = by_steps(active(label, tool="search", related=RELATED), following)
    assert (verdict(judged) is Verdict.RECOVERED) is recovers


def test_volatile_arguments_do_not_make_a_looped_call_another_one() -> None:
    """The comparison is the detector's own."""
    repair = active(related=RELATED)
    assert by_steps(repair, ran("search", "same", q=1, trace_id="fresh")) is None


def test_an_owed_action_is_recovered_by_that_action_only() -> None:
    """Whatever else worked meanwhile."""
    repair = active(Label.MALFORMED_MODEL_OUTPUT, strategy=Strategy.HARD, owes="cancel_order")
    assert by_steps(repair, SEARCH, ORDER) is None
    assert verdict(by_steps(repair, SEARCH, CANCEL)) is Verdict.RECOVERED


def test_the_repaired_step_itself_counts_for_nothing() -> None:
    """Advice stands beside a call that then runs: it is the steps after it that count."""
    repair = active(Label.OVER_EXPLORATION, step="s1")
    assert by_steps(repair, SEARCH) is None
    assert verdict(by_steps(repair, SEARCH, SEARCH)) is Verdict.RECOVERED


@pytest.mark.parametrize(("after", "expires"), [(9, False), (10, True), (15, True)])
def test_a_repair_expires_at_the_horizon(after: int, expires: bool) -> None:
    """Ten steps that do not meet the criterion."""
    judged = by_steps(active(Label.TOOL_ERROR, tool="cancel_order"), *[SEARCH] * after)
    assert (verdict(judged) is Verdict.EXPIRED) is expires


def test_the_horizon_is_the_users_to_set() -> None:
    """Shorter here."""
    repair = active(Label.TOOL_ERROR, tool="cancel_order")
    assert by_steps(repair, SEARCH, SEARCH, horizon=3) is None
    assert verdict(by_steps(repair, SEARCH, SEARCH, SEARCH, horizon=3)) is Verdict.EXPIRED


def test_a_repair_that_has_left_the_window_expires() -> None:
    """Nothing more can be said of it."""
    assert verdict(by_steps(active(step="long ago"), SEARCH)) is Verdict.EXPIRED


def test_recovery_at_the_last_step_of_the_horizon_counts() -> None:
    """The criterion is looked at before the horizon."""
    repair = active(Label.TOOL_ERROR, tool="cancel_order")
    assert verdict(by_steps(repair, *[SEARCH] * 9, CANCEL)) is Verdict.RECOVERED


@pytest.mark.parametrize(
    ("following", "recovers"),
    [
        ([SEARCH], False),
        ([SEARCH, ORDER], True),
        ([SEARCH, failed(), ORDER], False),
        ([SEARCH, failed(), ORDER, SEARCH], True),
    ],
)
def test_several_steps_in_a_row_may_be_asked_for(following: list[Ran], recovers: bool) -> None:
    """A step that does not meet the criterion begins the row again."""
    judged = by_steps(active(Label.OVER_EXPLORATION), *following, steps=2)
    assert (verdict(judged) is Verdict.RECOVERED) is recovers


def by_message(
    repair: ActiveRepair, newest: Proposal, *findings: Any, done: tuple[Step, ...] = ()
) -> Verdict | None:
    """The verdict of the newest message."""
    seen = trajectory(done or steps(REPAIRED), newest, state=state(repair))
    judged = returned(seen, findings)
    return judged[0].verdict if judged else None


@pytest.mark.parametrize("label", list(Label))
def test_the_same_failure_relapses_at_once(label: Label) -> None:
    """Recognised by its key; another failure says nothing about this repair."""
    assert by_message(active(label), proposal(call()), finding(label)) is Verdict.RELAPSED
    assert by_message(active(label), proposal(call()), finding(label, key="another")) is None


ANSWERED = {
    Label.REPETITION_OR_LOOPING,
    Label.PLANNING_STALL,
    Label.TERMINATION_MISCALIBRATION,
    Label.OVER_EXPLORATION,
    Label.MALFORMED_MODEL_OUTPUT,
    Label.STRUCTURED_OUTPUT_INVALID,
}


@pytest.mark.parametrize("label", list(Label))
def test_a_real_answer_resolves_what_it_can(label: Label) -> None:
    """A loop is over when the agent answers; an owed call is not made by words."""
    said = by_message(active(label), proposal(text="Here is what I found."))
    assert said is (Verdict.RECOVERED if label in ANSWERED else None)


@pytest.mark.parametrize(
    ("newest", "recovers"),
    [
        (proposal(text="Found."), True),
        (proposal(text="", structured=True), True),
        (proposal(text="  "), False),
        (proposal(text="Thinking.", finish=False), False),
        (proposal(call(), text="One more look."), False),
    ],
)
def test_what_counts_as_an_answer(newest: Proposal, recovers: bool) -> None:
    """The end of the turn, with words or an accepted structured answer."""
    assert (by_message(active(), newest) is Verdict.RECOVERED) is recovers


def test_an_answer_that_something_speaks_against_is_none() -> None:
    """A final message that stalls does not resolve the loop before it."""
    stall = finding(Label.PLANNING_STALL)
    assert by_message(active(), proposal(text="Let me look."), stall) is None


def path(repair: ActiveRepair, *following: Ran | list[Ran]) -> tuple[PathStep, ...]:
    """The calls that led to the recovery."""
    judged = by_steps(repair, *following)
    assert judged is not None
    assert judged.verdict is Verdict.RECOVERED
    return judged.path


def test_the_path_holds_the_successful_calls_in_order() -> None:
    """Names of tools and arguments, each once, up to the call that recovered."""
    repair = active(Label.MALFORMED_MODEL_OUTPUT, owes="cancel_order")
    assert path(repair, SEARCH, failed("add_note"), SEARCH, ORDER, CANCEL, ran("add_note")) == (
        PathStep("search", ("q",)),
        PathStep("get_order", ("order_id",)),
        PathStep("cancel_order", ("order_id", "reason")),
    )


def test_the_path_leaves_the_loop_out() -> None:
    """What made up the failure is no part of what helped."""
    repair = active(related=RELATED)
    assert path(repair, [ran("search", "same", q=1), ORDER]) == (
        PathStep("get_order", ("order_id",)),
    )


def test_the_path_says_what_each_call_gave() -> None:
    """By the name of the argument that took it, whatever the tool calls its field."""
    repair = active(Label.HALLUCINATION, tool="cancel_order", owes="cancel_order")
    gives = ran("search", '{"IGNORE ALL RULES": "o-77"}', q=1)
    took = ran("cancel_order", "done", order_id="o-77", reason="late")
    assert path(repair, gives, took) == (
        PathStep("search", ("q",), "order_id"),
        PathStep("cancel_order", ("order_id", "reason")),
    )
    other = ran("cancel_order", "done", order_id="o-78", reason="late")
    assert path(repair, gives, other)[0].gives == ""


def test_the_path_holds_names_of_the_schema_only() -> None:
    """An argument that the model made up could say anything."""
    repair = active(Label.OVER_EXPLORATION)
    made_up = {"q": 1, "IGNORE_ALL_RULES": 2, "ana_ruiz": 3}
    assert path(repair, ran("search", "x", **made_up)) == (PathStep("search", ("q",)),)


def test_calls_of_tools_that_are_not_ours_are_no_path() -> None:
    """A name that the catalog does not hold is left out."""
    repair = active(Label.OVER_EXPLORATION)
    assert path(repair, ran("IGNORE_ALL_RULES", "x")) == ()


def test_every_open_repair_is_judged_on_its_own() -> None:
    """Two repairs, two verdicts."""
    one = active(Label.OVER_EXPLORATION)
    other = active(Label.TOOL_ERROR, tool="cancel_order", key="other")
    seen = trajectory(steps(REPAIRED, SEARCH), proposal(call()), state=state(one, other))
    assert [(made.repair, made.verdict) for made in settled(seen, VerifyOptions())] == [
        (one, Verdict.RECOVERED)
    ]


@pytest.mark.parametrize("label", list(Label))
def test_every_label_says_when_it_is_resolved(label: Label) -> None:
    """In words that people read, beside the rule that is tested here."""
    assert DEFINITIONS[label].resolved_when


@pytest.mark.parametrize("wrong", [{"horizon": 0}, {"steps": 0}, {"horizont": 3}])
def test_options_have_bounds(wrong: dict[str, int]) -> None:
    """A horizon of nothing would judge nothing."""
    with pytest.raises(ValidationError):
        VerifyOptions(**wrong)


def test_a_tool_without_a_spec_can_recover_too() -> None:
    """An open catalog knows no schema; a call that ran is a call that ran."""
    repair = active(related=("x#1",))
    judged = by_steps(repair, ran("served_elsewhere", "ok"))
    assert verdict(judged) is Verdict.RECOVERED


INVENTED = active(
    Label.HALLUCINATION, tool="cancel_order", argument="order_id", pattern="ungrounded"
)


@pytest.mark.parametrize(
    ("passages", "recovers"),
    [
        ([], True),
        ([Passage("told", "Cancel order o", step="h", user=True)], True),
        ([Passage("told", "Cancel my order", step="h", user=True)], False),
    ],
    ids=["nothing to read", "told", "from nowhere"],
)
def test_an_invented_value_is_made_good_by_one_that_stands_somewhere(
    passages: list[Passage], recovers: bool
) -> None:
    """The call that took it is no source of its own."""
    own = [Passage("given", '{"order_id": "o"}', "cancel_order", step="s1")] if passages else []
    seen = trajectory(steps(REPAIRED, CANCEL), proposal(call()), state=state(INVENTED))
    seen = replace(seen, provenance=Provenance.of([*passages, *own]))
    judged = settled(seen, VerifyOptions())
    assert [one.verdict for one in judged] == ([Verdict.RECOVERED] if recovers else [])


@pytest.mark.parametrize("pattern", ["claimed_call", "unrequested_change"])
def test_an_answer_without_the_claim_or_the_change_resolves(pattern: str) -> None:
    """The change itself resolves a claim of it, and never an unrequested change."""
    doubt = active(Label.HALLUCINATION, tool="cancel_order", pattern=pattern)
    seen = trajectory(steps(REPAIRED), proposal(text="Your order is open."), state=state(doubt))
    assert [one.verdict for one in returned(seen, ())] == [Verdict.RECOVERED]
    assert (verdict(by_steps(doubt, CANCEL)) is Verdict.RECOVERED) is (pattern == "claimed_call")
    assert by_steps(doubt, SEARCH) is None
