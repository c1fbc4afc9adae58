"""`sentry bench overhead`: all measurements of one run, and their goals."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import sentry_langgraph
from sentry_langgraph.bench.footprint import Footprint, footprints
from sentry_langgraph.bench.gate_time import LENGTHS, WINDOW, GateTime, gate_time
from sentry_langgraph.bench.imports import ImportTime, import_time
from sentry_langgraph.bench.sampling import Ratio
from sentry_langgraph.bench.turns import turn_cpu, turn_cpu_sqlite
from sentry_langgraph.bench.workload import TOOLS, TURNS

TURN_CPU_GOAL = 1.05
"""CPU per turn, wrapped in relation to bare."""

GATE_GOAL = 100.0
"""Microseconds of the gate, median, at every length of the history."""

GROWTH_GOAL = 1.2
"""The gate at the longest history in relation to the shortest."""

ADDED_GOAL = 0
"""Supersteps, checkpoints and bytes added to a healthy run."""

_PACKAGES = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "langchain-core")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        turn_seconds: Time for bare and wrapped runs in memory.
        sqlite_seconds: The same with a SQLite file.
        least_rounds: Rounds of both that are run in any case.
        samples: Timed calls of the gate for each shape and length of the history.
        imports: Processes for each import.
        lengths: Lengths of the histories, in messages.
    """

    turn_seconds: float = 16.0
    sqlite_seconds: float = 8.0
    least_rounds: int = 10
    samples: int = 120
    imports: int = 3
    lengths: tuple[int, ...] = LENGTHS


@dataclass(frozen=True, slots=True)
class Overhead:
    """What Sentry costs a run without failures.

    Attributes:
        turn: CPU per turn without a checkpointer.
        gate: The gate by length of the history.
        imports: Import times.
        turn_sqlite: CPU per turn with a SQLite file, or None where that is not installed.
        footprint: The footprints of the bare and the wrapped run, or None likewise.
        date: When it was measured, ISO 8601, UTC.
    """

    turn: Ratio
    gate: GateTime
    imports: ImportTime
    turn_sqlite: Ratio | None
    footprint: tuple[Footprint, Footprint] | None
    date: str

    def added(self, name: str) -> int | None:
        """What the wrapped run has more of: `supersteps`, `checkpoints` or `bytes`."""
        if self.footprint is None:
            return None
        bare, wrapped = self.footprint
        return int(getattr(wrapped, name) - getattr(bare, name))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON. Ratios are wrapped to bare; times say their unit."""
        return {
            "turn_cpu_ratio": round(self.turn.ratio, 4),
            "turn_cpu_ratio_interval": _interval(self.turn),
            "turn_cpu_ms": _per_turn(self.turn),
            "turn_cpu_ratio_sqlite": round(self.turn_sqlite.ratio, 4) if self.turn_sqlite else None,
            "turn_cpu_ratio_sqlite_interval": (
                _interval(self.turn_sqlite) if self.turn_sqlite else None
            ),
            "gate_us": {str(k): round(v, 1) for k, v in self.gate.slowest.items()},
            "gate_us_by_shape": {
                shape: {str(k): round(v, 1) for k, v in times.items()}
                for shape, times in self.gate.gate.items()
            },
            "gate_growth": round(self.gate.growth, 3),
            "gate_us_first_call": {str(k): round(v, 1) for k, v in self.gate.first.items()},
            "edge_us_by_shape": {
                shape: {str(k): round(v, 1) for k, v in times.items()}
                for shape, times in self.gate.edge.items()
            },
            "supersteps_added": self.added("supersteps"),
            "checkpoints_added": self.added("checkpoints"),
            "checkpoint_bytes_added": self.added("bytes"),
            "import_ratio": round(self.imports.ready.ratio, 3),
            "import_ratio_interval": _interval(self.imports.ready),
            "import_ms": {
                "langgraph.graph": round(self.imports.ready.base / 1e6, 1),
                "with_sentry": round(self.imports.ready.other / 1e6, 1),
                "sentry_langgraph": round(self.imports.package, 1),
            },
            "goals": {
                "turn_cpu_ratio": TURN_CPU_GOAL,
                "gate_us": GATE_GOAL,
                "gate_growth": GROWTH_GOAL,
                "supersteps_added": ADDED_GOAL,
                "checkpoints_added": ADDED_GOAL,
                "checkpoint_bytes_added": ADDED_GOAL,
            },
            "window": WINDOW,
            "tools": TOOLS,
            "turns_per_run": TURNS,
            "rounds": self.turn.rounds,
            "versions": versions(),
            "date": self.date,
        }


QUICK = Effort(turn_seconds=2, sqlite_seconds=1, least_rounds=3, samples=15, imports=1)
"""Enough for a look, too little for a figure."""


def measure_overhead(effort: Effort | None = None) -> Overhead:
    """Measure everything, in this process and in fresh ones for the imports.

    Args:
        effort: How much is measured; by default enough for a stable ratio in under a minute.
    """
    effort = effort or Effort()
    turn_sqlite, footprint = on_sqlite(effort)
    return Overhead(
        turn=turn_cpu(effort.turn_seconds, least=effort.least_rounds),
        gate=gate_time(effort.samples, effort.lengths),
        imports=import_time(effort.imports),
        turn_sqlite=turn_sqlite,
        footprint=footprint,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def on_sqlite(effort: Effort) -> tuple[Ratio | None, tuple[Footprint, Footprint] | None]:
    """What needs `langgraph-checkpoint-sqlite`, which is no dependency: nothing without it."""
    try:
        found = footprints()
        return turn_cpu_sqlite(effort.sqlite_seconds, least=effort.least_rounds), found
    except ImportError:
        return None, None


def versions() -> dict[str, str | None]:
    """What it was measured with."""
    found: dict[str, str | None] = {
        "sentry_langgraph": sentry_langgraph.__version__,
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _interval(ratio: Ratio) -> list[float]:
    return [round(ratio.low, 4), round(ratio.high, 4)]


def _per_turn(ratio: Ratio) -> dict[str, float]:
    # each run has one more call of the model than turns: its answer
    scale = 1e6 * TURNS
    return {"bare": round(ratio.base / scale, 4), "wrapped": round(ratio.other / scale, 4)}
