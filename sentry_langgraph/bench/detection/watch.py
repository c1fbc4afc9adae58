"""One recorded run, watched by our detectors and by the rules of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from sentry_langgraph.bench.detection.sweep import Variant, stages
from sentry_langgraph.bench.detection.targets import Answered, answered, loop_targets
from sentry_langgraph.bench.peers import Peer
from sentry_langgraph.bench.peers.events import Fire, Turn, UserText, events_of, fires
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import Catalog, Finding, Trajectory
from sentry_langgraph.replay.catalogs import Catalogs
from sentry_langgraph.replay.prefixes import prefixes
from sentry_langgraph.replay.recording import Recording
from sentry_langgraph.taxonomy import Severity

Progress: TypeAlias = Callable[[int, int], None]
"""Is told how many of how many are done."""

Act: TypeAlias = Literal["advised", "held", "refused"]
"""What a finding leads to: advice, the action held, or an invalid call refused."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding that would have acted.

    Attributes:
        position: The message it is about.
        label: The failure.
        act: What it leads to, before budgets and cooldowns.
        pattern: The finer name.
        calls: The calls it is about, by their positions in the message.
    """

    position: int
    label: str
    act: Act
    pattern: str = ""
    calls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Watched:
    """All that is counted of one run.

    Attributes:
        file: The file's name.
        source: The benchmark.
        id: The run.
        success: Whether it succeeded; None where the source doesn't say.
        turns: Positions of the agent's messages.
        calls: How many calls the agent made.
        length: Messages, those of the user's tools included.
        dialogue: Whether the user speaks again after the agent's first message.
        ours: Our findings.
        peers: The fires of others, by name.
        targets: Loop targets: the message they count by, and whether only up to it.
        answered: The calls and what the environment made of them.
        annotations: What people say about steps.
        variants: The findings of each variant of a threshold, up to its first hold; none where
            no figure counts the run.
    """

    file: str
    source: str
    id: str
    success: bool | None
    turns: tuple[int, ...]
    calls: int
    length: int
    dialogue: bool = False
    ours: tuple[Found, ...] = ()
    peers: Mapping[str, tuple[Fire, ...]] = field(default_factory=dict)
    targets: Mapping[str, tuple[int, bool]] = field(default_factory=dict)
    answered: tuple[Answered, ...] = ()
    annotations: tuple[Mapping[str, Any], ...] = ()
    variants: Mapping[Variant, tuple[Found, ...]] = field(default_factory=dict)

    def left_after(self, position: int) -> int:
        """The agent's messages after the one at `position`."""
        return sum(turn > position for turn in self.turns)

    def turn_of(self, position: int) -> int:
        """Which message of the agent, from 0, stands at `position` or was the last before it."""
        return max(sum(turn <= position for turn in self.turns) - 1, 0)


class Watcher:
    """Watches runs with one configuration.

    Args:
        config: The settings of our detectors.
        peers: The rules of others.
        variants: Detectors with one option changed.
    """

    def __init__(
        self, config: SentryConfig, peers: Sequence[Peer] = (), variants: Sequence[Variant] = ()
    ) -> None:
        self._config = config
        self._catalogs = Catalogs(config.tools)
        self._peers = peers
        self._variants = tuple(variants)
        self._built: dict[int, tuple[Catalog, Pipeline, list[Pipeline]]] = {}

    def watch(self, recording: Recording, file: str = "") -> Watched:
        """Run everything over one recording."""
        events = events_of(recording.messages)
        turns = tuple(event.position for event in events if isinstance(event, Turn))
        targets = loop_targets(recording.outcome, events)
        # variants are asked only where their figures count this run
        vary = bool(targets) or recording.success is True
        ours, variants = self._findings(recording, vary=vary)
        return Watched(
            file=file,
            source=recording.source or file,
            id=recording.id,
            success=recording.success,
            turns=turns,
            calls=sum(len(event.calls) for event in events if isinstance(event, Turn)),
            length=max((event.position for event in events), default=-1) + 1,
            dialogue=any(
                isinstance(event, UserText) and turns and event.position > turns[0]
                for event in events
            ),
            ours=ours,
            peers={peer.name: fires(peer.make(), events) for peer in self._peers},
            targets=targets,
            answered=tuple(answered(events, recording.tools or ())),
            annotations=tuple(recording.annotations),
            variants=variants,
        )

    def _findings(
        self, recording: Recording, *, vary: bool
    ) -> tuple[tuple[Found, ...], dict[Variant, tuple[Found, ...]]]:
        ours: list[Found] = []
        varied: list[list[Found]] = [[] for _ in self._variants]
        catalog, pipeline, others = self._stages(self._catalogs.of(recording))
        for prefix in prefixes(recording, catalog, pipeline.depth):
            ours += acting(pipeline, prefix.trajectory, prefix.position)
            seen = _in_window(prefix.trajectory, pipeline.window) if vary else prefix.trajectory
            for found, other in zip(varied, others if vary else (), strict=False):
                # a hold is the last that is asked of a variant
                if (not found or found[-1].act == "advised") and not _silent(other, seen):
                    found.extend(acting(other, prefix.trajectory, prefix.position))
        return tuple(ours), dict(zip(self._variants, map(tuple, varied), strict=True))

    def _stages(self, catalog: Catalog) -> tuple[Catalog, Pipeline, list[Pipeline]]:
        """The stages for an agent with these tools, built once."""
        built = self._built.get(id(catalog))
        if built is None:
            pipeline = stages(self._config, catalog)
            others = [one.pipeline(self._config, catalog) for one in self._variants]
            # the catalog is kept, so that its id stays its own
            built = self._built[id(catalog)] = (catalog, pipeline, others)
        return built


def acting(pipeline: Pipeline, trajectory: Trajectory, position: int) -> Iterator[Found]:
    """The findings on one message that would lead to a repair.

    What is below the confidence that a repair needs, or for the record only, leads to none.
    """
    for finding in pipeline.decide(trajectory).findings:
        act = _act(finding, pipeline.repair.confidence)
        if act is not None:
            yield Found(position, str(finding.label), act, finding.pattern or "", finding.calls)


def _in_window(trajectory: Trajectory, window: int) -> Trajectory:
    """What detectors see of a trajectory that is as deep as verification needs."""
    if len(trajectory.steps) <= window:
        return trajectory
    return replace(trajectory, steps=trajectory.steps[-window:])


def _silent(pipeline: Pipeline, seen: Trajectory) -> bool:
    """Whether the detectors say nothing: quicker than to ask the pipeline, and as sure."""
    try:
        return not any(detector.detect(seen) for _, detector in pipeline.detectors)
    except Exception:  # the pipeline reports it
        return False


def _act(finding: Finding, confidence: float) -> Act | None:
    if finding.severity is Severity.INFO or finding.confidence < confidence:
        return None
    if finding.severity is Severity.ADVISE:
        return "advised"
    return "refused" if finding.hard else "held"


def first(found: Iterable[Found], *, held: bool) -> int | None:
    """Where the first finding stands; with `held`, the first that keeps a call from running."""
    return next((one.position for one in found if not held or one.act != "advised"), None)
