"""The PyPI package longguard: its `CircuitBreaker`, with its default settings.

Source: https://github.com/ENDEVSOLS/LongGuard. Only imported where it is installed. A step is
one call with the message's text as its thought; `reflect` is a warning, `kill` a stop. Its caps
on steps and tokens are lifted, since a cap is no detection; tokens are not in the recordings.

With its default embedder the spread of eight thoughts is always under its threshold (vectors of
length 1 in 64 dimensions spread by 1/64 at most, the threshold is 0.15), so it fires on every
run of eight steps. `RepeatsOnly` is its rule for repeated calls alone (3 in the last 6).
"""

from __future__ import annotations

import logging
from typing import Any

from sentry_langgraph.bench.peers.events import Event, Level, Result, Turn

_NO_CAP = 10**9
_LEVELS: dict[str, Level] = {"reflect": "warning", "kill": "stop"}


class LongGuard:
    """A prompt to reflect, then the run is killed."""

    def __init__(self) -> None:
        import longguard  # noqa: PLC0415 - an optional package

        logging.getLogger("longguard").setLevel(logging.CRITICAL)  # it reports each detection
        self._made_step: Any = longguard.AgentStep
        config = longguard.GuardConfig(max_steps=_NO_CAP, max_tokens_per_run=_NO_CAP)
        self._breaker: Any = longguard.CircuitBreaker(config)
        self._thought = ""
        self._steps = 0
        self._killed = False

    def see(self, event: Event) -> Level | None:
        """Checked when a call has run; nothing runs after a kill."""
        if self._killed:
            return None
        if isinstance(event, Turn):
            self._thought = event.text
            return None if event.calls else self._checked(None)
        return self._checked(event) if isinstance(event, Result) else None

    def _checked(self, event: Result | None) -> Level | None:
        self._steps += 1
        step = self._made_step(
            step_number=self._steps,
            thought=self._thought,
            action=event.call.name if event else None,
            action_input=dict(event.call.args or {}) if event else None,
            observation=event.text if event else None,
        )
        action = self._judged(step)
        self._killed = action == "kill"
        return _LEVELS.get(action)

    def _judged(self, step: Any) -> str:
        return str(self._breaker.check(step).action)


class RepeatsOnly(LongGuard):
    """Its rule for repeated calls alone, without the breaker."""

    def __init__(self) -> None:
        super().__init__()
        self._rule = next(d for d in self._breaker.detectors if d.name == "ToolRepeatDetector")

    def _judged(self, step: Any) -> str:
        return "reflect" if self._rule.analyze(step).detected else "continue"
