"""The recorded runs that come with the package, and those of the user's own files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from sentry_langgraph.testing.traces import RecordedRun, TraceError, load_runs

_SHOWN_IDS = 5


@dataclass(frozen=True, slots=True)
class Shipped:
    """A recorded run of the package.

    Attributes:
        file: Its file in `data/`.
        about: What goes wrong in it, for people.
    """

    file: str
    about: str


SHIPPED = (
    Shipped("claude-3-7-sonnet-polls-a-bill.jsonl", "polls one bill until the step limit"),
    Shipped("gpt-4.1-mini-fetches-a-customer.jsonl", "fetches one customer until the step limit"),
    Shipped("o4-mini-null-amount.jsonl", "gives null where a number is required"),
    Shipped("o4-mini-wrong-argument.jsonl", "gives a required argument a wrong name"),
)


def shipped_runs() -> list[tuple[RecordedRun, str]]:
    """The four runs of the package, each with what goes wrong in it."""
    with as_file(files("sentry_langgraph.demo") / "data") as directory:
        return [(next(load_runs(directory / one.file)), one.about) for one in SHIPPED]


def run_of(file: Path, run_id: str) -> RecordedRun:
    """One run of a file in the common trace format.

    Args:
        file: A `.jsonl` or `.jsonl.gz` file.
        run_id: The run's id, or the beginning of one that fits no other run.

    Raises:
        TraceError: The file can't be read, or no run or several runs have this id.
    """
    if not file.is_file():
        raise TraceError(f"{file}: there is no such file")
    try:
        return next(load_runs(file, [run_id]))
    except TraceError:
        return _by_beginning(file, run_id)


def _by_beginning(file: Path, run_id: str) -> RecordedRun:
    ids: list[str] = []
    found: list[RecordedRun] = []
    for run in load_runs(file):
        if run.id.startswith(run_id):
            found.append(run)
        if len(ids) < _SHOWN_IDS:
            ids.append(run.id)
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(run.id for run in found[:_SHOWN_IDS])
        raise TraceError(f"{file}: {len(found)} runs begin with {run_id!r}: {some}")
    some = ", ".join(ids) or "none"
    raise TraceError(f"{file}: no run has the id {run_id!r}. The first ids in it: {some}")
