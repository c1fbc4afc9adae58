"""`sentry bench overhead`, at a small effort."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from rich.console import Console
from typer.testing import CliRunner

from sentry_langgraph import with_sentry
from sentry_langgraph.bench.command import app
from sentry_langgraph.bench.footprint import Footprint, footprints
from sentry_langgraph.bench.gate_time import gate_time
from sentry_langgraph.bench.overhead import Effort, Overhead, measure_overhead, on_sqlite
from sentry_langgraph.bench.table import NOT_SHOWN, render, rows
from sentry_langgraph.bench.workload import SETTINGS, SHAPES, bare_agent, request
from sentry_langgraph.testing import STRICT, check_history

SMALL = Effort(
    turn_seconds=0, sqlite_seconds=0, least_rounds=2, samples=3, imports=1, lengths=(10, 40)
)


@pytest.fixture(scope="module")
def measured() -> Overhead:
    """One measurement for all tests of this module."""
    return measure_overhead(SMALL)


def test_json_has_the_promised_keys(measured: Overhead) -> None:
    """The keys are stable, plain JSON, and say versions and date."""
    found = json.loads(json.dumps(measured.to_dict()))
    assert found["turn_cpu_ratio"] > 0
    assert set(found["gate_us"]) == {"10", "40"}
    assert (found["supersteps_added"], found["checkpoints_added"]) == (0, 0)
    assert found["checkpoint_bytes_added"] == 0
    assert found["import_ratio"] > 0
    assert found["versions"]["langgraph"]
    assert found["date"].startswith("20")
    low, high = found["turn_cpu_ratio_interval"]
    assert low <= found["turn_cpu_ratio"] <= high


def test_healthy_run_leaves_nothing_more_behind() -> None:
    """Wrapped and bare, a healthy run has the same supersteps, checkpoints and bytes."""
    bare, wrapped = footprints(turns=4)
    assert bare == wrapped
    assert bare.supersteps == 9
    assert bare.checkpoints == 11
    assert bare.bytes > 1_000


def test_footprint_sees_what_a_repair_adds() -> None:
    """The measurement is not blind: an agent that gets advice has more bytes."""
    advised = {**SETTINGS, "detectors": [{"kind": f"{__name__}:every_call_is_wrong"}]}
    bare, wrapped = footprints(turns=2, settings=advised)
    assert wrapped.bytes > bare.bytes


def every_call_is_wrong(trajectory: Any) -> list[Any]:
    """A detector that advises at every call."""
    from sentry_langgraph.records import Finding
    from sentry_langgraph.taxonomy import Label, Severity

    proposal = trajectory.proposal
    if not proposal.calls:
        return []
    return [Finding(Label.OVER_EXPLORATION, proposal.id, key="bench", severity=Severity.ADVISE)]


def test_measured_run_is_healthy() -> None:
    """Nothing is detected in the measured agent, or the benchmark would measure repairs."""
    graph = with_sentry(bare_agent(6), SETTINGS)
    seen = [
        event for event in graph.stream(request(), stream_mode="updates") if "agent" not in event
    ]
    assert {name for event in seen for name in event} == {"tools"}
    messages = graph.invoke(request())["messages"]
    assert len([m for m in messages if isinstance(m, ToolMessage)]) == 6
    assert not [m for m in messages if "sentry" in m.additional_kwargs]


@pytest.mark.parametrize("shape", list(SHAPES))
def test_histories_are_what_a_provider_takes(shape: str) -> None:
    """Every call of a made-up history is answered, and ids don't repeat."""
    made = SHAPES[shape]("test")
    history = [next(made) for _ in range(61)]
    while isinstance(history[-1], AIMessage):
        history.pop()
    assert not check_history(history, STRICT)
    ids = [message.id for message in history]
    assert len(set(ids)) == len(ids)


def test_gate_is_timed_at_every_length() -> None:
    """Each shape and length has a time, and the gate is a part of its edge."""
    found = gate_time(samples=5, lengths=(10, 100))
    for shape in SHAPES:
        for length in (10, 100):
            assert 0 < found.gate[shape][length] < found.edge[shape][length]
    assert found.growth > 0
    assert set(found.first) == {10, 100}


def test_table_says_goal_and_whether_it_is_met(measured: Overhead) -> None:
    """Each goal has a verdict, and the table ends with what it does not show."""
    with_goal = [row for row in rows(measured) if row.goal]
    assert len(with_goal) == 8
    assert all(row.met is not None for row in with_goal)
    out = io.StringIO()
    Console(file=out, width=100).print(render(measured))
    assert NOT_SHOWN[0][:40] in out.getvalue()


def test_missed_goal_is_shown_as_missed(measured: Overhead) -> None:
    """A figure beyond its goal is not shown as met."""
    worse = replace(measured, footprint=(Footprint(1, 1, 1), Footprint(2, 1, 1)))
    found = {row.figure: row.met for row in rows(worse)}
    assert found["Supersteps added"] is False
    assert found["Checkpoints added"] is True


def test_missing_saver_is_said(measured: Overhead, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the SQLite saver its figures are null, and the table says what to install."""
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.sqlite", None)
    turn_sqlite, footprint = on_sqlite(SMALL)
    found = replace(measured, turn_sqlite=turn_sqlite, footprint=footprint)
    assert found.to_dict()["checkpoints_added"] is None
    assert found.to_dict()["turn_cpu_ratio_sqlite"] is None
    (row,) = [row for row in rows(found) if row.figure == "Checkpoints added"]
    assert row.met is None
    assert "pip install langgraph-checkpoint-sqlite" in row.value


def test_command_prints_and_writes(tmp_path: Path) -> None:
    """`--json FILE` holds the figures, and the table is printed."""
    file = tmp_path / "figures.json"
    result = CliRunner().invoke(app, ["overhead", "--quick", "--json", str(file)])
    assert result.exit_code == 0
    assert "CPU per turn" in result.output
    found = json.loads(file.read_text(encoding="utf-8"))
    assert set(found["gate_us"]) == {"10", "1000", "10000"}


def test_command_refuses_a_directory_that_is_not_there(tmp_path: Path) -> None:
    """A wrong path is said before anything is measured."""
    result = CliRunner().invoke(app, ["overhead", "--json", str(tmp_path / "no" / "file.json")])
    assert result.exit_code == 2
