"""Sentences about content in blocks, reasoning, system messages and the order of messages."""

from __future__ import annotations

import re
from dataclasses import replace

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from cases.drive import run
from cases.kinds import scripted
from cases.kinds.scripted import REJECTED
from cases.observe import MARK, Record
from cases.rules import rules
from cases.scene import Scene
from cases.sentences.registry import must, must_not, rule
from sentry_langgraph.testing import check_history


@rule("must", r"no AttributeError/TypeError in monitor, callback or lesson code")
def _no_type_errors(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.error is None
        assert not [text for level, _, text in record.logs if level in ("WARNING", "ERROR")]


@rule("must", r"goal text used for drift == '(?P<text>.*)'")
def _goal(scene: Scene, found: re.Match[str]) -> None:
    """The goal as Sentry quotes it: the request at the end of a repair."""
    given = scene.case.input
    bad = [{**given["model_script"][0], "content": ""}]
    bad[0]["tool_calls"] = [{**bad[0]["tool_calls"][0], "name": "forcast", "id": "c0"}]
    record = scripted.planned(scene.case, "quoted", [*bad, *given["model_script"]]).execute("sync")
    assert record.verdict("c0").text.endswith(f"Original request: {found['text']}")


@must("final message object passes through unchanged (list content)")
def _unchanged(scene: Scene) -> None:
    wanted = scene.case.input["model_script"][-1]["content"]
    for record in scene.main():
        last = record.output["messages"][-1]
        assert isinstance(last, AIMessage)
        assert last.content == wanted


@must_not("tool_use block in content counted as a second tool call")
def _one_call(scene: Scene) -> None:
    for record in scene.main():
        assert len(record.tool_runs) == 1
        assert not record.reported()


# Reasoning


@must("request after the tool result satisfies provider_rules in all variants, also after a repair")
def _satisfies(scene: Scene) -> None:
    """The model refuses a request that breaks them, so that the run ends well is the proof."""
    for record in scene.each():
        assert record.error is None, record.name
        assert record.final == "Mild."
        rejected = REJECTED in record.name
        assert record.calls == (3 if rejected else 2)
        assert [event["strategy"] for event in record.kinds("repair")] == ["hard"] * rejected


@must("signature 'SIG' and reasoning_content unchanged in state")
def _reasoning_kept(scene: Scene) -> None:
    for name, said in scene.case.input["variants"].items():
        for record in scene.each(name):
            for message in record.messages:
                if isinstance(message, AIMessage) and message.tool_calls:
                    kept = message.additional_kwargs.get("reasoning_content")
                    assert kept == said.get("additional_kwargs", {}).get("reasoning_content")
                    if isinstance(said["content"], list):
                        assert message.content[0] == said["content"][0]


@must_not("thinking text used as the visible answer or as evidence of premature termination")
def _thinking(scene: Scene) -> None:
    for record in scene.each():
        assert "need city" not in record.own_text()
        assert not any("need city" in text for text in record.repair_texts())
        assert not record.reported("premature_termination")
    # a thought that announces an action is no announcement
    said = {
        "role": "ai",
        "content": [
            {"type": "thinking", "thinking": "Let me look up the weather.", "signature": "SIG"},
            {"type": "text", "text": "It is mild."},
        ],
    }
    record = scripted.planned(scene.case, "thought", [said]).execute("sync")
    assert record.calls == 1
    assert not record.reported()


@must_not(
    "synthetic assistant messages with tool_calls created by sentry (they cannot carry valid "
    "reasoning)"
)
def _synthetic(scene: Scene) -> None:
    for record in scene.each():
        made = {message.id for message in record.produced}
        for messages in (*record.requests, record.messages):
            assert all(m.id in made for m in messages if isinstance(m, AIMessage))


# System messages


@must(
    "guidance reaches the model and the request satisfies provider_rules for hard AND soft repair"
)
def _reaches(scene: Scene) -> None:
    for record in scene.main():
        assert record.error is None
        assert record.advice()
    for record in _hard(scene):
        assert record.error is None
        assert [event["strategy"] for event in record.kinds("repair")] == ["hard"]
        assert any(isinstance(message, ToolMessage) for message in record.guidance())


def _hard(scene: Scene) -> list[Record]:
    """The same case with a call that can't run first."""
    first = {
        "role": "ai",
        "content": "",
        "tool_calls": [{"name": "pong", "args": {}, "id": "bad"}],
    }
    good = {
        "role": "ai",
        "content": "",
        "tool_calls": [{"name": "ping", "args": {}, "id": "good"}],
    }
    turns = [first, good, {"role": "ai", "content": "It answered."}]
    return [scripted.planned(scene.case, "hard", turns).execute(mode) for mode in ("sync", "async")]


@must("user's system prompt text still present and first")
def _prompt_first(scene: Scene) -> None:
    prompt = scene.case.input["messages"][0]["content"]
    for record in (*scene.main(), *_hard(scene)):
        for request in record.requests:
            assert isinstance(request[0], SystemMessage)
            assert request[0].content == prompt
            assert sum(isinstance(message, SystemMessage) for message in request) == 1


@must_not("guidance SystemMessage persisted in state messages")
def _system_kept(scene: Scene) -> None:
    for record in (*scene.main(), *_hard(scene)):
        own = [m for m in record.messages if isinstance(m, SystemMessage)]
        assert len(own) == 1
        assert MARK not in own[0].additional_kwargs


@must_not("guidance duplicated in later requests after the failure is resolved")
def _duplicated(scene: Scene) -> None:
    """A second turn on the thread, after the answer that resolved the loop."""
    made = scripted.scenario(
        scene.case, "later", [*scene.case.input["model_script"], {"role": "ai", "content": "bye"}]
    )
    later = {"messages": [HumanMessage("and then?", id="later")]}
    record = run(replace(made, inputs=[*made.inputs, later]))
    assert record.error is None
    assert len(record.advice(3)) == 1
    assert not record.advice(4)


# Order


@rule("must", r"all (?P<count>\d+) requests satisfy provider_rules")
def _all_requests(scene: Scene, found: re.Match[str]) -> None:
    wanted = rules(scene.case.input["provider_rules"])
    for record in scene.main():
        assert record.error is None
        assert record.calls == int(found["count"])
        for request in record.requests:
            assert check_history(request, wanted) == []


@rule(
    "must",
    r"repair for (?P<call>\w+) is carried by a ToolMessage\(status='error', tool_call_id='\w+'\) "
    r"or by a human message AFTER both ToolMessages",
)
def _carried(scene: Scene, found: re.Match[str]) -> None:
    """By the ToolMessage."""
    for record in scene.main():
        (answer,) = record.results(found["call"])
        assert answer.status == "error"
        assert MARK in answer.additional_kwargs
        assert not record.advice()
