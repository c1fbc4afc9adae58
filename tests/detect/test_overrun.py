"""The end is the end, and what has been changed is not changed again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import call, catalog, failed, held, proposal, ran, steps, tool, trajectory

from sentry_langgraph.detect.termination import Termination, TerminationOptions
from sentry_langgraph.records import Finding, ToolCall
from sentry_langgraph.taxonomy import Severity

TOOLS = catalog(
    tool("search", read_only=True),
    tool("pay_bill", read_only=False),
    tool("enable_line", read_only=False),
    tool("disable_line", read_only=False),
    tool("toggle_line", read_only=False),
    tool("press_key", read_only=False),
    replace(tool("wipe_disk", read_only=False), destructive=True),
    replace(tool("sync_bill", read_only=False), idempotent=True),
    replace(tool("import_bill", read_only=False), batch=True),
    tool("await_bill", read_only=False, polling=True),
    replace(tool("submit", read_only=False), finish=True),
)


def found(turns: Any, *calls: ToolCall, **options: Any) -> list[Finding]:
    """What is said about going on with these calls."""
    at = trajectory(steps(*turns), proposal(*calls), tools=TOOLS)
    return list(Termination(TerminationOptions(**options)).detect(at))


def pay(**args: Any) -> ToolCall:
    """The change that is made again."""
    return call("pay_bill", **(args or {"bill_id": "B7"}))


PAID = ran("pay_bill", "paid", bill_id="B7")


@pytest.mark.parametrize(
    ("turns", "severity"),
    [
        ([PAID], Severity.ADVISE),
        ([PAID, ran("search", q=1)], Severity.ADVISE),
        ([PAID, ran("pay_bill", "paid", bill_id="B8")], Severity.ADVISE),
        ([PAID, PAID], Severity.HOLD),
        ([PAID, ran("search", q=1), PAID], Severity.HOLD),
    ],
)
def test_a_change_that_worked_is_advised_on_and_then_held(turns: Any, severity: Severity) -> None:
    """The second time is said, the third is held."""
    (finding,) = found(turns, pay())
    assert (finding.pattern, finding.severity) == ("completed_again", severity)
    assert finding.tool == "pay_bill"
    assert "B7" not in finding.key
    assert "B7" not in str(finding.evidence)
    assert found(turns, pay(), completed_again=False) == []


@pytest.mark.parametrize(
    ("turns", "proposed"),
    [
        ([], pay()),
        ([PAID], pay(bill_id="B8")),
        ([failed("pay_bill", bill_id="B7")], pay()),
        ([PAID, failed("pay_bill", bill_id="B7")], pay()),
        ([held("pay_bill", bill_id="B7")], pay()),
        ([ran("search", q="A17")], call("search", q="A17")),
        ([ran("sync_bill", bill_id="B7")], call("sync_bill", bill_id="B7")),
        ([ran("import_bill", bill_id="B7")], call("import_bill", bill_id="B7")),
        ([ran("await_bill", bill_id="B7")], call("await_bill", bill_id="B7")),
        ([ran("toggle_line", line_id="L7")], call("toggle_line", line_id="L7")),
        ([ran("press_key", key="")], call("press_key", key="")),
        ([ran("press_key", direction="down")], call("press_key", direction="down")),
        ([ran("press_key", amount=300)], call("press_key", amount=300)),
        ([ran("press_key")], call("press_key")),
        ([ran("nowhere", bill_id="B7")], call("nowhere", bill_id="B7")),
        (
            [ran("enable_line", line_id="L7"), ran("disable_line", line_id="L7")],
            call("enable_line", line_id="L7"),
        ),
    ],
)
def test_what_is_no_completed_change(turns: Any, proposed: ToolCall) -> None:
    """Look-ups, failures, other targets, undone changes, and tools made to be called again."""
    assert found(turns, proposed) == []


def test_what_sets_a_state_is_let_be_and_what_cant_be_undone_is_held_at_once() -> None:
    """By the tool's name, and by its hint."""
    enabled = ran("enable_line", line_id="L7")
    assert found([enabled] * 4, call("enable_line", line_id="L7")) == []
    (finding,) = found([ran("wipe_disk", disk_id="d7")], call("wipe_disk", disk_id="d7"))
    assert finding.severity is Severity.HOLD
    (finding,) = found([PAID], pay(), completed_hold_at=2)
    assert finding.severity is Severity.HOLD


ENDED = ran("submit", "accepted")


@pytest.mark.parametrize(
    ("turns", "calls", "severity"),
    [
        ([ENDED], [pay()], Severity.HOLD),
        ([ENDED], [call("search", q=1)], Severity.ADVISE),
        ([ENDED], [call("search", q=1), pay()], Severity.HOLD),
        ([ENDED], [call("submit")], Severity.HOLD),
        ([ENDED, held("search")], [pay()], Severity.HOLD),
    ],
)
def test_after_the_end_nothing_is_called(turns: Any, calls: Any, severity: Severity) -> None:
    """Changes are held, look-ups advised on."""
    (finding,) = found(turns, *calls)
    assert (finding.pattern, finding.severity) == ("after_finish", severity)
    assert finding.calls == tuple(range(len(calls)))
    assert found(turns, *calls, after_finish=False, completed_again=False) == []


@pytest.mark.parametrize(
    "turns", [[], [ran("search")], [failed("submit")], [held("submit")], [ran("pay_bill")]]
)
def test_before_the_end_everything_goes_on(turns: Any) -> None:
    """The finishing call has to have worked."""
    assert found(turns, call("search", q=1)) == []
