"""A run may not end on nothing, nor while a held action is owed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import (
    SHOP,
    Ran,
    active,
    call,
    catalog,
    failed,
    held,
    observation,
    proposal,
    ran,
    state,
    step,
    steps,
    tool,
    trajectory,
)
from hypothesis import given
from strategies import TEXTS, trajectories

from sentry_langgraph.detect.termination import Termination, TerminationOptions, gives_reason
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Finding, PathStep, Proposal, Step, Task, Trajectory
from sentry_langgraph.taxonomy import Label, Severity, Strategy

OWED = state(active(Label.INVALID_ARGUMENTS, strategy=Strategy.HARD, owes="cancel_order"))


def found(seen: Trajectory, **options: Any) -> list[Finding]:
    """What the detector says."""
    return list(Termination(TerminationOptions(**options)).detect(seen))


@pytest.mark.parametrize(
    ("newest", "pattern"),
    [
        (proposal(text=""), "empty"),
        (proposal(text=" \n"), "empty"),
        (proposal(text="", stop_reason="stop"), "empty"),
        (proposal(text="I can't.", stop_reason="refusal"), "refused"),
        (proposal(text="", stop_reason="content_filter"), "refused"),
        (proposal(text="The ans", stop_reason="length"), "cut_off"),
        (proposal(text="The ans", stop_reason="max_tokens"), "cut_off"),
        (proposal(text="", stop_reason="length"), "empty"),
        (proposal(text="Done.", stop_reason="stop"), None),
        (proposal(text="Done."), None),
        (proposal(text="", structured=True), None),
        (proposal(text="", answered=(observation(call(), "no", error=True),)), None),
        (proposal(call(), text=""), None),
        (proposal(text="", finish=False), None),
    ],
)
def test_each_way_of_ending_on_nothing(newest: Proposal, pattern: str | None) -> None:
    """Empty, refused and cut-off final messages are held; answers are not."""
    findings = found(trajectory((), newest))
    assert [finding.pattern for finding in findings] == ([pattern] if pattern else [])
    if findings:
        assert findings[0].label is Label.TERMINATION_MISCALIBRATION
        assert findings[0].severity is Severity.HOLD
        assert findings[0].key.endswith(str(pattern))


@pytest.mark.parametrize("switch", ["empty", "refused", "cut_off", "open_action"])
def test_each_rule_can_be_switched_off(switch: str) -> None:
    """An option names one rule."""
    newest = {
        "empty": proposal(text=""),
        "refused": proposal(text="No.", stop_reason="refusal"),
        "cut_off": proposal(text="The", stop_reason="length"),
        "open_action": proposal(text="All is done."),
    }[switch]
    seen = trajectory((), newest, state=OWED)
    assert found(seen)[0].pattern == switch
    assert not [one for one in found(seen, **{switch: False}) if one.pattern == switch]


def test_finishing_while_an_action_is_owed_names_it() -> None:
    """The finding says which call is open."""
    (finding,) = found(trajectory((), proposal(text="Your order is cancelled."), state=OWED))
    assert finding.pattern == "open_action"
    assert finding.tool == "cancel_order"
    assert "`cancel_order`" in finding.detail
    assert finding.key.endswith(":cancel_order")


@pytest.mark.parametrize(
    "text",
    [
        "I can't cancel it: it was delivered.",
        "Unfortunately the order is no longer open.",
        "It was not possible to cancel the order.",
        "The cancellation failed.",
        "Which order do you mean?",
        "There is no such order.",
        "You are not eligible for a refund.",
    ],
)
def test_a_reason_or_a_question_lets_the_run_end(text: str) -> None:
    """Giving the action up in words closes it."""
    assert gives_reason(text)
    assert found(trajectory((), proposal(text=text), state=OWED)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Your order is cancelled.",
        "All done!",
        "I have cancelled the order without any issues.",
        "Your order is cancelled. Is there anything else I can help you with?",
    ],
)
def test_a_claim_of_success_is_no_reason(text: str) -> None:
    """The claim that it was done is just what the rule is for."""
    assert not gives_reason(text)
    assert found(trajectory((), proposal(text=text), state=OWED))


def test_repairs_that_owe_nothing_let_the_run_end() -> None:
    """Advice is not an owed action."""
    assert found(trajectory((), proposal(text="Done."), state=state(active()))) == []


@given(TEXTS)
def test_any_text_is_read(text: str) -> None:
    """Whatever the final message says, the answer is yes or no."""
    assert gives_reason(text) in {True, False}


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """At most one finding, and only at a wish to finish."""
    findings = found(seen)
    assert len(findings) <= 1
    assert not findings or (seen.proposal.finish and not seen.proposal.calls)


REFUSAL = "Not executed: `cancel_order` — there is no tool named `cancel_orders`."


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (REFUSAL, True),
        (f"{REFUSAL} Next time.", True),
        ("There is no order A1, so there is nothing to cancel.", False),
        (f"{REFUSAL} I can't cancel it: the order has been shipped.", False),
    ],
)
def test_repeating_our_own_words_is_no_reason(text: str, held: bool) -> None:
    """Small models answer with what they were told last; that closes nothing."""
    refused = call("cancel_orders", order_id="A1")
    told = Step("m1", "", (refused,), (observation(refused, REFUSAL, error=True, own=True),))
    seen = trajectory([told], newest=proposal(text=text), state=OWED)
    assert [one.pattern for one in found(seen)] == (["open_action"] if held else [])


# Ends that give up


PLAN = (PathStep("search", ("q",), "order_id"),)
HELD = active(Label.HALLUCINATION, strategy=Strategy.HOLD, tool="get_order", plan=PLAN)
REFUSED = Step(
    "s0",
    "",
    (call("get_order", order_id="x"),),
    (observation(call(), "Not executed.", error=True, own=True),),
)
GAVE_UP = "I am sorry, I can't find the order."


@pytest.mark.parametrize(
    ("text", "owes", "later", "pattern"),
    [
        (GAVE_UP, None, (), "untried"),
        (GAVE_UP, "cancel_order", (), "open_action"),
        (GAVE_UP, None, (ran("search", "[]"),), None),
        (GAVE_UP, "cancel_order", (ran("search", "[]"),), None),
        (GAVE_UP, None, (failed("search"),), None),
        (GAVE_UP, None, (held("search"),), "untried"),
        ("It costs 3.", None, (), "untried"),
        ("It costs 3.", None, (ran("search", "[]"),), None),
        ("It is cancelled.", "cancel_order", (ran("search", "[]"),), "open_action"),
    ],
)
def test_giving_up_counts_once_something_was_tried(
    text: str, owes: str | None, later: tuple[Ran, ...], pattern: str | None
) -> None:
    """A reason is one after a call that reached a tool; before it, the way is not tried."""
    repair = replace(HELD, owes=owes)
    done = (REFUSED, *(step(f"l{n}", one) for n, one in enumerate(later)))
    found_ = found(trajectory(done, proposal(text=text), state=state(repair)))
    assert [one.pattern for one in found_] == ([pattern] if pattern else [])


@pytest.mark.parametrize(
    ("later", "pattern"),
    [
        ((failed("cancel_order", "Error: shipped"),), "unacknowledged_error"),
        ((failed("cancel_order", "Error: shipped"), held("add_note")), "unacknowledged_error"),
        ((held("cancel_order"),), "open_action"),
        ((failed("cancel_order", "Error: shipped"), ran("cancel_order")), "open_action"),
    ],
)
def test_an_owed_change_that_was_refused_has_run(later: tuple[Ran, ...], pattern: str) -> None:
    """What is missing then is a word about the error, and not the call."""
    repair = replace(HELD, owes="cancel_order", plan=())
    done = (REFUSED, *(step(f"l{n}", one) for n, one in enumerate(later)))
    wrong = found(trajectory(done, proposal(text="It is cancelled."), state=state(repair)))
    assert [one.pattern for one in wrong] == [pattern]
    said = proposal(text="It can't be cancelled: it has been shipped.")
    assert not found(trajectory(done, said, state=state(repair)))


def test_an_answer_passes_where_something_was_seen() -> None:
    """The held look-up may have been needless: what was seen before it can hold the answer."""
    before = step("b", ran("search", "[3]"))
    seen = trajectory((before, REFUSED), proposal(text="It costs 3."), state=state(HELD))
    assert found(seen) == []


DESK = catalog(
    tool("find_guest", guest="string", required=["guest"], read_only=True),
    tool("move_guest", guest_id="string", required=["guest_id"], read_only=False),
)


def ended(value: str, *seen: Passage, text: str = GAVE_UP, said: str = "guest not found") -> Any:
    """An end after a call for `value` that the environment refused."""
    task = Task("t", "Move Ada Moss. Her friend has id 9-77.")
    told = Passage("told", task.objective, step="t", user=True)
    done = steps(failed("move_guest", f"Error: {said}", guest_id=value))
    known = Provenance.of((told, *seen))
    newest = proposal(text=text)
    return found(Trajectory(task, done, newest, DESK, provenance=known))


def test_giving_up_on_what_was_no_identifier() -> None:
    """The environment said "not found" to words, and a tool yields the identifier."""
    (one,) = ended("Ada Moss")
    assert (one.pattern, one.tool) == ("untried", "move_guest")
    assert [step.tool for step in one.plan] == ["find_guest"]
    known = Passage("result", '{"guest_id": "g-1"}', "find_guest", step="s")
    assert ended("Ada Moss", known)[0].plan == ()
    assert ended("Ada Moss", Passage("told", "She is new", user=True)) == []


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ("9-77", {}),
        ("Ada Moss", {"text": "Ada Moss is moved."}),
        ("Ada Moss", {"said": "only on weekdays"}),
    ],
)
def test_an_honest_end_passes(value: str, more: dict[str, str]) -> None:
    """An identifier of the user's, an answer without giving up, another kind of error."""
    assert [one for one in ended(value, **more) if one.pattern == "untried"] == []
