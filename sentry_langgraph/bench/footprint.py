"""What a healthy run leaves behind: supersteps, checkpoints and their bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from sentry_langgraph.bench.turns import sqlite_saver
from sentry_langgraph.bench.workload import SETTINGS, TURNS, bare_agent, request
from sentry_langgraph.graph.wrap import with_sentry

_CHECKPOINTS = "SELECT COUNT(*), SUM(LENGTH(checkpoint) + LENGTH(metadata)) FROM checkpoints"
_WRITES = "SELECT type, value FROM writes"
_ID = "0" * 36


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


def footprints(
    turns: int = TURNS, settings: Mapping[str, Any] = SETTINGS
) -> tuple[Footprint, Footprint]:
    """The footprint of the same run, bare and wrapped.

    Args:
        turns: Calls of tools in the run.
        settings: The settings of the wrapped agent.

    Raises:
        ImportError: `langgraph-checkpoint-sqlite` is not installed.
    """
    return _footprint(turns, None), _footprint(turns, settings)


def _footprint(turns: int, settings: Mapping[str, Any] | None) -> Footprint:
    with sqlite_saver() as saver, _same_versions():
        graph: Any = bare_agent(turns).compile(checkpointer=saver)
        if settings is not None:
            graph = with_sentry(graph, settings)
        steps = {
            event["step"]
            for event in graph.stream(
                request(), {"configurable": {"thread_id": "bench"}}, stream_mode="debug"
            )
            if event["type"] == "task"
        }
        checkpoints, size = saver.conn.execute(_CHECKPOINTS).fetchone()
        size += sum(_size(saver.serde, *row) for row in saver.conn.execute(_WRITES))
    return Footprint(len(steps), checkpoints, size)


def _size(serde: Any, kind: str, value: bytes) -> int:
    """Bytes of one write, every message of it with an id.

    LangGraph gives a message its id while another thread writes it down: whether the id is
    part of a write is a matter of luck, with Sentry and without.
    """
    written = serde.loads_typed((kind, value))
    if not isinstance(written, list) or not all(isinstance(m, BaseMessage) for m in written):
        return len(value)
    return len(serde.dumps_typed([m.model_copy(update={"id": _ID}) for m in written])[1])


@contextmanager
def _same_versions() -> Iterator[None]:
    """Channel versions hold a random number whose length varies: the same ones for both runs."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)
