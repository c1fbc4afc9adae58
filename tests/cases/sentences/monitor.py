"""Sentences about loops, stalls and ends."""

from __future__ import annotations

import re

from langchain_core.messages import HumanMessage

from cases.kinds import scripted
from cases.observe import Record, ours
from cases.scene import Scene
from cases.sentences.registry import must, must_not, rule

LOOPS = ("loop",)


def step_of(record: Record, event: dict[str, object]) -> int:
    """Which answer of the model an event is about, from 1."""
    ids = [str(message.id) for message in record.produced]
    return ids.index(str(event["step"])) + 1


@rule("must", r"failure '(?P<name>\w+)' reported at step (?P<step>\d+), not before.*")
def _reported_at(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        failures = record.failures(found["name"])
        assert min(step_of(record, event) for event in failures) == int(found["step"])
        assert all(
            step_of(record, event) >= int(found["step"]) for event in record.reported(found["name"])
        )


@rule(
    "must", r"exactly one soft guidance injected before the (?P<call>\d+)(?:st|nd|rd|th) model call"
)
def _one_guidance(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        at = int(found["call"]) - 1
        assert len(record.advice(at)) == 1
        assert not record.advice(at - 1)
        assert len(record.advice()) == 1


@rule("must", r"(?P<call>\w+) runs; recovery is verified within H=(?P<steps>\d+) steps")
def _recovers_within(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.verdict(found["call"]).outcome == "allow"
        (repair,) = record.kinds("repair")
        (verdict,) = record.kinds("verdict")
        assert verdict["verdict"] == "recovered"
        assert step_of(record, verdict) - step_of(record, repair) <= int(found["steps"])


@must_not("guidance repeated on every step")
def _guidance_repeated(scene: Scene) -> None:
    for record in scene.main():
        assert len(record.advice()) == 1
        assert all(len(record.advice(at)) <= 1 for at in range(record.calls))


@must_not(
    "with an endlessly repeating model: more than loop_repeat + bounded interventions model calls, "
    "or reliance on recursion_limit to stop"
)
def _endless(scene: Scene) -> None:
    for record in scene.each("endless"):
        bounded(record, scene)


def bounded(record: Record, scene: Scene, most: int = 12) -> None:
    """The run was stopped by Sentry, with few model calls."""
    assert record.error is None
    assert record.calls <= most
    assert [event["outcome"] for event in record.kinds("escalation")] == ["stopped"]


@must("identical args with CHANGING results is progress")
def _progress(scene: Scene) -> None:
    for record in scene.main():
        assert not record.reported()
        assert not record.guidance()


@must("one 'loop' failure with period 2 reported after at most 3 full periods (6 calls)")
def _one_cycle(scene: Scene) -> None:
    for record in scene.main():
        failures = record.failures("loop")
        assert {event["key"] for event in failures} == {failures[0]["key"]}
        assert failures[0]["evidence"]["period"] == 2
        assert failures[0]["pattern"] == "cycle"
        assert step_of(record, failures[0]) <= 6


@must("the pair is treated as one signature: a later A-B pair does not start from zero")
def _one_signature(scene: Scene) -> None:
    for record in scene.main():
        counts = [event["evidence"]["count"] for event in record.failures("loop")]
        assert counts == sorted(counts)
        assert counts[0] == 3
        repairs = record.kinds("repair")
        assert [event["strategy"] for event in repairs] == ["advise", "hold"]


@must_not("no detection within 12 calls")
def _undetected(scene: Scene) -> None:
    assert all(record.failures("loop") for record in scene.main())


@must_not("two independent loop failures for the same cycle")
def _two_failures(scene: Scene) -> None:
    for record in scene.main():
        assert len({event["key"] for event in record.failures("loop")}) == 1


# Reading without end


@rule("must", r"exactly one (?P<name>\w+) failure, raised at the (?P<step>\d+)\w\w consecutive .*")
def _exactly_one(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        (failure,) = record.failures(found["name"])
        assert step_of(record, failure) == int(found["step"])


@must("guidance mentions acting on the original request")
def _mentions_request(scene: Scene) -> None:
    for record in scene.main():
        request = str(scene.case.input["messages"][0]["content"])
        assert any("act on the request" in t and request in t for t in record.repair_texts())


@rule("must", r"after (?P<call>\w+) the counter is reset and recovery is verified")
def _counter_reset(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.verdict(found["call"]).outcome == "allow"
        assert [event["verdict"] for event in record.kinds("verdict")] == ["recovered"]


@rule("must_not", r"(?P<name>\w+) failure(?: \(.*\))?")
def _no_failure_of(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert not record.reported(found["name"])


@rule("must_not", r"(?P<name>\w+) when a write tool is used at step (?P<step>\d+)")
def _write_resets(scene: Scene, found: re.Match[str]) -> None:
    """The same run with the change in the middle."""
    turns = list(scene.case.input["model_script"])
    change = next(t for t in turns if t.get("tool_calls", [{}])[0].get("name") == "edit")
    at = int(found["step"]) - 1
    changed = [*turns[:at], change, *(t for t in turns[at:] if t is not change)]
    run = scripted.planned(scene.case, "write in between", changed)
    assert not run.execute("sync").reported(found["name"])


# Ends


@must("bounded: at most max repairs continuations")
def _bounded(scene: Scene) -> None:
    """A model that only ever announces is asked again a few times, and the run ends."""
    said = scene.case.input["variants"]["str"]
    record = scripted.planned(scene.case, "endless", [{"repeat": 50, "turn": said}]).execute("sync")
    assert record.error is None
    assert 1 < record.calls <= 6
    assert len(record.kinds("repair")) == record.calls - 1


@must("repair is delivered as a message the next model call sees")
def _delivered(scene: Scene) -> None:
    for name in ("str", "blocks"):
        for record in scene.each(name):
            (told,) = record.advice(1)
            assert record.requests[1][-1].id == told.id


@must("run returns normally in a bounded number of model calls")
def _returns(scene: Scene) -> None:
    for record in scene.main():
        bounded(record, scene)


@must(
    "outcome in state/final message says stopped because of loop and task likely incomplete",
)
def _says_stopped(scene: Scene) -> None:
    for record in scene.main():
        says_stopped(record)


def says_stopped(record: Record) -> None:
    """The last message is an honest partial answer."""
    mark = record.messages[-1].additional_kwargs["sentry"]
    assert mark["outcome"] == "stopped"
    assert mark["finished"] is False
    assert mark["stop_reason"] in ours("loop")
    assert "stopped before the request was finished" in record.final
    assert "probably incomplete" in record.final


@must("recovery status == failed")
def _failed(scene: Scene) -> None:
    for record in scene.main():
        verdicts = [event["verdict"] for event in record.kinds("verdict")]
        assert verdicts
        assert "recovered" not in verdicts


@must_not("words 'completed' / 'no further action needed' in text written by sentry")
def _claims(scene: Scene) -> None:
    for record in scene.main():
        texts = [*record.repair_texts(), record.final]
        assert not any(
            re.search(r"(?<!in)complete[sd]?\b|no further action|all done", text, re.IGNORECASE)
            for text in texts
        )


@must_not("lesson stored as verified")
def _no_lesson(scene: Scene) -> None:
    for record in scene.main():
        assert not record.lessons


@must_not("status success")
def _no_success(scene: Scene) -> None:
    for record in scene.main():
        last = record.results(f"c{record.calls}")
        assert [message.status for message in last] == ["error"]
        assert record.messages[-1].additional_kwargs["sentry"]["finished"] is False


@must_not("executing a call parsed out of content text")
def _parsed_out(scene: Scene) -> None:
    for record in scene.each():
        made = {call["id"] for message in record.produced for call in message.tool_calls}
        assert len(record.tool_runs) == len(made)


@must(
    "first intervention no later than b3; failure is loop, stall or reasoning_action_mismatch "
    "(stated 'stop', acted)"
)
def _first_intervention(scene: Scene) -> None:
    allowed = ours("loop") | ours("stall") | ours("reasoning_action_mismatch")
    for record in scene.main():
        first = record.kinds("repair")[0]
        assert step_of(record, first) <= 3
        assert first["label"] in allowed


@must("empty-string result with status success counts as an unchanged result")
def _empty_result(scene: Scene) -> None:
    for record in scene.main():
        assert record.failures("loop")[0]["evidence"]["count"] == 3
        assert str(record.results("b1")[0].content) == ""


@must("bounded end with outcome 'stopped, no progress'")
def _stopped(scene: Scene) -> None:
    for record in scene.main():
        bounded(record, scene)
        says_stopped(record)


@rule("must_not", r"(?P<count>\d+) model calls")
def _fewer_calls(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.calls < int(found["count"])


@must_not("crash on empty ToolMessage content")
def _no_crash(scene: Scene) -> None:
    for record in scene.main():
        assert record.error is None
        assert not [text for level, _, text in record.logs if level == "ERROR"]


# Grounding


@must("card_new calls 1 and 2 still run")
def _cards_run(scene: Scene) -> None:
    for record in scene.main():
        assert len(record.runs("card_new")) == 2


@must("guidance says to use ids returned by earlier tool results")
def _says_ids(scene: Scene) -> None:
    for record in scene.main():
        told = " ".join(record.repair_texts())
        assert "card_new" in told
        assert "id" in told


@must_not("flagging an id the USER typed in a HumanMessage")
def _typed_id(scene: Scene) -> None:
    """The second source with its id in the request."""
    turns = [
        {
            "role": "ai",
            "content": "",
            "tool_calls": [
                {"name": "card_move", "args": {"id": "k-5555", "column": "x"}, "id": "u"}
            ],
        },
        scripted.ENDS,
    ]
    said = [{"role": "human", "content": "Move card k-5555 to x."}]
    record = scripted.planned(scene.case, "typed", turns, messages=said).execute("sync")
    assert record.runs("card_move") == [{"id": "k-5555", "column": "x"}]
    assert not record.reported("hallucinated_id")


@must_not(
    "flagging id fields of tools whose ids are legitimately chosen by the model (config opt-out "
    "per tool/arg)"
)
def _opted_out(scene: Scene) -> None:
    from dataclasses import replace

    from cases.drive import run

    turns = scene.case.input["model_script"]
    made = scripted.scenario(scene.case, "exempt", turns)
    tools = {"card_move": {"exempt": ["hallucination"]}}
    record = run(replace(made, settings={**made.settings, "tools": tools}))
    assert not record.reported("hallucinated_id")


@rule(
    "must",
    r"(?P<name>\w+) reported during (?P<first>\w+)\.\.(?P<last>\w+), guidance restates the "
    r"original request text",
)
def _during(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        ids = [c["id"] for message in record.produced for c in message.tool_calls]
        start, end = ids.index(found["first"]) + 1, ids.index(found["last"]) + 1
        failures = record.failures(found["name"])
        assert failures
        assert all(start <= step_of(record, event) <= end for event in failures)
        request = str(scene.case.input["messages"][0]["content"])
        assert any(request in text for text in record.repair_texts())


@rule("must", r"recovered at (?P<call>\w+)")
def _recovered_at(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        verdicts = record.kinds("verdict")
        assert verdicts[-1]["verdict"] == "recovered"
        ids = [c["id"] for message in record.produced for c in message.tool_calls]
        assert step_of(record, verdicts[-1]) >= ids.index(found["call"]) + 1


@rule("must_not", r"drift reported on turn (?P<turn>\d+)")
def _not_on_turn(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        steps = [step_of(record, event) for event in record.reported("goal_drift")]
        assert int(found["turn"]) not in steps


@must_not("drift reported for a step that only names a file needed for the goal")
def _needed_file(scene: Scene) -> None:
    for record in scene.main():
        steps = [step_of(record, event) for event in record.reported("goal_drift")]
        assert len(record.produced) - 1 not in steps
        assert all(isinstance(record.requests[0][0], HumanMessage) for _ in steps)
