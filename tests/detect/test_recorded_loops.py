"""Loops in recorded runs of real agents; skipped where the recordings are not at hand.

`SENTRY_TRACES` names the directory with `tau2_dev.jsonl.gz`, `toolsets.json` and the others.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from strategies import shape

from sentry_langgraph.config import SentryConfig, ToolOptions
from sentry_langgraph.config.tool_spec import tool_spec
from sentry_langgraph.detect.base import Detector
from sentry_langgraph.detect.naming import reads_by_name
from sentry_langgraph.records import (
    Catalog,
    Finding,
    Observation,
    Proposal,
    Step,
    Task,
    ToolCall,
    Trajectory,
    reads_as_error,
)
from sentry_langgraph.signature import call_key, digest

TRACES = os.environ.get("SENTRY_TRACES", "")
KINDS = ("repetition_or_looping", "over_exploration")
SHIFTED = str.maketrans("123456789", "574928631")

pytestmark = pytest.mark.skipif(not TRACES, reason="SENTRY_TRACES names no directory of recordings")

Run = dict[str, Any]


def runs(name: str, wanted: Callable[[Run], bool], most: int) -> list[Run]:
    """The first runs of a file that are wanted."""
    found: list[Run] = []
    with gzip.open(Path(TRACES) / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            if wanted(run):
                found.append(run)
            if len(found) == most:
                break
    return found


@cache
def toolsets() -> dict[str, Any]:
    """The tools that runs refer to by name."""
    text = (Path(TRACES) / "toolsets.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def catalog(run: Run, renamed: dict[str, str] | None = None) -> Catalog:
    """The tools of a run; renamed ones are told to read or change as before."""
    listed = run["tools"]
    if isinstance(listed, str):
        listed = toolsets()[listed.removeprefix("@toolset:")]["tools"]
    specs = {}
    for tool in listed:
        function = tool["function"]
        name = function["name"]
        new = renamed.setdefault(name, f"t{len(renamed)}") if renamed is not None else name
        options = ToolOptions(read_only=reads_by_name(name)) if renamed is not None else None
        specs[new] = tool_spec(
            new, options or ToolOptions(), parameters=function.get("parameters") or {}
        )
    return Catalog(specs)


def trajectories(run: Run, renamed: dict[str, str] | None = None) -> Iterator[Trajectory]:
    """What the gate would have seen, message by message."""
    tools = catalog(run, renamed)
    task, steps = Task(), []
    messages = [one for one in run["messages"] if one.get("requestor") != "user"]
    results = {one["tool_call_id"]: one for one in messages if one["role"] == "tool"}
    for place, message in enumerate(messages):
        if message["role"] == "user":
            task, steps = Task(str(place), message.get("content") or ""), []
        elif message["role"] == "assistant":
            calls = tuple(_calls(message, renamed))
            yield Trajectory(
                task, tuple(steps[-20:]), Proposal(str(place), "", calls, not calls), tools
            )
            seen = tuple(
                _seen(call, results[call.id], renamed) for call in calls if call.id in results
            )
            steps.append(Step(str(place), "", calls, seen))


def _calls(message: dict[str, Any], renamed: dict[str, str] | None) -> Iterator[ToolCall]:
    for index, call in enumerate(message.get("tool_calls") or ()):
        name, text = call["function"]["name"], call["function"]["arguments"]
        if renamed is not None:
            name, text = renamed.setdefault(name, f"t{len(renamed)}"), text.translate(SHIFTED)
        try:
            args = json.loads(text)
        except ValueError:
            args = None
        yield ToolCall(call["id"], name, args if isinstance(args, dict) else None, index)


def _seen(call: ToolCall, message: dict[str, Any], renamed: dict[str, str] | None) -> Observation:
    text = message.get("content") or ""
    failed = bool(message.get("error")) or reads_as_error(text)
    text = text.translate(SHIFTED) if renamed is not None else text
    status = "error" if failed else "success"
    return Observation(call.id, call.name, text[:4_000], status, digest(text))


def detectors(run: Run, renamed: dict[str, str] | None = None) -> list[Detector]:
    """The detectors of loops, as the preset for the tools sets them."""
    stages = SentryConfig().pipeline(catalog(run, renamed))
    return [detector for kind, detector in stages.detectors if kind in KINDS]


def found(run: Run, renamed: dict[str, str] | None = None) -> list[Finding]:
    """All findings about loops in a run."""
    own = detectors(run, renamed)
    return [
        finding
        for seen in trajectories(run, renamed)
        for detector in own
        for finding in detector.detect(seen)
    ]


def hit_the_limit(run: Run) -> bool:
    """Whether a run ended at its limit of steps."""
    return bool(run["outcome"].get("termination") == "max_steps")


def test_runs_that_hit_the_limit_are_held() -> None:
    """Each of them is advised on, and later held."""
    for run in runs("tau2_dev", hit_the_limit, 15):
        severities = {finding.severity for finding in found(run)}
        assert {"advise", "hold"} <= severities


def test_few_runs_that_succeed_are_spoken_to() -> None:
    """Of the first 300, at most one in fifty is advised on and one in a hundred held."""
    seen = [found(run) for run in runs("tau2_dev", lambda run: run["outcome"]["success"], 300)]
    loops = [[one for one in run if one.label == KINDS[0]] for run in seen]
    assert sum(bool(run) for run in loops) <= 6
    assert sum(any(one.severity == "hold" for one in run) for run in loops) <= 3
    assert sum(any(one.label == KINDS[1] for one in run) for run in seen) <= 6


def test_findings_do_not_hang_on_names_and_ids() -> None:
    """Other names of all tools and other digits in all ids give the same findings."""
    sample = [
        *runs("tau2_dev", hit_the_limit, 3),
        *runs("intercode_dev", lambda run: len(run["messages"]) > 8, 30),
        *runs("reflexion_hotpotqa_dev", lambda run: bool(run["outcome"].get("halted")), 15),
    ]
    for run in sample:
        preset = SentryConfig().preset_for(catalog(run)).name
        other = SentryConfig().preset_for(catalog(run, {})).name
        if preset == other:  # a search is known by its name too
            assert [shape(one) for one in found(run, {})] == [shape(one) for one in found(run)]


def test_a_command_given_twice_with_the_same_result_is_caught_at_once() -> None:
    """In a shell, at the second of them."""
    caught = 0
    repeated = 0
    for run in runs("intercode_dev", lambda run: len(run["messages"]) > 4, 400):
        own = detectors(run)
        results = {one["tool_call_id"]: one for one in run["messages"] if one["role"] == "tool"}
        known: dict[str, str] = {}
        for seen in trajectories(run):
            for call in seen.proposal.calls:
                spec = seen.catalog.tools.get(call.name)
                result = results.get(call.id)
                if spec is None or result is None:
                    continue
                key, text = call_key(call, spec), result.get("content") or ""
                if known.get(key) == text:
                    repeated += 1
                    caught += any(list(detector.detect(seen)) for detector in own)
                    known.clear()
                known[key] = text
    assert repeated > 100
    assert caught >= 0.95 * repeated
