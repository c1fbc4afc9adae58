"""Sentences about interrupts, commands, async tools, structured answers and model errors."""

from __future__ import annotations

import json
import re

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from cases.agents import react
from cases.assume import settings
from cases.drive import Scenario, run
from cases.observe import MARK, Record
from cases.scene import Scene
from cases.scripts import messages
from cases.sentences.registry import must, must_not, rule
from cases.special.gate_time import gate_seconds
from sentry_langgraph.testing import STRICT, ai, call, check_history

# Interrupts


@rule("must", r"sentry counts call id '(?P<call>\w+)' once for loop/breaker/step statistics")
def _counted_once(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        answers = [
            m
            for m in record.messages
            if isinstance(m, ToolMessage) and m.tool_call_id == found["call"]
        ]
        assert len(answers) == 1
        assert not record.reported()


@must("if tool 'free' raised on the replay only, breaker count is 1")
def _replay_fails(scene: Scene) -> None:
    """The failure on the replay is one observation of one call."""
    for record in scene.each("fails_on_replay"):
        answers = [m for m in record.messages if isinstance(m, ToolMessage)]
        assert [m.tool_call_id for m in answers] == ["a", "b"]
        assert answers[0].status == "error"
        assert len(record.events) <= 1


@must("lesson/verification records written once (keyed by thread_id + tool_call_id)")
def _written_once(scene: Scene) -> None:
    """A repair beside an interrupted call: the resume writes no event twice."""
    specs = scene.case.input["tools"]
    turns = [
        ai("", call("free", {"y": "1"}, id="bad"), call("approve", {"x": "2"}, id="b")),
        ai("", call("free", {"x": "1"}, id="good")),
        "ok",
    ]
    for mode in ("sync", "async"):
        record = run(
            Scenario(
                "beside",
                react(specs),
                turns,
                [{"messages": [("user", "go")]}, Command(resume="yes")],
                settings(),
            ),
            mode,
        )
        assert record.final == "ok"
        ids = [event["id"] for event in record.events]
        assert len(ids) == len(set(ids))
        assert [event["kind"] for event in record.events] == ["failure", "repair", "verdict"]


@must_not("loop reported after 3 resumes of ONE call")
def _no_loop(scene: Scene) -> None:
    for record in scene.each("three_resumes"):
        assert not record.reported("loop")


@must_not("sentry itself re-invoking the model or the store write inside the replayed node")
def _no_reinvoke(scene: Scene) -> None:
    for record in scene.each():
        assert record.calls == len(scene.case.input["model_script"])
        assert not record.lessons


@rule(
    "must",
    r"request after resume satisfies provider_rules with exactly one ToolMessage for "
    r"(?P<first>\w+) and one for (?P<second>\w+)",
)
def _one_each(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        results = [m.tool_call_id for m in record.requests[-1] if isinstance(m, ToolMessage)]
        assert sorted(results) == sorted([found["first"], found["second"]])
        assert check_history(record.requests[-1], STRICT) == []


@must("human rejection is not counted as tool failure, loop or schema failure")
def _rejection(scene: Scene) -> None:
    for record in scene.each():
        assert record.error is None
        assert not record.events


@rule("must_not", r"sentry asking the model to retry (?P<call>\w+)")
def _no_retry(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert not record.guidance()


# Commands


@must(
    "result of the wrapped graph == result of the unwrapped graph for each tool (state keys, "
    "messages, goto)"
)
def _same_result(scene: Scene) -> None:
    for record in scene.each():
        bare: Record = record.extra["bare"]
        assert type(record.error) is type(bare.error)
        assert str(record.error) == str(bare.error)
        assert _shape(record) == _shape(bare), record.name


def _shape(record: Record) -> tuple[object, ...]:
    state = {k: v for k, v in record.values.items() if k not in ("messages", MARK)}
    told = [(m.type, str(m.text), getattr(m, "tool_call_id", None)) for m in record.messages]
    return state, told, record.tool_runs


@rule("must", r"monitor sees observation '(?P<text>\w+)' for (?P<call>\w+) also when it is .*")
def _sees_observation(scene: Scene, found: re.Match[str]) -> None:
    """A call whose result stands in a command is a step with a result: repeated, it is a loop."""
    specs = scene.case.input["tools"]
    turns = [ai("", call("rename", {"n": "Tim"}, id=f"r{n}")) for n in range(3)]
    record = run(
        Scenario(
            "repeated",
            react([spec for spec in specs if spec["name"] == "rename"]),
            [*turns, "done"],
            [{"messages": messages(scene.case.input["messages"])}],
            settings({"loop_repeat": 3}),
        )
    )
    assert [event["evidence"]["count"] for event in record.failures("loop")] == [3]
    for one in scene.each("rename"):
        assert not one.reported("no_observable_output")
        assert str(one.results(found["call"])[0].content) == found["text"]


@must("ParentCommand is not a failure")
def _parent_command(scene: Scene) -> None:
    for record in scene.each("handoff"):
        assert record.error is None
        assert record.messages[-1].id == "other"
        assert not record.events
        assert not record.seen


@must_not("str(Command) as tool output")
def _no_str(scene: Scene) -> None:
    for record in scene.each():
        assert not any("Command(" in str(message.content) for message in record.messages)


# Parallel workers


@must("both rejections recorded")
def _both_recorded(scene: Scene) -> None:
    for record in scene.each():
        failures = [event for event in record.seen if event["kind"] == "failure"]
        assert [event["label"] for event in failures] == ["invalid_arguments"] * 2
        namespaces = {event["checkpoint_ns"].partition(":")[0] for event in failures}
        assert namespaces == {"w1", "w2"}


@must("no InvalidUpdateError")
def _no_update_error(scene: Scene) -> None:
    for record in scene.each():
        assert record.error is None
        assert record.calls == 6


@must("user's own keys keep their reducers")
def _reducers(scene: Scene) -> None:
    for record in scene.each():
        assert record.values["notes"] == ["user", "supervisor"]
        finals = [str(m.text) for m in record.messages if isinstance(m, AIMessage) and m.text]
        assert sorted(finals) == ["done w1", "done w2"]


@must_not("user state schema required to declare sentry keys")
def _undeclared(scene: Scene) -> None:
    from cases.special.nested import Supervised

    assert set(Supervised.__annotations__) == {"messages", "notes"}
    assert all(record.error is None for record in scene.each())


# Async tools


@must_not("sentry calling tool.invoke() itself")
def _no_invoke(scene: Scene) -> None:
    for record in scene.each():
        assert len(record.tool_runs) <= 1


@must_not("blocking the event loop > 50 ms per gate check")
def _not_blocking(scene: Scene) -> None:
    """A whole superstep of model, gate and end takes less than the gate alone may."""
    assert gate_seconds() < 0.05


@must("ToolMessage.content of c1 and c2 unchanged (same list)")
def _unchanged(scene: Scene) -> None:
    from cases.words import _expanded

    for record in scene.main():
        for spec, call_id in zip(scene.case.input["tools"], ("c1", "c2"), strict=True):
            (answer,) = record.results(call_id)
            assert answer.content == _expanded(spec["returns"])


@must("loop signature uses the text and a digest of the image")
def _digest(scene: Scene) -> None:
    """The same image again is a repeat; another image under the same text is progress."""
    (spec,) = [tool for tool in scene.case.input["tools"] if tool["name"] == "img"]
    other = json.loads(json.dumps(spec["returns"]).replace("<200 kB>", "<100 kB>"))
    for results, loops in (([spec["returns"]], True), ([spec["returns"], other], False)):
        words = ", ".join(repr(results[n % len(results)]) for n in range(3))
        changed = {**spec, "behaviour": f"successive results: {words}"}
        turns = [ai("", call("img", id=f"i{n}")) for n in range(3)]
        record = run(
            Scenario(
                "images",
                react([changed]),
                [*turns, "done"],
                [{"messages": [("user", "x")]}],
                settings(),
            )
        )
        assert bool(record.failures("loop")) is loops
        assert max(map(len, record.own_texts()), default=0) < 4_000


@must("lesson text / logs / sentry state contain no base64 payload (each < 4 kB)")
def _no_payload(scene: Scene) -> None:
    for record in scene.each():
        assert all(len(text) < 4_000 and "QUJDQUJD" not in text for text in record.own_texts())


@must_not("TypeError from string operations on a list", "conversion of blocks to repr text")
def _no_type_error(scene: Scene) -> None:
    for record in scene.each():
        assert record.error is None
        assert not [text for level, _, text in record.logs if level == "ERROR"]
        for call_id in ("c1", "c2"):
            assert all(isinstance(m.content, list) for m in record.results(call_id))


# Structured answers


@rule("must", r"'(?P<name>\w+)' is never reported as unknown_tool")
def _never_unknown(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert not record.reported("unknown_tool")


@must("valid: structured_response.result == 'ok', no failure")
def _valid(scene: Scene) -> None:
    for record in scene.each("valid"):
        assert record.output["structured_response"].result == "ok"
        assert not record.reported()


@must("invalid_then_ok: structured_response 'ok'")
def _then_ok(scene: Scene) -> None:
    for record in scene.each("invalid_then_ok"):
        assert record.output["structured_response"].result == "ok"


@must(
    "mixed: structured_response 'ok' after a repair, or the run ends with an explicit "
    "premature_termination record (documented), never silently"
)
def _mixed(scene: Scene) -> None:
    for record in scene.each("mixed"):
        answered = record.output.get("structured_response")
        recorded = record.reported("premature_termination") + record.reported(
            "structured_output_invalid"
        )
        assert recorded, "it ended silently"
        assert answered is not None
        assert answered.result == "ok"


@must_not("AI turn that only calls the structured-output tool classed as premature or empty")
def _not_premature(scene: Scene) -> None:
    for record in (*scene.each("valid"), *scene.each("invalid_then_ok")):
        assert not record.reported("premature_termination")


# Errors of the model


@rule("must", r"the original (?P<name>\w+) type and attributes \((?P<field>\w+)\) reach the caller")
def _reaches(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        (error,) = record.extra["errors"]
        assert type(error).__name__ == found["name"]
        assert getattr(error, found["field"]) == 1


@rule("must", r"resume finishes with '(?P<text>[^']*)'")
def _resumed(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.final == found["text"]


@rule("must", r"tool (?P<tool>\w+) ran once in total")
def _ran_once(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert len(record.runs(found["tool"])) == 1


@must(
    "sentry counters, guidance and pending verification are the same before and after the resume "
    "(no double count)"
)
def _same_state(scene: Scene) -> None:
    """Also when a repair was under way: its events stand there once, before and after."""
    for record in scene.main():
        before, after = record.extra["ledgers"]
        assert before == after == []
    from cases.words import exception

    error = exception("RateLimitError('429', retry_after=1)")
    turns = [ai("", call("forcast", {"city": "Oslo"}, id="c0")), error, *_finish()]
    for mode in ("sync", "async"):
        record = run(
            Scenario(
                "during a repair",
                react(scene.case.input["tools"]),
                turns,
                [{"messages": [("user", "Weather?")]}, None],
                settings(),
            ),
            mode,
        )
        before, after = record.extra["ledgers"]
        assert [event["kind"] for event in before] == ["failure", "repair"]
        assert after[:2] == before
        assert [event["kind"] for event in after] == ["failure", "repair", "verdict"]
        assert len(record.guidance()) == 1


def _finish() -> list[object]:
    return [ai("", call("forecast", {"city": "Oslo"}, id="c1")), "Mild."]


@must_not("429 recorded as behavioural failure, breaker failure or lesson")
def _not_recorded(scene: Scene) -> None:
    for record in scene.main():
        assert not record.events
        assert not record.lessons


@must_not("swallowing the error and ending the run")
def _not_swallowed(scene: Scene) -> None:
    for record in scene.main():
        assert len(record.extra["errors"]) == 1
        assert record.extra["left"] == 0
