"""A wrong tool name is answered by the name it is a spelling of, or by none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from sentry_langgraph.detect.names import Suggestion, meant, nearest
from sentry_langgraph.records import ToolCall, ToolSpec


def tool(name: str, *arguments: str, reads: bool = False) -> ToolSpec:
    """A tool that demands every one of its arguments."""
    properties = {one: {"type": "string"} for one in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return ToolSpec(name, parameters=schema, read_only=reads)


KNOWN = ["search_orders", "get_order", "cancel_order", "send_email"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Search_Orders", "search_orders"),
        (" get_order ", "get_order"),
        ("get-order", "get_order"),
        ("get order", "get_order"),
        ("functions.get_order", "get_order"),
        ("shop:cancel_order", "cancel_order"),
        ("mcp__shop__send_email", "send_email"),
        ("tools/send_email", "send_email"),
        ("search_order", "search_orders"),
        ("serach_orders", "search_orders"),
        ("cancel_orders", "cancel_order"),
        ("weather", None),
        ("", None),
        ("   ", None),
        ("x", None),
    ],
)
def test_spellings_are_looked_through(name: str, wanted: str | None) -> None:
    """Case, separators, prefixes and slips lead to the tool; strangers lead nowhere."""
    near = nearest(name, KNOWN)
    assert (near and near.name) == wanted


@pytest.mark.parametrize(
    ("name", "certain"),
    [
        ("Get-Order", True),
        ("functions.get_order", True),
        ("get_orders", False),
        ("serach_orders", False),
    ],
)
def test_only_another_way_to_write_it_is_certain(name: str, certain: bool) -> None:
    """A slip of the pen may mean the tool; another case or prefix does."""
    near = nearest(name, KNOWN)
    assert near is not None
    assert near.certain is certain


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("create_order", "delete_order"),
        ("unlock_account", "lock_account"),
        ("enable_user", "disable_user"),
        ("activate_line", "deactivate_line"),
        ("increase_limit", "decrease_limit"),
        ("remove_item", "move_item"),
    ],
)
def test_the_opposite_is_no_spelling(name: str, known: str) -> None:
    """A name that reads alike and does the opposite is never suggested."""
    assert nearest(name, [known, "search"]) is None


def test_without_tools_there_is_no_suggestion() -> None:
    """An empty catalog suggests nothing."""
    assert nearest("search", []) is None


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_a_suggestion_is_always_one_of_the_tools(name: str, known: list[str]) -> None:
    """Any text is a possible name, and nothing is made up."""
    near = nearest(name, known)
    assert near is None or near.name in known


@given(st.sampled_from(KNOWN))
def test_a_known_name_is_its_own_nearest(name: str) -> None:
    """The search is exact where it can be."""
    assert nearest(name, KNOWN) == Suggestion(name, certain=True)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("order_cancel_order", "cancel_order"),
        ("cancel_order_tool", "cancel_order"),
        ("my_cancel_order_v2", "cancel_order"),
        ("recancel_orders", None),
    ],
)
def test_words_around_a_whole_name_are_looked_through(name: str, meant: str | None) -> None:
    """The name has to stand in it as whole words, and be more than one word."""
    near = nearest(name, ["order", "get_order", "cancel_order"])
    assert (near and near.name) == meant
    assert near is None or near.certain


SHOP_FLOOR = {
    spec.name: spec
    for spec in (
        tool("change_city", "customer_id", "city"),
        tool("set_quantity", "order_id", "quantity"),
        tool("get_order", "order_id", reads=True),
        tool("list_orders", "customer_id", reads=True),
    )
}


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("change_quantity", ("order_id", "quantity"), "set_quantity"),
        ("change_quantity", (), "change_city"),
        ("change_town", ("customer_id", "city"), None),
        ("change_citty", ("customer_id", "city"), "change_city"),
        ("find_order", ("order_id",), "get_order"),
        ("find_order", ("customer_id",), "list_orders"),
        ("delete_order", ("order_id",), None),
        ("find_order", ("customer_id", "product_id"), None),
        ("Get-Order", ("verbose",), "get_order"),
    ],
)
def test_what_was_given_says_which_tool_is_meant(
    name: str, given: tuple[str, ...], wanted: str | None
) -> None:
    """A near name that takes none of it is not suggested; one that takes just that may be."""
    near = meant(ToolCall("c", name, dict.fromkeys(given, "x")), SHOP_FLOOR)
    assert (near and near.name) == wanted
