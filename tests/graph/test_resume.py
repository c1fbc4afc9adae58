"""A run that dies between a repair and the next step goes on in another process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sentry_langgraph import ledger

from .crashing import DIED, agent, drive_for, saver_at
from .runs import CONFIG, Toolbox, faults_of, outcome, request

TESTS = Path(__file__).parents[1]


def _die(kind: str, where: str, name: str, die_at: str, durability: str) -> None:
    """Run in a process of its own until it dies."""
    ended = subprocess.run(
        [sys.executable, "-m", "graph.crashing", kind, where, name, die_at, durability],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == DIED, ended.stderr


async def _undisturbed(name: str) -> tuple[list[str], list[Any], int]:
    """Events, messages and the number of tool calls of a run that nothing stops."""
    box = Toolbox()
    graph, ran = agent(name, InMemorySaver())
    output = await drive_for("aio").invoke(graph, request())
    events = graph.get_state(CONFIG).values["sentry"]
    return [event["id"] for event in events], outcome(output["messages"]), len(box.ran) + len(ran)


async def _resume(kind: str, where: str, name: str, die_at: str, durability: str) -> None:
    """Die in another process, go on in this one, and compare with a run that never died."""
    events, messages, calls = await _undisturbed(name)
    await asyncio.to_thread(_die, kind, where, name, die_at, durability)
    drive = drive_for(kind)
    async with saver_at(kind, where) as saver:
        box = Toolbox()
        graph, ran = agent(name, saver)
        before = (await drive.state(graph)).values["sentry"]
        if durability == "sync" and die_at != "tool":
            assert [event["id"] for event in before] == events[: len(before)]
            assert [event["kind"] for event in before] == ["failure", "repair"]
            assert len(ledger.fold(before).active) == 1
        output = await drive.invoke(graph, None)
        after = (await drive.state(graph)).values["sentry"]
    assert [event["id"] for event in after] == events
    assert outcome(output["messages"]) == messages
    assert faults_of(output["messages"]) == []
    assert len(box.ran) + len(ran) < calls or die_at == "tool"


@pytest.mark.parametrize(
    ("name", "die_at", "durability"),
    [
        ("mixed", "1", "sync"),
        ("loop", "3", "sync"),
        ("loop", "3", "async"),
        ("mixed", "tool", "sync"),
    ],
)
async def test_sqlite(tmp_path: Path, name: str, die_at: str, durability: str) -> None:
    """After a hard repair, after advice, and in a tool beside a repair: the ledger, the
    budgets and the active repair go on, and the run ends as if nothing had happened."""
    await _resume("sqlite", str(tmp_path / "runs.db"), name, die_at, durability)


async def test_async_sqlite(tmp_path: Path) -> None:
    """The same with the asynchronous saver."""
    await _resume("aiosqlite", str(tmp_path / "runs.db"), "loop", "3", "sync")


@pytest.mark.parametrize("kind", ["postgres", "aiopostgres"])
async def test_postgres(postgres: str, kind: str) -> None:
    """The same with PostgreSQL, sync and async."""
    name, die_at = ("loop", "3") if kind == "postgres" else ("mixed", "1")
    async with saver_at(kind, postgres) as saver:
        if kind == "postgres":
            saver.delete_thread("1")
        else:
            await saver.adelete_thread("1")
    await _resume(kind, postgres, name, die_at, "sync")
