"""A run may not end while its own todos are open, past an error, or without a required tool."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import SHOP, TASK, call, catalog, failed, held, proposal, ran, steps, tool, trajectory

from detect.test_todos import DOING, DONE, listed
from sentry_langgraph.detect.termination import Termination, TerminationOptions
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Catalog, Finding, Task
from sentry_langgraph.taxonomy import Severity

ENDS = "Your order is cancelled."
SUBMIT = catalog(tool("search"), replace(tool("submit"), finish=True))


def found(
    turns: Any,
    text: str = ENDS,
    *,
    tools: Catalog = SHOP,
    task: Task = TASK,
    seen: Any = (),
    **options: Any,
) -> list[Finding]:
    """What is said about ending here."""
    at = trajectory(steps(*turns), proposal(text=text), tools=tools, task=task)
    at = replace(at, provenance=Provenance.of(seen))
    return list(Termination(TerminationOptions(**options)).detect(at))


def test_open_todos_are_named() -> None:
    """The text quotes them; what is stored counts them."""
    (finding,) = found([listed(DONE, DOING)])
    assert finding.pattern == "open_todos"
    assert finding.severity is Severity.HOLD
    assert finding.detail == '1 of 2 todos are open: "b"'
    assert finding.evidence == {"open": 1, "total": 2}
    assert found([listed(DONE, DOING)], open_todos=False) == []


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ([listed(DONE, DONE)], ENDS),
        ([listed(DONE, DOING)], "I could not do the rest: the file is not available."),
        ([listed(DONE, DOING)], "Shall I go on with the second part?"),
    ],
)
def test_a_closed_list_or_a_reason_lets_the_run_end(turns: Any, text: str) -> None:
    """What stays open is said."""
    assert found(turns, text) == []


REFUSED = failed("cancel_order", "error: shipped", order_id="o1")


@pytest.mark.parametrize(
    ("turns", "text", "held_back"),
    [
        ([REFUSED], ENDS, True),
        ([ran("search"), REFUSED], ENDS, True),
        ([REFUSED], "It is on its way.", True),
        ([failed("get_order", "error: boom")], "Your order has been checked.", True),
        ([failed("run_tests", "error: boom")], "All tests passed.", True),
        ([failed("run_tests", "error: boom")], "12 orders", False),
        ([failed("get_order", "error: boom")], "Your order arrives on Monday.", False),
        ([REFUSED], "The order has been shipped, so it was not cancelled.", False),
        ([REFUSED], "There was an error.", False),
        ([REFUSED], "Please tell me the right number.", False),
        ([REFUSED], "Which order is it?", False),
        ([REFUSED], "I have transferred you to a specialist.", False),
        ([REFUSED, ran("cancel_order", order_id="o2")], ENDS, False),
        ([ran("cancel_order", order_id="o2"), REFUSED], ENDS, False),
        ([[REFUSED, ran("search")]], ENDS, False),
        ([held("cancel_order")], ENDS, False),
        ([], ENDS, False),
    ],
)
def test_an_error_at_the_end_is_spoken_of(turns: Any, text: str, held_back: bool) -> None:
    """Only where everything failed, the tool never worked, and the answer goes past it."""
    patterns = [one.pattern for one in found(turns, text)]
    assert patterns == (["unacknowledged_error"] if held_back else [])
    assert found(turns, text, unacknowledged_error=False) == []


@pytest.mark.parametrize(
    ("turns", "held_back"),
    [
        ([], True),
        ([ran("search")], True),
        ([failed("add_note", "error: no"), ran("search")], True),
        ([held("add_note"), ran("search")], True),
        ([ran("add_note", note="n")], False),
    ],
)
def test_a_required_tool_has_to_run_with_success(turns: Any, held_back: bool) -> None:
    """Once in each task."""
    findings = found(turns, required_tools=["add_note"])
    assert [one.pattern for one in findings] == (["required_tool"] if held_back else [])
    assert all(one.tool == "add_note" for one in findings)


def test_a_word_of_thanks_needs_no_required_tool() -> None:
    """A task without a call asks for nothing again that an earlier one did."""
    earlier = [Passage("result", "ok", "add_note", step="a1")]
    assert found([], "You are welcome.", required_tools=["add_note"], seen=earlier) == []
    assert found([ran("search")], required_tools=["add_note"], seen=earlier)
    failed_before = [Passage("result", "no", "add_note", failed=True)]
    assert found([], "Welcome.", required_tools=["add_note"], seen=failed_before)


def test_a_required_tool_that_the_agent_does_not_have_is_not_asked_for() -> None:
    """Several agents share one configuration."""
    assert found([ran("search")], required_tools=["deploy"]) == []


def test_an_agent_with_a_tool_to_end_with_ends_with_it() -> None:
    """`finish: true` in the settings of the tool."""
    (finding,) = found([ran("search")], tools=SUBMIT)
    assert (finding.pattern, finding.tool) == ("required_tool", "submit")
    assert found([ran("submit")], tools=SUBMIT) == []
    assert found([ran("search")], tools=SUBMIT, finish_tool=False) == []
    assert found([ran("search")], "Which file do you mean?", tools=SUBMIT) == []


def test_a_call_is_no_end() -> None:
    """The rules look at the wish to finish."""
    at = trajectory(steps(REFUSED), proposal(call()), tools=SHOP)
    assert list(Termination(TerminationOptions(required_tools=("add_note",))).detect(at)) == []


CARD = ran("look_up", '{"card_no": "k-1", "first_name": "Nils", "fees_due": 12, "active": true}')
NAME = Task("t", "What is the first name on the card?")
FEES = Task("t", "Which fees does the member owe us?")


def asked(text: str, *turns: Any, task: Task = NAME, **options: Any) -> list[Finding]:
    """What is said about an answer to a question that was asked once."""
    told = Passage("told", task.objective, step="t", user=True)
    return found(turns or [CARD], text, task=task, seen=(told,), **options)


@pytest.mark.parametrize(
    ("text", "task", "field"),
    [("The member has no loans.", NAME, "first_name"), ("None are open.", FEES, "fees_due")],
)
def test_an_answer_without_what_the_question_names(text: str, task: Task, field: str) -> None:
    """One result has it, and only one value of it."""
    (finding,) = asked(text, task=task)
    assert (finding.pattern, finding.severity) == ("unanswered", Severity.HOLD)
    assert f"asks for `{field}`" in finding.detail
    assert asked(text, task=task, unanswered=False) == []


OTHER = ran("look_up", '{"first_name": "Ada"}')


@pytest.mark.parametrize(
    ("text", "turns", "task"),
    [
        ("It is Nils.", [CARD], NAME),
        ("He owes $12.00.", [CARD], FEES),
        ("It is unclear.", [CARD, OTHER], NAME),
        ("Nothing.", [ran("look_up", '{"first_name": null, "fees_due": 0}')], FEES),
        ("It is valid.", [CARD], Task("t", "Is the card active?")),
        ("Done.", [CARD], Task("t", "Change the first name to Ada.")),
        ("The card is k-1.", [CARD], Task("t", "Which name is it?")),
        ("It costs 120.", [ran("get", '{"item": "chair"}')], Task("t", "What does the item cost?")),
    ],
)
def test_an_answer_that_may_be_right(text: str, turns: Any, task: Task) -> None:
    """Said, several values, nothing there, a change, or a name that is only half asked for."""
    assert asked(text, *turns, task=task) == []


def test_in_a_conversation_the_user_asks_again() -> None:
    """What is meant may have been settled there."""
    told = [Passage("told", text, step="t", user=True) for text in (NAME.objective, "Thanks!")]
    assert found([CARD], "You are welcome.", task=NAME, seen=told) == []


LISTED = ran("copies_of", '{"copy_codes": ["c-1", "c-2", "c-3"]}', title_no="t-1")
LENT = ran("show_copy", '{"state": "lent"}', copy_code="c-1")
ASIDE = Task("t", "Put a copy of The Salt Road aside that is in.")
LIBRARY = catalog(
    tool("copies_of", title_no="string", required=["title_no"], read_only=True),
    tool("show_copy", copy_code="string", required=["copy_code"], read_only=True),
    tool("hold_copy", copy_code="string", required=["copy_code"], read_only=False),
)
LENT_OUT = "We can't put it aside: the copy is lent."


def gave_up(text: str, *turns: Any, users: int = 1) -> list[Finding]:
    """What is said about giving up after these look-ups."""
    told = [Passage("told", ASIDE.objective, step="t", user=True)] * users
    results = [Passage("result", one.text or "", one.call.name, one.error) for one in turns]
    return found(turns, text, tools=LIBRARY, task=ASIDE, seen=(*told, *results))


def test_giving_up_before_the_other_candidates() -> None:
    """The next one is named, and that none of them may do."""
    (finding,) = gave_up(LENT_OUT, LISTED, LENT)
    assert (finding.pattern, finding.severity) == ("untried", Severity.HOLD)
    assert finding.detail == "2 of 3 candidates for `copy_code` were not looked at"
    assert finding.advice == (
        "call `show_copy` with copy_code 'c-2', and the others after it. If none of them will do, "
        "say so."
    )


SEEN = [ran("show_copy", '{"state": "lent"}', copy_code=f"c-{n}") for n in (2, 3)]


@pytest.mark.parametrize(
    ("text", "turns", "users"),
    [
        ("The copy c-1 is put aside.", (LISTED, LENT), 1),
        (LENT_OUT, (LISTED, LENT, *SEEN), 1),
        (LENT_OUT, (ran("copies_of", '{"copy_codes": ["c-1"]}', title_no="t-1"), LENT), 1),
        (LENT_OUT, (LISTED, ran("hold_copy", "held", copy_code="c-1")), 1),
        (LENT_OUT, (LISTED, LENT), 2),
        (LENT_OUT, (LISTED,), 1),
    ],
)
def test_no_candidate_is_left(text: str, turns: Any, users: int) -> None:
    """No reason given, all seen, an only one, a change, a talk, none looked at."""
    assert gave_up(text, *turns, users=users) == []
