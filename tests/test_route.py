"""From findings to one decision: the ladder, its budgets, and what is only recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import (
    active,
    advice,
    call,
    finding,
    held,
    proposal,
    ran,
    state,
    step,
    steps,
    trajectory,
    unparsable,
)
from pydantic import ValidationError

from sentry_langgraph.decisions import (
    Decision,
    Escalate,
    Execute,
    HardRepair,
    Remind,
    SoftRepair,
    Suppress,
)
from sentry_langgraph.records import Finding, PathStep, TaskState, Trajectory
from sentry_langgraph.route import RepairOptions, route
from sentry_langgraph.taxonomy import Label, Severity, Strategy


def decided(
    *findings: Finding, seen: Trajectory | None = None, **options: Any
) -> tuple[Decision, ...]:
    """What is decided about a proposed call, or about `seen`."""
    at = seen or trajectory((), proposal(call(q=1)))
    return route(at, findings, RepairOptions(**options))


def at(state: TaskState, *, done: Any = (), newest: Any = None) -> Trajectory:
    """A proposed call in a task with this state."""
    return trajectory(done, newest or proposal(call(q=1)), state=state)


ADVICE, HOLD = advice(), finding()
KEY = HOLD.key


def test_nothing_found_executes() -> None:
    """The healthy step."""
    assert decided() == (Execute(),)


@pytest.mark.parametrize(
    ("one", "decision"),
    [(ADVICE, SoftRepair(ADVICE, hold=False)), (HOLD, SoftRepair(HOLD, hold=True))],
)
def test_the_severity_is_the_rung(one: Finding, decision: Decision) -> None:
    """Advice goes beside the action, a hold takes its place."""
    assert decided(one) == (decision,)


def invalid(label: Label = Label.INVALID_ARGUMENTS, *calls: int) -> Finding:
    """A finding about calls that can't run."""
    return finding(label, calls=calls or (0,))


def test_invalid_calls_come_before_everything_else() -> None:
    """A loop among calls that can't run is decided when they can."""
    decisions = decided(ADVICE, HOLD, invalid())
    assert [type(one) for one in decisions] == [HardRepair]


def test_valid_siblings_run() -> None:
    """Only the calls concerned are redone."""
    newest = proposal(call(q=1), unparsable(), call(q=3), call("nope"))
    decisions = decided(
        invalid(Label.MALFORMED_ARGUMENTS, 1),
        invalid(Label.UNKNOWN_TOOL, 3),
        seen=trajectory((), newest),
    )
    assert isinstance(decisions[0], HardRepair)
    assert (decisions[0].bad, decisions[0].good) == ((1, 3), (0, 2))


@pytest.mark.parametrize("label", [Label.DUPLICATE_CALL_ID, Label.STRUCTURED_OUTPUT_INVALID])
def test_some_faults_keep_the_whole_message_from_running(label: Label) -> None:
    """Results could not be told apart, or the run would end without its answer."""
    newest = proposal(call(q=1), call(q=2), call(q=3))
    decisions = decided(invalid(label, 1), seen=trajectory((), newest))
    assert isinstance(decisions[0], HardRepair)
    assert (decisions[0].bad, decisions[0].good) == ((0, 1, 2), ())


@pytest.mark.parametrize(("before", "stops"), [(0, False), (3, False), (4, True), (7, True)])
def test_hard_repairs_in_a_row_end(before: int, stops: bool) -> None:
    """Three attempts, one that says it differently, then the ladder ends."""
    done = steps(*[held("get_order")] * before)
    seen = at(TaskState(hard_steps=frozenset(one.id for one in done)), done=done)
    decision = decided(invalid(), seen=seen)[0]
    assert isinstance(decision, Escalate if stops else HardRepair)


def test_a_step_that_ran_ends_the_row_of_hard_repairs() -> None:
    """Faults far apart in a long task don't add up."""
    done = steps(*[held("get_order")] * 4, ran(q=1), held("get_order"))
    hard = frozenset(one.id for one in done if one.id != "s4")
    seen = at(TaskState(hard_steps=hard), done=done)
    assert seen.hard_streak == 1
    assert isinstance(decided(invalid(), seen=seen)[0], HardRepair)


@pytest.mark.parametrize(
    ("one", "options", "acts"),
    [
        (finding(confidence=0.65), {}, True),
        (finding(confidence=0.64), {}, False),
        (finding(confidence=0.64), {"confidence": 0.6}, True),
        (finding(severity=Severity.INFO), {}, False),
        (invalid(), {"confidence": 1.0}, True),
    ],
)
def test_what_is_not_sure_is_recorded_only(
    one: Finding, options: dict[str, float], acts: bool
) -> None:
    """Below the confidence nothing is done, and it can still be seen afterwards."""
    decisions = decided(one, **options)
    assert (Suppress(one, "confidence") in decisions) is not acts
    assert isinstance(decisions[0], SoftRepair | HardRepair if acts else Execute)


def test_the_most_urgent_finding_acts() -> None:
    """A hold before advice, then the surer one; there is one acting decision."""
    low, sure = finding(key="low", confidence=0.7), finding(key="sure", confidence=0.9)
    assert decided(ADVICE, low, sure) == (SoftRepair(sure, hold=True),)


SPENT = {
    "soft repairs": TaskState(soft_repairs=5),
    "tokens": TaskState(tokens=4_000),
    "seconds": TaskState(seconds=60.0),
}


@pytest.mark.parametrize("spent", SPENT.values(), ids=SPENT.keys())
def test_each_budget_keeps_advice_from_acting(spent: TaskState) -> None:
    """What the budget suppresses is recorded, and the step executes."""
    assert decided(ADVICE, seen=at(spent)) == (Execute(), Suppress(ADVICE, "budget"))


@pytest.mark.parametrize("spent", SPENT.values(), ids=SPENT.keys())
def test_each_budget_ends_the_ladder_at_a_hold(spent: TaskState) -> None:
    """A loop that nothing more may be said about is stopped, not let run."""
    assert decided(HOLD, seen=at(spent)) == (Escalate(HOLD, human=False),)


@pytest.mark.parametrize(
    ("state_", "options"),
    [
        (TaskState(soft_repairs=4), {}),
        (TaskState(soft_repairs=5), {"max_soft_repairs": 6}),
        (TaskState(tokens=3_999), {}),
        (TaskState(tokens=4_000), {"max_guidance_tokens": 4_001}),
        (TaskState(seconds=59.9), {}),
        (TaskState(seconds=60.0), {"max_seconds": 61.0}),
    ],
)
def test_below_the_budget_repairs_go_on(state_: TaskState, options: dict[str, Any]) -> None:
    """The budgets are the user's to set."""
    assert decided(ADVICE, seen=at(state_), **options) == (SoftRepair(ADVICE, hold=False),)


@pytest.mark.parametrize("spent", SPENT.values(), ids=SPENT.keys())
def test_hard_repairs_are_exempt_from_the_budgets(spent: TaskState) -> None:
    """A call that can't run never runs."""
    assert isinstance(decided(invalid(), seen=at(spent))[0], HardRepair)


def test_no_soft_repairs_at_all() -> None:
    """`max_soft_repairs: 0` keeps hard repairs alone."""
    assert decided(ADVICE, max_soft_repairs=0) == (Execute(), Suppress(ADVICE, "budget"))


@pytest.mark.parametrize(("ago", "cools"), [(0, True), (1, True), (2, False), (5, False)])
def test_advice_waits_for_the_cooldown(ago: int, cools: bool) -> None:
    """Two steps after a soft repair without new advice."""
    done = steps(*[ran(q=n) for n in range(ago + 1)])
    seen = at(TaskState(last_soft_step="s0"), done=done)
    decisions = decided(ADVICE, seen=seen)
    expected = (Execute(), Suppress(ADVICE, "cooldown")) if cools else (SoftRepair(ADVICE, False),)
    assert decisions == expected


@pytest.mark.parametrize("one", [HOLD, invalid()], ids=["hold", "hard"])
def test_holds_and_hard_repairs_are_exempt_from_the_cooldown(one: Finding) -> None:
    """They keep something from happening; waiting would let it happen."""
    seen = at(TaskState(last_soft_step="s0"), done=steps(ran(q=1)))
    assert isinstance(decided(one, seen=seen)[0], SoftRepair | HardRepair)


def test_the_cooldown_can_be_switched_off() -> None:
    """`cooldown_steps: 0` advises whenever there is something to say."""
    seen = at(TaskState(last_soft_step="s0"), done=steps(ran(q=1)))
    assert decided(ADVICE, seen=seen, cooldown_steps=0) == (SoftRepair(ADVICE, hold=False),)


def test_advice_that_failed_is_not_given_again() -> None:
    """The next rung is the hold."""
    failed = TaskState(failed={KEY: 1})
    assert decided(ADVICE, seen=at(failed)) == (Execute(), Suppress(ADVICE, "once"))
    assert decided(HOLD, seen=at(failed)) == (SoftRepair(HOLD, hold=True),)


@pytest.mark.parametrize(("times", "stops"), [(1, False), (2, True), (3, True)])
def test_two_failed_repairs_of_one_failure_end_the_ladder(times: int, stops: bool) -> None:
    """Counted by failure: other failures have a ladder of their own."""
    failed = at(TaskState(failed={KEY: times}))
    other = finding(key="another")
    assert isinstance(decided(HOLD, seen=failed)[0], Escalate if stops else SoftRepair)
    assert decided(other, seen=failed) == (SoftRepair(other, hold=True),)
    assert decided(HOLD, seen=failed, max_failed_repairs=9) == (SoftRepair(HOLD, hold=True),)


@pytest.mark.parametrize("human", [True, False])
def test_the_end_of_the_ladder_is_a_stop_or_a_human(human: bool) -> None:
    """As the user chose, for soft and for hard failures."""
    choice = {"escalation": "human" if human else "stop"}
    soft = at(TaskState(failed={KEY: 2}))
    done = steps(*[held()] * 4)
    hard = at(TaskState(hard_steps=frozenset(one.id for one in done)), done=done)
    assert decided(HOLD, seen=soft, **choice) == (Escalate(HOLD, human=human),)
    one = invalid()
    assert decided(one, seen=hard, **choice) == (Escalate(one, human=human),)


def test_an_answer_is_let_go_where_nothing_more_can_be_said() -> None:
    """A run that ends by itself with words is not replaced by ours; a silent one is."""
    failed = TaskState(failed={KEY: 2})
    speaking = at(failed, newest=proposal(text="This is what I found."))
    silent = at(failed, newest=proposal(text=" "))
    assert decided(HOLD, seen=speaking) == (Execute(), Suppress(HOLD, "budget"))
    assert decided(HOLD, seen=silent) == (Escalate(HOLD, human=False),)


def test_an_open_action_is_held_twice() -> None:
    """The second time it is said differently; an agent that then ends again has decided."""
    one = finding(Label.TERMINATION_MISCALIBRATION, pattern="open_action")
    once = at(TaskState(failed={one.key: 1}), newest=proposal(text="Done."))
    assert decided(one, seen=once) == (SoftRepair(one, hold=True),)
    twice = at(TaskState(failed={one.key: 2}), newest=proposal(text="Done."))
    assert decided(one, seen=twice) == (Execute(), Suppress(one, "budget"))


def test_an_end_before_anything_was_tried_is_held_once() -> None:
    """An agent that comes to the same end again has decided."""
    one = finding(Label.TERMINATION_MISCALIBRATION, pattern="untried")
    seen = at(TaskState(failed={one.key: 1}), newest=proposal(text="I can't."))
    assert decided(one, seen=seen) == (Execute(), Suppress(one, "once"))


PLAN = (PathStep("find", ("name",), "id"), PathStep("list", ("id",), "ids"))


@pytest.mark.parametrize(
    ("made", "owes", "left"),
    [
        ("find", "cancel_order", PLAN[1:]),
        ("list", "cancel_order", ()),
        ("add_note", "cancel_order", PLAN),
        ("cancel_order", "cancel_order", None),
        ("find", None, PLAN[1:]),
        ("add_note", None, None),
        ("get_order", None, None),
    ],
)
def test_reminders_hold_the_rest_of_the_plan(
    made: str, owes: str | None, left: tuple[PathStep, ...] | None
) -> None:
    """Of a held change while anything else is done; of a look-up while its plan is followed."""
    tool = owes or "get_order"
    open_ = active(Label.HALLUCINATION, strategy=Strategy.HOLD, tool=tool, owes=owes, plan=PLAN)
    seen = at(TaskState(active=(open_,)), newest=proposal(call(made)))
    (decision,) = route(seen, (), RepairOptions())
    if left is None:
        assert decision == Execute()
    else:
        assert decision == Remind((replace(open_, plan=left),))


@pytest.mark.parametrize("reason", ["budget", "cooldown", "confidence", "once"])
def test_what_is_suppressed_is_recorded_once(reason: str) -> None:
    """The same finding for the same reason is one entry of the ledger, not one a step."""
    known = frozenset({(KEY, reason)})
    cases: dict[str, tuple[Finding, TaskState]] = {
        "budget": (ADVICE, TaskState(soft_repairs=5, suppressed=known)),
        "cooldown": (ADVICE, TaskState(last_soft_step="s0", suppressed=known)),
        "confidence": (advice(confidence=0.1), TaskState(suppressed=known)),
        "once": (ADVICE, TaskState(failed={KEY: 1}, suppressed=known)),
    }
    one, kept = cases[reason]
    assert decided(one, seen=at(kept, done=steps(ran(q=1)))) == (Execute(),)


def test_what_a_budget_suppresses_leaves_room_for_the_next() -> None:
    """A finding that may not act does not hide another one that may."""
    again = advice(key="again", confidence=0.95)
    fresh = advice(key="fresh", confidence=0.7)
    seen = at(TaskState(failed={"again": 1}))
    assert decided(again, fresh, seen=seen) == (
        SoftRepair(fresh, hold=False),
        Suppress(again, "once"),
    )


OWED = active(Label.INVALID_ARGUMENTS, strategy=Strategy.HARD, owes="cancel_order")


@pytest.mark.parametrize(
    ("newest", "reminds"),
    [
        (proposal(call("search", q=1)), True),
        (proposal(call("cancel_order", order_id="o")), False),
        (proposal(call("search"), call("cancel_order")), False),
        (proposal(text="Done."), False),
    ],
)
def test_an_owed_action_is_reminded_of_beside_other_calls(newest: Any, reminds: bool) -> None:
    """Not beside the owed call itself, and not at a wish to finish."""
    decisions = decided(seen=at(state(OWED), newest=newest))
    assert decisions == ((Remind((OWED,)) if reminds else Execute()),)


def test_no_reminder_beside_a_repair() -> None:
    """One voice at a time."""
    assert decided(ADVICE, seen=at(state(OWED))) == (SoftRepair(ADVICE, hold=False),)


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 1.1},
        {"max_soft_repairs": -1},
        {"max_hard_attempts": 0},
        {"max_chars": 20},
        {"max_seconds": 0},
        {"escalation": "panic"},
        {"cooldown": 2},
    ],
)
def test_options_have_bounds(wrong: dict[str, Any]) -> None:
    """A typo or a number that makes no sense is refused."""
    with pytest.raises(ValidationError):
        RepairOptions(**wrong)


def test_the_step_of_a_soft_repair_may_have_left_the_window() -> None:
    """Then it is long ago."""
    seen = at(TaskState(last_soft_step="gone"), done=[step("s9", ran(q=1))])
    assert decided(ADVICE, seen=seen) == (SoftRepair(ADVICE, hold=False),)


INVENTED = finding(Label.HALLUCINATION, pattern="ungrounded")


@pytest.mark.parametrize(
    "task",
    [
        TaskState(failed={INVENTED.key: 2}),
        TaskState(soft_repairs=9),
        TaskState(tokens=9_999),
    ],
    ids=["failed twice", "repairs used up", "tokens used up"],
)
def test_a_value_that_the_agent_insists_on_goes_through(task: TaskState) -> None:
    """Nobody is kept from it for good, and the run is not ended for it."""
    decided_now = decided(INVENTED, seen=at(task))
    assert Suppress(INVENTED, "budget") in decided_now
    assert not any(isinstance(one, Escalate | SoftRepair) for one in decided_now)


@pytest.mark.parametrize("pattern", ["unrequested_change", "claimed_call", "unfitting_choice"])
def test_a_doubt_is_voiced_once(pattern: str) -> None:
    """An agent that comes to the same again has decided."""
    doubt = finding(Label.HALLUCINATION, pattern=pattern)
    assert decided(doubt) == (SoftRepair(doubt, hold=True),)
    again = decided(doubt, seen=at(TaskState(failed={doubt.key: 1})))
    assert Suppress(doubt, "once") in again


def test_a_choice_without_a_look_is_held_again() -> None:
    """The agent has looked at nothing since: it has repeated itself, and decided nothing."""
    choice = finding(Label.HALLUCINATION, pattern="unlooked_choice")
    again = decided(choice, seen=at(TaskState(failed={choice.key: 1})))
    assert again == (SoftRepair(choice, hold=True),)
    third = decided(choice, seen=at(TaskState(failed={choice.key: 2})))
    assert Suppress(choice, "budget") in third
