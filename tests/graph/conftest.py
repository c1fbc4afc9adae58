"""Fixtures of the structural tests."""

from __future__ import annotations

from typing import Any

import pytest

from .kinds import KINDS, Kind
from .runs import Drive


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    """Runs a graph sync and async."""
    return Drive(request.param)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of graph."""
    found: Any = request.param
    assert isinstance(found, Kind)
    return found
