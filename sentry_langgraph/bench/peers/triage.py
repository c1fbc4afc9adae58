"""The PyPI package triage-agent: `RulesClassifier`, with its default settings.

Source: https://github.com/mattekudacy/triage. Only imported where it is installed. The package
classifies a run that has failed; it doesn't watch one. Here it is asked after every result
whether it would call the run so far a loop (the last 3 steps are the same call), which is the
one of its classes that isn't read from an error.
"""

from __future__ import annotations

from typing import Any

from sentry_langgraph.bench.peers.events import Event, Level, Result


class Triage:
    """The class `loop_detected`."""

    def __init__(self) -> None:
        from triage import classifier, taxonomy, trajectory  # noqa: PLC0415 - an optional package

        self._step: Any = taxonomy.Step
        self._trajectory: Any = trajectory.Trajectory
        self._rules: Any = classifier.RulesClassifier()
        self._loop: Any = taxonomy.FailureType.LOOP_DETECTED
        self._steps: list[Any] = []

    def see(self, event: Event) -> Level | None:
        """Asked after each result."""
        if not isinstance(event, Result):
            return None
        step = self._step(
            index=len(self._steps),
            action=event.call.name,
            tool_called=event.call.name,
            tool_input=dict(event.call.args or {}),
        )
        self._steps = [*self._steps, step][-self._rules.loop_window :]
        found = self._rules.classify(self._trajectory(self._steps), "")
        return "warning" if found is self._loop else None
