"""When the judge is asked: on a suspicion of the rules, or after an interval that grows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import (
    TASK,
    active,
    advice,
    call,
    finding,
    proposal,
    ran,
    state,
    steps,
    trajectory,
)

from sentry_langgraph import ledger
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.decisions import Diagnose, HardRepair, SoftRepair, Suppress, Verify
from sentry_langgraph.detect.judge import Judge, JudgeOptions
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import TaskState, Trajectory
from sentry_langgraph.taxonomy import Label, Severity, Strategy, Verdict

WORKING = proposal(call("search", q="new"))
SUSPECTED = finding(Label.HALLUCINATION, confidence=0.4)


def stages(mode: str = "active", **options: Any) -> Pipeline:
    """The default stages with a judge."""
    entry = {"kind": "judge", **options}
    return SentryConfig.model_validate({"detectors": [entry], "mode": mode}).pipeline()


def due(seen: Trajectory, *suspicions: Any, **options: Any) -> Diagnose | None:
    """Whether the judge is asked, and why."""
    return Judge(JudgeOptions(**options)).due(seen, suspicions)


def healthy(count: int, **fields: Any) -> Trajectory:
    """A run of `count` good steps and a newest call."""
    return trajectory(
        steps(*(ran("search", f"r{n}", q=n) for n in range(count))), WORKING, state=state(**fields)
    )


def test_it_is_off_unless_listed() -> None:
    """Listed, or given a model by the program; `enabled: false` keeps it off in both cases."""
    assert SentryConfig().pipeline().judge is None
    assert stages().judge is not None
    assert stages(enabled=False).judge is None
    assert SentryConfig().pipeline(judge=True).judge is not None
    off = SentryConfig(detectors=({"kind": "judge", "enabled": False},))
    assert off.pipeline(judge=True).judge is None
    assert "judge" not in dict(stages().detectors)


def test_a_suspicion_is_a_reason() -> None:
    """At a call and at a wish to finish alike, with what the rules saw."""
    for newest in (WORKING, proposal(text="Done.")):
        seen = trajectory((), newest)
        assert due(seen, SUSPECTED) == Diagnose("suspicion", (SUSPECTED,))
        assert due(seen) is None
        assert due(seen, SUSPECTED, when="interval") is None


def test_the_interval_is_a_reason() -> None:
    """After so many messages of the task; never at a wish to finish."""
    assert due(healthy(4), when="interval", min_interval=6) is None
    assert due(healthy(5), when="interval", min_interval=6) == Diagnose("interval")
    assert due(healthy(5), SUSPECTED, when="both", min_interval=6).why == "suspicion"  # type: ignore[union-attr]
    assert due(healthy(9), when="suspicion", min_interval=6) is None
    ends = trajectory(healthy(9).steps, proposal(text="Done."))
    assert due(ends, when="both", min_interval=6) is None


def test_it_counts_from_the_last_diagnosis() -> None:
    """A judged message that has left the view counts as far back as the view goes."""
    options: dict[str, Any] = {"when": "interval", "min_interval": 4, "max_interval": 4}
    assert due(healthy(9, judged_step="s6"), **options) is None
    assert due(healthy(9, judged_step="s5"), **options) is not None
    assert due(healthy(9, judged_step="gone"), **options) is not None


@pytest.mark.parametrize(("streak", "steps_"), [(0, 3), (1, 6), (2, 12), (3, 20), (99, 20)])
def test_the_interval_grows_while_nothing_is_found(streak: int, steps_: int) -> None:
    """It doubles up to its maximum."""
    judge = Judge(JudgeOptions(min_interval=3, max_interval=20))
    assert judge.interval(TaskState(judge_streak=streak)) == steps_


def test_the_ledger_keeps_the_streak() -> None:
    """A diagnosis without a failure adds to it; a failure and any repair begin it anew; tokens
    add up; what could not be afforded is asked no more."""

    def told(outcome: str, step: str, tokens: int = 100) -> dict[str, Any]:
        usage = {"judge_tokens": tokens}
        return ledger.diagnosis(TASK, step, why="interval", outcome=outcome, usage=usage)

    healthy_twice = [told("no_failure", "s1"), told("timeout", "s2")]
    folded = ledger.fold(healthy_twice)
    assert (folded.judged_step, folded.judge_streak, folded.judge_tokens) == ("s2", 2, 200)
    assert folded.tokens == 0
    assert ledger.fold([*healthy_twice, told("failure", "s3")]).judge_streak == 0
    repaired = ledger.repair(finding(), TASK, Strategy.ADVISE)
    assert ledger.fold([*healthy_twice, repaired]).judge_streak == 0
    spent = ledger.fold([told("ceiling", "s4", 0)])
    assert due(trajectory((), WORKING, state=spent), SUSPECTED) is None


def test_a_used_up_budget_asks_no_more() -> None:
    """Tokens count for the task."""
    seen = trajectory((), WORKING, state=state(judge_tokens=500))
    assert due(seen, SUSPECTED, max_tokens_per_run=500) is None
    assert due(seen, SUSPECTED, max_tokens_per_run=501) is not None


def test_the_interval_can_not_shrink() -> None:
    """A maximum below the minimum is a mistake, and the error names it."""
    with pytest.raises(ConfigError, match="max_interval"):
        SentryConfig.from_yaml_text("detectors: [{kind: judge, min_interval: 9, max_interval: 3}]")


SUSPICIOUS = steps(*[ran(q=1)] * 2)
"""The next `search` with q=1 is a loop in the making."""


def test_rules_that_do_not_act_raise_a_suspicion() -> None:
    """A finding below the confidence is recorded and the judge asked; again only when new."""
    made = stages()
    unsure = replace(made, repair=made.repair.model_copy(update={"confidence": 1.0}))
    seen = trajectory(SUSPICIOUS, proposal(call(q=1)))
    suppressed, asked = unsure.decide(seen).decisions
    assert isinstance(suppressed, Suppress)
    assert asked == Diagnose("suspicion", (suppressed.finding,))
    known = state(suppressed=frozenset({(suppressed.finding.key, "confidence")}))
    assert unsure.decide(replace(seen, state=known)).decisions == ()


def test_rules_that_act_need_no_judge() -> None:
    """On a step with a repair, hard or soft, nobody is asked, even when the interval is due."""
    made = stages(when="both", min_interval=1, max_interval=1)
    (hard,) = made.decide(trajectory(SUSPICIOUS, proposal(call("nope")))).decisions
    assert isinstance(hard, HardRepair)
    (soft,) = made.decide(trajectory(SUSPICIOUS, proposal(call(q=1)))).decisions
    assert isinstance(soft, SoftRepair)
    (asked,) = made.decide(trajectory(SUSPICIOUS, proposal(call(q=2)))).decisions
    assert asked == Diagnose("interval")


@pytest.mark.parametrize(
    "fields", [{"last_soft_step": "s1"}, {"soft_repairs": 5}, {"tokens": 4_000}, {"seconds": 60.0}]
)
def test_nobody_is_asked_where_nothing_could_come_of_it(fields: dict[str, Any]) -> None:
    """In the cooldown, and where the budgets of repairs are used up."""
    made = stages(when="both", min_interval=1, max_interval=1)
    seen = trajectory(SUSPICIOUS, proposal(call(q=2)), state=state(**fields))
    assert made.decide(seen).decisions == ()


def test_in_shadow_mode_it_is_asked_beside_the_tools_only() -> None:
    """The end of a run never waits for it, and a finding is only recorded."""
    made = stages("shadow", when="both", min_interval=1, max_interval=1)
    seen = trajectory(SUSPICIOUS, proposal(call(q=2)))
    assert made.decide(seen).decisions == (Diagnose("interval"),)
    unsure = replace(made, repair=made.repair.model_copy(update={"confidence": 1.0}))
    asked = [
        any(isinstance(one, Diagnose) for one in unsure.decide(seen).decisions)
        for seen in (
            trajectory(SUSPICIOUS, proposal(call(q=1))),
            trajectory(SUSPICIOUS, proposal(text="")),
        )
    ]
    assert asked == [True, False]
    found = advice(Label.OBJECTIVE_DRIFT, pattern="judge")
    assert made.diagnosed(seen, found) == (Suppress(found, "shadow"),)


FOUND = advice(Label.OBJECTIVE_DRIFT, pattern="judge", confidence=0.9)


def test_a_diagnosis_leads_to_advice() -> None:
    """Beside the call, never instead of it; within the budgets, and once."""
    made, seen = stages(), trajectory(SUSPICIOUS, WORKING)
    assert made.diagnosed(seen, FOUND) == (SoftRepair(FOUND, hold=False),)
    cooling = trajectory(SUSPICIOUS, WORKING, state=state(last_soft_step="s1"))
    assert made.diagnosed(cooling, FOUND) == (Suppress(FOUND, "cooldown"),)
    spent = trajectory(SUSPICIOUS, WORKING, state=state(soft_repairs=5))
    assert made.diagnosed(spent, FOUND) == (Suppress(FOUND, "budget"),)


def test_a_failure_that_returns_is_a_relapse() -> None:
    """The open repair is judged, and the same advice isn't given twice."""
    open_ = active(Label.OBJECTIVE_DRIFT, step="s0")
    seen = trajectory(SUSPICIOUS, WORKING, state=state(open_))
    verify, again = stages().diagnosed(seen, FOUND)
    assert isinstance(verify, Verify)
    assert [one.verdict for one in verify.judgements] == [Verdict.RELAPSED]
    assert again == Suppress(FOUND, "once")


def test_the_judge_alone_holds_no_finish() -> None:
    """A wish to finish is held where a rule had suspected the same failure, and once."""
    made, ends = stages(), trajectory(SUSPICIOUS, proposal(text="Done."))
    assert made.diagnosed(ends, FOUND) == (Suppress(FOUND, "finish"),)
    assert made.diagnosed(ends, FOUND, [finding(Label.HALLUCINATION)]) == (
        Suppress(FOUND, "finish"),
    )
    suspected = finding(Label.OBJECTIVE_DRIFT, confidence=0.3)
    (held,) = made.diagnosed(ends, FOUND, [suspected])
    assert isinstance(held, SoftRepair)
    assert held.hold
    assert held.finding.severity is Severity.HOLD
    failed = trajectory(SUSPICIOUS, proposal(text="Done."), state=state(failed={FOUND.key: 1}))
    assert [type(one) for one in made.diagnosed(failed, FOUND, [suspected])] == [Suppress]
