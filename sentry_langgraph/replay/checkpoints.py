"""Threads of LangGraph's checkpointers: what each held in its newest checkpoint.

Databases are only read. The messages are unpacked by LangGraph's own serializer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from sentry_langgraph.content import stop_reason
from sentry_langgraph.graph.messages import calls_of, is_own, observation_of, text_of
from sentry_langgraph.replay.recording import (
    Message,
    OnProblem,
    Recording,
    RecordingError,
    Speaker,
)

_PAGE = 500
_SPEAKERS: dict[str, Speaker] = {
    "ai": "agent",
    "AIMessageChunk": "agent",
    "human": "user",
    "HumanMessageChunk": "user",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
}


def sqlite_runs(
    path: Path, messages_key: str = "messages", on_problem: OnProblem | None = None
) -> Iterator[Recording]:
    """The threads of an SQLite file that `SqliteSaver` or `AsyncSqliteSaver` wrote.

    Args:
        path: The file.
        messages_key: The channel of the messages.
        on_problem: Is told of a thread that can't be read, which is skipped. None raises.

    Raises:
        RecordingError: The package for it is missing, or the file is no such database; or a
            thread can't be read.
    """
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - may be missing
    except ImportError as error:
        raise _missing(str(path), "langgraph-checkpoint-sqlite") from error
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            saver = SqliteSaver(database)
            saver.is_setup = True  # its setup writes

            def page(after: str) -> list[str]:
                rows = database.execute(_SELECT.format(mark="?"), (after, _PAGE))
                return [str(row[0]) for row in rows]

            yield from _threads(str(path), saver, page, messages_key, on_problem)
    except sqlite3.Error as error:
        raise RecordingError(f"{path}: no database of LangGraph's checkpointer: {error}") from error


def postgres_runs(
    url: str, messages_key: str = "messages", on_problem: OnProblem | None = None
) -> Iterator[Recording]:
    """The threads of a PostgreSQL database that `PostgresSaver` wrote.

    Args:
        url: Where it is, such as `postgresql://user@host/database`.
        messages_key: The channel of the messages.
        on_problem: Is told of a thread that can't be read, which is skipped. None raises.

    Raises:
        RecordingError: The package for it is missing, or the database can't be reached or has
            no checkpoints; or a thread can't be read. No error shows the URL's password.
    """
    try:
        import psycopg  # noqa: PLC0415 - may be missing
        from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415
    except ImportError as error:
        raise _missing("PostgreSQL", "langgraph-checkpoint-postgres 'psycopg[binary]'") from error
    place = _without_password(url)
    try:
        with PostgresSaver.from_conn_string(url) as saver:
            connection: Any = saver.conn

            def page(after: str) -> list[str]:
                rows = connection.execute(_SELECT.format(mark="%s"), (after, _PAGE))
                return [str(row["thread_id"]) for row in rows]

            yield from _threads(place, saver, page, messages_key, on_problem)
    except psycopg.Error as error:
        said = str(error).partition("\n")[0]
        raise RecordingError(f"{place}: the checkpoints can't be read: {said}") from error


_SELECT = (
    "SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = '' AND thread_id > {mark} "
    "ORDER BY thread_id LIMIT {mark}"
)


def _threads(
    place: str,
    saver: Any,
    page: Callable[[str], list[str]],
    key: str,
    on_problem: OnProblem | None,
) -> Iterator[Recording]:
    after = ""
    while names := page(after):
        for thread in names:
            try:
                yield _thread(place, saver, thread, key)
            except RecordingError as error:
                if on_problem is None:
                    raise
                on_problem(error)
        after = names[-1]


def _thread(place: str, saver: Any, thread: str, key: str) -> Recording:
    where = f"{place}, thread {thread}"
    found = saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})
    values = found.checkpoint["channel_values"] if found is not None else {}
    messages = values.get(key)
    if not isinstance(messages, list):
        held = ", ".join(sorted(values)) or "nothing"
        raise RecordingError(
            f"{where}: the checkpoint has no list of messages in {key!r} (it has: {held}); "
            "name the channel with --messages-key"
        )
    return Recording(
        id=thread,
        messages=tuple(_message(one, position, where) for position, one in enumerate(messages)),
        where=where,
        source=place,
    )


def _message(message: Any, position: int, where: str) -> Message:
    speaker = _SPEAKERS.get(message.type) if isinstance(message, BaseMessage) else None
    if speaker is None:
        raise RecordingError(
            f"{where}: messages[{position}]: expected a message of LangChain, "
            f"got {type(message).__name__}"
        )
    shown: Any = message
    agent, tool = speaker == "agent", speaker == "tool"
    return Message(
        kind=speaker,
        text=text_of(message),
        position=position,
        id=message.id or "",
        own=is_own(message),
        calls=calls_of(shown) if agent else (),
        stop_reason=stop_reason(message.additional_kwargs, message.response_metadata)
        if agent
        else "",
        observation=observation_of(shown) if tool else None,
    )


def _missing(place: str, packages: str) -> RecordingError:
    return RecordingError(
        f"{place}: reading these checkpoints takes a package that is not installed; "
        f"install it with: pip install {packages}"
    )


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    login, at, host = rest.partition("?")[0].rpartition("@")
    return f"{scheme}://{login.partition(':')[0]}{at}{host}"
