"""The runs that a case asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cases.loader import Case, CaseError
from cases.observe import Record

Execute = Callable[[str], Record]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a case.

    Attributes:
        name: Its name, as `expected` uses it; `main` where the case has one run. Parts are
            separated by `/`.
        execute: Makes it, in a mode.
        modes: The modes to make it in.
        calls: The ids of the calls that a verdict form speaks of.
    """

    name: str
    execute: Execute
    modes: tuple[str, ...] = ("sync", "async")
    calls: tuple[str, ...] = ()


def runs_of(case: Case) -> tuple[Run, ...]:
    """Every run of a case.

    Raises:
        CaseError: Something in it can't be built; the message says what.
    """
    from cases.kinds import KINDS

    plan = KINDS.get(case.kind)
    if plan is None:
        raise CaseError(f"the kind {case.kind!r} is not known: {', '.join(KINDS)}")
    made = tuple(plan(case))
    if not made:
        raise CaseError(f"the case {case.id} describes no run")
    return made
