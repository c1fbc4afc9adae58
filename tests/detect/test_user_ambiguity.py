"""What only the user can decide is asked for before a change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import SHOP, TASK, call, failed, held, proposal, ran, steps, trajectory
from hypothesis import given
from strategies import trajectories

from sentry_langgraph.detect.user_ambiguity import UserAmbiguity, UserAmbiguityOptions
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Finding, Task, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Origin, Severity

CANCEL = call("cancel_order", order_id="o77", reason="late")


def found(
    turns: Any, *calls: ToolCall, task: Task = TASK, seen: Any = (), **options: Any
) -> list[Finding]:
    """What the detector says of these calls after these turns."""
    at = trajectory(steps(*turns), proposal(*calls), task=task)
    at = replace(at, provenance=Provenance.of(seen))
    return list(UserAmbiguity(UserAmbiguityOptions(**options)).detect(at))


@pytest.mark.parametrize(
    "text",
    [
        "Multiple users found with that name.",
        "error: more than one customer matches",
        "Error: ambiguous reference",
        "The name is ambiguous.",
        "Found 3 customers named Ana. Please specify which one.",
        "multiple matches: o77, o78",
        "No order o7. Did you mean o77 or o78?",
        "Several orders match. Which one did you mean?",
    ],
)
def test_a_change_after_a_result_that_leaves_it_open(text: str) -> None:
    """Advice to ask; the change may be right."""
    for turn in (ran("search", text, q=1), failed("search", text, q=1)):
        (finding,) = found([turn], CANCEL)
        assert (finding.label, finding.pattern) == (Label.USER_AMBIGUITY, "ambiguous_result")
        assert (finding.severity, finding.origin) == (Severity.ADVISE, Origin.USER)
        assert "o77" not in finding.key + str(finding.evidence)
        assert found([turn], CANCEL, ambiguous_result=False) == []


OPEN = ran("search", "Multiple users found.", q=1)


@pytest.mark.parametrize(
    ("turns", "calls", "task"),
    [
        ([], [CANCEL], TASK),
        ([OPEN], [call("get_order", order_id="o77")], TASK),
        ([OPEN], [], TASK),
        ([OPEN, ran("search", "one user: Ana", q=2)], [CANCEL], TASK),
        ([OPEN], [CANCEL], Task("t", "Cancel order o77.")),
        ([held("search")], [CANCEL], TASK),
        ([ran("search", "Found 3 orders: o77, o78, o79")], [CANCEL], TASK),
        ([ran("search", "You can place multiple orders.")], [CANCEL], TASK),
        ([ran("search", "did you mean status?")], [CANCEL], TASK),
        ([ran("search", "x" * 500 + " multiple users found")], [CANCEL], TASK),
        ([OPEN, *[ran("get_order", "o", order_id="o")] * 4], [CANCEL], TASK),
    ],
)
def test_what_is_not_open(turns: Any, calls: Any, task: Task) -> None:
    """Look-ups, settled and named targets, lists, and words inside a document."""
    assert found(turns, *calls, task=task) == []


HELP = Task("t", "Hello, please help me!")


def test_a_request_that_says_nothing_is_no_ground_for_a_change() -> None:
    """All that the call is given stands nowhere."""
    told = [Passage("told", "You are a shop agent."), Passage("told", HELP.objective)]
    (finding,) = found([], CANCEL, task=HELP, seen=told)
    assert finding.pattern == "empty_request"
    assert found([], CANCEL, task=HELP, seen=told, empty_request=False) == []


@pytest.mark.parametrize(
    ("task", "seen"),
    [
        (TASK, [Passage("told", TASK.objective)]),
        (Task("t", ""), []),
        (Task("t", "go"), [Passage("told", "go")]),
        (HELP, [Passage("told", "Orders that are late, such as o77, are cancelled.")]),
        (HELP, [Passage("result", "an order", "search"), Passage("told", HELP.objective)]),
        (HELP, [Passage("told", text) for text in ("a", "b", HELP.objective)]),
    ],
)
def test_what_says_enough(task: Task, seen: Any) -> None:
    """A real request, standing orders, and a talk that went before."""
    assert found([], CANCEL, task=task, seen=seen) == []


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """At most one finding, and only for a change."""
    findings = list(UserAmbiguity(UserAmbiguityOptions()).detect(seen))
    assert len(findings) <= 1
    assert all(one.tool in {"cancel_order", "add_note"} for one in findings)
