"""The PyPI package loopguard-runtime: its `Monitor`, with the detectors of its own replay.

Source: the package (`loopguard/ingest.py` feeds saved traces through the same detectors). Only
imported where it is installed. Its decisions `warn`, `replan` and `pause` are warnings, `stop`
is a stop.
"""

from __future__ import annotations

from typing import Any

from sentry_langgraph.bench.peers.events import Call, Event, Level, Result, Turn

_RESULT_KEPT = 160


class LoopGuard:
    """A decision from warning to stop, by a score."""

    def __init__(self) -> None:
        from loopguard import detectors, monitor  # noqa: PLC0415 - an optional package

        self._monitor: Any = monitor.Monitor(
            [
                detectors.LoopDetector(),
                detectors.StallDetector(),
                detectors.ProgressDetector(),
                detectors.RepeatedFailureDetector(),
                detectors.CycleDetector(),
                detectors.HandoffLoopDetector(),
            ]
        )

    def see(self, event: Event) -> Level | None:
        """Checked at each call and at each result."""
        found: list[str] = []
        if isinstance(event, Turn):
            found = [self._called(call) for call in event.calls]
        elif isinstance(event, Result):
            text = event.text.strip().replace("\n", " ")[:_RESULT_KEPT]
            found.append(self._observed(f"result:{text}", last_result=text))
        if "stop" in found:
            return "stop"
        return "warning" if set(found) - {"continue"} else None

    def _called(self, call: Call) -> str:
        args = dict(call.args or {})
        shown = ", ".join(f"{k}={str(v).strip().lower()}" for k, v in sorted(args.items()))
        return self._observed(f"tool:{call.name}({shown})", last_tool=call.name, last_args=args)

    def _observed(self, signature: str, **payload: Any) -> str:
        seen = self._monitor.observe_decision("agent", "", signature, **payload)
        return str(seen.decision.action.value)
