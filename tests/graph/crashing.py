"""A run that dies in the middle, for the tests that resume it in another process.

    python -m graph.crashing SAVER WHERE RUN AT

`AT` is the number of messages of the agent that the dying model call reads, or `tool`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool

from sentry_langgraph import with_sentry
from sentry_langgraph.testing import STRICT, ScriptedChatModel, react_builder

from .runs import CONFIG, QUIET, Drive, Graph, forecast, request, script

DIED = 86


@asynccontextmanager
async def saver_at(kind: str, where: str) -> AsyncIterator[Any]:
    """A checkpointer that other processes can read.

    Args:
        kind: `sqlite`, `aiosqlite`, `postgres` or `aiopostgres`.
        where: The path of the database, or the DSN.
    """
    if kind == "sqlite":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(where) as saver:
            saver.setup()
            yield saver
    elif kind == "aiosqlite":
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(where) as saver:
            await saver.setup()
            yield saver
    elif kind == "postgres":
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(where) as saver:
            saver.setup()
            yield saver
    else:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        async with AsyncPostgresSaver.from_conn_string(where) as saver:
            await saver.setup()
            yield saver


def drive_for(kind: str) -> Drive:
    """How a graph with this checkpointer is run."""
    return Drive("async" if kind.startswith("aio") else "sync")


def agent(name: str, saver: Any, die_at: str = "") -> tuple[Graph, list[str]]:
    """The wrapped agent of a run, and the names of the tools that ran.

    What the model says depends only on how many messages of the agent it reads, so that a run
    goes on in another process where it stopped.
    """
    said = script(name)
    ran: list[str] = []

    def answer(messages: list[AnyMessage]) -> AIMessage:
        position = sum(isinstance(message, AIMessage) for message in messages)
        if str(position) == die_at:
            os._exit(DIED)
        return said[position]

    @tool
    def read_page(name: str) -> str:
        """Read a page."""
        if die_at == "tool":
            time.sleep(0.5)  # what ran beside it is written down meanwhile
            os._exit(DIED)
        ran.append("read_page")
        return f"the page {name}"

    model = ScriptedChatModel(script=[answer] * 20, rules=STRICT)
    builder = react_builder(model, [forecast, read_page])
    return with_sentry(builder.compile(checkpointer=saver), QUIET), ran


async def main(kind: str, where: str, name: str, die_at: str, durability: str) -> None:
    """Start the run; it never ends by itself."""
    async with saver_at(kind, where) as saver:
        graph, _ = agent(name, saver, die_at)
        await drive_for(kind).invoke(graph, request(), CONFIG, durability=durability)


if __name__ == "__main__":
    from .runs import Toolbox

    Toolbox()
    asyncio.run(main(*sys.argv[1:]))
