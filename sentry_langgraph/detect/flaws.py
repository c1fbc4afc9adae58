"""What one check of `hallucination` says about one call."""

from __future__ import annotations

from dataclasses import dataclass

from sentry_langgraph.taxonomy import Severity

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a call.

    Attributes:
        call: Position of the call in the message.
        tool: The tool.
        argument: The argument; empty where the call as such is wrong.
        pattern: The finer name.
        detail: One line for the model.
        severity: How far a repair may go.
        confidence: From 0 to 1.
        owed: Whether the call, if it is a change, stays to be done.
        advice: The next step in words, where the label's own would mislead.
    """

    call: int
    tool: str
    argument: str
    pattern: str
    detail: str
    severity: Severity = Severity.HOLD
    confidence: float = 0.9
    owed: bool = True
    advice: str = ""


def shown(value: object) -> str:
    """A value as a line for the model may quote it."""
    flat = " ".join(str(value).split())
    return f"{flat[: _SHOWN - 1]}…" if len(flat) > _SHOWN else flat
