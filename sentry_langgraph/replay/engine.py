"""The configured detectors over recorded runs, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import Finding
from sentry_langgraph.replay.catalogs import Catalogs
from sentry_langgraph.replay.prefixes import Prefix, prefixes
from sentry_langgraph.replay.recording import Recording
from sentry_langgraph.taxonomy import Severity


class Level(StrEnum):
    """How far a finding would go, from the least.

    Attributes:
        INFO: Recorded only: no more than a note, or below the confidence that repairs ask for.
        ADVISE: Guidance beside the action.
        HOLD: The action, or the end of the run, would not go through.
        HARD: The call can't run, and has to be made again.
    """

    INFO = "info"
    ADVISE = "advise"
    HOLD = "hold"
    HARD = "hard"

    @property
    def rank(self) -> int:
        """Its place in the order, from 0."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Hit:
    """One failure of a run: every time that the same finding came in the same task.

    Attributes:
        first: The finding when it came first.
        position: Where it came first: the position of the agent's message in the recording.
        step: How many messages the agent had written by then, this one included.
        times: How often it came.
        level: How far it went at most.
        last: The finding when it came last, such as with its final count.
    """

    first: Finding
    position: int
    step: int
    times: int
    level: Level
    last: Finding


@dataclass(frozen=True, slots=True)
class Replayed:
    """What replay saw in one run.

    Attributes:
        recording: The run.
        steps: How many messages the agent wrote.
        calls: How many calls it made.
        hits: The failures, in the order in which they came.
        faults: Kinds of detectors that raised.
    """

    recording: Recording
    steps: int
    calls: int
    hits: tuple[Hit, ...]
    faults: tuple[str, ...] = ()

    @property
    def level(self) -> Level | None:
        """How far the worst finding went; None where there is none."""
        return max((hit.level for hit in self.hits), key=lambda one: one.rank, default=None)


@dataclass(slots=True)
class _Seen:
    first: Finding
    position: int
    step: int
    times: int
    level: Level
    last: Finding


@dataclass(frozen=True, slots=True)
class Replay:
    """The configured detectors, ready to look at recordings.

    Attributes:
        pipeline: The stages.
        catalogs: Gives the tools of a run.
    """

    pipeline: Pipeline
    catalogs: Catalogs = field(default_factory=lambda: Catalogs({}))

    @classmethod
    def of(cls, config: SentryConfig, tools: Any = None) -> Replay:
        """The detectors of a configuration.

        Args:
            config: The settings.
            tools: The schemas of the tools, for runs that record none.
        """
        return cls(config.pipeline(), Catalogs(config.tools, tools))

    def prefixes(self, recording: Recording) -> Iterator[Prefix]:
        """What the gate would have seen at every message of the agent."""
        return prefixes(recording, self.catalogs.of(recording), self.pipeline.window)

    def run(self, recording: Recording) -> Replayed:
        """Look at every message of a run.

        Raises:
            RecordingError: The run's tools are no tools.
        """
        seen: dict[tuple[str, str], _Seen] = {}
        faults: dict[str, None] = {}
        steps = calls = 0
        detect = self.pipeline.detect
        for position, trajectory in self.prefixes(recording):
            steps += 1
            calls += len(trajectory.proposal.calls)
            findings, faulty = detect(trajectory)
            if not findings and not faulty:
                continue
            faults.update(dict.fromkeys(str(event.get("what")) for event in faulty))
            for finding in findings:
                level = self.level(finding)
                key = (trajectory.task.id, finding.key)
                known = seen.get(key)
                if known is None:
                    seen[key] = _Seen(finding, position, steps, 1, level, finding)
                    continue
                known.times += 1
                known.last = finding
                known.level = max(known.level, level, key=lambda one: one.rank)
        hits = tuple(
            Hit(one.first, one.position, one.step, one.times, one.level, one.last)
            for one in seen.values()
        )
        return Replayed(recording, steps, calls, hits, tuple(faults))

    def level(self, finding: Finding) -> Level:
        """How far a finding would go."""
        if (
            finding.severity is Severity.INFO
            or finding.confidence < self.pipeline.repair.confidence
        ):
            return Level.INFO
        if finding.severity is not Severity.HOLD:
            return Level.ADVISE
        return Level.HARD if finding.hard else Level.HOLD
