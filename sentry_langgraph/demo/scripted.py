"""The scripted agent of part two: it fails in four ways, and follows Sentry's plans.

Each policy is a function of the request, so what it says depends on what it reads there. It
listens to Sentry's guidance and to nothing else: the comparison shows the mechanism, and says
nothing about the skill of a model. Without guidance it repeats its mistake until it gives up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from sentry_langgraph.testing.messages import ai, call, guidance_in, is_guidance

Policy: TypeAlias = Callable[[list[BaseMessage]], AIMessage]
"""What the agent says to a request."""

_PATIENCE = 12
"""Calls after which the agent gives up by itself."""

_NEXT_CALL = re.compile(r"^Next: call `(\w+)`", re.MULTILINE)
_WRONG_TYPE = re.compile(r"`(\w+)` must be (?:an? )?integer")
_HELPED = re.compile(r"this helped: `(\w+)`")
_NAMES = re.compile(r"`(\w+)`")
_NUMBERS = {"one": 1, "two": 2, "three": 3}


@dataclass(frozen=True, slots=True)
class Task:
    """One request to the agent, and how its end is judged.

    Attributes:
        name: For people.
        failure: How the agent fails in it, for people.
        request: What the user asks.
        policy: What the agent does.
        check: A query on the shop whose value says how the task ended.
        wanted: The value that it has when the request was done.
        label: The failure that Sentry is to see.
    """

    name: str
    failure: str
    request: str
    policy: Policy
    check: str
    wanted: Any
    label: str


def unknown_tool(order_id: str, text: str) -> Policy:
    """Calls a tool that does not exist, until a plan names the right one."""
    arguments = {"order_id": order_id, "text": text}

    def policy(messages: list[BaseMessage]) -> AIMessage:
        if _succeeded(messages, "add_note"):
            return ai(f"The note is on order {order_id}.")
        if _exhausted(messages):
            return _gives_up()
        named = _NEXT_CALL.search(_guidance(messages))
        return ai("", call(named[1] if named else "add_notes", arguments))

    return policy


def wrong_type(order_id: str, word: str) -> Policy:
    """Gives a word where a number is required, until it is told which field wants which type."""

    def policy(messages: list[BaseMessage]) -> AIMessage:
        if _succeeded(messages, "set_quantity"):
            return ai(f"Order {order_id} now has {_NUMBERS[word]} pieces.")
        if _exhausted(messages):
            return _gives_up()
        arguments: dict[str, Any] = {"order_id": order_id, "quantity": word}
        wrong = _WRONG_TYPE.search(_guidance(messages))
        if wrong and wrong[1] in arguments:
            arguments[wrong[1]] = _NUMBERS[arguments[wrong[1]]]
        return ai("", call("set_quantity", arguments))

    return policy


def loop(customer: str, item: str) -> Policy:
    """Searches with words that find nothing, again and again, until it is told of other ways.

    It then takes the way that a lesson names; without a lesson it tries the other tools of the
    plan in their order, as far as it has anything to give them.
    """

    def policy(messages: list[BaseMessage]) -> AIMessage:
        if _succeeded(messages, "cancel_order"):
            return ai(f"I cancelled the order of {customer}: {item}.")
        if orders := _succeeded(messages, "list_orders"):
            found = [o for o in json.loads(orders) if o["item"] == item and o["status"] == "open"]
            return ai("", call("cancel_order", {"order_id": found[0]["order_id"]}))
        if customers := _succeeded(messages, "find_customer"):
            return ai(
                "", call("list_orders", {"customer_id": json.loads(customers)[0]["customer_id"]})
            )
        if _exhausted(messages):
            return _gives_up()
        if way := _another_way(messages, customer):
            return ai("", way)
        return ai("", call("search_orders", {"text": f"{customer} {item}"}))

    return policy


def announced(customer: str, email: str) -> Policy:
    """Says that it will act, and ends its turn, until it is told that nothing happened."""

    def policy(messages: list[BaseMessage]) -> AIMessage:
        if _succeeded(messages, "update_email"):
            return ai(f"The e-mail address of {customer} is now {email}.")
        customers = _succeeded(messages, "find_customer")
        if customers is None:
            return ai("", call("find_customer", {"name": customer}))
        if not _guidance(messages):
            return ai("I found the customer. I will now update the e-mail address.")
        arguments = {"customer_id": json.loads(customers)[0]["customer_id"], "email": email}
        return ai("", call("update_email", arguments))

    return policy


def _another_way(messages: Sequence[BaseMessage], customer: str) -> ToolCall | None:
    """The next call that the guidance leads to: the lesson's first, else by the list of tools."""
    said = [str(m.text) for m in messages if is_guidance(m)]
    if not said:
        return None
    plan = said[-1]
    fits = {
        "search_orders": call("search_orders", {"text": customer}),
        "find_customer": call("find_customer", {"name": customer}),
    }
    _, _, rest = plan.partition("\nNext: ")
    named = [*_HELPED.findall(plan), *_NAMES.findall(rest)]
    made = [c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    tried = [(c["name"], c["args"]) for c in made]
    ways = [fits[name] for name in named if name in fits]
    return next((way for way in ways if (way["name"], way["args"]) not in tried), None)


def _guidance(messages: Sequence[BaseMessage]) -> str:
    return guidance_in(messages, fresh=True) or ""


def _succeeded(messages: Sequence[BaseMessage], tool: str) -> str | None:
    """The newest successful result of a tool, or None."""
    return next(
        (
            str(m.text)
            for m in reversed(messages)
            if isinstance(m, ToolMessage) and m.name == tool and m.status != "error"
        ),
        None,
    )


def _exhausted(messages: Sequence[BaseMessage]) -> bool:
    return sum(1 for m in messages if isinstance(m, AIMessage)) >= _PATIENCE


def _gives_up() -> AIMessage:
    return ai("Sorry, I could not do it.")


FOUR_WAYS = (
    Task(
        name="note on an order",
        failure="calls a tool that does not exist",
        request="Please write 'gift wrap' as a note on order O-1001.",
        policy=unknown_tool("O-1001", "gift wrap"),
        check="SELECT note FROM orders WHERE order_id = 'O-1001'",
        wanted="gift wrap",
        label="unknown_tool",
    ),
    Task(
        name="change of a quantity",
        failure="gives a word where a number is required",
        request="Make it two office chairs in order O-1002.",
        policy=wrong_type("O-1002", "two"),
        check="SELECT quantity FROM orders WHERE order_id = 'O-1002'",
        wanted=2,
        label="invalid_arguments",
    ),
    Task(
        name="order of a customer",
        failure="searches in a loop",
        request="Cancel the desk lamp that Ana Ruiz ordered.",
        policy=loop("Ana Ruiz", "desk lamp"),
        check="SELECT status FROM orders WHERE order_id = 'O-1001'",
        wanted="cancelled",
        label="repetition_or_looping",
    ),
    Task(
        name="change of an address",
        failure="announces the change and never makes it",
        request="Set the e-mail address of Ben Okoro to ben.okoro@mail.example.",
        policy=announced("Ben Okoro", "ben.okoro@mail.example"),
        check="SELECT email FROM customers WHERE customer_id = 'C-2'",
        wanted="ben.okoro@mail.example",
        label="planning_stall",
    ),
)

SAME_AGAIN = Task(
    name="order of another customer",
    failure="searches in a loop, as before",
    request="Cancel the standing desk that Chloe Park ordered.",
    policy=loop("Chloe Park", "standing desk"),
    check="SELECT status FROM orders WHERE order_id = 'O-1003'",
    wanted="cancelled",
    label="repetition_or_looping",
)
