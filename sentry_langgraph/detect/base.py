"""What a detector is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from sentry_langgraph.options import Options, Switch
from sentry_langgraph.records import Finding, Trajectory


@dataclass(frozen=True, slots=True)
class Threshold:
    """An option that `sentry calibrate` may set: a count from which on a failure is found.

    A run that is flagged at some value has to be flagged at every lower one.

    Attributes:
        option: The option.
        lowest: The most sensitive value that makes sense.
        hold: Whether it decides what is held; otherwise, what is found.
        above: The option that it may not fall below; empty where there is none.
        same: Further options that take the same value while it is measured.
        off: Options and values that silence the detector's other rules meanwhile.
        patterns: Patterns of the findings that it decides; empty is all of the detector.
    """

    option: str
    lowest: int = 2
    hold: bool = False
    above: str = ""
    same: tuple[str, ...] = ()
    off: Mapping[str, object] = field(default_factory=dict)
    patterns: frozenset[str] = frozenset()


class DetectorOptions(Options):
    """Options that every detector has.

    Attributes:
        enabled: Whether it runs.
    """

    thresholds: ClassVar[tuple[Threshold, ...]] = ()
    """What `sentry calibrate` may set."""

    enabled: Switch = True


class Detector(Protocol):
    """Looks at a trajectory and names the failures it sees.

    A detector is built once per graph and may be called from several threads: it keeps no
    state between calls. It does no I/O. What it raises is logged and recorded, and counts as
    no finding.
    """

    Options: ClassVar[type[DetectorOptions]]

    def __init__(self, options: DetectorOptions) -> None: ...

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """The failures that the newest message shows."""
        ...
