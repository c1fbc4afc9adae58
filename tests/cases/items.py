"""The tests that come of a file of cases: one for each run, one for each sentence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cases.loader import SHIPPED, Case, CaseError, listed, load
from cases.scene import scene_of


@dataclass(frozen=True, slots=True)
class Item:
    """One test.

    Attributes:
        id: `RW-033[xml]` for a run, `RW-033[must-1]` for a sentence, `RW-024` where the case has
            one run.
        case: The case.
        run: The name of the run.
        side: `must` or `must_not` for a sentence.
        sentence: The sentence.
        broken: Why the case can't be built.
    """

    id: str
    case: Case
    run: str = ""
    side: str = ""
    sentence: str = ""
    broken: str = ""


def items_of(file: Path | None = None) -> list[Item]:
    """The tests of a file; the shipped one where none is given."""
    found: list[Item] = []
    for case in load(file or SHIPPED):
        try:
            runs = scene_of(case).runs
        except CaseError as error:
            found.append(Item(f"{case.id}[setting]", case, broken=str(error)))
            continue
        if len(runs) == 1 and runs[0].name == "main":
            found.append(Item(case.id, case, run="main"))
        else:
            found += [Item(f"{case.id}[{run.name}]", case, run=run.name) for run in runs]
        for side in ("must", "must_not"):
            found += [
                Item(f"{case.id}[{side}-{number}]", case, side=side, sentence=str(sentence))
                for number, sentence in enumerate(listed(case.expected.get(side)), 1)
            ]
    return found
