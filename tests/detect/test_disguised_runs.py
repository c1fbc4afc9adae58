"""Findings don't depend on the names of tools or on the ids of a data set."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from detect.disguise import Json, differences, disguised, listed
from sentry_langgraph.bench.detection.watch import Found, Watcher
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.replay.catalogs import Catalogs
from sentry_langgraph.replay.recording import Recording
from sentry_langgraph.replay.runs import run_of

HERE = Path(__file__).parent / "data"
DEMO = Path(__file__).resolve().parents[2] / "sentry_langgraph" / "demo" / "data"

SETTINGS = SentryConfig()
RUNS_OF_A_FILE = 25


def runs_of(path: Path, limit: int | None = None) -> Iterator[Json]:
    """The runs of a file, with their tools listed; taken evenly from it where there is a limit."""
    toolsets = json.loads((path.parent / "toolsets.json").read_text(encoding="utf-8"))
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    every = 1 if limit is None else max(1, len(lines) // limit)
    for line in lines[::every][:limit]:
        yield listed(json.loads(line), toolsets)


def excerpts() -> list[Json]:
    """The runs that are committed."""
    paths = [HERE / "runs.jsonl", *sorted(DEMO.glob("*.jsonl"))]
    return [run for path in paths for run in runs_of(path)]


def recorded(run: Json) -> Recording:
    """The run as replay reads it."""
    return run_of(run, run["id"], trace=True)


@cache
def watcher(settings: str) -> Watcher:
    """One watcher for each settings."""
    return Watcher(SentryConfig.model_validate_json(settings))


def findings(run: Json, settings: SentryConfig) -> tuple[Found, ...]:
    """What we report of a run."""
    return watcher(settings.model_dump_json()).watch(recorded(run)).ours


def compared(run: Json, seed: int) -> list[str]:
    """How the findings of a run differ from those of its disguise."""
    catalog = Catalogs({}).of(recorded(run))
    other = disguised(run, catalog, SETTINGS, seed)
    return differences(findings(run, SETTINGS), findings(other.run, other.settings))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("run", excerpts(), ids=lambda run: run["id"][:12])
def test_excerpts(run: Json, seed: int) -> None:
    """The same findings at the same steps, with the same acts, under other names and ids."""
    assert compared(run, seed) == []


def test_excerpts_have_findings() -> None:
    """The comparison is not one of nothing with nothing."""
    assert sum(bool(findings(run, SETTINGS)) for run in excerpts()) >= 5


@pytest.mark.parametrize("run", excerpts(), ids=lambda run: run["id"][:12])
def test_disguise_is_complete(run: Json) -> None:
    """No call keeps its tool's name and no id its digits, and nothing else is touched."""
    catalog = Catalogs({}).of(recorded(run))
    made = disguised(run, catalog, SETTINGS, 1)
    called = [
        call["function"]["name"]
        for message in made.run["messages"]
        for call in message.get("tool_calls") or ()
    ]
    assert called
    assert all(re.fullmatch(r"tool_\d{3}", name) for name in called)
    assert len(set(made.ids.values())) == len(made.ids)
    assert all(len(old) == len(new) for old, new in made.ids.items())
    assert [m["role"] for m in made.run["messages"]] == [m["role"] for m in run["messages"]]
    again = disguised(run, catalog, SETTINGS, 1)
    assert again.run == made.run


def test_disguise_finds_out_a_cheat() -> None:
    """A detector that knows a tool's name or an id is found out."""
    settings = SentryConfig(detectors=({"kind": f"{__name__}:knows_the_data_set"},))
    run = next(run for run in excerpts() if run["id"].startswith("ed66fbbc"))
    other = disguised(run, Catalogs({}).of(recorded(run)), settings, 1)
    found = differences(findings(run, settings), findings(other.run, other.settings))
    assert any("over_exploration" in one for one in found)


def knows_the_data_set(trajectory: Any) -> list[Any]:
    """A detector that keys on one tool and one id."""
    from sentry_langgraph.records import Finding
    from sentry_langgraph.taxonomy import Label, Severity

    return [
        Finding(
            Label.OVER_EXPLORATION, trajectory.proposal.id, key="cheat", severity=Severity.ADVISE
        )
        for call in trajectory.proposal.calls
        if call.name == "get_details_by_id" and (call.args or {}).get("id") == "B1234321"
    ]


@pytest.mark.skipif(
    "SENTRY_TRACES" not in os.environ, reason="SENTRY_TRACES names no directory of recorded runs"
)
def test_recorded_runs() -> None:
    """The same on a sample of every file of recorded runs."""
    found = {}
    for path in sorted(Path(os.environ["SENTRY_TRACES"]).glob("*.jsonl.gz")):
        for run in runs_of(path, RUNS_OF_A_FILE):
            if different := compared(run, 3):
                found[run["id"]] = different
    assert found == {}
