"""Runs under the guard against blocking calls that `langgraph dev` sets up."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator

from cases.child import ask
from cases.loader import Case, CaseError
from cases.observe import Record
from cases.plans import Run

_FORMS = (
    ("first run", r"first ainvoke"),
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
    for words in case.input["modes"]:
        mode = next((name for name, form in _FORMS if re.search(form, words)), None)
        if mode is None:
            raise CaseError(f"no rule reads the mode {words!r}; see cases/special/blocking.py")
        yield Run(mode, lambda way, m=mode: _guarded(m, way), ("async",))


def _guarded(name: str, mode: str) -> Record:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
        return Record(name, mode, extra=ask("blocking", path=path, mode=name))
