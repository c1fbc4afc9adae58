"""CPU time of one turn of the agent, bare and wrapped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sentry_langgraph.bench.sampling import Ratio, compare
from sentry_langgraph.bench.workload import SETTINGS, TURNS, bare_agent, request
from sentry_langgraph.graph.wrap import with_sentry


def turn_cpu(seconds: float, *, least: int = 20, turns: int = TURNS) -> Ratio:
    """The ratio without a checkpointer: the agent is at its cheapest, Sentry's share largest."""
    bare = bare_agent(turns).compile()
    wrapped = with_sentry(bare_agent(turns), SETTINGS)
    return compare(_run(bare), _run(wrapped), seconds=seconds, least=least)


def turn_cpu_sqlite(seconds: float, *, least: int = 10, turns: int = TURNS) -> Ratio:
    """The ratio with a checkpoint written to a SQLite file at every superstep.

    Raises:
        ImportError: `langgraph-checkpoint-sqlite` is not installed.
    """
    with sqlite_saver() as one, sqlite_saver() as two:
        bare = bare_agent(turns).compile(checkpointer=one)
        wrapped = with_sentry(bare_agent(turns).compile(checkpointer=two), SETTINGS)
        return compare(_run(bare), _run(wrapped), seconds=seconds, least=least)


def _run(graph: Any) -> Callable[[], object]:
    threads = count()

    def run() -> object:
        return graph.invoke(request(), {"configurable": {"thread_id": str(next(threads))}})

    return run


@contextmanager
def sqlite_saver() -> Iterator[Any]:
    """A `SqliteSaver` on a file of its own, which is gone afterwards.

    Raises:
        ImportError: `langgraph-checkpoint-sqlite` is not installed.
    """
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - not a dependency

    with tempfile.TemporaryDirectory(prefix="sentry-bench-") as directory:
        file = Path(directory) / "checkpoints.db"
        with SqliteSaver.from_conn_string(str(file)) as saver:
            yield saver
