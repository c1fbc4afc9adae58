"""How much processor time each detector takes, over recorded runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import thread_time
from typing import ClassVar

from sentry_langgraph.detect import Detector, DetectorOptions
from sentry_langgraph.records import Finding, Trajectory


class Timings:
    """The processor time that detectors took, which other programs do not lengthen.

    Attributes:
        seconds: By kind of detector.
        steps: How many steps they looked at.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.steps = 0

    def of(self, detectors: Sequence[tuple[str, Detector]]) -> tuple[tuple[str, Detector], ...]:
        """The detectors, each with a watch."""
        for kind, _ in detectors:
            self.seconds.setdefault(kind, 0.0)
        return tuple((kind, _Timed(kind, detector, self)) for kind, detector in detectors)

    def microseconds(self) -> dict[str, float]:
        """The mean time of a step, by kind of detector."""
        return {kind: 1e6 * taken / max(self.steps, 1) for kind, taken in self.seconds.items()}


class _Timed:
    Options: ClassVar[type[DetectorOptions]] = DetectorOptions

    def __init__(self, kind: str, detector: Detector, timings: Timings) -> None:
        self._kind = kind
        self._detector = detector
        self._timings = timings

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        start = thread_time()
        try:
            return tuple(self._detector.detect(trajectory) or ())
        finally:
            self._timings.seconds[self._kind] += thread_time() - start
