"""Detectors as users write them, for the tests of the registry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from sentry_langgraph.detect import DetectorOptions
from sentry_langgraph.options import PositiveCount
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.taxonomy import Label, Severity


class TooManyCallsOptions(DetectorOptions):
    """Options of `TooManyCalls`."""

    limit: PositiveCount = 2


class TooManyCalls:
    """A detector with options of its own."""

    Options: ClassVar[type[DetectorOptions]] = TooManyCallsOptions

    def __init__(self, options: TooManyCallsOptions) -> None:
        self.limit = options.limit

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """One finding where a message makes more calls than allowed."""
        if len(trajectory.proposal.calls) > self.limit:
            yield Finding(
                Label.OVER_EXPLORATION, trajectory.proposal.id, "many", severity=Severity.ADVISE
            )


class Plain:
    """A detector without options."""

    def __init__(self, options: DetectorOptions) -> None:
        pass

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """Nothing."""
        return ()


class NoOptions:
    """A class that can't take options."""

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """Nothing."""
        return ()


class NoDetect:
    """A class that is no detector."""


def shouting(trajectory: Trajectory) -> Iterable[Finding]:
    """A detector as a function."""
    if trajectory.proposal.text.isupper():
        yield Finding(Label.OBJECTIVE_DRIFT, trajectory.proposal.id, "shouting")


def failing(trajectory: Trajectory) -> Iterable[Finding]:
    """A detector that fails."""
    raise RuntimeError("a secret value")


def failing_late(trajectory: Trajectory) -> Iterable[Finding]:
    """A detector that fails while it is read."""
    yield Finding(Label.OBJECTIVE_DRIFT, trajectory.proposal.id, "first")
    raise RuntimeError("a secret value")


def silent(trajectory: Trajectory) -> Any:
    """A detector that returns nothing."""


def single(trajectory: Trajectory) -> Any:
    """A detector that returns a finding where a list is expected."""
    return Finding(Label.OBJECTIVE_DRIFT, trajectory.proposal.id, "single")


def wrong_things(trajectory: Trajectory) -> Any:
    """A detector that returns what are no findings."""
    return ["a", None]


async def waiting(trajectory: Trajectory) -> Iterable[Finding]:
    """A detector that does I/O."""
    return ()


NUMBER = 3
