"""The measurements as a table for people."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from sentry_langgraph.bench.gate_time import WINDOW
from sentry_langgraph.bench.overhead import (
    ADDED_GOAL,
    GATE_GOAL,
    GROWTH_GOAL,
    TURN_CPU_GOAL,
    Overhead,
    versions,
)
from sentry_langgraph.bench.workload import TOOLS, TURNS

NOT_SHOWN = (
    "The model answers at once and costs next to nothing. With a real model Sentry's share of a "
    "turn is smaller by far; the ratio here is the worst case.",
    "No step fails. What a repair costs (a turn of the model, guidance tokens, a look-up in the "
    "playbook) is not in these figures.",
    "One hand-written loop (StateGraph and ToolNode), run without async, one thread after the "
    "other. Agents with middlewares have dearer turns of their own.",
    "Memory, and latency under load, are not measured.",
)
"""What the benchmark does not show."""

_NO_SAVER = "not measured: pip install langgraph-checkpoint-sqlite"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        figure: What was measured.
        value: The value, in words.
        goal: The goal in words, or empty where there is none.
        met: Whether it is met; None where there is no goal or no value.
    """

    figure: str
    value: str
    goal: str = ""
    met: bool | None = None


def rows(overhead: Overhead) -> list[Row]:
    """All figures, with their goals."""
    turn = overhead.turn
    scale = 1e6 * TURNS
    found = [
        Row(
            "CPU per turn, bare → wrapped",
            f"{turn.base / scale:.3f} → {turn.other / scale:.3f} ms",
        ),
        Row(
            "CPU per turn, ratio",
            f"{turn.ratio:.3f} ({turn.low:.3f}–{turn.high:.3f})",
            f"≤ {TURN_CPU_GOAL}",
            turn.ratio <= TURN_CPU_GOAL,
        ),
    ]
    if overhead.turn_sqlite is None:
        found.append(Row("CPU per turn on SQLite, ratio", _NO_SAVER))
    else:
        on_file = overhead.turn_sqlite
        found.append(
            Row(
                "CPU per turn on SQLite, ratio",
                f"{on_file.ratio:.3f} ({on_file.low:.3f}–{on_file.high:.3f})",
                f"≤ {TURN_CPU_GOAL}",
                on_file.ratio <= TURN_CPU_GOAL,
            )
        )
    return found + _gate_rows(overhead) + _footprint_rows(overhead) + _import_rows(overhead)


def _gate_rows(overhead: Overhead) -> list[Row]:
    gate = overhead.gate
    found = [
        Row(
            f"Gate, {length:,} messages",
            f"{slowest:.0f} µs",
            f"≤ {GATE_GOAL:.0f} µs",
            slowest <= GATE_GOAL,
        )
        for length, slowest in gate.slowest.items()
    ]
    found.append(
        Row(
            "Gate, growth from shortest to longest",
            f"{gate.growth:.2f} ×",
            f"≤ {GROWTH_GOAL} ×",
            gate.growth <= GROWTH_GOAL,
        )
    )
    longest = max(gate.first)
    slowest = max(shape[longest] for shape in gate.edge.values())
    first = gate.first[longest]
    found.append(Row(f"Edge with the router itself, {longest:,}", f"{slowest:.0f} µs"))
    found.append(Row(f"Edge, first call after a restart, {longest:,}", f"{first:.0f} µs"))
    return found


def _footprint_rows(overhead: Overhead) -> list[Row]:
    names = {"supersteps": "Supersteps", "checkpoints": "Checkpoints", "bytes": "Checkpoint bytes"}
    found = []
    for name, title in names.items():
        added = overhead.added(name)
        if overhead.footprint is None or added is None:
            found.append(Row(f"{title} added", _NO_SAVER, f"{ADDED_GOAL}"))
            continue
        bare = getattr(overhead.footprint[0], name)
        found.append(
            Row(
                f"{title} added",
                f"{added:,} (bare: {bare:,})",
                f"{ADDED_GOAL}",
                added <= ADDED_GOAL,
            )
        )
    return found


def _import_rows(overhead: Overhead) -> list[Row]:
    ready = overhead.imports.ready
    return [
        Row(
            "Import of with_sentry, LangGraph = 1",
            f"{ready.ratio:.2f} ({ready.base / 1e6:.0f} → {ready.other / 1e6:.0f} ms)",
        ),
        Row("Import of sentry_langgraph alone", f"{overhead.imports.package:.0f} ms"),
    ]


def render(overhead: Overhead) -> Group:
    """The table, and what it does not show."""
    table = Table(title="What Sentry costs a run without failures", title_justify="left")
    table.add_column("Figure", no_wrap=True)
    table.add_column("Measured")
    table.add_column("Goal", no_wrap=True)
    table.add_column("Met", no_wrap=True)
    for row in rows(overhead):
        table.add_row(row.figure, row.value, row.goal, _mark(row.met))
    named = ", ".join(f"{name} {number}" for name, number in versions().items() if number)
    basis = (
        f"{overhead.turn.rounds} rounds of {TURNS} turns, bare and wrapped by turns; medians, in "
        f"brackets the 95 % interval of the ratio. Gate: the slower of one long task and many, "
        f"at window {WINDOW} with {TOOLS} tools, {overhead.gate.samples} calls for each history. "
        f"CPU time throughout. {named}. {overhead.date}."
    )
    lines = [Text(basis, style="dim"), Text(), Text("What this does not show", style="bold")]
    return Group(table, *lines, *(Text(f"- {line}") for line in NOT_SHOWN))


def _mark(met: bool | None) -> Text:
    if met is None:
        return Text("–")
    return Text("yes", style="green") if met else Text("no", style="bold red")


def show(overhead: Overhead) -> None:
    """Print the table."""
    Console().print(render(overhead))
