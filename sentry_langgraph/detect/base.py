"""What a detector is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from sentry_langgraph.options import Options, Switch
from sentry_langgraph.records import Finding, Trajectory


class DetectorOptions(Options):
    """Options that every detector has.

    Attributes:
        enabled: Whether it runs.
    """

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
