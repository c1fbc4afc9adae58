"""The judge as verifier turns an expired repair into a recovered one, on evidence only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import active, call, proposal, ran, steps, trajectory

from sentry_langgraph.judge import confirm_recovery, drive
from sentry_langgraph.records import Judgement
from sentry_langgraph.taxonomy import Verdict

from .samples import judges, scripted

REPAIR = active(step="s0")
EXPIRED = Judgement(REPAIR, Verdict.EXPIRED, "no recovery within 2 steps", undecided=True)


def reviewed(said: Any, spent: int = 0, judgement: Judgement = EXPIRED) -> Any:
    """What comes of asking."""
    seen = trajectory(steps(ran(q=1), ran(q=2), ran(q="blue")), proposal(call(q=3)))
    return drive(confirm_recovery(judges(scripted(said)), judgement, seen, spent))


def yes(**fields: Any) -> str:
    """An answer that it has recovered."""
    return json.dumps(
        {"recovered": True, "step": "s3", "quote": "blue", "confidence": 0.9, **fields}
    )


def test_a_recovery_that_is_shown_counts() -> None:
    """The event says who gave the verdict, and what it cost; it teaches nothing."""
    given = reviewed(yes())
    assert given.judgement.verdict is Verdict.RECOVERED
    assert given.judgement.path == ()
    event = given.recorded({"id": "1", "verdict": "expired"})
    assert (event["verdict"], event["by"], event["judge"]) == ("recovered", "judge", "recovered")
    assert event["judge_calls"] == 1
    assert event["judge_tokens"] > 0


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (yes(recovered=False), "not_recovered"),
        (yes(step="s1", quote="1"), "unknown_step"),  # the step that was repaired
        (yes(step="s8"), "unknown_step"),
        (yes(quote="red"), "unfounded_quote"),
        (yes(quote="found"), "unfounded_quote"),  # words of a result
        (yes(confidence=0.2), "unsure"),
        ("yes", "unparsed"),
        (TimeoutError(), "timeout"),
    ],
)
def test_otherwise_the_verdict_of_the_rules_stands(said: Any, outcome: str) -> None:
    """An answer without evidence after the repair counts for nothing."""
    given = reviewed(said)
    assert (given.judgement, given.outcome) == (EXPIRED, outcome)
    assert given.recorded({})["by"] == "rules"


def test_nothing_is_asked_where_it_would_be_in_vain() -> None:
    """The repaired step is out of view, or the budget is used up."""
    assert reviewed(yes(), spent=19_900).outcome == "ceiling"
    gone = Judgement(active(step="gone"), Verdict.EXPIRED, "", undecided=True)
    assert reviewed(yes(), judgement=gone).outcome == "out_of_view"
