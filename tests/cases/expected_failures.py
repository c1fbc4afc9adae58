"""Tests of the shipped cases that fail for a reason that is known."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {}
"""Why, by the name of the test. Each is strict: a test that passes has to leave this table."""
