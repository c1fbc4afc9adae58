"""The sentences under `must` and `must_not`, each with the function that asserts it.

A sentence is looked up by its exact text. One that is not known is read by a rule where the
rule says the same as the sentence; else it has no checker, and the test run says so.
"""

from __future__ import annotations

from cases.sentences import common, content, gate, history, monitor, persistence, places, running
from cases.sentences.registry import Check, checker, known

__all__ = [
    "Check",
    "checker",
    "common",
    "content",
    "gate",
    "history",
    "known",
    "monitor",
    "persistence",
    "places",
    "running",
]
