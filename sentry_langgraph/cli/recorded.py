"""What the commands over recorded runs share: reading with a bar of progress, and refusals."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sentry_langgraph.cli.text import console, styled
from sentry_langgraph.replay.read import Format, format_of, read_runs
from sentry_langgraph.replay.recording import Recording, RecordingError

BAD_INPUT = 2
"""How a command ends where its input is bad."""

_PROBLEMS = 20


class Source:
    """The runs of several files, with a bar of progress, and what could not be read.

    Args:
        files: Files and URLs.
        say: What the bar says at the moment.
        format: How the runs are recorded.
        key: The key or channel of the messages.
        limit: Stop after so many runs.
        on_problem: Is told of what could not be read; it is printed to stderr in any case.
    """

    def __init__(
        self,
        files: Sequence[str],
        say: Callable[[], str],
        *,
        format: Format = Format.AUTO,
        key: str = "messages",
        limit: int | None = None,
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self.skipped = 0
        self._files = files
        self._say = say
        self._format = format
        self._key = key
        self._limit = limit
        self._on_problem = on_problem

    def runs(self) -> Iterator[Recording]:
        """The runs, one at a time."""
        count = 0
        with _bar(self._files) as bar, _rare_collections():
            for file in self._files:
                for recording in self._of(file):
                    yield recording
                    count += 1
                    bar.update(file, recording.read, self._say())
                    if count == self._limit:
                        return

    def problem(self, error: RecordingError) -> None:
        """Report a run that is skipped."""
        self.skipped += 1
        if self._on_problem is not None:
            self._on_problem(str(error))
        if self.skipped <= _PROBLEMS:
            console(error=True).print(styled(str(error), "red"))
        elif self.skipped == _PROBLEMS + 1:
            console(error=True).print(styled("… and more that can't be read", "red"))

    def _of(self, file: str) -> Iterator[Recording]:
        try:
            yield from read_runs(
                file, format=self._format, messages_key=self._key, on_problem=self.problem
            )
        except RecordingError as error:
            self.problem(error)


class _Bar:
    """Progress over the bytes of all files, on a terminal only."""

    def __init__(self, progress: Progress, files: Sequence[str]) -> None:
        self._progress = progress
        self._sizes = {file: _size(file) for file in files}
        self._before: dict[str, int] = {}
        total = 0
        for file, size in self._sizes.items():
            self._before[file] = total
            total += size
        self._task = progress.add_task("", total=total or None)

    def update(self, file: str, read: int, text: str) -> None:
        """Show how far it got."""
        done = self._before[file] + read
        self._progress.update(self._task, completed=done or None, description=text)


@contextmanager
def _bar(files: Sequence[str]) -> Iterator[_Bar]:
    screen = console(error=True)
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(
        *columns, console=screen, disable=not screen.is_terminal, transient=True
    ) as progress:
        yield _Bar(progress, files)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely: records hold no cycles, and looking for them takes a fifth."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _size(file: str) -> int:
    try:
        return 0 if format_of(file) in (Format.SQLITE, Format.POSTGRES) else os.stat(file).st_size
    except (RecordingError, OSError):
        return 0


def refused(message: str) -> typer.Exit:
    """Say why nothing is done, and how the command ends."""
    console(error=True).print(styled(message, "red"))
    return typer.Exit(BAD_INPUT)
