"""Thresholds from good runs: what each run would have reached, and the settings that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.config.presets import preset_detectors, with_preset
from sentry_langgraph.detect import DetectorOptions, Threshold
from sentry_langgraph.detect.registry import BUILT_IN, detector_class
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import Trajectory
from sentry_langgraph.replay.conformal import joint_thresholds
from sentry_langgraph.replay.engine import Replay
from sentry_langgraph.replay.recording import Recording
from sentry_langgraph.taxonomy import Severity

_HIGHEST = 10_000


class Setting(NamedTuple):
    """One threshold of one detector.

    Attributes:
        kind: The detector.
        option: Its option.
    """

    kind: str
    option: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds, and what they were taken from.

    Attributes:
        values: The new value of each threshold.
        before: The value that was in force.
        runs: How many good runs they were taken from.
        alpha: The share of good runs that any threshold for findings may flag.
        hold_alpha: The share that any threshold for holds may hold; None where those were not
            calibrated.
        flagged: How many of the runs each new threshold flags by itself.
    """

    values: Mapping[Setting, int]
    before: Mapping[Setting, int]
    runs: int
    alpha: float
    hold_alpha: float | None
    flagged: Mapping[Setting, int]


@dataclass(frozen=True, slots=True)
class Measured:
    """A threshold that is in force, with the options that its detector has otherwise."""

    setting: Setting
    threshold: Threshold
    now: int
    options: Mapping[str, Any]


class Scorer:
    """Says of a run what the highest threshold is that still flags it.

    Args:
        config: The settings that the thresholds belong to.
        tools: The schemas of the tools, for runs that record none.

    Attributes:
        config: The settings, with the preset of the first run's tools where it was `auto`.
        measured: The thresholds.
    """

    def __init__(self, config: SentryConfig, tools: Sequence[Mapping[str, Any]] | None = None):
        self.config = config
        self._replay = Replay(config, tools)
        self.measured = tuple(_in_force(config))
        self._pipelines: dict[tuple[Setting, int], Pipeline] = {}

    def score(self, recording: Recording) -> dict[Setting, int]:
        """For each threshold, the highest value that still flags the run; 0 where none does.

        Raises:
            RecordingError: The run's tools are no tools.
        """
        if self.config.preset == "auto":
            self._fix_preset(recording)
        seen = [prefix.trajectory for prefix in self._replay.prefixes(recording)]
        return {one.setting: self._highest(one, seen) for one in self.measured}

    def _fix_preset(self, recording: Recording) -> None:
        """Thresholds belong to one preset: the one that the first run's tools ask for."""
        preset = self.config.preset_for(self._replay.catalog(recording)).name
        self.config = self.config.model_copy(update={"preset": preset})
        self.measured = tuple(_in_force(self.config))

    def _highest(self, measured: Measured, seen: Sequence[Trajectory]) -> int:
        highest = 0
        value = measured.threshold.lowest
        while value <= _HIGHEST:
            reached = self.reached(measured, value, seen)
            if reached is None:
                break
            highest = max(value, reached)
            value = highest + 1
        return highest

    def reached(self, measured: Measured, value: int, seen: Sequence[Trajectory]) -> int | None:
        """The highest count that a finding names with a threshold at `value`; None without one."""
        detect = self._pipeline(measured, value).detect
        threshold = measured.threshold
        reached: int | None = None
        for trajectory in seen:
            for finding in detect(trajectory)[0]:
                if threshold.patterns and finding.pattern not in threshold.patterns:
                    continue
                if threshold.hold and finding.severity is not Severity.HOLD:
                    continue
                count = finding.evidence.get("count")
                reached = max(reached or value, count if isinstance(count, int) else value)
        return reached

    def _pipeline(self, measured: Measured, value: int) -> Pipeline:
        key = (measured.setting, value)
        known = self._pipelines.get(key)
        if known is None:
            threshold = measured.threshold
            names = (threshold.option, *threshold.same)
            options = {**measured.options, **threshold.off, **dict.fromkeys(names, value)}
            made = detector_class(measured.setting.kind)
            checked = _options_of(measured.setting.kind).model_validate(options)
            whole = self.config.pipeline()
            known = replace(whole, detectors=((measured.setting.kind, made(checked)),))
            self._pipelines[key] = known
        return known


def calibrate(
    scorer: Scorer,
    scores: Sequence[Mapping[Setting, int]],
    alpha: float,
    hold_alpha: float | None = None,
) -> Calibration:
    """Thresholds that flag at most a share of good runs.

    Args:
        scorer: Has scored the runs.
        scores: One for each good run.
        alpha: The share of good runs that may be flagged.
        hold_alpha: The share in which an action may be held. Left out, thresholds for holds
            stay, unless those for findings come to lie above them.

    Raises:
        TooFewRunsError: There are too few runs for one of the shares.
    """
    finds = {one.setting: one.now for one in scorer.measured if not one.threshold.hold}
    holds = {one.setting: one.now for one in scorer.measured if one.threshold.hold}
    found = joint_thresholds(scores, finds, alpha)
    held = dict(holds) if hold_alpha is None else joint_thresholds(scores, holds, hold_alpha)
    values: dict[Setting, int] = {}
    for one in scorer.measured:
        setting, threshold = one.setting, one.threshold
        value = (held if threshold.hold else found)[setting]
        floor = found.get(Setting(setting.kind, threshold.above), 0)
        values[setting] = max(value, threshold.lowest, floor)
    return Calibration(
        values=values,
        before={**finds, **holds},
        runs=len(scores),
        alpha=alpha,
        hold_alpha=hold_alpha,
        flagged={
            setting: sum(score[setting] >= value for score in scores)
            for setting, value in values.items()
        },
    )


def with_thresholds(config: SentryConfig, values: Mapping[Setting, int]) -> dict[str, Any]:
    """The settings as plain data, with new thresholds; what was not set stays unset."""
    data: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    entries = [dict(entry) for entry in data.pop("detectors", ())]
    by_kind = {entry["kind"]: entry for entry in entries}
    for (kind, option), value in values.items():
        if kind not in by_kind:
            by_kind[kind] = {"kind": kind}
            entries.append(by_kind[kind])
        by_kind[kind][option] = value
    return {**data, "detectors": entries}


def successes(runs: Iterable[Recording]) -> Iterator[Recording]:
    """The runs of which the source says that they succeeded."""
    return (run for run in runs if run.success is True)


def _in_force(config: SentryConfig) -> Iterator[Measured]:
    """The thresholds of the detectors that run, those that are switched off left out."""
    preset = preset_detectors(config.preset_for().name)
    given = {entry["kind"]: dict(entry) for entry in with_preset(config.detectors, preset)}
    for kind in dict.fromkeys([*BUILT_IN, *given]):
        options = {name: value for name, value in given.get(kind, {}).items() if name != "kind"}
        model = _options_of(kind)
        checked = model.model_validate(options)
        if not checked.enabled:
            continue
        for threshold in model.thresholds:
            now = getattr(checked, threshold.option)
            if now:
                yield Measured(Setting(kind, threshold.option), threshold, now, options)


def _options_of(kind: str) -> type[DetectorOptions]:
    found: type[DetectorOptions] = getattr(detector_class(kind), "Options", DetectorOptions)
    return found
