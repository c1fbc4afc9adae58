"""The command line: which commands there are, each imported when it is called.

A command is one module with a function (or a Typer app for a group of commands), and one line
in `COMMANDS`. A command whose module is not installed is not offered.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is imported when it is called.

    Attributes:
        target: `package.module:attribute` of a function or of a `typer.Typer`.
        help: The line that `sentry --help` shows.
    """

    target: str
    help: str

    @property
    def installed(self) -> bool:
        """Whether the module is there; nothing but its parents is imported."""
        try:
            return find_spec(self.target.partition(":")[0]) is not None
        except ModuleNotFoundError:
            return False

    def load(self) -> Any:
        """The function or the Typer app."""
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)


COMMANDS: dict[str, Lazy] = {
    "init": Lazy("sentry_langgraph.cli.init:init", "Write a starter file of settings."),
    "validate": Lazy("sentry_langgraph.cli.validate:validate", "Check files of settings."),
    "schema": Lazy("sentry_langgraph.cli.schema:schema", "Print the JSON Schema of the settings."),
    "replay": Lazy("sentry_langgraph.cli.replay:replay", "Look for failures in recorded runs."),
    "calibrate": Lazy(
        "sentry_langgraph.cli.calibrate:calibrate_command", "Pick thresholds from good runs."
    ),
    "demo": Lazy("sentry_langgraph.demo.command:demo", "Show failures and their repair, offline."),
    "bench": Lazy(
        "sentry_langgraph.bench.command:app", "Measure what Sentry costs, and how well it does."
    ),
    "version": Lazy("sentry_langgraph.cli.version:version", "Print the version."),
}
"""The commands, in the order of the help. Add yours here."""


class LazyGroup(TyperGroup):
    """A group that lists its commands without importing them."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands that are installed."""
        return [name for name, lazy in COMMANDS.items() if lazy.installed]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command itself, or its name and help alone while the help is written."""
        lazy = COMMANDS.get(cmd_name)
        if lazy is None or not lazy.installed:
            return None
        if self._listing:
            return TyperCommand(name=cmd_name, help=lazy.help)
        return _command(cmd_name, lazy)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` names; nearest names are suggested for an unknown one."""
        # the base class reads this mapping for its suggestions
        self.commands = dict.fromkeys(self.list_commands(ctx), TyperCommand(name="command"))
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=LazyGroup, name="sentry", add_completion=False, no_args_is_help=True)


@app.callback()
def _sentry() -> None:
    """Failure detection, repair, verification and learning for LangGraph agents."""


def main() -> None:
    """Run `sentry`."""
    with _readable_output():
        app()


def validate_main() -> None:
    """Run `sentry-validate`, which is `sentry validate`."""
    with _readable_output():
        _command("sentry-validate", COMMANDS["validate"])()


def _command(name: str, lazy: Lazy) -> Any:
    found = lazy.load()
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


@contextlib.contextmanager
def _readable_output() -> Iterator[None]:
    """Characters that the terminal can't show are written as escapes, never as an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    yield
