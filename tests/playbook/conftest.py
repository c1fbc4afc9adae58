"""Every backend, as one fixture, and a real Chroma server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sentry_langgraph.playbook import (
    ChromaPlaybook,
    HashedEmbedder,
    MemoryPlaybook,
    PlaybookOptions,
)
from sentry_langgraph.playbook.store import StoredPlaybook
from sentry_langgraph.records import Lesson
from sentry_langgraph.taxonomy import Label

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Server:
    """The address of a running Chroma server."""

    host: str
    port: int


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Chroma server on a free port of this machine."""
    beside = Path(sys.executable).with_name("chroma")
    binary = str(beside) if beside.exists() else shutil.which("chroma")
    if binary is None:
        pytest.skip("the `chroma` command, which starts a server, is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path_factory.mktemp("chroma-server")
    command = [binary, "run", "--path", str(home / "data"), "--host", "127.0.0.1"]
    with (home / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=home,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((home / "log.txt").read_text()) from None
                time.sleep(0.1)
        yield Server("127.0.0.1", port)
    finally:
        process.terminate()
        process.wait(timeout=10)


Open = Callable[..., StoredPlaybook]


@pytest.fixture(params=["memory", "chroma", "server"])
def open_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens playbooks of one backend, each with the settings given; empty at first."""
    place: dict[str, Any] = {"path": str(tmp_path / "playbook")}
    if request.param == "server":
        server: Server = request.getfixturevalue("server")
        name = f"t{abs(hash(request.node.nodeid))}"
        place = {"host": server.host, "port": server.port, "collection": name}
    kind = MemoryPlaybook if request.param == "memory" else ChromaPlaybook

    def build(**settings: Any) -> StoredPlaybook:
        options = PlaybookOptions(**{**place, **settings})
        return kind(options, embedder=HashedEmbedder(), clock=lambda: NOW)

    return build


@pytest.fixture
def playbook(open_backend: Open) -> StoredPlaybook:
    """An empty playbook of each backend."""
    return open_backend()


def lesson(id_: str = "a", **fields: Any) -> Lesson:
    """A lesson that recovered once."""
    given = {"label": Label.HALLUCINATION, "text": "look the order up first", "recoveries": 1}
    return Lesson(id_, **{**given, **fields})
