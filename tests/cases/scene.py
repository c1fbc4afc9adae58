"""Everything that the runs of one case have shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cases.loader import Case
from cases.observe import Record
from cases.plans import Run, runs_of


@dataclass(slots=True, repr=False)
class Scene:
    """The runs of a case, made when they are first asked for.

    Attributes:
        case: The case.
        runs: Its runs.
    """

    case: Case
    runs: tuple[Run, ...]
    _made: dict[tuple[str, str], Record | Exception] = field(default_factory=dict)

    def record(self, run: Run, mode: str) -> Record:
        """The record of one run in one mode.

        Raises:
            Exception: The run could not be made; the same at every call.
        """
        key = (run.name, mode)
        if key not in self._made:
            try:
                self._made[key] = run.execute(mode)
            except Exception as error:
                self._made[key] = error
        found = self._made[key]
        if isinstance(found, Exception):
            raise found
        return found

    def each(self, *names: str) -> Iterator[Record]:
        """The records of runs, in every mode.

        Args:
            names: Names of runs, or their first parts; all runs but contrasts without any.
        """
        found = False
        for run in self.runs:
            first = run.name.partition("/")[0]
            wanted = not first.startswith("contrast")
            if run.name in names or first in names or (not names and wanted):
                for mode in run.modes:
                    found = True
                    yield self.record(run, mode)
        assert found, f"{self.case.id} has no run {names}; it has {[r.name for r in self.runs]}"

    def has(self, name: str) -> bool:
        """Whether there is a run of this name, or with this first part."""
        return any(name in (run.name, run.name.partition("/")[0]) for run in self.runs)

    def main(self) -> Iterator[Record]:
        """The records of the run that `model_script` describes, else of all runs."""
        return self.each("main") if self.has("main") else self.each()


_scenes: dict[tuple[str, str], Scene] = {}


def scene_of(case: Case) -> Scene:
    """The scene of a case; the same object at every call.

    Raises:
        CaseError: The case can't be built.
    """
    key = (str(case.file), case.id)
    if key not in _scenes:
        _scenes[key] = Scene(case, runs_of(case))
    return _scenes[key]
