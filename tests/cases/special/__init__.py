"""Runs whose setting a case describes in a sentence: a graph, a guard, several processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cases.loader import Case, CaseError
from cases.plans import Run
from cases.special import blocking, commands, nested, processes, sessions


def runs(case: Case) -> Iterable[Run] | None:
    """The runs of a case that has a setting of its own; None for all others.

    Raises:
        CaseError: It has one that is not known.
    """
    for setting in (nested, blocking, processes, commands):
        found = setting.runs(case)
        if found is not None:
            return found
    if words := case.input.get("graph"):
        raise CaseError(f"no graph is known for {words!r}; see cases/special/nested.py")
    return None


def further(case: Case) -> Iterator[Run]:
    """Runs beside the usual ones: a second session, a retry policy."""
    yield from sessions.further(case)
