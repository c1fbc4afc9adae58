"""A candidate that has nothing of the request is not taken while another may have it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import call, catalog, proposal, tool

from sentry_langgraph.detect.unfitting import unfitting_choice
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Task, Trajectory
from sentry_langgraph.slots import leaves_of

SHOP = catalog(
    tool("list_orders", customer_id="string", required=["customer_id"], read_only=True),
    tool("get_order", order_id="string", required=["order_id"], read_only=True),
    tool("set_quantity", order_id="string", quantity="integer", read_only=False),
)


def saw(tool: str, value: Any) -> Passage:
    """A result."""
    return Passage("result", json.dumps(value), tool)


LISTED = saw("list_orders", {"order_ids": ["W1001", "W1002"]})
LAMP = saw("get_order", {"order_id": "W1001", "item": "desk lamp", "status": "open"})
KETTLE = saw("get_order", {"order_id": "W1002", "item": "tea kettle", "status": "open"})
KETTLES = "Change the kettle order of Ana to 6 pieces"


def flaw(*seen: Passage, request: str = KETTLES, order_id: str = "W1001") -> Any:
    """What is wrong with changing an order after `seen`."""
    made = call("set_quantity", order_id=order_id, quantity=6)
    told = Passage("told", request, user=True)
    known = Provenance.of((told, *seen))
    ids = [
        leaf for leaf in leaves_of(made.args or {}, SHOP.tools[made.name]) if leaf.name[-2:] == "id"
    ]
    return unfitting_choice(
        made, ids, Trajectory(Task("t", request), (), proposal(made), SHOP, provenance=known)
    )


def test_another_thing_than_the_request_names() -> None:
    """The lamp was read, the kettle was meant: the other one is looked at first."""
    found = flaw(LISTED, LAMP)
    assert (found.pattern, found.argument) == ("unfitting_choice", "order_id")
    assert "1 of 2 candidates were not looked at" in found.detail
    assert "call `get_order` with order_id 'W1002'" in found.advice


def test_another_candidate_that_was_seen_fits_better() -> None:
    """Both were read, and the change goes to the wrong one."""
    found = flaw(LISTED, LAMP, KETTLE)
    assert found.pattern == "unfitting_choice"
    assert "has nothing that the request names, and that of 'W1002' has" in found.detail
    assert found.advice == "if the request means that one, call `set_quantity` with it instead."


@pytest.mark.parametrize(
    ("why", "seen", "more"),
    [
        ("it is the one", (LISTED, LAMP), {"request": "Change the lamp order to 6 pieces"}),
        ("none fits better", (LISTED, LAMP, KETTLE), {"request": "Change the rug order of Ana"}),
        ("nothing was looked at", (LISTED,), {}),
        ("it is the only one", (saw("list_orders", {"order_ids": ["W1001"]}), LAMP), {}),
        ("no list was seen", (LAMP,), {}),
        ("the user said more", (LISTED, LAMP, Passage("told", "Yes, that one", user=True)), {}),
        ("nothing tells them apart", (LISTED, LAMP), {"request": "Set the quantity to 6"}),
        ("it is the one, looked at second", (LISTED, LAMP, KETTLE), {"order_id": "W1002"}),
    ],
)
def test_a_choice_with_a_ground_passes(
    why: str, seen: tuple[Passage, ...], more: dict[str, str]
) -> None:
    """Where a word of the request fits, where all are known, or where there is no choice."""
    assert flaw(*seen, **more) is None, why


def test_names_of_fields_are_no_words_of_a_record() -> None:
    """Every record has them: `item` in the request fits none more than the other."""
    assert flaw(LISTED, LAMP, request="Set the kettle item to 6, its status is open?") is None
    assert flaw(LISTED, LAMP, request="Set the kettle item to 6") is not None


def test_a_candidate_is_read_by_its_own_argument() -> None:
    """Another argument of the change names another kind of thing."""
    desk = catalog(
        tool("loans_of_member", member_no="string", required=["member_no"], read_only=True),
        tool("show_copy", copy_code="string", required=["copy_code"], read_only=True),
        tool("hold_copy", copy_code="string", member_no="string", read_only=False),
    )
    request = "Set a copy aside that is in"
    made = call("hold_copy", copy_code="c-1", member_no="m-7")
    seen = (
        Passage("told", request, user=True),
        Passage("result", json.dumps({"copy_codes": ["c-1", "c-2"]}), "copies_of_title"),
        Passage("result", json.dumps({"copy_code": "c-1", "state": "lent"}), "show_copy"),
    )
    at = Trajectory(Task("t", request), (), proposal(made), desk, provenance=Provenance.of(seen))
    ids = tuple(leaves_of(made.args or {}, desk.tools["hold_copy"]))[:1]
    found = unfitting_choice(made, ids, at)
    assert found is not None
    assert found.advice.startswith("call `show_copy` with copy_code 'c-2'")
