"""`sentry version`: which version this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import typer


def version() -> None:
    """Print the version of sentry_langgraph and of what it stands on."""
    for name in ("sentry-langgraph", "langgraph", "langchain-core"):
        try:
            typer.echo(f"{name} {installed(name)}")
        except PackageNotFoundError:
            typer.echo(f"{name} (not installed as a package)")
