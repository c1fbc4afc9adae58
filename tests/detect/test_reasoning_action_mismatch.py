"""A text and its call are compared where both can be read exactly."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from builders import SHOP, call, catalog, proposal, ran, step, tool, trajectory
from hypothesis import given
from strategies import TEXTS, trajectories

from sentry_langgraph.detect.reasoning_action_mismatch import (
    ReasoningActionMismatch,
    ReasoningActionMismatchOptions,
)
from sentry_langgraph.records import Finding, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Severity

TOOLS = catalog(
    *SHOP.tools.values(),
    tool("get_user", read_only=True),
    tool("delete_user", read_only=False),
    tool("shell"),
    tool("wait_for_reply"),
    tool("peek", polling=True),
)


def found(text: str, *calls: ToolCall, done: Any = (), **options: Any) -> list[Finding]:
    """What the detector says of this text beside these calls."""
    at = trajectory(done, proposal(*calls, text=text), tools=TOOLS)
    return list(ReasoningActionMismatch(ReasoningActionMismatchOptions(**options)).detect(at))


def cancel(order_id: str = "B22") -> ToolCall:
    """A change of one order."""
    return call("cancel_order", order_id=order_id, reason="late")


@pytest.mark.parametrize(
    ("text", "made", "severity"),
    [
        ("I will call get_user.", call("delete_user"), Severity.HOLD),
        ("Let me use the `get_user` tool.", call("delete_user", user_id="u17"), Severity.HOLD),
        ("I'll now run get_order.", call("get_user"), Severity.ADVISE),
        ("I will call delete_user now.", call("cancel_order"), Severity.HOLD),
    ],
)
def test_another_tool_than_the_announced_one(text: str, made: ToolCall, severity: Severity) -> None:
    """A change is held, a look-up advised on, and the announced tool suggested."""
    (finding,) = found(text, made)
    assert (finding.label, finding.pattern) == (Label.REASONING_ACTION_MISMATCH, "tool")
    assert finding.severity is severity
    assert finding.suggestion in text
    assert found(text, made, tool=False) == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("I will call get_user.", call("get_user")),
        ("I will call get_user and delete_user.", call("delete_user")),
        ("First I will call get_user, then the other.", call("delete_user")),
        ("Once this is done I will call get_user.", call("delete_user")),
        ("I will call get_user. I'll look at the order too.", call("delete_user")),
        ("I will call delete_user.", call("get_user")),
        ("I will call the user.", call("delete_user")),
        ("get_user is a tool.", call("delete_user")),
        ("I will not call get_user.", call("delete_user")),
        ("", call("delete_user")),
    ],
)
def test_plans_conditions_and_look_ups_before_a_change_agree(text: str, made: ToolCall) -> None:
    """A text that also names what is called says that it is meant."""
    assert found(text, made) == []


@pytest.mark.parametrize(
    ("text", "made", "severity"),
    [
        ("I'll cancel order A17.", cancel(), Severity.HOLD),
        ("I'll cancel order #W1234567.", cancel("#W7654321"), Severity.HOLD),
        ("Let me cancel 12345678 for you.", cancel("87654321"), Severity.HOLD),
        ("The refund is due. I will cancel order A1.", cancel("B2"), Severity.HOLD),
        ("Let me look at order A17.", call("get_order", order_id="B22"), Severity.ADVISE),
        ("I'll change user_17.", call("delete_user", user_id="user_22"), Severity.HOLD),
    ],
)
def test_another_id_than_the_announced_one(text: str, made: ToolCall, severity: Severity) -> None:
    """Of the same form, in the sentence that announces the action."""
    (finding,) = found(text, made)
    assert (finding.pattern, finding.severity) == ("entity", severity)
    assert finding.argument in {"order_id", "user_id"}
    assert "22" not in finding.key + str(finding.evidence)
    assert found(text, made, entity=False) == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("I'll cancel order A17.", cancel("A17")),
        ("I'll cancel order a17.", cancel("#A17")),
        ("I'll cancel order A17 and keep B22.", cancel()),
        ("I'll cancel order A17. Order B22 is the one that holds it.", cancel()),
        ("I'll cancel A17 before B23.", cancel()),
        ("Order A17 was late. I'll cancel it.", cancel()),
        ("I'll look at A17. I'll cancel the other.", cancel()),
        ("I'll cancel the 2 orders of 2024-05-17.", cancel("2024-05-18")),
        ("I'll cancel it by the 5th.", cancel("6th")),
        ("I'll do it for 50 dollars.", cancel("70")),
        ("I'll cancel order A17.", cancel("card_9921")),
        ("I'll exchange A17.", call("add_note", note="A17", other="B22")),
    ],
)
def test_agreeing_and_incomparable_ids(text: str, made: ToolCall) -> None:
    """Both named, a plan, another form, a number or a date: no evidence."""
    assert found(text, made) == []


@pytest.mark.parametrize(
    "text",
    [
        "Nothing to do here. I have to stop and wait now.",
        "I must wait for the reply of the other team.",
        "I'll stop here.",
        "There is nothing left to do.",
    ],
)
def test_stopping_in_words_and_going_on_in_deeds(text: str) -> None:
    """At the second time, with another call; the same call is a loop."""
    done = [step("s0", ran("shell", "", cmd="ls"), text=text)]
    (finding,) = found(text, call("shell", cmd="ls inbox"), done=done)
    assert (finding.pattern, finding.severity) == ("stop", Severity.ADVISE)
    assert found(text, call("shell"), done=done, stop=False) == []
    assert found(text, call("wait_for_reply"), done=done) == []
    assert found(text, call("peek"), done=done) == []
    assert found(text, call("shell", cmd="ls"), done=done) == []
    assert found(text, done=done) == []
    assert found(text, call("shell", cmd="ls inbox")) == []
    assert found(text, call("shell", cmd="cd"), done=[replace(done[0], text="ok")]) == []


@pytest.mark.parametrize(
    "text",
    ["I have to stop the server first.", "I will wait no longer.", "You have to wait for it."],
)
def test_other_stops(text: str) -> None:
    """Of a server, of somebody else."""
    done = [step("s0", ran("shell", "", cmd="cd"), text=text)]
    assert found(text, call("shell", cmd="ls"), done=done) == []


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """At most one finding, and only beside a call."""
    findings = list(ReasoningActionMismatch(ReasoningActionMismatchOptions()).detect(seen))
    assert len(findings) <= 1
    assert not findings or seen.proposal.calls


@given(TEXTS)
def test_any_text_is_read(text: str) -> None:
    """Whatever stands between an announcement and a call."""
    found(f"I'll cancel {text}", cancel(text))


@pytest.mark.parametrize("unit", ["I'll cancel A17 ", "a1-", "I will call the ", "nothing to do "])
def test_long_texts_are_read_at_their_end(unit: str) -> None:
    """A megabyte costs no more than a page."""
    started = time.perf_counter()
    found(unit * (1_000_000 // len(unit)), cancel("a1-" * 300_000))
    assert time.perf_counter() - started < 0.5
