"""`sentry validate FILE…`: check files of settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sentry_langgraph.cli.text import console, plain, styled
from sentry_langgraph.config import check_file
from sentry_langgraph.errors import ConfigError


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files to check.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of lines.")
    ] = False,
) -> None:
    """Check files of settings.

    Prints one line for each problem, with file, line, key and what would be right, and `ok` for
    a file without any. Ends with 1 where there are problems.
    """
    found = {str(file): check_file(file) for file in files}
    if as_json:
        document = [
            {"file": file, "ok": not problems, "problems": [_fields(one) for one in problems]}
            for file, problems in found.items()
        ]
        # plain ASCII: a value from the file can't reach the terminal as a control character
        typer.echo(json.dumps(document, indent=2))
    else:
        screen = console()
        for file, problems in found.items():
            if not problems:
                screen.print(Text.assemble(styled("ok", "green"), f" {plain(file)}"))
            for problem in problems:
                screen.print(_line(problem))
    if any(found.values()):
        raise typer.Exit(1)


def _line(problem: ConfigError) -> Text:
    place = problem.file or ""
    if problem.line is not None:
        place += f":{problem.line}"
    line = Text.assemble(styled(place, "bold"), ": ")
    if problem.key:
        line.append_text(Text.assemble(styled(problem.key, "cyan"), ": "))
    line.append(plain(problem.message))
    if problem.hint:
        line.append_text(styled(f" ({problem.hint})", "yellow"))
    return line


def _fields(problem: ConfigError) -> dict[str, Any]:
    value = problem.value
    return {
        "file": problem.file,
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
        "value": value if isinstance(value, (str, int, float, bool, type(None))) else str(value),
        "hint": problem.hint,
    }
