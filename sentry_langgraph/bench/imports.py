"""Import times, each in a fresh process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import sentry_langgraph
import sentry_langgraph.graph.wrap
from sentry_langgraph.bench.sampling import Ratio, summary

_LANGGRAPH = "import langgraph.graph"
"""`import langgraph` alone imports a namespace package, which is nothing."""

_READY = "from sentry_langgraph import with_sentry"
_PACKAGE = "import sentry_langgraph"

_TIMED = "import time; start = time.process_time_ns(); {}; print(time.process_time_ns() - start)"


@dataclass(frozen=True, slots=True)
class ImportTime:
    """CPU time of imports.

    Attributes:
        ready: `from sentry_langgraph import with_sentry`, which imports LangGraph too, in
            relation to `import langgraph.graph`.
        package: Milliseconds of `import sentry_langgraph`, which loads names when they are used.
    """

    ready: Ratio
    package: float


def import_time(rounds: int) -> ImportTime:
    """Time the imports, by turns, each in a process of its own.

    Args:
        rounds: How many times each. This process has imported all of it before, so that the
            compiled files are there.
    """
    environment = _environment()
    pairs = []
    alone = []
    for _ in range(rounds):
        pairs.append((_import(_LANGGRAPH, environment), _import(_READY, environment)))
        alone.append(_import(_PACKAGE, environment))
    return ImportTime(summary(pairs), statistics.median(alone) / 1e6)


def _environment() -> Mapping[str, str]:
    """This environment, in which the package is found where it is found now."""
    home = str(Path(sentry_langgraph.__file__).parents[1])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _import(statement: str, environment: Mapping[str, str]) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _TIMED.format(statement)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)
