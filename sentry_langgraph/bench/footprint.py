"""What a healthy run leaves behind: supersteps, checkpoints and their bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sentry_langgraph.bench.turns import sqlite_saver
from sentry_langgraph.bench.workload import SETTINGS, TURNS, bare_agent, request
from sentry_langgraph.graph.wrap import with_sentry

_BYTES = """
    SELECT (SELECT COALESCE(SUM(LENGTH(checkpoint) + LENGTH(metadata)), 0) FROM checkpoints)
         + (SELECT COALESCE(SUM(LENGTH(value)), 0) FROM writes)
"""


@dataclass(frozen=True, slots=True)
class Footprint:
    """One run on a SQLite file.

    Attributes:
        supersteps: Supersteps of the run.
        checkpoints: Rows of checkpoints in the file.
        bytes: Bytes of the checkpoints, their metadata and their writes.
    """

    supersteps: int
    checkpoints: int
    bytes: int


def footprints(turns: int = TURNS) -> tuple[Footprint, Footprint]:
    """The footprint of the same run, bare and wrapped.

    Raises:
        ImportError: `langgraph-checkpoint-sqlite` is not installed.
    """
    return _footprint(turns, wrapped=False), _footprint(turns, wrapped=True)


def _footprint(turns: int, *, wrapped: bool) -> Footprint:
    with sqlite_saver() as saver, _same_versions():
        graph: Any = bare_agent(turns).compile(checkpointer=saver)
        if wrapped:
            graph = with_sentry(graph, SETTINGS)
        steps = {
            event["step"]
            for event in graph.stream(
                request(), {"configurable": {"thread_id": "bench"}}, stream_mode="debug"
            )
            if event["type"] == "task"
        }
        (checkpoints,) = saver.conn.execute("SELECT COUNT(*) FROM checkpoints").fetchone()
        (size,) = saver.conn.execute(_BYTES).fetchone()
    return Footprint(len(steps), checkpoints, size)


@contextmanager
def _same_versions() -> Iterator[None]:
    """Channel versions hold a random number whose length varies: the same ones for both runs."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)
