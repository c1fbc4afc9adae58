"""What a judge adds is counted on the runs that people have labelled, and on their clean ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from bench.recorded import counting, run, says, turns, user, write_runs
from sentry_langgraph.bench.detection.grids import grids
from sentry_langgraph.bench.detection.judged import JudgedScore
from sentry_langgraph.bench.detection.report import measure
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.detect.judge import JudgeOptions
from sentry_langgraph.judge import Asker, Judges
from sentry_langgraph.testing import STRICT, ScriptedChatModel

EVERY_CALL = {"when": "interval", "min_interval": 1, "max_interval": 1}
MISREAD = [user("Find a red bike."), *turns(("blue car", "one"), ("blue van", "two")), says("Two.")]
CLEAN = [user("Find a leaf."), *turns(("tree", "1"), ("leaf", "2")), says("It is 2.")]


def drift_in(*words: str) -> ScriptedChatModel:
    """A judge that sees a drift wherever the newest step has one of the words."""

    def answer(asked: Sequence[AnyMessage]) -> AIMessage:
        newest = next(
            json.loads(line)
            for line in reversed(str(asked[-1].content).splitlines())
            if line.startswith('{"step"')
        )
        called = newest["agent_called"][0]["arguments"]
        hit = next((word for word in words if word in called), None)
        given: dict[str, Any] = {"label": "none", "confidence": 0.9}
        if hit is not None:
            given = {"label": "objective_drift", "confidence": 0.9, "quote": hit}
        return AIMessage(json.dumps({"step": newest["step"], **given}))

    return ScriptedChatModel(script=[answer], on_end="repeat", rules=STRICT)


def asked(tmp_path: Path, model: ScriptedChatModel, **options: Any) -> JudgedScore:
    """Ask about two labelled and four clean runs, one call each a request."""
    label = {"label": "objective_drift", "map": "direct", "source_label": "Misread"}
    partly = {"label": "objective_drift", "map": "partial", "source_label": "Odd"}
    write_runs(
        tmp_path / "runs.jsonl.gz",
        [
            run(MISREAD, id="l0", annotations=[{**partly, "step": 1}]),
            run(MISREAD, id="l1", annotations=[{**label, "step": 3}]),
            *(run(CLEAN, id=f"c{number}") for number in range(4)),
        ],
    )
    settings = counting()
    config = SentryConfig(detectors=(*settings.detectors, {"kind": "judge", **EVERY_CALL}))
    judges = Judges(Asker(model, answer="text"), JudgeOptions.model_validate(EVERY_CALL))
    report = measure(tmp_path, config, peers=False, judges=judges, **options)
    titles = [grid.title for grid in grids(report)]
    assert "With the judge" in titles
    assert json.loads(json.dumps(report.to_dict()))["judged"][0]["source"] == "test_source"
    (score,) = report.judged
    return score


def test_a_label_that_only_the_judge_sees(tmp_path: Path) -> None:
    """Rules alone see none of two, the judge both; the clean runs stay unflagged."""
    score = asked(tmp_path, drift_in("blue"))
    assert [(one.map, one.same.count, one.same.total) for one in score.alone] == [
        ("direct", 0, 1),
        ("partial", 0, 1),
    ]
    assert [one.same.count for one in score.together] == [1, 1]
    assert (score.flagged_alone.count, score.flagged_together.count) == (0, 0)
    assert score.flagged_together.total == 4
    assert score.outcomes == {"no_failure": 8, "failure": 4}
    assert score.requests == 12
    assert score.tokens > 0


def test_false_alarms_of_the_judge_are_counted(tmp_path: Path) -> None:
    """A judge that blames clean runs is seen to do so."""
    score = asked(tmp_path, drift_in("leaf"))
    assert (score.flagged_alone.count, score.flagged_together.count) == (0, 4)
    assert [one.same.count for one in score.together] == [0, 0]


def test_a_part_of_the_runs(tmp_path: Path) -> None:
    """Half without a label, and of the labelled ones those that fit directly first."""
    score = asked(tmp_path, drift_in("blue"), judge_runs=2)
    assert score.runs == 2
    assert [one.map for one in score.alone] == ["direct"]
    assert score.flagged_together.total == 1


def test_answers_that_cannot_be_read_count_as_none(tmp_path: Path) -> None:
    """They are counted by what came of them."""
    score = asked(tmp_path, ScriptedChatModel(script=["Fine, I think."], on_end="repeat"))
    assert score.outcomes == {"unparsed": 12}
    assert [one.same.count for one in score.together] == [0, 0]
