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
    """Measure what Sentry costs."""


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
