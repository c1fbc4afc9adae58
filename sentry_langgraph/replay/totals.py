"""What replay saw, as plain data: one entry a run, and the sums over all of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sentry_langgraph.replay.engine import Hit, Level, Replayed
from sentry_langgraph.taxonomy import type_of

VERSION = 1
"""The version of the JSON that `sentry replay` writes. It changes when a field does."""


class Totals:
    """Sums over replayed runs.

    Attributes:
        runs: Runs that were read.
        flagged: Runs with at least one finding.
        steps: Messages of agents.
        calls: Their calls.
        skipped: Runs that could not be read.
        hits: Findings by label, a finding of one task counted once.
        times: How often they came.
        runs_with: Runs by label.
        levels: Runs by the level of their worst finding.
    """

    def __init__(self) -> None:
        self.runs = self.flagged = self.steps = self.calls = self.skipped = 0
        self.hits: Counter[str] = Counter()
        self.times: Counter[str] = Counter()
        self.runs_with: Counter[str] = Counter()
        self.levels: Counter[str] = Counter()

    def add(self, replayed: Replayed) -> None:
        """Count a run."""
        self.runs += 1
        self.steps += replayed.steps
        self.calls += replayed.calls
        if replayed.level is None:
            return
        self.flagged += 1
        self.levels[replayed.level.value] += 1
        self.runs_with.update({hit.first.label.value for hit in replayed.hits})
        for hit in replayed.hits:
            self.hits[hit.first.label.value] += 1
            self.times[hit.first.label.value] += hit.times

    def reached(self, level: Level) -> int:
        """How many runs have a finding at `level` or above."""
        return sum(count for name, count in self.levels.items() if Level(name).rank >= level.rank)

    def sentence(self) -> str:
        """The sums so far, for a bar of progress."""
        return f"{self.runs:,} runs, {self.steps:,} steps, {self.flagged:,} with findings"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        labels = sorted(self.hits)
        return {
            "runs": self.runs,
            "flagged": self.flagged,
            "skipped": self.skipped,
            "steps": self.steps,
            "calls": self.calls,
            "levels": {level.value: self.levels[level.value] for level in Level},
            "labels": {
                label: {
                    "runs": self.runs_with[label],
                    "findings": self.hits[label],
                    "times": self.times[label],
                }
                for label in labels
            },
        }


def run_to_dict(replayed: Replayed, *, details: bool = False) -> dict[str, Any]:
    """A replayed run as plain JSON.

    Args:
        replayed: The run.
        details: Whether the sentences for the model are given, which may quote values.
    """
    recording = replayed.recording
    return {
        "id": recording.id,
        "source": recording.source,
        "where": recording.where,
        "model": recording.model,
        "success": recording.success,
        "steps": replayed.steps,
        "calls": replayed.calls,
        "level": replayed.level,
        "findings": [hit_to_dict(hit, details=details) for hit in replayed.hits],
        "faults": list(replayed.faults),
    }


def hit_to_dict(hit: Hit, *, details: bool = False) -> dict[str, Any]:
    """A finding as plain JSON: names, counts and digests, and no values unless `details`."""
    finding = hit.first
    data: dict[str, Any] = {
        "label": finding.label.value,
        "type": type_of(finding.label).value,
        "pattern": finding.pattern,
        "level": hit.level.value,
        "confidence": finding.confidence,
        "tool": finding.tool,
        "argument": finding.argument,
        "key": finding.key,
        "message": hit.position,
        "step": hit.step,
        "times": hit.times,
        "evidence": dict(finding.evidence),
        "last_evidence": dict(hit.last.evidence),
    }
    return {**data, "detail": finding.detail} if details else data
