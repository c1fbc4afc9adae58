"""Options of the test run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from postgres_server import postgres  # noqa: F401 - a fixture of several directories

settings.register_profile(
    "suite",
    max_examples=50,
    deadline=None,  # a busy machine is no failure
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-snapshots` writes the snapshots of texts anew instead of comparing them."""
    parser.addoption(
        "--update-snapshots",
        action="store_true",
        dest="write_snapshots",
        help="write the snapshots of texts anew",
    )
