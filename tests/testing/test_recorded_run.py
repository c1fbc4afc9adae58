"""Traces: reading recorded runs, and acting them again through real graphs."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph.state import CompiledStateGraph

from sentry_langgraph.testing import (
    STRICT,
    RecordedChatModel,
    RecordedRun,
    ScriptExhausted,
    TraceError,
    ai,
    load_runs,
    parse_run,
    react_graph,
    recorded_tools,
)

SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Read one order.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "self": {"type": "boolean"}},
                "required": ["order_id"],
            },
        },
    },
    {"type": "function", "function": {"name": "submit", "parameters": {"type": "object"}}},
]


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _said(content: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def _tool(call_id: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def _user(content: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content, **({"tool_calls": list(calls)} if calls else {})}


MESSAGES = [
    _said("Hello! How can I help?"),
    _user("Where is my order?"),
    _user("It is A1."),
    _said("Let me look.", _call("c1", "get_order", '{"order_id": "A1", "self": true}')),
    _tool("c1", "pending"),
    _said(None, _call("c2", "get_order", '{"self":true,"order_id":"A1"}')),
    _tool("c2", "shipped"),
    _said(None, _call("c3", "get_order", '{"order_id": "B2"}'), _call("c4", "submit", "")),
    _tool("c3", "Error: no such order", error=True),
    _tool("c4", "", error=False),
    _said("It is shipped. Please restart your phone."),
    _user(None, _call("u1", "reboot", "{}")),
    _tool("u1", "rebooted", requestor="user"),
    _said("Did it help?"),
    _user(None, _call("c1", "check", "{}")),
    _tool("c1", "ok", requestor="user"),
    _user("Yes, thanks."),
    _said(None, _call("c1", "get_order", "{order_id: A1}"), _call("c6", "get_order", "[1]")),
    _user("###STOP###"),
]

RUN: dict[str, Any] = {
    "source": "made_here",
    "id": "r1",
    "model": None,
    "task": "find the order",
    "tools": "@toolset:shop",
    "messages": MESSAGES,
    "outcome": {"reward": 1.0},
    "annotations": [{"step": 5, "label": "repetition_or_looping"}],
    "meta": {},
}
TOOLSETS = {"shop": {"tools": SCHEMAS, "policy": "Be kind."}}


def _write(folder: Path, *runs: dict[str, Any], name: str = "runs.jsonl.gz") -> Path:
    path = folder / name
    text = "".join(json.dumps(run) + "\n" for run in runs)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    (folder / "toolsets.json").write_text(json.dumps(TOOLSETS), encoding="utf-8")
    return path


def _run() -> RecordedRun:
    return parse_run(RUN, TOOLSETS)


def _history(graph: CompiledStateGraph[Any, Any, Any, Any], texts: list[str]) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for text in texts:
        messages = graph.invoke({"messages": [*messages, HumanMessage(text)]})["messages"]
    return messages


def test_turns_hold_what_the_agent_saw_and_said() -> None:
    """User texts in a row open one turn; the user's own calls and results are left out."""
    run = _run()
    assert [t.user for t in run.turns] == [
        "Where is my order?\n\nIt is A1.",
        "(The user used tools of their own: reboot.)",
        "Yes, thanks.",
    ]
    assert [t.steps for t in run.turns] == [(3, 5, 7, 10), (13,), (17,)]
    assert [t.user_calls for t in run.turns] == [(), ("reboot",), ("check",)]
    assert [m.text for m in run.opening] == ["Hello! How can I help?"]
    assert run.closing == "###STOP###"
    assert [(r.step, r.tool, r.error) for r in run.results] == [
        (4, "get_order", False),
        (6, "get_order", False),
        (8, "get_order", True),
        (9, "submit", False),
    ]
    assert (run.model, run.policy, run.outcome) == ("", "Be kind.", {"reward": 1.0})
    assert run.annotations[0]["step"] == 5


def test_arguments_are_read_as_langchain_reads_them() -> None:
    """Absent arguments are `{}`; unparsable ones, and JSON that is no object, are invalid."""
    replies = _run().replies
    assert replies[2].tool_calls[1]["args"] == {}
    broken = replies[-1]
    assert not broken.tool_calls
    assert [c["args"] for c in broken.invalid_tool_calls] == ["{order_id: A1}", "[1]"]
    assert all(c["error"] for c in broken.invalid_tool_calls)


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_files_are_read_lazily_and_by_id(tmp_path: Path, name: str) -> None:
    """Runs come one at a time, in the file's order, and a bad line is met only when reached."""
    path = _write(tmp_path, RUN, {**RUN, "id": "r2"}, {"id": "bad"}, name=name)
    assert [run.id for run in load_runs(path, ["r2"])] == ["r2"]
    assert [run.id for run in load_runs(path, [])] == []
    runs = load_runs(path)
    assert [next(runs).id, next(runs).id] == ["r1", "r2"]
    with pytest.raises(TraceError, match=rf"{name}:3: not a run"):
        next(runs)


def test_reading_stops_when_the_wanted_runs_are_found(tmp_path: Path) -> None:
    """What stands behind the last wanted run is not even decoded."""
    path = _write(tmp_path, RUN, name="runs.jsonl")
    path.write_bytes(path.read_bytes() + b"\n" * 200_000 + b"\xff\n")
    assert [run.id for run in load_runs(path, ["r1"])] == ["r1"]
    with pytest.raises(TraceError, match="can't be read"):
        list(load_runs(path))


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Missing files, ids and toolsets, and lines that are not JSON, name file and line."""
    with pytest.raises(TraceError, match=r"absent\.jsonl: can't be read"):
        next(load_runs(tmp_path / "absent.jsonl"))
    path = _write(tmp_path, RUN)
    with pytest.raises(TraceError, match="no run has the id nobody"):
        list(load_runs(path, ["nobody"]))
    (tmp_path / "toolsets.json").unlink()
    with pytest.raises(TraceError, match=r"runs\.jsonl\.gz:1: names a toolset"):
        next(load_runs(path))
    other = _write(tmp_path, {**RUN, "tools": "@toolset:../etc"})
    with pytest.raises(TraceError, match=r"not in toolsets\.json \(known: shop\)"):
        next(load_runs(other))
    other.write_bytes(gzip.compress(b"{oops\n"))
    with pytest.raises(TraceError, match=r":1: not JSON"):
        next(load_runs(other))
    other.write_bytes(b"no gzip")
    with pytest.raises(TraceError, match="can't be read"):
        next(load_runs(other))


def test_a_run_is_acted_again_through_a_real_graph() -> None:
    """Model and tools give the recorded messages in a history that strict providers accept."""
    run = _run()
    model = RecordedChatModel(run, rules=STRICT)
    graph = react_graph(model, recorded_tools(run), system=run.policy)
    messages = _history(graph, [turn.user for turn in run.turns[:2]])
    assert [m.type for m in messages] == [
        *("human", "ai", "tool", "ai", "tool", "ai", "tool", "tool", "ai"),
        *("human", "ai"),
    ]
    results = [m for m in messages if m.type == "tool"]
    assert [(m.text, m.status) for m in results] == [
        ("pending", "success"),
        ("shipped", "success"),
        ("Error: no such order", "error"),
        ("", "success"),
    ]
    assert [m.id for m in messages if m.type == "ai"] == ["r1:3", "r1:5", "r1:7", "r1:10", "r1:13"]


async def test_async_and_streaming_act_it_again_too() -> None:
    """The async path gives the same results as the sync path."""
    run = _run()
    graph = react_graph(RecordedChatModel(run), recorded_tools(run))
    out: dict[str, Any] = {}
    async for mode, data in graph.astream(
        {"messages": [("user", run.turns[0].user)]}, stream_mode=["messages", "values"]
    ):
        out = data if mode == "values" else out
    results = [m for m in out["messages"] if m.type == "tool"]
    assert [m.text for m in results] == ["pending", "shipped", "Error: no such order", ""]
    assert results[2].status == "error"


def test_tools_answer_in_order_and_then_the_last_again() -> None:
    """Equal arguments share one list of answers, whatever their order; unknown ones are errors."""
    get_order, submit = recorded_tools(_run())
    arguments = {"order_id": "A1", "self": True}
    assert [get_order.invoke(dict(arguments)) for _ in range(3)] == [
        "pending",
        "shipped",
        "shipped",
    ]
    made_up = {"type": "tool_call", "name": "get_order", "id": "x", "args": {"order_id": "Z"}}
    answer = get_order.invoke(made_up)
    assert (answer.status, "was recorded" in answer.text, "Z" in answer.text) == (
        "error",
        True,
        False,
    )
    assert submit.invoke({}) == ""


def test_tools_show_the_recorded_schemas() -> None:
    """A model is shown the JSON schemas of the run, also where they are incomplete."""
    run = _run()
    model = RecordedChatModel(run)
    model.bind_tools(recorded_tools(run))
    shown = [t["function"] for t in model.bound_tools]
    assert [t["name"] for t in shown] == ["get_order", "submit"]
    assert shown[0]["parameters"]["required"] == ["order_id"]
    assert shown[0]["description"] == "Read one order."


def test_a_recorded_model_cannot_hear() -> None:
    """It proposes the next recorded message whatever the request says, until it ends."""
    run = _run()
    model = RecordedChatModel(run)
    plea = [HumanMessage("Stop and answer.", name="sentry")]
    said = [model.invoke(plea).text for _ in run.replies]
    assert said == [reply.text for reply in run.replies]
    with pytest.raises(ScriptExhausted):
        model.invoke(plea)


def test_open_turn_moves_to_the_turn() -> None:
    """A driver that fell out of step can go on at the turn it wants."""
    run = _run()
    model = RecordedChatModel(run, on_end=ai("The recording ends here."))
    assert model.open_turn(1).startswith("(The user used")
    assert model.invoke("x").text == "Did it help?"
    model.open_turn(2)
    assert model.invoke("x").invalid_tool_calls
    assert model.invoke("x").text == "The recording ends here."


@pytest.mark.skipif(
    "SENTRY_TRACES" not in os.environ, reason="SENTRY_TRACES names no directory of recorded runs"
)
def test_real_recordings_are_acted_again() -> None:
    """A sample of every real trace file runs, and tools that exist answer as recorded."""
    files = sorted(Path(os.environ["SENTRY_TRACES"]).glob("*.jsonl.gz"))
    assert files
    for path in files:
        runs = load_runs(path)
        for run in [next(runs) for _ in range(5)]:
            model = RecordedChatModel(run, rules=STRICT, on_end=ai("The recording ends here."))
            graph = react_graph(model, recorded_tools(run), system=run.policy or None)
            messages = _history(graph, [turn.user for turn in run.turns])
            names = {t["function"]["name"] for t in run.tools}
            got = [(m.text, m.status) for m in messages if m.type == "tool" and m.name in names]
            want = [
                (r.content, "error" if r.error else "success")
                for r in run.results
                if r.tool in names
            ]
            assert got == want, run.id
