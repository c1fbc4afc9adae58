"""OpenClaw: tool-loop detection, with its default thresholds, switched on.

Source: https://github.com/openclaw/openclaw, `src/agents/tool-loop-detection.ts` (history of 30
calls; warning at 10, critical at 20, circuit breaker at 30, unknown tool at 10; off by default),
read as facts; the code here is our own. Three detectors: the same call (critical only where the
results are the same too), two calls by turns, and a tool that doesn't exist. It is asked before
a call runs, so the call that it stops is the one after the count.

The polling rule names tools of OpenClaw and has nothing to watch here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from sentry_langgraph.bench.peers.events import Call, Event, Level, Result, Turn

HISTORY = 30
WARNING = 10
CRITICAL = 20
UNKNOWN = 10

_UNKNOWN_TOOL = re.compile(
    r"unknown tool[:\s]+[\"']?([a-z0-9_.-]+)|"
    r"tool\s+[\"']?([a-z0-9_.-]+)[\"']?\s+(?:not found|is not available)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Record:
    key: str
    tool: str
    id: str
    result: str | None = None
    unknown: str | None = None


class OpenClaw:
    """A warning in the log and to the agent, then the call is blocked."""

    def __init__(self) -> None:
        self._history: deque[_Record] = deque(maxlen=HISTORY)

    def see(self, event: Event) -> Level | None:
        """Checked before each call of the agent runs."""
        if isinstance(event, Result):
            self._answer(event)
            return None
        if not isinstance(event, Turn):
            return None
        found: set[Level | None] = set()
        for call in event.calls:
            found.add(self._judge(call))
            self._history.append(_Record(call.canonical, call.name, call.id))
        return "stop" if "stop" in found else "warning" if "warning" in found else None

    def _answer(self, event: Result) -> None:
        for record in reversed(self._history):
            if record.id == event.call.id and record.key == event.call.canonical:
                record.result = ("error:" if event.failed else "") + event.text
                named = _UNKNOWN_TOOL.search(event.text[:500]) if event.failed else None
                record.unknown = (named.group(1) or named.group(2)).lower() if named else None
                return

    def _judge(self, call: Call) -> Level | None:
        history = list(self._history)
        key = call.canonical
        turns, fruitless = _by_turns(history, key)
        streak = _no_progress(history, key)
        if _unknown(history, call.name) >= UNKNOWN or streak >= CRITICAL:
            return "stop"
        if turns >= CRITICAL and fruitless:
            return "stop"
        same = sum(record.key == key for record in history)
        return "warning" if turns >= WARNING or same >= WARNING else None


def _unknown(history: Sequence[_Record], tool: str) -> int:
    count = 0
    for record in reversed(history):
        if record.tool != tool or not record.unknown:
            break
        count += 1
    return count


def _no_progress(history: Sequence[_Record], key: str) -> int:
    """How often the call came back with its latest result."""
    results = [r.result for r in reversed(history) if r.key == key and r.result]
    count = 0
    for result in results:
        if result != results[0]:
            break
        count += 1
    return count


def _by_turns(history: Sequence[_Record], key: str) -> tuple[int, bool]:
    """Length of the alternation that `key` goes on with, and whether its results stood still."""
    if not history:
        return 0, False
    last = history[-1].key
    other = next((r.key for r in reversed(history) if r.key != last), None)
    if other is None or key != other:
        return 0, False
    tail: list[_Record] = []
    for record in reversed(history):
        if record.key != (last if len(tail) % 2 == 0 else other):
            break
        tail.append(record)
    if len(tail) < 2:
        return 0, False
    results = {(record.key, record.result) for record in tail}
    return len(tail) + 1, len(results) == 2 and all(record.result for record in tail)
