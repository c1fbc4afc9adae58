"""What `sentry bench detect` does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sentry_langgraph.bench.detection import markdown, plots
from sentry_langgraph.bench.detection.report import Progress as OnProgress
from sentry_langgraph.bench.detection.report import Report, measure
from sentry_langgraph.bench.detection.show import show
from sentry_langgraph.config import SentryConfig, load_config
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.replay.recording import RecordingError


def run(
    data: Path,
    *,
    json_file: Path | None,
    markdown_file: Path | None,
    plots_dir: Path | None,
    sweep: bool,
    sources: Sequence[str],
    limit: int | None,
    config_file: Path | None,
    peers: bool,
) -> None:
    """Measure, print, and write what is asked for.

    Raises:
        typer.BadParameter: An option can't be met; found before anything is measured where
            that is possible.
    """
    _check(json_file, markdown_file, plots_dir)
    try:
        config = load_config(config_file) if config_file is not None else SentryConfig()
    except ConfigError as error:
        raise typer.BadParameter(str(error), param_hint="--config") from error
    try:
        with _bar() as on_progress:
            report = measure(
                data,
                config,
                sources=sources,
                limit=limit,
                sweep=sweep or plots_dir is not None,
                peers=peers,
                on_progress=on_progress,
            )
    except RecordingError as error:
        raise typer.BadParameter(str(error), param_hint="--data") from error
    show(report)
    _write(report, json_file, markdown_file, plots_dir)


def _check(json_file: Path | None, markdown_file: Path | None, directory: Path | None) -> None:
    for option, path in (("--json", json_file), ("--markdown", markdown_file)):
        if path is not None and not path.parent.is_dir():
            raise typer.BadParameter(f"there is no directory {path.parent}", param_hint=option)
    if directory is not None and not plots.available():
        raise typer.BadParameter(
            "plots need matplotlib: pip install 'sentry-langgraph[bench]'", param_hint="--plots"
        )


def _write(
    report: Report, json_file: Path | None, markdown_file: Path | None, directory: Path | None
) -> None:
    if json_file is not None:
        text = json.dumps(report.to_dict(), indent=2, ensure_ascii=False)
        json_file.write_text(text + "\n", encoding="utf-8")
    if markdown_file is not None:
        try:
            markdown.write(report, markdown_file)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--markdown") from error
    if directory is not None and not plots.draw(report, directory):
        Console(stderr=True).print("No plot: no source has enough runs with a loop.")


@contextmanager
def _bar() -> Iterator[OnProgress]:
    """A progress bar on standard error."""
    columns = (
        TextColumn("replaying runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        yield lambda done, total: progress.update(task, completed=done, total=total)
