"""The order of the stages: settle verdicts, detect, judge the message, route."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from builders import (
    SHOP,
    TASK,
    active,
    call,
    catalog,
    failed,
    held,
    proposal,
    ran,
    state,
    step,
    steps,
    tool,
    trajectory,
    unparsable,
)
from hypothesis import given
from strategies import PLAIN, PLANS, Turn, told, trajectories

from sentry_langgraph import ledger
from sentry_langgraph.decisions import Escalate, HardRepair, Remind, SoftRepair, Suppress, Verify
from sentry_langgraph.detect import Detector, build_detectors
from sentry_langgraph.learn import LearnOptions
from sentry_langgraph.pipeline import HEALTHY, Outcome, Pipeline
from sentry_langgraph.records import Event, Proposal, Step, TaskState, Trajectory
from sentry_langgraph.route import RepairOptions
from sentry_langgraph.taxonomy import Label, Strategy, Verdict
from sentry_langgraph.verify import VerifyOptions

SAMPLES = "detect.samples"


def pipeline(
    *entries: dict[str, Any],
    only: tuple[tuple[str, Detector], ...] | None = None,
    mode: Any = "active",
    window: int = 20,
    **repair: Any,
) -> Pipeline:
    """The default stages, with these detectors and budgets."""
    return Pipeline(
        build_detectors(entries) if only is None else only,
        RepairOptions(**repair),
        VerifyOptions(),
        LearnOptions(),
        window,
        mode,
    )


DEFAULT = pipeline()


def test_a_healthy_step_is_nothing_at_all() -> None:
    """No decision, no finding, no event: the very same object, so that it costs nothing."""
    assert DEFAULT.decide(trajectory(steps(ran(q=1)), proposal(call(q=2)))) is HEALTHY
    assert DEFAULT.decide(trajectory(steps(ran(q=1)), proposal(text="Three orders."))) is HEALTHY
    assert HEALTHY.healthy


@pytest.mark.parametrize(
    ("seen", "decision"),
    [
        (trajectory((), proposal(call("nope"))), HardRepair),
        (trajectory((), proposal(unparsable())), HardRepair),
        (trajectory(steps(*[ran(q=1)] * 2), proposal(call(q=1))), SoftRepair),
        (trajectory((), proposal(text="Let me look that up.")), SoftRepair),
        (trajectory((), proposal(text="")), SoftRepair),
    ],
)
def test_each_detector_leads_to_its_repair(seen: Trajectory, decision: type) -> None:
    """From a trajectory to the decision, through all stages."""
    outcome = DEFAULT.decide(seen)
    assert not outcome.healthy
    assert isinstance(outcome.decisions[0], decision)


def test_a_verdict_comes_before_the_next_repair() -> None:
    """The recovery is written down even where another failure shows at once."""
    seen = trajectory(
        steps(held("get_order"), ran("search", "x", q=4)),
        proposal(call("nope")),
        state=state(active(Label.OVER_EXPLORATION)),
    )
    first, second = DEFAULT.decide(seen).decisions
    assert isinstance(first, Verify)
    assert [one.verdict for one in first.judgements] == [Verdict.RECOVERED]
    assert isinstance(second, HardRepair)


def test_a_relapse_is_judged_and_counts_at_once() -> None:
    """The ladder sees the failed repair in the same decision, so it does not repeat itself."""
    done = steps(*[ran(q=1)] * 3)
    (found,) = DEFAULT.decide(trajectory(done[:2], proposal(call(q=1), id="s2"))).findings
    repair = replace(active(step="s2"), key=found.key, related=found.related)
    outcome = DEFAULT.decide(trajectory(done, proposal(call(q=1)), state=state(repair)))
    verify, suppress = outcome.decisions
    assert isinstance(verify, Verify)
    assert [one.verdict for one in verify.judgements] == [Verdict.RELAPSED]
    assert suppress == Suppress(outcome.findings[0], "once")


def test_an_answer_is_judged_when_it_is_given() -> None:
    """No step follows the last message, so its verdict can't wait."""
    seen = trajectory(
        steps(*[ran(q=1)] * 3), proposal(text="Three orders."), state=state(active(step="s2"))
    )
    (verify,) = DEFAULT.decide(seen).decisions
    assert isinstance(verify, Verify)
    assert verify.judgements[0].verdict is Verdict.RECOVERED


def test_detectors_see_the_window_only() -> None:
    """What lies before it is over; verification looks as far as its horizon."""
    done = steps(*[ran(q=1)] * 2, *[ran(q=n) for n in range(2, 6)])
    narrow = pipeline(window=4)
    assert DEFAULT.decide(trajectory(done, proposal(call(q=1)))).findings
    assert narrow.decide(trajectory(done, proposal(call(q=1)))) is HEALTHY
    assert narrow.depth == 11
    assert DEFAULT.depth == 21


def test_exempt_labels_are_no_findings() -> None:
    """For every detector, the user's included."""
    tools = catalog(tool("search", exempt=[Label.UNKNOWN_TOOL, Label.REPETITION_OR_LOOPING]))
    seen = trajectory(steps(*[ran(q=1)] * 8), proposal(call(q=1)), tools=tools)
    assert DEFAULT.decide(seen) is HEALTHY


def test_shadow_records_what_would_have_happened_and_nothing_else() -> None:
    """Each finding once, no verdict, no repair, whatever the budgets say."""
    shadow = pipeline(mode="shadow")
    seen = trajectory(steps(*[ran(q=1)] * 8), proposal(call(q=1), call("nope")))
    outcome = shadow.decide(seen)
    assert {type(one) for one in outcome.decisions} == {Suppress}
    assert [one.reason for one in outcome.decisions if isinstance(one, Suppress)] == ["shadow"] * 2
    known = frozenset((one.key, "shadow") for one in outcome.findings)
    again = shadow.decide(replace(seen, state=TaskState(suppressed=known)))
    assert again.decisions == ()
    assert len(again.findings) == 2


@pytest.mark.parametrize(
    "kind", ["failing", "failing_late", "single", "wrong_things"], ids=lambda kind: kind
)
def test_a_detector_that_raises_is_no_finding(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its trace, recorded without its words, and the others go on."""
    at = f"{SAMPLES}:{kind}"
    failing = pipeline({"kind": at})
    seen = trajectory((), proposal(call("nope")))
    with caplog.at_level(logging.ERROR, "sentry_langgraph"):
        outcome = failing.decide(seen)
    assert [one.label for one in outcome.findings] == [Label.UNKNOWN_TOOL]
    assert isinstance(outcome.decisions[0], HardRepair)
    (fault,) = outcome.faults
    assert (fault["kind"], fault["key"]) == ("notice", f"fault:detector:{at}")
    assert "secret" not in str(fault)
    assert at in caplog.text


def test_a_failing_detector_is_recorded_once_a_task(caplog: pytest.LogCaptureFixture) -> None:
    """And is logged each time."""
    failing = pipeline({"kind": f"{SAMPLES}:failing"})
    seen = trajectory((), proposal(call(q=1)))
    outcome = failing.decide(seen)
    assert not outcome.healthy
    after = replace(seen, state=ledger.fold(outcome.faults))
    with caplog.at_level(logging.ERROR, "sentry_langgraph"):
        assert failing.decide(after).healthy
    assert caplog.records


def test_a_repair_without_a_plan_where_none_can_be_made(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of ours takes the plan and not the repair."""

    def broken(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("sentry_langgraph.pipeline.prepared", broken)
    with caplog.at_level(logging.ERROR, "sentry_langgraph"):
        outcome = DEFAULT.decide(trajectory((), proposal(call("nope"))))
    assert isinstance(outcome.decisions[0], HardRepair)
    assert [(one["key"], one["error"]) for one in outcome.faults] == [
        ("fault:plan", "RuntimeError")
    ]
    assert caplog.records


def test_a_detector_may_find_nothing_in_any_form() -> None:
    """None and an empty iterable are the same."""
    quiet = pipeline({"kind": f"{SAMPLES}:silent"}, {"kind": f"{SAMPLES}:Plain"})
    assert quiet.decide(trajectory((), proposal(call(q=1)))) is HEALTHY


def test_a_users_finding_is_routed_like_ours() -> None:
    """Detectors meet the ladder through the record alone."""
    kind = f"{SAMPLES}:TooManyCalls"
    outcome = pipeline({"kind": kind}).decide(
        trajectory((), proposal(call(q=1), call(q=2), call(q=3)))
    )
    (decision,) = outcome.decisions
    assert isinstance(decision, SoftRepair)
    assert decision.finding.label is Label.OVER_EXPLORATION


def written(outcome: Outcome, newest: Proposal) -> list[Event]:
    """The events that the nodes would write for an outcome."""
    events: list[Event] = [*outcome.faults]
    for decision in outcome.decisions:
        match decision:
            case Verify(judgements):
                events += [ledger.verdict(one, TASK, newest.id) for one in judgements]
            case HardRepair(findings):
                events += [ledger.repair(one, TASK, Strategy.HARD) for one in findings]
            case SoftRepair(finding, hold):
                strategy = Strategy.HOLD if hold else Strategy.ADVISE
                events.append(ledger.repair(finding, TASK, strategy, tokens=100))
            case Suppress(finding, reason):
                events.append(ledger.suppressed(finding, TASK, reason))
            case _:
                pass
    return events


def played(turns: list[Any], stages: Pipeline = DEFAULT) -> list[str]:
    """What is decided turn by turn, in short, until the run is stopped."""
    said: list[str] = []
    done: list[Step] = []
    kept = TaskState()
    for number, made in enumerate(turns):
        newest = replace(proposal(made.call), id=f"m{number}")
        outcome = stages.decide(trajectory(done, newest, state=kept))
        kept = ledger.fold(written(outcome, newest), kept)
        word = ""
        run = made
        for decision in outcome.decisions:
            match decision:
                case HardRepair():
                    word, run = "hard", held(made.call.name, **made.call.args)
                case SoftRepair(_, hold):
                    word = "hold" if hold else "advise"
                    run = held(made.call.name, **made.call.args) if hold else made
                case Escalate():
                    return [*said, "stop"]
                case Remind():
                    word = "remind"
                case _:
                    pass
        said.append(word)
        done.append(step(f"m{number}", run))
    return said


def test_the_ladder_of_a_loop_from_advice_to_the_end() -> None:
    """Advice at three, held at six, held again, then the run is stopped honestly."""
    assert played([ran(q=1)] * 20) == ["", "", "advise", "", "", "hold", "stop"]


def test_the_ladder_of_invalid_calls() -> None:
    """Three refusals, one in other words, then the end."""
    assert played([ran("nope")] * 20) == ["hard", "hard", "hard", "hard", "stop"]


def test_an_owed_change_is_reminded_of_until_it_is_made() -> None:
    """Beside each other step."""
    bad = ran("cancel_order", order_id=1)
    good = ran("cancel_order", "ok", order_id="o", reason="late")
    assert played([bad, ran(q=1), ran(q=2), good, ran(q=3)]) == ["hard", "remind", "remind", "", ""]


def test_faults_far_apart_never_end_a_long_task() -> None:
    """One wrong call in twelve, got round another way, for a hundred steps."""
    turns = []
    for position in range(100):
        name = "get_order" if position % 24 else "cancel_order"
        turns.append(
            ran(q=position, text=f"r{position}") if position % 12 else ran(name, order_id=1)
        )
    said = played(turns)
    assert len(said) == 100
    assert said.count("hard") == 9


def test_an_agent_that_listens_is_left_alone_afterwards() -> None:
    """After the advice it goes another way: the verdict is recovered, and nothing more is said."""
    turns = [ran(q=1)] * 3 + [ran("get_order", f"order {n}", order_id=f"o{n}") for n in range(8)]
    assert played(turns) == ["", "", "advise", *[""] * 8]


def test_errors_that_lead_on_are_left_alone() -> None:
    """An agent that reads each error and changes the call is working."""
    turns = [failed("get_order", f"error: {word}", order_id=word) for word in ["a", "b", "c"]]
    assert played([*turns, ran("get_order", "order", order_id="d")]) == [""] * 4


@given(trajectories(SHOP))
def test_any_trajectory_is_decided(seen: Trajectory) -> None:
    """Without an exception, and with at most one decision that acts on the calls."""
    acting = (HardRepair, SoftRepair, Escalate, Remind)
    for stages in (DEFAULT, pipeline(mode="shadow")):
        outcome = stages.decide(seen)
        assert not outcome.faults
        assert sum(isinstance(one, acting) for one in outcome.decisions) <= 1
        if stages.mode == "shadow":
            assert all(isinstance(one, Suppress) for one in outcome.decisions)


@given(PLANS)
def test_deciding_twice_is_deciding_once(plan: list[list[Turn]]) -> None:
    """A gate that runs again after a resume comes to the same decision."""
    assert DEFAULT.decide(told(plan, PLAIN)) == DEFAULT.decide(told(plan, PLAIN))
