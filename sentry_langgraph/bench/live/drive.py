"""A measurement from what the command line says: model, results, progress, tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sentry_langgraph.bench.live.domains import DOMAINS
from sentry_langgraph.bench.live.figures import figures
from sentry_langgraph.bench.live.measure import Plan, measure, results_of, settings
from sentry_langgraph.bench.live.names import ARMS, Protocol
from sentry_langgraph.bench.live.show import show
from sentry_langgraph.bench.live.store import Store
from sentry_langgraph.config import ModelOptions
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.providers import chat_model

TEMPERATURE = 0.0


def drive(
    *,
    domains: Sequence[str],
    arms: Sequence[str],
    protocol: str,
    tasks: int | None,
    max_turns: int,
    transcripts: bool,
    parallel: int,
    out: Path | None,
    json_file: Path | None,
    model: str,
    max_tokens: int,
    **access: Any,
) -> None:
    """Measure, print the tables, and write them down.

    Args:
        domains: Names of domains.
        arms: Names of arms.
        protocol: How the model is told of tools.
        tasks: How many tasks of each domain; None is all.
        max_turns: Calls of the model in one run.
        transcripts: Whether what was said is kept.
        parallel: Runs at the same time.
        out: The file of results.
        json_file: The file of figures.
        model: The model's name.
        max_tokens: Tokens of one answer.
        **access: Further `ModelOptions`.

    Raises:
        typer.BadParameter: The model can't be built, or the file of results can't be used.
        typer.Exit: The model's client failed; what was done is kept.
    """
    plan = Plan(
        domains=tuple(domain for name, domain in DOMAINS.items() if name in domains),
        arms=tuple(arm for arm in ARMS if arm in arms),
        protocol=cast("Protocol", protocol),
        tasks=tasks,
        max_turns=max_turns,
        transcripts=transcripts,
        parallel=parallel,
    )
    chat = _model(model=model, max_tokens=max_tokens, temperature=TEMPERATURE, **access)
    used = settings(plan, model=model, max_tokens=max_tokens, temperature=TEMPERATURE)
    try:
        store = Store(out, used)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint="--out") from error
    errors = Console(stderr=True)
    if store.note:
        errors.print(store.note, highlight=False)
    fault = _run(plan, chat, store, errors)
    _report(plan, store, used, json_file)
    if fault is not None:
        kept = "; run it again to go on" if out is not None else ""
        errors.print(f"stopped: {type(fault).__name__}: {fault}{kept}", style="red", markup=False)
        raise typer.Exit(1)


def _report(plan: Plan, store: Store, used: dict[str, Any], json_file: Path | None) -> None:
    found = figures(results_of(plan, store))
    if not found:
        return
    show(found)
    if json_file is not None:
        date = datetime.now(UTC).isoformat(timespec="seconds")
        data = {**used, "date": date, "figures": [one.to_dict() for one in found]}
        json_file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _run(plan: Plan, chat: Any, store: Store, errors: Console) -> Exception | None:
    """Make the runs with a progress bar; an error of the model's client ends them."""
    runs = plan.runs()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors) as progress:
        done = sum((d.name, t.id, arm) in store.done for d, t, arm in runs)
        bar = progress.add_task("", total=len(runs), completed=done)
        try:
            for _ in measure(
                plan,
                chat,
                store,
                lambda d, t, arm: progress.update(bar, description=f"{d.name} {arm}: {t.id}"),
            ):
                progress.advance(bar)
        except Exception as error:  # the server's or the client's: what is done is kept
            return error
    return None


def _model(**options: Any) -> Any:
    try:
        return chat_model(ModelOptions(**options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise typer.BadParameter(str(first["msg"]), param_hint=option) from error
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from error
