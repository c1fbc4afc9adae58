"""Options of the test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-snapshots` writes the snapshots of texts anew instead of comparing them."""
    parser.addoption(
        "--update-snapshots",
        action="store_true",
        dest="write_snapshots",
        help="write the snapshots of texts anew",
    )
