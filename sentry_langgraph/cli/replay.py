"""`sentry replay`: what the gate would have seen in recorded runs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sentry_langgraph.cli.text import console, plain, styled
from sentry_langgraph.config import load_config
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.replay.catalogs import read_tools
from sentry_langgraph.replay.engine import Hit, Level, Replay, Replayed
from sentry_langgraph.replay.read import Format, format_of, read_runs
from sentry_langgraph.replay.recording import Recording, RecordingError
from sentry_langgraph.replay.totals import Totals
from sentry_langgraph.replay.write import JsonDocument, JsonLines, JUnit, Reports
from sentry_langgraph.taxonomy import Label

_ROWS = 50
_PROBLEMS = 20
_DETAIL = 300
_BAD_INPUT = 2


def replay(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files of runs, or postgresql:// URLs."),
    ],
    *,
    config: Annotated[Path | None, typer.Option(help="Settings, as YAML.")] = None,
    tools: Annotated[
        Path | None, typer.Option(help="JSON with the tool schemas, for runs that record none.")
    ] = None,
    format: Annotated[Format, typer.Option(help="How the runs are recorded.")] = Format.AUTO,
    messages_key: Annotated[
        str, typer.Option(help="Key or state channel that holds the messages.")
    ] = "messages",
    label: Annotated[
        list[Label] | None, typer.Option(help="Only this failure label; may be repeated.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many runs.")] = None,
    fail_on: Annotated[
        Level, typer.Option(help="Lowest level that makes the command fail.")
    ] = Level.HOLD,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write JSON; lines for .jsonl; - is stdout."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, a test case a run.")
    ] = None,
    show_details: Annotated[
        bool,
        typer.Option("--show-details", help="Show what may quote argument values and messages."),
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Show how long each detector takes.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on runs that can't be read.")] = (
        False
    ),
) -> None:
    """Look at recorded runs as the gate would have, step by step.

    Ends with 0 where nothing reaches --fail-on, with 1 where something does, and with 2 where
    the input is bad: nothing could be read, or with --strict not everything.
    """
    try:
        look = Replay(
            load_config(config),
            read_tools(tools) if tools is not None else None,
            labels=label or (),
            timings=timings,
        )
    except (ConfigError, RecordingError) as error:
        raise _refused(str(error)) from error
    screen = console()
    totals = Totals()
    rows: list[tuple[Replayed, Hit]] = []
    try:
        with Reports() as reports:
            if json_file is not None:
                stream = sys.stdout if json_file == "-" else reports.open(Path(json_file))
                lines = json_file.endswith(".jsonl")
                reports.add((JsonLines if lines else JsonDocument)(stream, details=show_details))
            if junit is not None:
                reports.add(JUnit(reports.open(junit), fail_on, details=show_details))
            source = _Source(files, totals, reports, format=format, key=messages_key, limit=limit)
            for recording in source.runs():
                try:
                    replayed = look.run(recording)
                except RecordingError as error:
                    source.problem(error)
                    continue
                totals.add(replayed)
                reports.run(replayed)
                rows += [(replayed, hit) for hit in replayed.hits][: max(0, _ROWS - len(rows))]
            reports.close(totals)
    except OSError as error:
        raise _refused(f"the report can't be written: {error}") from error
    if json_file != "-":
        _show(screen, totals, rows, show_details)
        if look.timings is not None:
            for kind, taken in look.timings.microseconds().items():
                screen.print(f"{taken:8.1f} µs a step  {plain(kind)}")
    if not totals.runs or (strict and totals.skipped):
        raise typer.Exit(_BAD_INPUT)
    if totals.reached(fail_on):
        raise typer.Exit(1)


class _Source:
    """The runs of several files, with a bar of progress, and what could not be read."""

    def __init__(
        self,
        files: Sequence[str],
        totals: Totals,
        reports: Reports,
        *,
        format: Format,
        key: str,
        limit: int | None,
    ) -> None:
        self._files = files
        self._format = format
        self._key = key
        self._limit = limit
        self._totals = totals
        self._reports = reports

    def runs(self) -> Iterator[Recording]:
        """The runs, one at a time."""
        count = 0
        with _bar(self._files) as bar, _rare_collections():
            for file in self._files:
                for recording in self._of(file):
                    yield recording
                    count += 1
                    bar.update(file, recording.read, self._totals)
                    if count == self._limit:
                        return

    def problem(self, error: RecordingError) -> None:
        """Report a run that is skipped."""
        self._totals.skipped += 1
        self._reports.problem(str(error))
        if self._totals.skipped <= _PROBLEMS:
            console(error=True).print(styled(str(error), "red"))
        elif self._totals.skipped == _PROBLEMS + 1:
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

    def update(self, file: str, read: int, totals: Totals) -> None:
        """Show how far it got."""
        text = f"{totals.runs:,} runs, {totals.steps:,} steps, {totals.flagged:,} with findings"
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


def _refused(message: str) -> typer.Exit:
    console(error=True).print(styled(message, "red"))
    return typer.Exit(_BAD_INPUT)


def _show(screen: Any, totals: Totals, rows: Sequence[tuple[Replayed, Hit]], details: bool) -> None:
    if rows:
        screen.print(_findings(rows, details))
        more = sum(totals.hits.values()) - len(rows)
        if more:
            screen.print(f"… and {more:,} more findings; --json writes all of them")
        screen.print(_labels(totals))
    screen.print(
        f"{totals.runs:,} runs, {totals.steps:,} steps, {totals.calls:,} calls; "
        f"{totals.flagged:,} runs with findings"
        + (f"; {totals.skipped:,} could not be read" if totals.skipped else "")
    )


def _findings(rows: Sequence[tuple[Replayed, Hit]], details: bool) -> Table:
    table = Table("run", "finding", "level", "tool", "at message", "times", box=None)
    if details:
        table.add_column("detail")
    for replayed, hit in rows:
        finding = hit.first
        name = f"{finding.label} ({finding.pattern})" if finding.pattern else str(finding.label)
        cells = [
            replayed.recording.id,
            name,
            hit.level.value,
            finding.tool or "",
            str(hit.position),
            str(hit.times),
            *([finding.detail[:_DETAIL]] if details else []),
        ]
        table.add_row(*(styled(cell, "") for cell in cells))
    return table


def _labels(totals: Totals) -> Table:
    table = Table("label", "runs", "share of runs", "findings", "times", box=None)
    for label, count in totals.runs_with.most_common():
        share = f"{100 * count / totals.runs:.2f} %"
        findings, times = totals.hits[label], totals.times[label]
        table.add_row(label, f"{count:,}", share, f"{findings:,}", f"{times:,}")
    return table
