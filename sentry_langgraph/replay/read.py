"""Recorded runs of every supported kind, one at a time.

The kind of a file is told from its bytes: an SQLite database, or JSON of a run, of messages, or
of LangSmith's runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from sentry_langgraph.replay.lines import Line, opened, read_lines
from sentry_langgraph.replay.recording import OnProblem, Recording, RecordingError
from sentry_langgraph.replay.runs import run_of

_SQLITE = b"SQLite format 3\x00"
_POSTGRES = ("postgresql://", "postgres://")


class Format(StrEnum):
    """How runs are recorded.

    Attributes:
        AUTO: Told from the file.
        TRACE: The common trace format: one run a line, with `id`, `source`, `tools` and
            `messages`.
        OPENAI: One run a line, a list of OpenAI-style messages or an object that holds one.
        LANGCHAIN: The same with messages as LangChain dumps them.
        LANGSMITH: Runs as LangSmith exports them.
        SQLITE: An SQLite file of LangGraph's checkpointer.
        POSTGRES: A PostgreSQL database of LangGraph's checkpointer, by its URL.
    """

    AUTO = "auto"
    TRACE = "trace"
    OPENAI = "openai"
    LANGCHAIN = "langchain"
    LANGSMITH = "langsmith"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


def read_runs(
    source: str | os.PathLike[str],
    *,
    format: Format | str = Format.AUTO,
    messages_key: str = "messages",
    on_problem: OnProblem | None = None,
) -> Iterator[Recording]:
    """The runs of a file or database, one at a time: memory depends on the longest run only.

    Args:
        source: A file, or the URL of a PostgreSQL database.
        format: How the runs are recorded.
        messages_key: The key or state channel that holds the messages.
        on_problem: Is told of a run that can't be read, which is skipped. None raises instead.

    Raises:
        RecordingError: The file can't be read, or is of no known kind; or a run can't be read.
    """
    wanted = Format(format)
    if wanted is Format.AUTO:
        wanted = format_of(source)
    if wanted in (Format.SQLITE, Format.POSTGRES):
        from sentry_langgraph.replay.checkpoints import (  # noqa: PLC0415 - imports langgraph
            postgres_runs,
            sqlite_runs,
        )

        if wanted is Format.SQLITE:
            yield from sqlite_runs(Path(source), messages_key, on_problem)
        else:
            yield from postgres_runs(os.fspath(source), messages_key, on_problem)
        return
    path = Path(source)
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        return
    if wanted is Format.LANGSMITH or (wanted is Format.AUTO and _of_langsmith(first)):
        from sentry_langgraph.replay.langsmith import langsmith_runs  # noqa: PLC0415

        yield from langsmith_runs(path, messages_key, on_problem)
        return
    trace = wanted is Format.TRACE
    directory = path.parent
    line: Line | None = first
    while line is not None:
        try:
            yield run_of(
                line.load(), line.where, directory=directory, key=messages_key, trace=trace
            )
        except RecordingError as error:
            if on_problem is None:
                raise
            on_problem(error)
        line = next(lines, None)


def format_of(source: str | os.PathLike[str]) -> Format:
    """The kind of a source, as far as its first bytes or its URL say; `AUTO` for JSON.

    Raises:
        RecordingError: The file can't be read.
    """
    name = os.fspath(source)
    if name.startswith(_POSTGRES):
        return Format.POSTGRES
    with opened(Path(name)) as stream:
        return Format.SQLITE if stream.read(len(_SQLITE)) == _SQLITE else Format.AUTO


def _of_langsmith(line: Line) -> bool:
    try:
        value: Any = line.load()
    except RecordingError:
        return False
    return isinstance(value, dict) and "run_type" in value
