"""A PostgreSQL server for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _server_programs() -> Path | None:
    """The newest PostgreSQL server that is installed."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if homes:
        return homes[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _server_user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    return {"user": "nobody", "extra_groups": []} if os.getuid() == 0 else {}


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The DSN of a PostgreSQL server: `SENTRY_TEST_POSTGRES`, or a private one."""
    given = os.environ.get("SENTRY_TEST_POSTGRES")
    if given:
        yield given
        return
    programs = _server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed and SENTRY_TEST_POSTGRES is not set")
    home = Path(tempfile.mkdtemp(prefix="sentry-postgres-"))
    if os.getuid() == 0:
        shutil.chown(home, "nobody")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home}
    user = _server_user()
    data = str(home / "data")
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync"],
        check=True,
        **quiet,
        **user,
    )
    options = f"-p {port} -h 127.0.0.1 -k {home} -c fsync=off"
    start = [programs / "pg_ctl", "-D", data, "-o", options, "-w", "-l", home / "log", "start"]
    subprocess.run(start, check=True, **quiet, **user)
    try:
        yield f"postgresql://tester@127.0.0.1:{port}/postgres"
    finally:
        stop = [programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"]
        subprocess.run(stop, check=False, **quiet, **user)
        shutil.rmtree(home, ignore_errors=True)
