"""The judge in a loop without LangGraph: asked in the step, sync and async alike."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest

from sentry_langgraph.errors import ConfigError
from sentry_langgraph.runner import AgentStep, Repair, SentryRunner, Summary, agent_step_from_parts
from sentry_langgraph.taxonomy import Strategy
from sentry_langgraph.testing import STRICT, ScriptedChatModel

TOOLS = {
    "search": {"type": "object", "properties": {"q": {"type": "string"}}},
    "cancel_order": {"type": "object", "properties": {"order_id": {"type": "string"}}},
}
DUE = {"kind": "judge", "when": "interval", "min_interval": 2, "max_interval": 2}


def answer(**fields: Any) -> str:
    """A diagnosis of the second step."""
    given = {"label": "objective_drift", "step": "s2", "quote": "cats", "confidence": 0.9}
    return json.dumps({**given, **fields})


def ran(id_: str, q: str, result: str = "found") -> AgentStep:
    """A search."""
    return agent_step_from_parts(id_, tool_name="search", tool_args={"q": q}, observation=result)


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Literal["sync", "async"]:
    """Sync and async are one body."""
    found: Literal["sync", "async"] = request.param
    return found


async def run(
    way: str, judge: ScriptedChatModel, *steps: AgentStep, end: bool = False, **config: Any
) -> tuple[list[Repair | None], Summary]:
    """What each step gives back, and the summary."""
    settings = {"playbook": {"kind": "none"}, "detectors": [DUE], **config}
    sentry = SentryRunner(settings, judge=judge)
    sentry.start_task("Cancel the order of Ann", TOOLS)
    given = []
    for step in steps:
        last = end and step is steps[-1]
        if way == "async":
            given.append(await sentry.astep(step, terminal=last))
        else:
            given.append(await asyncio.to_thread(sentry.step, step, last))
    return given, sentry.finalize()


def judge_of(*said: Any) -> ScriptedChatModel:
    """A scripted judge."""
    return ScriptedChatModel(script=list(said), rules=STRICT, on_end="repeat")


async def test_advice_comes_back(way: str) -> None:
    """The judge sees the step with its result, and what it finds is a repair like others."""
    judge = judge_of(answer())
    (first, second), summary = await run(way, judge, ran("1", "order"), ran("2", "cats", "meow"))
    assert first is None
    assert second is not None
    assert second.strategy is Strategy.ADVISE
    assert "no longer serve the request" in second.prompt_text
    assert second.prompt_text.endswith("Cancel the order of Ann")
    assert '"result": "meow"' in str(judge.requests[0][1].content)
    kinds = [event["kind"] for event in summary.events]
    assert kinds == ["diagnosis", "failure", "repair"]
    assert summary.events[0]["judge_tokens"] > 0


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (answer(label="none"), "no_failure"),
        ("?", "unparsed"),
        (answer(step="s5"), "unknown_step"),
        (RuntimeError(), "error"),
    ],
)
async def test_an_answer_that_does_not_count(way: str, said: Any, outcome: str) -> None:
    """Is recorded, and the loop goes on."""
    given, summary = await run(way, judge_of(said), ran("1", "order"), ran("2", "cats"))
    assert given == [None, None]
    assert [event.get("outcome") for event in summary.events] == [outcome]


async def test_shadow_mode_records_only(way: str) -> None:
    """Nothing comes back."""
    steps = ran("1", "order"), ran("2", "cats")
    given, summary = await run(way, judge_of(answer()), *steps, mode="shadow")
    assert given == [None, None]
    assert [event["kind"] for event in summary.events] == ["diagnosis", "suppressed"]


async def test_it_gives_the_verdict_where_rules_can_not(way: str) -> None:
    """At the horizon, asked with the steps that followed."""
    said = json.dumps({"recovered": True, "step": "s3", "quote": "Ann", "confidence": 0.9})
    steps = ran("1", "order"), ran("2", "cats"), ran("3", "order of Ann"), ran("4", "orders")
    config: dict[str, Any] = {"verify": {"horizon": 1, "judge": True}}
    _, summary = await run(way, judge_of(answer(), said), *steps, **config)
    (verdict,) = summary.verdicts
    assert (verdict["verdict"], verdict["by"]) == ("recovered", "judge")


def test_a_healthy_loop_asks_nobody() -> None:
    """Given a model and nothing else, the judge waits for a suspicion."""
    judge = ScriptedChatModel()
    sentry = SentryRunner({"playbook": {"kind": "none"}}, judge=judge)
    sentry.start_task("Cancel the order of Ann", TOOLS)
    for number in range(10):
        assert sentry.step(ran(str(number), f"q{number}", f"r{number}")) is None
    assert judge.calls == 0


def test_a_judge_needs_a_model() -> None:
    """As in a graph; with mode off nothing is built."""
    with pytest.raises(ConfigError, match="the judge has no model"):
        SentryRunner({"detectors": [{"kind": "judge"}]})
    SentryRunner({"detectors": [{"kind": "judge"}], "mode": "off"})
