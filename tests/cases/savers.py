"""Real checkpointers by the names that cases use."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from cases.loader import CaseError

_BY_MODE = {
    True: {"SqliteSaver": "AsyncSqliteSaver"},
    False: {"AsyncSqliteSaver": "SqliteSaver"},
}


def fitting(name: str | None, *, asynchronous: bool) -> str | None:
    """The name of the checkpointer of that kind which runs in this mode."""
    kind = (name or "").partition("(")[0]
    return _BY_MODE[asynchronous].get(kind, name)


@asynccontextmanager
async def opened(name: str | None, path: str = ":memory:") -> AsyncIterator[Any]:
    """The checkpointer that a case names; None is none at all.

    Raises:
        CaseError: The name is not known.
    """
    kind = (name or "").partition("(")[0]
    match kind:
        case "" | "None":
            yield None
        case "InMemorySaver" | "MemorySaver":
            yield InMemorySaver()
        case "SqliteSaver":
            connection = sqlite3.connect(path, check_same_thread=False)
            try:
                yield SqliteSaver(connection)
            finally:
                connection.close()
        case "AsyncSqliteSaver":
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                yield saver
        case _:
            raise CaseError(f"the checkpointer {name!r} is not known; see cases/savers.py")
