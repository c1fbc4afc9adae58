"""`sentry init`: write a starter file of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sentry_langgraph.cli.text import console, plain
from sentry_langgraph.config.presets import PresetName
from sentry_langgraph.config.starter import render_starter, starter_text


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("sentry.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    preset: Annotated[
        PresetName | None,
        typer.Option("--preset", help="Name a preset in the file, and show what it decides."),
    ] = None,
) -> None:
    """Write a starter file with every setting, its default and its meaning."""
    text = starter_text() if preset is None else render_starter(preset)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        _refuse(f"{path} exists; pass --force to replace it")
    except (OSError, ValueError) as error:
        _refuse(f"{path} can't be written: {getattr(error, 'strerror', None) or error}")
    console().print(f"wrote {plain(str(path))}; check it with: sentry validate {plain(str(path))}")


def _refuse(message: str) -> None:
    console(error=True).print(plain(message), style="red")
    raise typer.Exit(1)
