"""`sentry calibrate`: thresholds from good runs, with a bound on false alarms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
import yaml

from sentry_langgraph.cli.recorded import BAD_INPUT, Source, refused
from sentry_langgraph.cli.text import aligned, console, plain
from sentry_langgraph.config import SentryConfig, check_yaml, load_config
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.replay.calibrate import (
    Calibration,
    Scorer,
    Setting,
    calibrate,
    with_thresholds,
)
from sentry_langgraph.replay.catalogs import read_tools
from sentry_langgraph.replay.conformal import TooFewRunsError, needed_runs
from sentry_langgraph.replay.read import Format
from sentry_langgraph.replay.recording import RecordingError


def calibrate_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files of good runs, or postgresql:// URLs."),
    ],
    *,
    alpha: Annotated[
        float, typer.Option(help="Share of good runs that may be flagged, above 0 and below 1.")
    ] = 0.01,
    hold_alpha: Annotated[
        float | None,
        typer.Option(
            help="Share of good runs in which an action may be held; left out, holds stay."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; left out, stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    config: Annotated[
        Path | None, typer.Option(help="Settings to start from; their other values are kept.")
    ] = None,
    tools: Annotated[
        Path | None, typer.Option(help="JSON with the tool schemas, for runs that record none.")
    ] = None,
    format: Annotated[Format, typer.Option(help="How the runs are recorded.")] = Format.AUTO,
    messages_key: Annotated[
        str, typer.Option(help="Key or state channel that holds the messages.")
    ] = "messages",
    success_only: Annotated[
        bool, typer.Option("--success-only", help="Leave out runs not recorded as successful.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on runs that can't be read.")
    ] = False,
) -> None:
    """Pick thresholds from your own good runs, so that few of them would be flagged.

    At most a share ALPHA of further good runs is flagged by these thresholds, on average over
    the choice of runs, where further runs are like those given (split-conformal calibration).
    Ends with 1 where there are too few runs, with 2 where the input is bad.
    """
    for name, share in (("--alpha", alpha), ("--hold-alpha", hold_alpha)):
        if share is not None and not 0 < share < 1:
            raise typer.BadParameter("a share above 0 and below 1 is wanted", param_hint=name)
    if output is not None and output.exists() and not force:
        raise refused(f"{output} exists; pass --force to replace it")
    try:
        settings = load_config(config)
        scorer = Scorer(settings, read_tools(tools) if tools is not None else None)
    except (ConfigError, RecordingError) as error:
        raise refused(str(error)) from error
    scores, left_out, source = _scores(
        scorer, files, format=format, key=messages_key, success_only=success_only
    )
    if strict and source.skipped:
        raise typer.Exit(BAD_INPUT)
    if not scores and not left_out:
        raise refused("no run could be read")
    try:
        found = calibrate(scorer, scores, alpha, hold_alpha)
    except TooFewRunsError as error:
        message = str(error)
        if left_out:
            message += f" ({left_out:,} runs are left out: they are not recorded as successful)"
        console(error=True).print(plain(message), style="red")
        raise typer.Exit(1) from error
    text = settings_text(scorer.config, found, datetime.now(UTC))
    if problems := check_yaml(text):
        raise refused(f"the settings would not be valid: {problems[0]}")
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise refused(f"{output} can't be written: {error.strerror}") from error
    screen = console()
    for line in _summary(found):
        screen.print(line)
    screen.print(f"wrote {plain(str(output))}, from {found.runs:,} good runs")


def settings_text(settings: SentryConfig, found: Calibration, at: datetime) -> str:
    """The settings with the thresholds, as YAML, with a header that says what they promise.

    Args:
        settings: What they start from.
        found: The thresholds.
        at: The time, for the header.
    """
    lines = [
        f"Thresholds by `sentry calibrate`, {at:%Y-%m-%d}, from {found.runs} good runs.",
        f"alpha = {found.alpha:g}: at most this share of further good runs is flagged by any of",
        "the thresholds for findings, on average over the choice of runs, where further runs are",
        "exchangeable with those (split-conformal, joint over all thresholds).",
    ]
    if found.hold_alpha is not None:
        lines += [
            f"hold alpha = {found.hold_alpha:g}: at most this share has an action held by the",
            "thresholds for holds.",
        ]
    lines += [
        "Nothing is promised of findings that no threshold decides, such as invalid arguments.",
        f"For this alpha at least {needed_runs(found.alpha)} runs are needed. Before -> now:",
        *(f"  {line}" for line in _summary(found)),
    ]
    header = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    data = with_thresholds(settings, found.values)
    body: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    return header + body


def _summary(found: Calibration) -> list[str]:
    rows = [
        (
            f"{setting.kind}.{setting.option}",
            str(found.before[setting]),
            "->",
            str(value),
            f"flags {found.flagged[setting]} of the runs",
        )
        for setting, value in found.values.items()
    ]
    return aligned(rows) if rows else []


def _scores(
    scorer: Scorer, files: list[str], *, format: Format, key: str, success_only: bool
) -> tuple[list[dict[Setting, int]], int, Source]:
    scores: list[dict[Setting, int]] = []
    left_out = 0
    say: Callable[[], str] = lambda: f"{len(scores):,} runs, {left_out:,} left out"  # noqa: E731
    source = Source(files, say, format=format, key=key)
    for recording in source.runs():
        if success_only and recording.success is not True:
            left_out += 1
            continue
        try:
            scores.append(scorer.score(recording))
        except RecordingError as error:
            source.problem(error)
    return scores, left_out, source
