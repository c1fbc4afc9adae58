"""A side goal that shares nothing with the request is drift; what the request led to is not."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from builders import SHOP, active, call, proposal, ran, state, step, trajectory
from hypothesis import given
from strategies import trajectories

from sentry_langgraph.detect.objective_drift import ObjectiveDrift, ObjectiveDriftOptions
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Finding, Proposal, Step, Task, Trajectory
from sentry_langgraph.taxonomy import Label, Severity

TASK = Task("t", "Add CSV export to the invoices page")
RESTYLE = "Now improve the colour theme of the login page"
FIRST = step("s0", ran("search", "hits", q="invoices export"), text="Open invoices page code")


def away(number: int, text: str = RESTYLE, result: str = "ok") -> Step:
    """A step of the side goal."""
    made = ran("edit", result, path=f"login_theme_{number}.css", new="blue")
    return step(f"d{number}", made, text=text)


def newest(text: str = RESTYLE, path: str = "login_theme_9.css", new: str = "blue") -> Proposal:
    """The proposed step."""
    return proposal(call("edit", path=path, new=new), text=text)


def found(
    done: Any, proposed: Proposal | None = None, *, task: Task = TASK, told: Any = (), **more: Any
) -> list[Finding]:
    """What the detector says."""
    options = {key: more.pop(key) for key in ("steps",) if key in more}
    at = trajectory(done, proposed or newest(), task=task, **more)
    texts = [Passage("told", text) for text in told]
    at = replace(at, provenance=Provenance.of(texts))
    return list(ObjectiveDrift(ObjectiveDriftOptions(**options)).detect(at))


def test_a_side_goal_is_advised_on_at_its_fourth_step() -> None:
    """Not before, and the finding holds no word of it."""
    drifted = [FIRST, away(0), away(1), away(2)]
    assert found(drifted[:-1]) == []
    (finding,) = found(drifted)
    assert (finding.label, finding.severity) == (Label.OBJECTIVE_DRIFT, Severity.ADVISE)
    assert finding.evidence == {"steps": 4, "first": "d0"}
    assert "login" not in finding.detail
    assert found(drifted, steps=5) == []
    assert found(drifted[:-1], steps=3)


DRIFTED = [FIRST, away(0), away(1), away(2)]


@pytest.mark.parametrize(
    ("done", "proposed", "task"),
    [
        (DRIFTED, newest(path="invoices/theme.css"), TASK),
        (DRIFTED, newest("Back to the CSV export"), TASK),
        (DRIFTED, newest(), Task("t", "Forget CSV, restyle the login page")),
        (DRIFTED, newest(), Task("t", "go on")),
        (DRIFTED, newest(), Task("t", "请给发票页面添加导出功能 CSV export")),
        (DRIFTED, proposal(text=RESTYLE), TASK),
        (DRIFTED, proposal(call("edit"), text=""), TASK),
        ([FIRST, away(0), step("s", ran("edit", path="invoices.py")), away(2)], newest(), TASK),
        ([away(0), away(1), away(2)], newest(), TASK),
        ([away(0), away(1), away(2), away(3)], newest(), TASK),
    ],
)
def test_what_is_no_drift(done: Any, proposed: Proposal, task: Task) -> None:
    """Steps for the request, a new request, one that says nothing, and the way it was read."""
    assert found(done, proposed, task=task) == []


def test_what_a_result_brought_belongs_to_the_request() -> None:
    """Long runs move from word to word through their results."""
    led = step("s0", ran("search", "see login_theme_0.css", q="invoices export"))
    assert found([led, away(0), away(1), away(2)]) == []


def test_unlike_steps_are_no_side_goal() -> None:
    """Vocabulary that only varies is how requests are worked on in other words."""
    names = ["kernel scheduler", "zebra stripes", "museum ticket"]
    done = [FIRST, *(step(name, ran("edit", "ok", path=name)) for name in names)]
    assert found(done, newest("", path="garden fence")) == []


def test_what_the_agent_was_told_elsewhere_is_no_side_goal() -> None:
    """An earlier wish of the user, or a word of the developer; not a whole handbook."""
    wish = "Later also restyle the login theme, please."
    assert found(DRIFTED, told=[wish]) == []
    assert found(DRIFTED, told=[wish + "x " * 2_000])


def test_counting_starts_anew_after_a_reminder() -> None:
    """The step beside the reminder had been decided before it; one more is no relapse."""
    reminded = state(active(Label.OBJECTIVE_DRIFT, step="d3"))
    done = [*DRIFTED, away(3)]
    assert found([*done, away(4)], state=reminded) == []
    assert found([*done, away(4), away(5), away(6)], state=reminded)


def test_a_step_without_a_result_of_its_own_words_is_not_counted() -> None:
    """A step that says nothing neither drifts nor serves."""
    silent = step("s", ran("run_tests", "1 failed"))
    assert found([FIRST, away(0), silent, away(1), silent, away(2)])


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """At most one finding, and never at an end."""
    findings = list(ObjectiveDrift(ObjectiveDriftOptions()).detect(seen))
    assert len(findings) <= 1
    assert not findings or seen.proposal.calls


def test_long_steps_are_read_at_their_beginning() -> None:
    """A megabyte in every place."""
    huge = "lorem ipsum dolor " * 60_000
    done = [step(f"s{n}", ran("edit", huge, path=huge), text=huge) for n in range(20)]
    started = time.perf_counter()
    found(done, newest(huge, huge, huge))
    assert time.perf_counter() - started < 2.0
