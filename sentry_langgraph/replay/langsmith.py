"""Runs as LangSmith exports them: a list of spans, nested by `child_runs` or flat.

A trace is one recording. Its messages are those that the root span ended with; where the root
holds none, those that the last call of a model read and wrote. The tools are those that a model
was shown. A flat export is read twice, so that no trace has to be held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sentry_langgraph.replay.lines import read_lines
from sentry_langgraph.replay.messages import read_messages
from sentry_langgraph.replay.recording import Json, OnProblem, Recording, RecordingError

_EXPECTED = "expected a run of LangSmith: an object with id, run_type, inputs and outputs"


@dataclass(slots=True)
class _Trace:
    """What the first reading keeps of a trace."""

    tools: tuple[Json, ...] | None = None
    rooted: bool = False
    newest: tuple[str, str] = ("", "")  # start and id of the last call of a model


class _Tools:
    """Tool lists, each kept once."""

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[Json, ...]] = {}

    def of(self, run: Json) -> tuple[Json, ...] | None:
        """The tools that a model was shown in this span, or in one below it."""
        for span in _spans(run):
            shown = ((span.get("extra") or {}).get("invocation_params") or {}).get("tools")
            if span.get("run_type") == "llm" and isinstance(shown, list) and shown:
                return self._kept.setdefault(orjson.dumps(shown, default=str), tuple(shown))
        return None


def langsmith_runs(
    path: Path, messages_key: str = "messages", on_problem: OnProblem | None = None
) -> Iterator[Recording]:
    """The traces of an export.

    Args:
        path: JSON lines of runs, or one JSON list of them.
        messages_key: The key of the messages in inputs and outputs.
        on_problem: Is told of a run that can't be read, which is skipped. None raises instead.

    Raises:
        RecordingError: The file can't be read; or a run can't be read.
    """
    tools = _Tools()
    traces = _survey(path, messages_key, tools)
    for line in read_lines(path):
        try:
            run = line.load()
            if not isinstance(run, dict) or "run_type" not in run:
                raise RecordingError(f"{line.where}: {_EXPECTED}")
            trace = traces[_trace_id(run)]
            root = not run.get("parent_run_id")
            if not root and (trace.rooted or trace.newest[1] != run.get("id")):
                continue
            if (found := _recording(run, line.where, messages_key, trace, root)) is not None:
                yield found
        except RecordingError as error:
            if on_problem is None:
                raise
            on_problem(error)


def _survey(path: Path, key: str, tools: _Tools) -> dict[str, _Trace]:
    traces: dict[str, _Trace] = {}
    for line in read_lines(path):
        try:
            run = line.load()
        except RecordingError:
            continue  # the second reading reports it
        if not isinstance(run, dict):
            continue
        trace = traces.setdefault(_trace_id(run), _Trace())
        trace.tools = trace.tools or tools.of(run)
        if not run.get("parent_run_id"):
            trace.rooted = trace.rooted or bool(run.get("child_runs")) or _ended(run, key) != []
        elif run.get("run_type") == "llm":
            started = str(run.get("dotted_order") or run.get("start_time") or "")
            trace.newest = max(trace.newest, (started, str(run.get("id"))))
    return traces


def _recording(run: Json, where: str, key: str, trace: _Trace, root: bool) -> Recording | None:
    messages = _ended(run, key) if root else _model_call(run, key)
    if not messages:
        calls = [span for span in _spans(run) if span.get("run_type") == "llm"]
        if not calls:
            if trace.newest[1]:
                return None  # a span of the same trace holds the messages
            raise RecordingError(f"{where}: neither the run nor a model in it has {key!r}")
        newest = max(calls, key=lambda one: str(one.get("dotted_order") or one.get("start_time")))
        messages = _model_call(newest, key)
    try:
        read = read_messages(messages)
    except RecordingError as error:
        raise RecordingError(f"{where}: {error}") from error
    outcome = {"status": run.get("status"), "error": bool(run.get("error"))}
    return Recording(
        id=_trace_id(run),
        messages=read,
        tools=trace.tools,
        where=where,
        source="langsmith",
        model=str(((run.get("extra") or {}).get("metadata") or {}).get("ls_model_name") or ""),
        outcome=outcome,
    )


def _ended(run: Json, key: str) -> list[Any]:
    """The messages that a span of a graph ended with."""
    outputs = run.get("outputs")
    found = outputs.get(key) if isinstance(outputs, dict) else None
    if found is None and isinstance(outputs, dict) and isinstance(outputs.get("output"), dict):
        found = outputs["output"].get(key)
    return found if isinstance(found, list) else []


def _model_call(run: Json, key: str) -> list[Any]:
    """What a model read and wrote."""
    given = (run.get("inputs") or {}).get(key)
    if not isinstance(given, list):
        return []
    if given and isinstance(given[0], list) and given[0] and not isinstance(given[0][0], str):
        given = given[0]  # models are called in batches, of one
    outputs = run.get("outputs") or {}
    return [*given, *_answer(outputs)]


def _answer(outputs: Json) -> list[Any]:
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, dict) and generations.get("message") is not None:
        return [generations["message"]]
    choices = outputs.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return [choices[0]["message"]] if "message" in choices[0] else []
    messages = outputs.get("messages")
    if isinstance(messages, list):
        return messages
    single = outputs.get("message") or outputs.get("output")
    return [single] if isinstance(single, dict) else []


def _spans(run: Json) -> Iterator[Json]:
    yield run
    for child in run.get("child_runs") or ():
        if isinstance(child, dict):
            yield from _spans(child)


def _trace_id(run: Json) -> str:
    return str(run.get("trace_id") or run.get("id"))
