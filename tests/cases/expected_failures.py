"""Tests of the shipped cases that fail for a reason that is known."""

from __future__ import annotations

from collections.abc import Mapping

_EXPLORATION = "the detector of over_exploration is not there yet"
_DRIFT = "the detector of objective_drift is not there yet"

REASONS: Mapping[str, str] = {
    "RW-028[must-1]": _EXPLORATION,
    "RW-028[must-2]": _EXPLORATION,
    "RW-028[must-3]": _EXPLORATION,
    "RW-036[must-1]": _DRIFT,
    "RW-036[must-2]": _DRIFT,
}
"""Why, by the name of the test. Each is strict: a test that passes has to leave this table."""
