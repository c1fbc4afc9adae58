"""One real demo, run once, with its figures."""

from __future__ import annotations

import json
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sentry_langgraph.cli.app import app


@dataclass(frozen=True)
class Shown:
    """What one `sentry demo` gave.

    Attributes:
        output: What it printed.
        figures: What `--json` holds.
        directory: Where it wrote.
        elsewhere: What appeared in the working directory, and in the one for temporary files.
        connections: Addresses that were connected to.
    """

    output: str
    figures: dict[str, Any]
    directory: Path
    elsewhere: list[str]
    connections: list[Any]

    def run(self, beginning: str) -> dict[str, Any]:
        """The re-enacted run whose id begins so."""
        return next(r for r in self.figures["reenacted"] if r["id"].startswith(beginning))

    def task(self, label: str) -> dict[str, Any]:
        """The first task in which this failure was seen."""
        return next(
            t for t in self.figures["recovering"] if t["report"]["rows"][0]["label"] == label
        )


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """`sentry demo`, with all connections recorded and refused."""
    base = tmp_path_factory.mktemp("demo")
    directory, measured = base / "out", base / "figures.json"
    working, temporary = base / "working", base / "temporary"
    working.mkdir()
    temporary.mkdir()
    connections: list[Any] = []

    def refuse(_: socket.socket, address: Any) -> None:
        connections.append(address)
        raise ConnectionRefusedError(address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(tempfile, "tempdir", str(temporary))
        patch.chdir(working)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LANGSMITH_API_KEY"):
            patch.delenv(name, raising=False)
        result = CliRunner().invoke(
            app, ["demo", "--dir", str(directory), "--json", str(measured)], catch_exceptions=False
        )
    assert result.exit_code == 0, result.output
    elsewhere = [path.name for place in (working, temporary) for path in place.iterdir()]
    figures = json.loads(measured.read_text())
    return Shown(result.output, figures, directory, elsewhere, connections)
