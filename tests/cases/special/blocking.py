"""Runs under the guard against blocking calls that `langgraph dev` sets up."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from cases.child import ask
from cases.loader import Case, CaseError
from cases.observe import Record
from cases.plans import Run

FIRST = "first run"
"""The run that needs a process that has just started."""

_FORMS = (
    (FIRST, r"first ainvoke"),
    ("relative path", r"config path|relative"),
    ("lessons", r"lesson"),
    ("callback", r"callback"),
)


def runs(case: Case) -> Iterable[Run] | None:
    """The runs of a case with a guard; None for all others."""
    if "blockbuster" not in str(case.input.get("guard", "")).lower():
        return None
    return _each(case)


def _each(case: Case) -> Iterator[Run]:
    modes = []
    for words in case.input["modes"]:
        mode = next((name for name, form in _FORMS if re.search(form, words)), None)
        if mode is None:
            raise CaseError(f"no rule reads the mode {words!r}; see cases/special/blocking.py")
        modes.append(mode)
    first, later = _guarded([FIRST]), _guarded([mode for mode in modes if mode != FIRST])
    for mode in modes:
        together = first if mode == FIRST else later
        yield Run(mode, lambda way, m=mode, t=together: Record(m, way, extra=t()[m]), ("async",))


def _guarded(modes: Sequence[str]) -> Any:
    """What comes of these modes in one new process; made when it is first asked for."""

    @cache
    def make() -> dict[str, dict[str, Any]]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
            return dict(zip(modes, ask("blocking", path=path, modes=list(modes)), strict=True))

    return make
