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
from sentry_langgraph.bench.detection.report import Report, measure
from sentry_langgraph.bench.detection.show import show
from sentry_langgraph.bench.detection.watch import Progress as OnProgress
from sentry_langgraph.config import SentryConfig, load_config
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.judge import open_judges
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
    judge: bool,
    judge_runs: int | None,
) -> None:
    """Measure, print, and write what is asked for.

    Raises:
        typer.BadParameter: An option can't be met; found before anything is measured where
            that is possible.
    """
    _check(json_file, markdown_file, plots_dir)
    try:
        config = load_config(config_file) if config_file is not None else SentryConfig()
        judges = open_judges(config.judge_options, config.model) if judge else None
    except ConfigError as error:
        raise typer.BadParameter(str(error), param_hint="--config") from error
    try:
        with _bar() as (on_progress, on_asked):
            report = measure(
                data,
                config,
                sources=sources,
                limit=limit,
                sweep=sweep or plots_dir is not None,
                peers=peers,
                judges=judges,
                judge_runs=judge_runs,
                on_progress=on_progress,
                on_asked=on_asked,
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
def _bar() -> Iterator[tuple[OnProgress, OnProgress]]:
    """Progress bars on standard error: for the replay, and for the judge once it is asked."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        replayed = progress.add_task("replaying runs")
        asked = progress.add_task("asking the judge", visible=False)
        yield (
            lambda done, total: progress.update(replayed, completed=done, total=total),
            lambda done, total: progress.update(asked, completed=done, total=total, visible=True),
        )
