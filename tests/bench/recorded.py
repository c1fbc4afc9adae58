"""Runs for tests, written as short as the trace format allows, and read as recordings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from sentry_langgraph.bench.peers.events import Call, Event, Result, Turn, UserText
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.detect import DetectorOptions
from sentry_langgraph.detect.registry import BUILT_IN
from sentry_langgraph.options import PositiveCount
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.replay.recording import Recording
from sentry_langgraph.replay.runs import run_of
from sentry_langgraph.taxonomy import Label, Severity

Move = tuple[str, Any] | tuple[str, Any, str]


class CountingOptions(DetectorOptions):
    """Options of `Counting`."""

    advise_at: PositiveCount = 3
    hold_at: PositiveCount = 5


class Counting:
    """A loop rule as simple as can be: the same call again, whatever came back.

    So the tests of the benchmark don't depend on how the real rules are tuned.
    """

    Options: ClassVar[type[DetectorOptions]] = CountingOptions

    def __init__(self, options: CountingOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """Advice from `advise_at` on, a hold from `hold_at` on."""
        for call in trajectory.proposal.calls:
            made = [(one.name, one.args) for step in trajectory.steps for one in step.calls]
            count = made.count((call.name, call.args)) + 1
            if count >= self._options.advise_at:
                hold = count >= self._options.hold_at
                yield Finding(
                    Label.REPETITION_OR_LOOPING,
                    trajectory.proposal.id,
                    key="again",
                    severity=Severity.HOLD if hold else Severity.ADVISE,
                    calls=(call.index,),
                )


COUNTING = f"{__name__}:Counting"


def counting(**options: Any) -> SentryConfig:
    """Settings with `Counting` and the check of calls, and no other detector."""
    off = [{"kind": kind, "enabled": False} for kind in BUILT_IN if kind != "action_validity"]
    return SentryConfig(detectors=(*off, {"kind": COUNTING, **options}))


LOOKUP = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Look a thing up.",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "deep": {"type": "boolean"}},
            "required": ["id"],
        },
    },
}
"""A tool that reads."""


def user(text: str = "Go on.") -> dict[str, Any]:
    """A text of the user."""
    return {"role": "user", "content": text}


def asks(name: str = "lookup", text: str = "", number: int = 0, **args: Any) -> dict[str, Any]:
    """A message of the agent with one call."""
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)},
            }
        ],
    }


def says(text: str) -> dict[str, Any]:
    """A message of the agent without a call."""
    return {"role": "assistant", "content": text}


def gives(text: str = "found", number: int = 0, *, error: bool = False) -> dict[str, Any]:
    """The result of the call with the same number."""
    made = {"role": "tool", "tool_call_id": f"c{number}", "content": text}
    return {**made, "error": True} if error else made


def turns(*moves: tuple[str, str], tool: str = "lookup", error: bool = False) -> list[Any]:
    """Calls by the value of `id`, each with its result."""
    messages: list[Any] = []
    for number, (value, result) in enumerate(moves):
        messages += [asks(tool, number=number, id=value), gives(result, number, error=error)]
    return messages


def run(messages: Iterable[Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    """A run of the trace format."""
    return {
        "source": "test_source",
        "id": "run-1",
        "model": "m",
        "task": "t",
        "tools": [LOOKUP],
        "messages": list(messages),
        "outcome": {"success": True},
        "annotations": None,
        **fields,
    }


def recording(messages: Iterable[Mapping[str, Any]], **fields: Any) -> Recording:
    """The same, read."""
    return run_of(run(messages, **fields), "test", trace=True)


def write_runs(path: Path, runs: Iterable[Mapping[str, Any]]) -> Path:
    """Runs as a gzipped file."""
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(one) + "\n" for one in runs)
    return path


def events(*moves: str | tuple[str, str], failed: bool = False, text: str = "") -> list[Event]:
    """Events of one call a turn: `"a"` calls with `a` and gets `same`; `("a", "x")` gets `x`.

    `"@"` is a text of the user, `"!"` a text of the agent.
    """
    made: list[Event] = []
    for move in moves:
        position = len(made)
        if move == "@":
            made.append(UserText(position, "go on"))
        elif move == "!":
            made.append(Turn(position, text or "thinking"))
        else:
            value, result = move if isinstance(move, tuple) else (move, "same")
            call = Call(f"c{position}", "lookup", {"id": value})
            made += [Turn(position, text, (call,)), Result(position + 1, call, result, failed)]
    return made
