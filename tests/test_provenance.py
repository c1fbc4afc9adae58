"""Where values stand, which tools yield them, and what leads to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from builders import catalog, tool
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from sentry_langgraph.graph.passages import provenance_of
from sentry_langgraph.plans import plan_to
from sentry_langgraph.producers import known_values, producers
from sentry_langgraph.provenance import Passage, Provenance, fields
from sentry_langgraph.records import Catalog, PathStep


def told(text: str, user: bool = True) -> Passage:
    return Passage("told", text, user=user)


def result(tool: str, text: Any, failed: bool = False, asked: str = "") -> Passage:
    written = text if isinstance(text, str) else json.dumps(text)
    return Passage("result", written, tool, failed, asked=asked)


SEEN = Provenance.of(
    [
        told("Cancel the lamp of Ana Ruiz, ana@x.com"),
        Passage("given", '{"name": "Ana Ruiz"}', "find_customer"),
        result("find_customer", {"id": "C-17", "name": "Ana Ruiz"}),
        result("list_orders", {"order_ids": ["W1001", "W1002"]}),
        result("get_order", "Error: W9999 not found", True, '{"order_id": "W9999"}'),
    ]
)


@pytest.mark.parametrize("value", ["C-17", "w1002", "ANA@X.COM", "Ana Ruiz", "c 17"])
def test_what_was_told_or_seen_is_grounded(value: str) -> None:
    """In the request, in a result, in the arguments of a call that worked."""
    assert SEEN.grounded(value)


@pytest.mark.parametrize("value", ["C-18", "W100", "W9999", "lamp_order_ana_ruiz", "12345"])
def test_what_stands_nowhere_is_not(value: str) -> None:
    """The error that repeats what a call made up does not ground it."""
    assert not SEEN.grounded(value)


def test_an_error_that_names_another_value_grounds_that_one() -> None:
    """`W1 not found, did you mean W2345?`"""
    seen = Provenance.of([result("get", "W1 not found, did you mean W2345?", True, '{"id": "W1"}')])
    assert seen.grounded("W2345")
    assert not seen.grounded("W1")


def test_nothing_is_missing_where_nothing_was_read() -> None:
    """Without passages there is nothing to judge by."""
    assert Provenance().grounded("W77")


def test_sources_name_the_fields() -> None:
    """Newest first, with the names under which the value stands."""
    sources = [(s.passage.tool, s.passage.kind, s.keys) for s in SEEN.sources("Ana Ruiz")]
    assert sources == [
        ("find_customer", "result", ("name",)),
        ("find_customer", "given", ("name",)),
        ("", "told", ()),
    ]
    assert [s.keys for s in SEEN.sources("W1001")] == [("order_ids",)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": {"id": 1}, "b": [2, 3]}', [("id", 1), ("b", 2), ("b", 3)]),
        ("order_id: W1, state=open", [("order_id", "W1"), ("state", "open")]),
        ("{'id': 'k-1'}", [("id", "k-1")]),
        ("nothing here", []),
        ("[" * 5000, []),
    ],
)
def test_fields_of_a_text(text: str, found: list[tuple[str, Any]]) -> None:
    """JSON as such, else pairs."""
    assert list(fields(text)) == found


# A look costs what it has to


def history(size: int) -> list[Any]:
    messages: list[Any] = [HumanMessage("Look at C-1001.", id=f"first-{size}")]
    for n in range(size):
        call = {"name": "list_orders", "args": {"customer_id": "C-1001"}, "id": f"c{n}"}
        messages.append(AIMessage("", tool_calls=[call], id=f"a{n}"))
        messages.append(ToolMessage(f'{{"order_ids": ["W{7000 + n}"]}}', tool_call_id=f"c{n}"))
    return messages


def test_a_value_in_use_is_looked_up_where_it_was() -> None:
    """The second look at an old value reads no passage."""
    messages = history(500)
    assert provenance_of(messages, len(messages)).grounded("W7000")
    again = provenance_of(messages, len(messages))

    def refused() -> Iterator[Passage]:
        raise AssertionError("the history was read")

    assert replace(again, passages=refused).grounded("W7000")


def test_an_edited_history_is_never_answered_from_memory() -> None:
    """The remembered place is looked at again: other messages there, another answer."""
    messages = history(5)
    assert provenance_of(messages, len(messages)).grounded("W7002")
    edited = [*messages[:5], *messages[7:]]
    assert not provenance_of(edited, len(edited)).grounded("W7002")
    changed = list(messages)
    changed[6] = ToolMessage('{"order_ids": []}', tool_call_id="c2")
    assert not provenance_of(changed, len(changed)).grounded("W7002")
    assert not provenance_of(messages, 6).grounded("W7002")


def test_messages_become_passages() -> None:
    """System and user texts, results, and arguments of calls that worked; nothing of ours."""
    calls = [
        {"name": "get", "args": {"id": "A1"}, "id": "1"},
        {"name": "get", "args": {"id": "A2"}, "id": "2"},
    ]
    messages = [
        SystemMessage("The shop is S-1."),
        HumanMessage("Hello"),
        AIMessage("", tool_calls=calls),
        ToolMessage("A1 is open", tool_call_id="1"),
        ToolMessage("Error: no A2", tool_call_id="2", status="error"),
        HumanMessage("Use A3", additional_kwargs={"sentry": {}}),
    ]
    seen = provenance_of(messages, len(messages), ("The account is ACC-1.",))
    assert [(p.kind, p.user, p.failed) for p in seen.passages()] == [
        ("result", False, True),
        ("result", False, False),
        ("given", False, False),
        ("told", True, False),
        ("told", False, False),
        ("told", False, False),
    ]
    assert [seen.grounded(v) for v in ("S-1", "ACC-1", "A1", "A2", "A3")] == [
        True,
        True,
        True,
        False,
        False,
    ]


VALUES = st.text("abcdefghkmXYZ0123456789-", min_size=4, max_size=20).filter(
    lambda value: any(map(str.isalnum, value))
)


@given(st.lists(VALUES, min_size=1, max_size=12), st.data())
def test_every_value_of_every_passage_is_grounded(values: list[str], data: Any) -> None:
    """Told, given or as a field of a result."""
    kinds = st.sampled_from(["told", "given", "result"])
    passages = [
        Passage(data.draw(kinds), json.dumps({"value": value, "n": place}), "tool")
        for place, value in enumerate(values)
    ]
    seen = Provenance.of(passages)
    assert all(seen.grounded(value) for value in values)
    assert all(seen.grounded(value.upper()) for value in values)


# Who yields a kind of value

PLAIN = catalog(
    tool("t1", label="string", required=["label"], read_only=True),
    tool("t2", customer_id="string", required=["customer_id"], read_only=True),
    tool("t3", order_id="string", required=["order_id"], read_only=False),
)
NAMED = catalog(
    tool("find_customer_by_email", email="string", required=["email"], read_only=True),
    tool("list_customer_orders", customer_id="string", required=["customer_id"], read_only=True),
    tool("get_order", order_id="string", required=["order_id"], read_only=True),
    tool("cancel_order", order_id="string", required=["order_id"], read_only=False),
    tool("get_weather", city="string", required=["city"], read_only=True),
)


def test_result_keys_show_who_yields_an_id() -> None:
    """Where names and descriptions give nothing away."""
    seen = Provenance.of(
        [
            result("t1", {"customer_id": "C1", "name": "Ana"}),
            result("t2", {"order_ids": ["W1", "W2"]}),
        ]
    )
    (first, *_) = producers("order_id", PLAIN, seen, consumer="t3")
    assert (first.tool, first.gives, first.seen, first.arguments) == (
        "t2",
        "order_ids",
        True,
        ("customer_id",),
    )
    assert known_values("order_id", PLAIN, seen, consumer="t3")[0] == ("t2", "order_ids", "W1")


def test_a_bare_id_belongs_to_what_the_tool_is_about() -> None:
    """`id` in the result of `find_customer` is a customer's, and no order's."""
    tools = catalog(
        tool("find_customer", called="string", required=["called"], read_only=True),
        tool("move_customer", id="string", required=["id"], read_only=False),
        tool("move_order", id="string", required=["id"], read_only=False),
    )
    seen = Provenance.of([result("find_customer", {"id": "C1"})])
    assert [p.tool for p in producers("id", tools, seen, consumer="move_customer")] == [
        "find_customer"
    ]
    assert [p.tool for p in producers("customer_id", tools, seen)] == ["find_customer"]
    assert not producers("id", tools, seen, consumer="move_order")


def test_names_show_it_before_anything_was_called() -> None:
    """A tool that takes what is missing does not yield it, and neither does a change."""
    found = producers("order_id", NAMED, Provenance(), consumer="cancel_order")
    assert found[0].tool == "list_customer_orders"
    assert {one.tool for one in found}.isdisjoint({"cancel_order", "get_order", "get_weather"})
    assert producers("customer_id", NAMED, Provenance())[0].tool == "find_customer_by_email"


def test_a_plan_starts_from_what_the_request_says() -> None:
    """E-mail → customer → orders; without an e-mail there is no way."""
    said = Provenance.of([told("Cancel my lamp order, I am ana@x.com")])
    assert plan_to("order_id", NAMED, said, consumer="cancel_order") == (
        PathStep("find_customer_by_email", ("email",), ""),
        PathStep("list_customer_orders", ("customer_id",), ""),
    )
    assert not plan_to("order_id", NAMED, Provenance.of([told("Cancel it")]))


def test_a_plan_goes_on_from_what_is_known() -> None:
    """With the customer's id told or seen one call is left, with the orders seen none."""
    orders = PathStep("list_customer_orders", ("customer_id",), "")
    said = Provenance.of([told("I am customer C-1001, cancel my lamp order")])
    assert plan_to("order_id", NAMED, said, consumer="cancel_order") == (orders,)
    seen = [told("hi"), result("find_customer_by_email", {"customer_id": "C-1"})]
    assert plan_to("order_id", NAMED, Provenance.of(seen), consumer="cancel_order") == (orders,)
    seen.append(result("list_customer_orders", {"order_ids": ["W1"]}))
    assert not plan_to("order_id", NAMED, Provenance.of(seen), consumer="cancel_order")


def test_tools_that_lead_in_a_circle_are_no_plan() -> None:
    """Each needs what the other gives."""
    tools = catalog(
        tool("find_a_by_b", b_id="string", required=["b_id"], read_only=True),
        tool("find_b_by_a", a_id="string", required=["a_id"], read_only=True),
    )
    assert not plan_to("a_id", tools, Provenance.of([told("hello")]))
    assert not plan_to("a_id", Catalog(), Provenance())
