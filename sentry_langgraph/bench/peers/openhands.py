"""OpenHands: `StuckDetector` of the software agent SDK, with its default thresholds.

Source: https://github.com/OpenHands/software-agent-sdk, `openhands-sdk/openhands/sdk/
conversation/stuck_detector.py` and `conversation/types.py` (`StuckDetectionThresholds`: 4, 3, 3,
6), read as facts; the code here is our own. It looks at the last 20 events after the last text
of the user, before each step: an action is equal to another where thought, tool and arguments
are. The rule for context-window errors is switched off in the source.

What a recording doesn't tell: which errors were `AgentErrorEvent`s. Every result that the
environment called an error counts as one here, which makes the rule fire earlier, never later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sentry_langgraph.bench.peers.events import Event, Level, Result, Turn, UserText

WINDOW = 20
SAME_RESULT = 4
SAME_ERROR = 3
MONOLOGUE = 3
ALTERNATING = 6


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str  # action, observation, error, message
    content: tuple[str, ...]


class OpenHands:
    """The conversation is ended as stuck."""

    def __init__(self) -> None:
        self._events: deque[_Entry] = deque(maxlen=WINDOW)

    def see(self, event: Event) -> Level | None:
        """Checked where the agent would take its next step."""
        match event:
            case UserText():
                self._events.clear()
                return None
            case Turn(_, text, ()):
                self._events.append(_Entry("message", (text,)))
            case Turn(_, text, calls):
                for number, call in enumerate(calls):
                    # the thought stands at the first action of a batch
                    thought = text if number == 0 else ""
                    self._events.append(_Entry("action", (thought, call.canonical)))
                return None
            case Result(_, call, text, failed, last):
                kind = "error" if failed else "observation"
                self._events.append(_Entry(kind, (text,) if failed else (call.name, text)))
                if not last:
                    return None
        return "stop" if self._stuck() else None

    def _stuck(self) -> bool:
        newest = list(reversed(self._events))
        actions = [entry for entry in newest if entry.kind == "action"]
        results = [entry for entry in newest if entry.kind in ("observation", "error")]
        errors = results[:SAME_ERROR]
        return (
            (_same(actions, SAME_RESULT) and _same(results, SAME_RESULT))
            or (_same(actions, SAME_ERROR) and all(entry.kind == "error" for entry in errors))
            or _monologue(newest)
            or (_alternates(actions) and _alternates(results))
        )


def _same(entries: Sequence[_Entry], count: int) -> bool:
    return len(entries) >= count and all(a == b for a, b in pairwise(entries[:count]))


def _alternates(entries: Sequence[_Entry]) -> bool:
    newest = entries[:ALTERNATING]
    return len(newest) == ALTERNATING and all(
        newest[place] == newest[place + 2] for place in range(ALTERNATING - 2)
    )


def _monologue(newest: Sequence[_Entry]) -> bool:
    head = newest[:MONOLOGUE]
    return len(head) == MONOLOGUE and all(entry.kind == "message" for entry in head)
