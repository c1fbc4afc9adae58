"""What failed in the environment is named, and asking again in vain is advised against."""

from __future__ import annotations

from typing import Any

import pytest
from builders import SHOP, Ran, call, catalog, failed, held, proposal, ran, steps, tool, trajectory
from hypothesis import given
from strategies import trajectories

from sentry_langgraph.detect.environment import Environment, EnvironmentOptions
from sentry_langgraph.records import Finding, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Origin, Severity

DOWN, BUSY, CLOSED = "error: 503 service unavailable", "error: HTTP 429", "error: 401 Unauthorized"
AGAIN = call("get_order", order_id="o9")


def found(done: Any, *calls: ToolCall, **options: Any) -> list[Finding]:
    """What the detector says of these calls after these turns."""
    seen = trajectory(steps(*done), proposal(*calls), tools=options.pop("tools", SHOP))
    return list(Environment(EnvironmentOptions(**options)).detect(seen))


def turn(text: str, name: str = "get_order", id: str = "o1") -> Ran:
    """A call that failed with this text."""
    return failed(name, text, order_id=id)


@pytest.mark.parametrize(
    ("done", "label", "severity"),
    [
        ([turn(DOWN)], Label.DEPENDENCY_OUTAGE, Severity.INFO),
        ([turn(DOWN), turn(DOWN)], Label.DEPENDENCY_OUTAGE, Severity.ADVISE),
        ([turn(BUSY)], Label.RATE_LIMITED, Severity.INFO),
        ([turn(BUSY), turn(BUSY, id="o2")], Label.RATE_LIMITED, Severity.ADVISE),
        ([turn(DOWN), turn(BUSY)], Label.RATE_LIMITED, Severity.INFO),
        ([turn(DOWN), ran("get_order", "ok"), turn(DOWN)], Label.DEPENDENCY_OUTAGE, Severity.INFO),
        ([turn(CLOSED)], Label.AUTH_OR_CONFIG, Severity.ADVISE),
    ],
)
def test_how_far_each_kind_goes(done: Any, label: Label, severity: Severity) -> None:
    """A first outage is recorded, a second in a row advised on; missing access at once."""
    (finding,) = found(done, AGAIN)
    assert (finding.label, finding.severity) == (label, severity)
    assert finding.origin is Origin.SYSTEM
    assert finding.tool == "get_order"


def test_going_on_with_another_tool_is_recorded_only() -> None:
    """The agent does what the advice would say."""
    (finding,) = found([turn(CLOSED)], call("search", q=1))
    assert finding.severity is Severity.INFO
    (finding,) = found([turn(DOWN), turn(DOWN)], call("search", q=1))
    assert finding.severity is Severity.INFO


def test_the_same_call_after_an_error_of_the_tool_is_advised_on_once() -> None:
    """Of a change; other arguments are a new try, and from the second repeat on it is a loop."""
    wrong = failed("cancel_order", "error: the order is already shipped", order_id="o1")
    (finding,) = found([wrong], call("cancel_order", order_id="o1"))
    assert (finding.label, finding.pattern) == (Label.TOOL_ERROR, "same_call")
    assert (finding.severity, finding.origin) == (Severity.ADVISE, Origin.TOOL)
    assert found([wrong], call("cancel_order", order_id="o2")) == []
    assert found([wrong, wrong], call("cancel_order", order_id="o1")) == []


@pytest.mark.parametrize(
    ("done", "calls", "options"),
    [
        ([], [AGAIN], {}),
        ([ran("get_order", DOWN)], [AGAIN], {}),
        ([held("get_order")], [AGAIN], {}),
        ([turn(DOWN)], [], {}),
        ([turn("error: order not found")], [call("get_order", order_id="o1")], {}),
        (
            [turn(DOWN), turn(DOWN)],
            [AGAIN],
            {"tools": catalog(tool("get_order", polling=True))},
        ),
        ([turn("error: no")], [call("get_order", order_id="o1")], {}),
        (
            [failed("add_note", "error: no", note="n")],
            [call("add_note", note="n")],
            {"same_call": False},
        ),
    ],
)
def test_what_is_no_failure_of_the_environment(done: Any, calls: Any, options: Any) -> None:
    """Successes whatever they say, our own answers, ends, and what other detectors find."""
    assert found(done, *calls, **options) == []


def test_options_move_the_limits() -> None:
    """Advice later, or none on missing access."""
    assert found([turn(DOWN), turn(DOWN)], AGAIN, outages_at=3)[0].severity is Severity.INFO
    assert found([turn(CLOSED)], AGAIN, access=False)[0].severity is Severity.INFO


def test_one_finding_for_each_label_and_the_clearest_of_them() -> None:
    """Two calls of a step that failed alike are one finding."""
    both = [[turn(CLOSED, "search"), turn(CLOSED)]]
    (finding,) = found(both, AGAIN)
    assert (finding.tool, finding.severity) == ("get_order", Severity.ADVISE)


def test_nothing_stored_holds_a_value() -> None:
    """Key and evidence are names and counts."""
    for finding in found([turn("error: HTTP 429 for secret-o1", id="secret-o1")], AGAIN):
        assert "secret" not in finding.key
        assert "secret" not in str(finding.evidence)


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """Findings for calls of the proposal only."""
    labels = [one.label for one in Environment(EnvironmentOptions()).detect(seen)]
    assert len(labels) == len(set(labels))
    assert not labels or seen.proposal.calls
