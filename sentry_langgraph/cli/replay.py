"""`sentry replay`: what the gate would have seen in recorded runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sentry_langgraph.cli.recorded import BAD_INPUT, Source, refused
from sentry_langgraph.cli.text import aligned, console, plain, styled
from sentry_langgraph.config import load_config
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.replay.catalogs import read_tools
from sentry_langgraph.replay.engine import Hit, Level, Replay, Replayed
from sentry_langgraph.replay.read import Format
from sentry_langgraph.replay.recording import RecordingError
from sentry_langgraph.replay.totals import Totals
from sentry_langgraph.replay.write import JsonDocument, JsonLines, JUnit, Reports
from sentry_langgraph.taxonomy import Label

_ROWS = 50
_DETAIL = 300


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
        raise refused(str(error)) from error
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
            source = Source(
                files,
                totals.sentence,
                format=format,
                key=messages_key,
                limit=limit,
                on_problem=reports.problem,
            )
            for recording in source.runs():
                try:
                    replayed = look.run(recording)
                except RecordingError as error:
                    source.problem(error)
                    continue
                totals.add(replayed)
                reports.run(replayed)
                rows += [(replayed, hit) for hit in replayed.hits][: max(0, _ROWS - len(rows))]
            totals.skipped = source.skipped
            reports.close(totals)
    except OSError as error:
        raise refused(f"the report can't be written: {error}") from error
    if json_file != "-":
        _show(screen, totals, rows, show_details)
        if look.timings is not None:
            for kind, taken in look.timings.microseconds().items():
                screen.print(f"{taken:8.1f} µs a step  {plain(kind)}")
    if not totals.runs or (strict and totals.skipped):
        raise typer.Exit(BAD_INPUT)
    if totals.reached(fail_on):
        raise typer.Exit(1)


def _show(
    screen: Console, totals: Totals, rows: Sequence[tuple[Replayed, Hit]], details: bool
) -> None:
    if rows:
        head = ("run", "finding", "level", "tool", "at message", "times")
        lines = aligned([head, *(_cells(replayed, hit) for replayed, hit in rows)])
        screen.print(styled(lines[0], "bold"))
        for line, (_, hit) in zip(lines[1:], rows, strict=True):
            screen.print(line, style=_STYLES[hit.level])
            if details and hit.first.detail:
                screen.print(styled(f"  {hit.first.detail[:_DETAIL]}", "dim"))
        if more := sum(totals.hits.values()) - len(rows):
            screen.print(f"… and {more:,} more findings; --json writes all of them")
        top, *sums = aligned([_SUMS, *_labels(totals)])
        screen.print()
        screen.print(styled(top, "bold"))
        for line in sums:
            screen.print(line)
        screen.print()
    screen.print(
        f"{totals.runs:,} runs, {totals.steps:,} steps, {totals.calls:,} calls; "
        f"{totals.flagged:,} runs with findings"
        + (f"; {totals.skipped:,} could not be read" if totals.skipped else "")
    )


_STYLES = {Level.INFO: "dim", Level.ADVISE: "yellow", Level.HOLD: "red", Level.HARD: "red"}
_SUMS = ("label", "runs", "share of runs", "findings", "times")


def _cells(replayed: Replayed, hit: Hit) -> tuple[str, ...]:
    finding = hit.first
    name = f"{finding.label} ({finding.pattern})" if finding.pattern else str(finding.label)
    tool, place = finding.tool or "-", str(hit.position)
    return replayed.recording.id, name, hit.level.value, tool, place, str(hit.times)


def _labels(totals: Totals) -> Iterator[tuple[str, ...]]:
    for label, count in totals.runs_with.most_common():
        share = f"{100 * count / totals.runs:.2f} %"
        yield label, f"{count:,}", share, f"{totals.hits[label]:,}", f"{totals.times[label]:,}"
