"""Calls that can't run are named, each with its label; calls that can are left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from builders import (
    SHOP,
    TASK,
    Ran,
    call,
    catalog,
    failed,
    observation,
    proposal,
    ran,
    step,
    steps,
    tool,
    trajectory,
    unparsable,
)
from hypothesis import given
from strategies import JSON, trajectories

from sentry_langgraph import ledger
from sentry_langgraph.detect.action_validity import ActionValidity, ActionValidityOptions
from sentry_langgraph.records import Catalog, Finding, Proposal, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Severity


def found(seen: Trajectory, **options: Any) -> list[Finding]:
    """What the detector says."""
    return list(ActionValidity(ActionValidityOptions(**options)).detect(seen))


def labels(newest: Proposal, tools: Catalog = SHOP, **options: Any) -> list[Label]:
    """The labels for a proposal without a past."""
    return [one.label for one in found(trajectory((), newest, tools=tools), **options)]


GOOD = call("get_order", order_id="o1")


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        (proposal(GOOD), []),
        (proposal(GOOD, call("search", q=1)), []),
        (proposal(call("add_note", note="", extra=1)), []),
        (proposal(call("get_ordr", order_id="o1")), [Label.UNKNOWN_TOOL]),
        (proposal(ToolCall("x", "", {})), [Label.UNKNOWN_TOOL]),
        (proposal(unparsable("get_order", "{'order_id'")), [Label.MALFORMED_ARGUMENTS]),
        (proposal(unparsable("nope", "{")), [Label.UNKNOWN_TOOL]),
        (proposal(call("get_order")), [Label.INVALID_ARGUMENTS]),
        (proposal(call("get_order", order_id=1)), [Label.INVALID_ARGUMENTS]),
        (proposal(call("get_order", order_id=None)), [Label.INVALID_ARGUMENTS]),
        (
            proposal(call("nope"), GOOD, unparsable("search"), call("get_order")),
            [Label.UNKNOWN_TOOL, Label.MALFORMED_ARGUMENTS, Label.INVALID_ARGUMENTS],
        ),
        (
            proposal(call("search", id="a", q=1), call("search", id="a", q=2)),
            [Label.DUPLICATE_CALL_ID],
        ),
        (proposal(call("search", id="", q=1)), [Label.DUPLICATE_CALL_ID]),
        (
            proposal(text='{"name": "search", "arguments": {"q": 1}}'),
            [Label.MALFORMED_MODEL_OUTPUT],
        ),
        (proposal(text="The order is on its way."), []),
        (proposal(text=""), []),
    ],
)
def test_each_label_of_a_proposal(newest: Proposal, expected: list[Label]) -> None:
    """One finding for each bad call, or for the message where it has none."""
    assert labels(newest) == expected


def test_positions_name_the_bad_calls() -> None:
    """Valid siblings are not concerned."""
    findings = found(trajectory((), proposal(GOOD, call("nope"), GOOD, unparsable())))
    assert [one.calls for one in findings] == [(1,), (3,)]


def test_one_id_for_several_calls_concerns_all_of_them() -> None:
    """Results could not be told apart, so nothing of the message runs."""
    newest = proposal(call("search", id="a"), call("add_note", id="a", note="n"), GOOD)
    (finding,) = found(trajectory((), newest))
    assert finding.calls == (0, 1, 2)
    assert finding.evidence == {"tools": ["add_note", "search"], "calls": 3}


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        (catalog(declared=["final_answer"]), "final_answer"),
        (catalog(tool("search"), complete=False), "anything"),
    ],
    ids=["declared elsewhere", "an open catalog"],
)
def test_names_that_may_be_served_are_not_unknown(tools: Catalog, name: str) -> None:
    """A structured answer, a provider's tool, and a tool node that we can't look into."""
    assert labels(proposal(call(name, any=1)), tools) == []


def test_malformed_calls_to_declared_names_are_malformed() -> None:
    """What is not an object is wrong whoever serves the tool."""
    assert labels(proposal(unparsable("x")), catalog(declared=["x"])) == [Label.MALFORMED_ARGUMENTS]


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (call("get_order"), ["`order_id` is missing"]),
        (call("get_order", id_="o"), ["`order_id` is missing", "`id_` is not an argument"]),
        (call("get_order", order_id=7), ["`order_id` must be string", "got 7 (integer)"]),
        (
            call("cancel_order", order_id="o", reason="bored"),
            ["`reason` must be one of damaged, late, other", "got 'bored' (string)"],
        ),
        (call("nope"), ["no tool named `nope`"]),
        (unparsable("search", "{'q': 1}"), ["single quotes", "You wrote: {'q': 1}"]),
    ],
)
def test_the_detail_names_field_expectation_and_value(made: ToolCall, parts: list[str]) -> None:
    """The model reads what is wrong with this very call."""
    (finding,) = found(trajectory((), proposal(made)))
    for part in parts:
        assert part in finding.detail


def test_many_violations_are_cut() -> None:
    """Four are named and the rest counted."""
    many = catalog(
        tool("big", required=[f"a{n}" for n in range(9)], **{f"a{n}": "string" for n in range(9)})
    )  # type: ignore[arg-type]
    (finding,) = found(trajectory((), proposal(call("big")), tools=many))
    assert finding.detail.count("is missing") == 4
    assert "and 5 more" in finding.detail


@pytest.mark.parametrize(
    ("made", "suggestion", "intention"),
    [
        (call("Cancel_Order", order_id="o"), "cancel_order", True),
        (call("functions.cancel_order"), "cancel_order", True),
        (call("cancel_ordr"), "cancel_order", False),
        (call("Get_Order"), "get_order", False),
        (call("weather"), None, False),
        (call("create_order"), None, False),
    ],
)
def test_only_the_same_name_written_otherwise_is_owed(
    made: ToolCall, suggestion: str | None, intention: bool
) -> None:
    """A similar name is a suggestion; a change that nobody named is never owed."""
    (finding,) = found(trajectory((), proposal(made)))
    assert finding.suggestion == suggestion
    assert finding.intention is intention


@pytest.mark.parametrize(
    ("made", "intention"),
    [
        (call("cancel_order"), True),
        (call("get_order"), False),
        (unparsable("cancel_order"), True),
        (unparsable("get_order"), False),
    ],
)
def test_refused_changes_are_owed_and_look_ups_are_not(made: ToolCall, intention: bool) -> None:
    """A look-up may have become needless; a change that was meant is open."""
    (finding,) = found(trajectory((), proposal(made)))
    assert finding.intention is intention


NOT_FOUND = failed("get_order", "Error: order o1 not found", order_id="o1")


@pytest.mark.parametrize(
    ("last", "made", "refused"),
    [
        ([NOT_FOUND], GOOD, True),
        ([ran("search"), NOT_FOUND], GOOD, True),
        ([failed("get_order", "no such order", order_id="o1")], GOOD, True),
        ([failed("get_order", "it doesn't exist", order_id="o1")], GOOD, True),
        ([NOT_FOUND], call("get_order", order_id="o2"), False),
        ([ran("get_order", "not found", order_id="o1")], GOOD, False),
        ([failed("get_order", "timeout", order_id="o1")], GOOD, False),
        ([Ran(GOOD, "Not executed: not found", error=True, own=True)], GOOD, False),
    ],
)
def test_the_same_target_is_not_asked_for_again_at_once(
    last: list[Ran], made: ToolCall, refused: bool
) -> None:
    """Only where the environment itself has just said that it is not there."""
    findings = found(trajectory([step("s0", *last)], proposal(made)))
    assert [one.label for one in findings] == ([Label.UNAVAILABLE_TARGET] if refused else [])


def test_a_target_may_be_asked_for_again_later() -> None:
    """A step between may have made it."""
    done = steps(NOT_FOUND, ran("add_note", note="n"))
    assert found(trajectory(done, proposal(GOOD))) == []


def test_polling_tools_may_ask_again() -> None:
    """Waiting for a thing to appear is their purpose."""
    polling = catalog(tool("get_order", polling=True))
    assert found(trajectory(steps(NOT_FOUND), proposal(GOOD), tools=polling)) == []


@pytest.mark.parametrize(
    ("option", "seen"),
    [
        ("unknown_tool", trajectory((), proposal(call("nope")))),
        ("arguments", trajectory((), proposal(call("get_order")))),
        ("unavailable_target", trajectory(steps(NOT_FOUND), proposal(GOOD))),
    ],
)
def test_each_check_can_be_switched_off(option: str, seen: Trajectory) -> None:
    """An option names one check."""
    assert len(found(seen)) == 1
    assert found(seen, **{option: False}) == []


def test_exempt_tools_are_not_checked() -> None:
    """`exempt` names labels that never apply to a tool."""
    spec = tool(
        "get_order",
        required=["order_id"],
        order_id="string",
        exempt=[Label.INVALID_ARGUMENTS, Label.UNAVAILABLE_TARGET],
    )
    assert found(trajectory((), proposal(call("get_order")), tools=catalog(spec))) == []
    assert found(trajectory(steps(NOT_FOUND), proposal(GOOD), tools=catalog(spec))) == []


REFUSED = observation(call("Answer"), "Error: field missing", error=True)


@pytest.mark.parametrize(
    ("newest", "wrong"),
    [
        (proposal(text="", wants_structured=True, answered=(REFUSED,)), True),
        (proposal(GOOD, wants_structured=True, answered=(REFUSED,)), True),
        (proposal(text="", wants_structured=True, structured=True, answered=(REFUSED,)), False),
        (proposal(text="", wants_structured=True), False),
        (proposal(text="", answered=(REFUSED,)), False),
        (proposal(text="", finish=False, wants_structured=True, answered=(REFUSED,)), False),
    ],
)
def test_a_refused_structured_answer_is_asked_for_again(newest: Proposal, wrong: bool) -> None:
    """Where the run would end without the answer that it owes."""
    expected = [Label.STRUCTURED_OUTPUT_INVALID] if wrong else []
    assert labels(newest) == expected


def test_a_lost_result_is_noticed_and_never_held() -> None:
    """The tool may have worked, so nothing is called again."""
    done = [step("s0", ran("search"), ran("add_note", None, note="n"))]
    (finding,) = found(trajectory(done, proposal(text="Done.")))
    assert finding.label is Label.NO_OBSERVABLE_OUTPUT
    assert finding.severity is Severity.ADVISE
    assert finding.evidence == {"step": "s0", "tools": ["add_note"]}


SECRET = "ana.ruiz@mail.example"


@pytest.mark.parametrize(
    "made",
    [
        call("get_order", order_id=[SECRET]),
        call("cancel_order", order_id="o", reason=SECRET),
        call("get_order", **{SECRET: 1}),
        call("get_order", order_id="o", **{SECRET: 1}),
        unparsable("get_order", f'{{"order_id": "{SECRET}"'),
    ],
    ids=["type", "value", "name", "extra name", "raw"],
)
def test_no_argument_reaches_the_ledger(made: ToolCall) -> None:
    """Events hold names of the schema, kinds and counts, never what the model filled in."""
    for finding in found(trajectory((), proposal(made))):
        event = ledger.failure(finding, TASK)
        assert SECRET not in str(event)
        assert SECRET not in finding.key


@given(JSON, JSON)
def test_no_json_reaches_the_ledger(one: Any, other: Any) -> None:
    """Whatever the arguments hold, the event holds none of it."""
    args: Mapping[str, Any] = {"order_id": [SECRET, one], "reason": {SECRET: other}, SECRET: one}
    for name in ("get_order", "cancel_order"):
        for finding in found(trajectory((), proposal(ToolCall("c", name, args)))):
            assert SECRET not in str(ledger.failure(finding, TASK))


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """Whatever a model or a tool writes, there are findings of this type or none."""
    for finding in found(seen):
        assert finding.hard
        assert set(finding.calls) <= {made.index for made in seen.proposal.calls}
        assert Finding.from_dict(finding.to_dict()) == finding
