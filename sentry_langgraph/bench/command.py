"""`sentry bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sentry_langgraph.bench.live.command import live

app = typer.Typer(add_completion=False, no_args_is_help=True)
app.command()(live)


@app.callback()
def _bench() -> None:
    """Measure what Sentry costs, and how well it detects."""


@app.command()
def overhead(
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the figures to FILE, as JSON."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the effort: for a look, not for a figure.")
    ] = False,
) -> None:
    """Measure what Sentry adds to a run without failures. Takes less than a minute."""
    from sentry_langgraph.bench.overhead import (  # noqa: PLC0415 - slow import
        QUICK,
        measure_overhead,
    )
    from sentry_langgraph.bench.table import show  # noqa: PLC0415

    if json_file is not None and not json_file.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {json_file.parent}", param_hint="--json")
    with Console(stderr=True).status("measuring, less than a minute …"):
        found = measure_overhead(QUICK if quick else None)
    show(found)
    if json_file is not None:
        json_file.write_text(json.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8")


@app.command()
def detect(
    *,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Recorded runs: *.jsonl or *.jsonl.gz in the trace format.",
        ),
    ],
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write all counts to FILE, as JSON."),
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Write the tables to FILE; in a file that has the marks, only between them.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(
            "--plots", metavar="DIR", help="Draw two plots into DIR, as SVG. Varies thresholds too."
        ),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Vary every threshold of every detector.")
    ] = False,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME", help="Only sources that begin so; repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many runs of each file.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Settings of the detectors, as YAML."),
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Run the rules of other projects too.")
    ] = True,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge", help="Ask the judge of --config too, about what people have labelled."
        ),
    ] = False,
    judge_runs: Annotated[
        int | None,
        typer.Option(
            "--judge-runs",
            min=2,
            metavar="N",
            help="Ask it about at most so many runs of a source, half of them without a label.",
        ),
    ] = None,
) -> None:
    """Measure on recorded runs what is detected, what is flagged wrongly, and how early.

    Sources are never pooled. Takes a few minutes for some thousand runs with every threshold
    varied, and a minute without.
    """
    from sentry_langgraph.bench.detection.command import run  # noqa: PLC0415 - slow import

    run(
        data,
        json_file=json_file,
        markdown_file=markdown_file,
        plots_dir=plots,
        sweep=sweep,
        sources=tuple(source or ()),
        limit=limit,
        config_file=config,
        peers=peers,
        judge=judge,
        judge_runs=judge_runs,
    )
