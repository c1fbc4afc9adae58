"""What a name says of a tool: reads, changes, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import TEXTS

from sentry_langgraph.detect.naming import reads_by_name


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("get_order", True),
        ("getOrder", True),
        ("GetOrderDetails", True),
        ("list-orders", True),
        ("search", True),
        ("http_get", True),
        ("get_update", True),
        ("cancel_order", False),
        ("cancelOrder", False),
        ("update_get", False),
        ("HTTPPostRequest", False),
        ("transfer_to_human_agents", False),
        ("refuel_data", False),
        ("order_history", False),
        ("store.search", True),
        ("github__create_issue", False),
        ("mcp:orders/get", True),
        ("archive__", False),
        ("unlockDoor", False),
        ("DownloadReport", True),
        ("weather", None),
        ("", None),
        ("1234", None),
        ("getaway_planner", None),
        ("settings", None),
    ],
)
def test_the_first_known_verb_decides(name: str, reads: bool | None) -> None:
    """Whole words count, in snake, kebab and camel case."""
    assert reads_by_name(name) is reads


@given(TEXTS)
def test_any_name_is_read(name: str) -> None:
    """A strange name says nothing, and never fails."""
    assert reads_by_name(name) in {True, False, None}
