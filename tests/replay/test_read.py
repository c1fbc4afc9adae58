"""Files of every format are read one run at a time, and what is wrong is said with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict

from sentry_langgraph.replay import Format, Recording, RecordingError, read_runs, read_tools

TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Find shoes."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "find", "arguments": '{"q": "shoes"}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "none", "error": True},
    {"role": "assistant", "content": "There are none."},
]
LANGCHAIN = [
    HumanMessage("Find shoes.", id="1"),
    AIMessage("", id="2", tool_calls=[{"id": "c", "name": "find", "args": {"q": "shoes"}}]),
    ToolMessage("none", tool_call_id="c", name="find", status="error", id="3"),
    AIMessage("There are none.", id="4"),
]
TRACE = {"source": "shop", "id": "r1", "tools": [TOOL], "messages": MESSAGES}
OLDER: list[dict[str, Any]] = [
    {"role": "user", "content": "Find shoes."},
    {"role": "assistant", "function_call": {"name": "find", "arguments": '{"q": "shoes"}'}},
    {"role": "function", "name": "find", "content": "Error: none"},
    {"role": "assistant", "content": [{"type": "text", "text": "There are none."}]},
]


def seen(recording: Recording) -> list[Any]:
    """What matters of a recording: who says what, calls, results."""
    found: list[Any] = []
    for message in recording.messages:
        calls = [(call.name, call.args) for call in message.calls]
        result = message.observation
        found.append((message.kind, calls, result and (result.name, result.status)))
    return found


EXPECTED = [
    ("user", [], None),
    ("agent", [("find", {"q": "shoes"})], None),
    ("tool", [], ("find", "error")),
    ("agent", [], None),
]


@pytest.mark.parametrize(
    "run",
    [
        TRACE,
        {"messages": MESSAGES, "tools": [TOOL]},
        {"messages": MESSAGES},
        MESSAGES,
        OLDER,
        {"messages": OLDER, "functions": [TOOL["function"]]},
        messages_to_dict(LANGCHAIN),
        {"messages": list(map(dumpd, LANGCHAIN))},
        [message.model_dump() for message in LANGCHAIN],
        {"messages": [["user", "Find shoes."], *map(dumpd, LANGCHAIN[1:])]},
    ],
    ids=lambda run: ("bare " if isinstance(run, list) else "") + str(run)[:40],
)
@pytest.mark.parametrize("form", ["lines", "gzip", "document", "one document"])
def test_the_same_run_in_every_form(run: Any, form: str, tmp_path: Path) -> None:
    """Message forms, with tools or without; lines, packed lines, and whole documents."""
    path = tmp_path / "runs.jsonl"
    line = json.dumps(run)
    count = 1 if form == "one document" else 2
    match form:
        case "lines":
            path.write_text(f"\n{line}\n\n{line}\n", encoding="utf-8")
        case "gzip":
            path.write_bytes(gzip.compress(f"{line}\n{line}".encode()))
        case "document":
            path.write_text(json.dumps([run, run], indent=1), encoding="utf-8")
        case _:
            path.write_text(json.dumps(run, indent=1), encoding="utf-8")
    found = list(read_runs(path))
    assert [seen(one) for one in found] == [EXPECTED] * count
    assert (found[0].tools is None) == (not isinstance(run, dict) or len(run) == 1)


def test_toolsets_and_what_the_source_says(tmp_path: Path) -> None:
    """`@toolset:` stands for the tools and the policy of `toolsets.json` beside the file."""
    path = tmp_path / "runs.jsonl"
    run = {**TRACE, "tools": "@toolset:shop", "outcome": {"success": True}, "model": "m"}
    path.write_text(json.dumps(run), encoding="utf-8")
    (tmp_path / "toolsets.json").write_text(
        json.dumps({"shop": {"tools": [TOOL], "policy": "Be kind."}}), encoding="utf-8"
    )
    (found,) = read_runs(path, format=Format.TRACE)
    assert found.tools == (TOOL,)
    assert found.instructions == ("Be kind.",)
    assert (found.id, found.source, found.model, found.success) == ("r1", "shop", "m", True)
    assert found.where == f"{path}:1"


@pytest.mark.parametrize(
    ("line", "format", "said"),
    [
        ("{", "auto", "not JSON"),
        ("3", "auto", "expected a run"),
        ('{"a": 1}', "auto", "expected a run: an object with a list of 'messages'"),
        ('{"messages": 3}', "auto", "expected a run"),
        ('{"messages": [{"role": "dog"}]}', "auto", "messages[0]: expected a message"),
        ('{"messages": [7]}', "auto", "messages[0]: expected a message"),
        ('{"messages": [{"role": "assistant", "tool_calls": 3}]}', "auto", "messages[0]"),
        ('{"messages": [], "tools": 3}', "auto", "tools: expected a list"),
        ('{"messages": [], "tools": "@toolset:x"}', "auto", "toolsets.json can't be read"),
        ('{"messages": []}', "trace", "missing: id, source, tools"),
        ('{"messages": []}', "langsmith", "expected a run of LangSmith"),
    ],
)
def test_a_bad_line_is_named_and_skipped(line: str, format: str, said: str, tmp_path: Path) -> None:
    """The error has file, line and what is expected; the other lines are read."""
    path = tmp_path / "runs.jsonl"
    good = json.dumps(TRACE if format != "langsmith" else span(id="t"))
    path.write_text(f"{good}\n{line}\n{good}\n", encoding="utf-8")
    problems: list[RecordingError] = []
    found = list(read_runs(path, format=format, on_problem=problems.append))
    assert [seen(one) for one in found] == [EXPECTED] * 2
    assert str(problems[0]).startswith(f"{path}:2: ")
    assert said in str(problems[0])
    assert len(problems) == 1
    with pytest.raises(RecordingError):
        list(read_runs(path, format=format))


def test_a_bad_first_line_is_no_document(tmp_path: Path) -> None:
    """Where the second line is a run, the first is one bad line."""
    path = tmp_path / "runs.jsonl"
    path.write_text('{"mess\n' + json.dumps(TRACE) + "\n", encoding="utf-8")
    problems: list[RecordingError] = []
    assert len(list(read_runs(path, on_problem=problems.append))) == 1
    assert str(problems[0]).startswith(f"{path}:1: not JSON")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"id,messages\n", "expected JSON, one run a line"),
        (b"\x1f\x8bnothing", "can't be read"),
        (b"{\n 'a': 1}", "not JSON"),
    ],
)
def test_files_that_hold_no_runs(content: bytes, said: str, tmp_path: Path) -> None:
    """The whole file is refused, in words."""
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=said):
        list(read_runs(path))
    with pytest.raises(RecordingError, match="can't be read"):
        list(read_runs(tmp_path / "absent"))


def span(id: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    """A run of LangSmith that ended with the messages, unless told otherwise."""
    return {
        "id": id,
        "trace_id": "t",
        "parent_run_id": parent,
        "run_type": "chain",
        "start_time": "2026-01-01T00:00:00",
        "status": "success",
        "inputs": {},
        "outputs": {"messages": [dumpd(message) for message in LANGCHAIN]},
        **fields,
    }


def model_span(id: str, start: int, read: int) -> dict[str, Any]:
    """A call of a model that read the first messages and wrote the next."""
    written = {"text": "", "message": dumpd(LANGCHAIN[read])}
    return span(
        id,
        parent="t",
        run_type="llm",
        start_time=f"2026-01-01T00:00:0{start}",
        inputs={"messages": [[dumpd(message) for message in LANGCHAIN[:read]]]},
        outputs={"generations": [[written]]},
        extra={"invocation_params": {"tools": [TOOL]}},
    )


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([span("t")], id="root"),
        pytest.param([span("t", outputs={"output": {"messages": MESSAGES}})], id="output"),
        pytest.param([span("t"), model_span("a", 1, 1), model_span("b", 2, 3)], id="flat"),
        pytest.param([model_span("b", 2, 3), span("t"), model_span("a", 1, 1)], id="any order"),
        pytest.param(
            [model_span("b", 2, 3), span("t", outputs=None), model_span("a", 1, 1)],
            id="messages of the last model",
        ),
        pytest.param([model_span("b", 2, 3), model_span("a", 1, 1)], id="no root"),
        pytest.param(
            [span("t", outputs={}, child_runs=[model_span("a", 1, 1), model_span("b", 2, 3)])],
            id="nested",
        ),
        pytest.param(
            [
                model_span("b", 2, 3)
                | {
                    "inputs": {"messages": MESSAGES[:3]},
                    "outputs": {"choices": [{"message": MESSAGES[3]}]},
                }
            ],
            id="OpenAI's own form",
        ),
    ],
)
@pytest.mark.parametrize("lines", [True, False], ids=["lines", "document"])
def test_langsmith(runs: list[dict[str, Any]], lines: bool, tmp_path: Path) -> None:
    """One recording a trace, with the tools that the model was shown."""
    path = tmp_path / "export.json"
    text = "\n".join(map(json.dumps, runs)) if lines else json.dumps(runs)
    path.write_text(text, encoding="utf-8")
    (found,) = read_runs(path)
    assert seen(found) == EXPECTED
    assert found.id == "t"
    assert found.success is None
    shown = any(one["run_type"] == "llm" or "child_runs" in one for one in runs)
    assert found.tools == ((TOOL,) if shown else None)


def test_tools_of_a_file(tmp_path: Path) -> None:
    """A list of schemas or an object that holds it; anything else is refused in words."""
    path = tmp_path / "tools.json"
    for good in ([TOOL], {"tools": [TOOL]}):
        path.write_text(json.dumps(good), encoding="utf-8")
        assert read_tools(path) == (TOOL,)
    for bad in ({"a": 1}, [3], [{"type": "function"}], [TOOL, TOOL]):
        path.write_text(json.dumps(bad), encoding="utf-8")
        with pytest.raises(RecordingError, match=r"tools\.json: "):
            read_tools(path)
