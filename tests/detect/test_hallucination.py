"""Values and claims that nothing the agent was told or saw stands behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from builders import call, catalog, proposal, tool
from hypothesis import given
from hypothesis import strategies as st

from sentry_langgraph.detect.hallucination import Hallucination, HallucinationOptions
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Catalog, Finding, Proposal, Task, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Severity

SHOP = catalog(
    tool("find_customer", email="string", required=["email"], read_only=True),
    tool("list_orders", customer_id="string", required=["customer_id"], read_only=True),
    tool("get_order", order_id="string", required=["order_id"], read_only=True),
    tool("search", q="string", read_only=True),
    tool("read_file", path="string", required=["path"], read_only=True),
    tool("fetch", url="string", required=["url"], read_only=True),
    tool(
        "cancel_order",
        order_id="string",
        reason={"enum": ["late", "other"]},
        required=["order_id"],
        read_only=False,
    ),
    tool("refund_order", order_id="string", amount="number", read_only=False),
    tool("move_orders", order_ids={"type": "array"}, read_only=False),
    tool("pay", payments={"type": "array"}, user_id="string", read_only=False),
    tool("create_task", task_id="string", user_id="string", read_only=False),
    tool("send_mail", to="string", text="string", read_only=False),
)


def told(text: str) -> Passage:
    return Passage("told", text, user=True)


def saw(tool: str, value: Any) -> Passage:
    return Passage("result", json.dumps(value), tool)


def gave(tool: str, **args: Any) -> Passage:
    return Passage("given", json.dumps(args), tool)


def looked(
    newest: Proposal,
    *passages: Passage,
    tools: Catalog = SHOP,
    request: str = "Cancel my order, please.",
    **options: Any,
) -> list[Finding]:
    """What the detector says."""
    seen = Provenance.of([told(request), *passages])
    trajectory = Trajectory(Task("t", request), (), newest, tools, provenance=seen)
    return list(Hallucination(HallucinationOptions(**options)).detect(trajectory))


def held(*calls: ToolCall, **more: Any) -> list[Finding]:
    return looked(proposal(*calls), **more)


INVENTED = [
    call("cancel_order", order_id="12345"),
    call("cancel_order", order_id=12345),
    call("cancel_order", order_id="lamp_order_ana_ruiz"),
    call("get_order", order_id="W1"),
    call("move_orders", order_ids=["W1", "W2"]),
    call("pay", payments=[{"payment_id": "credit_card_7334", "amount": 5}]),
    call("find_customer", email="ana.ruiz@example.com"),
    call("send_mail", to="support@example.com", text="hello"),
    call("create_task", task_id="t-77", user_id="u-77"),
]


@pytest.mark.parametrize("made", INVENTED, ids=lambda made: f"{made.name}-{made.args}")
def test_an_invented_identifier_is_held(made: ToolCall) -> None:
    """By the name of the slot, in lists and objects, or as an e-mail address."""
    (found,) = held(made, request="Cancel the lamp order of Ana Ruiz, card ending in 7334.")
    assert (found.pattern, found.severity) == ("ungrounded", Severity.HOLD)
    assert found.calls == (0,)
    assert found.tool == made.name
    assert found.intention is (SHOP.tools[made.name].read_only is False)
    invented = json.dumps(made.args)
    assert str(found.evidence) not in invented
    for value in ("12345", "W1", "credit_card", "ana.ruiz", "u-77"):
        assert value not in found.key + str(found.evidence)


FREE = [
    call("search", q="order W12345 of ana@example.com"),
    call("cancel_order", order_id="W9502126", reason="late"),
    call("create_task", task_id="task-123", user_id="C-17"),
    call("refund_order", order_id="W9502126", amount=49.5),
    call("list_orders", customer_id="me"),
    call("read_file", path="README.md"),
    call("read_file", path="src/shop/main.py"),
    call("fetch", url="https://docs.example.com/guide/start"),
    call("unknown_tool", text="W12345"),
    call("search"),
]


@pytest.mark.parametrize("made", FREE, ids=lambda made: f"{made.name}-{made.args}")
def test_what_may_be_written_freely(made: ToolCall) -> None:
    """Free text, enumerated values, amounts, new names, common places, and what was told."""
    request = "Cancel and refund #W9502126, I am C-17. Add a task and send a mail."
    assert not held(made, request=request)


def test_a_guessed_path_is_advised_and_not_held() -> None:
    """A look-up that finds nothing does no harm."""
    (found,) = held(call("read_file", path="lib/billing/invoice_77.py"), request="Fix the bug")
    assert found.severity is Severity.ADVISE
    assert not held(call("read_file", path="lib/billing/a.py"), request="See lib/billing")


def test_only_the_bad_calls_of_a_batch_are_held() -> None:
    """One finding for all of them."""
    (found,) = held(
        call("get_order", order_id="W1"),
        call("get_order", order_id="W7000001"),
        call("cancel_order", order_id="W2"),
        request="Look at W7000001",
    )
    assert found.calls == (0, 2)
    assert "`cancel_order`" in found.detail


def test_a_name_that_the_same_message_gives_is_known() -> None:
    """A task is made and used in one batch."""
    make = call("create_task", task_id="t-77", user_id="C-17")
    tools = Catalog({**SHOP.tools, "run_task": tool("run_task", task_id="string", read_only=False)})
    use = call("run_task", task_id="t-77")
    assert not held(make, use, request="Create a task for C-17 and run it", tools=tools)
    (found,) = held(use, request="Run the task", tools=tools)
    assert found.pattern == "ungrounded"


def test_what_the_configuration_says_is_free() -> None:
    """Arguments by name, tools by label, checks by switch."""
    made = call("cancel_order", order_id="12345")
    spec = SHOP.tools["cancel_order"]
    free = catalog(replace(spec, free_args=frozenset({"order_id"})))
    exempt = catalog(replace(spec, exempt=frozenset({"hallucination"})))
    assert held(made)
    assert not held(made, tools=free)
    assert not held(made, tools=exempt)
    assert not held(made, ungrounded=False)


def test_the_finding_says_where_values_are() -> None:
    """A plan where there is one, the field of a result where it was seen."""
    made = call("cancel_order", order_id="12345")
    (found,) = held(made, request="Cancel my lamp order, I am ana@x.com")
    assert [step.tool for step in found.plan] == ["find_customer", "list_orders"]
    (found,) = looked(proposal(made), saw("list_orders", {"order_ids": ["W1", "W2"]}))
    assert not found.plan
    assert "`order_ids` of `list_orders`" in found.detail


WORDS = [
    ("customer_id", "Ana Ruiz", "Cancel the lamp order of Ana Ruiz", True),
    ("customer_id", "ana_ruiz", "Cancel the lamp order of Ana Ruiz", True),
    ("customer_id", "Ana Ruiz", "Cancel my lamp order, my customer ID is Ana Ruiz", False),
    ("customer_id", "ana_ruiz", "Cancel the order of user id: ana_ruiz", False),
    ("customer_id", "ALPHA", "Cancel the order of ALPHA", False),
]


@pytest.mark.parametrize(("slot", "value", "request_", "wrong"), WORDS)
def test_words_of_the_request_are_no_identifier(
    slot: str, value: str, request_: str, wrong: bool
) -> None:
    """Unless the user says that they are one, or they look like a code."""
    found = held(call("list_orders", **{slot: value}), request=request_)
    assert [one.pattern for one in found] == (["wrong_kind"] if wrong else [])


DESK = catalog(
    tool("look_up_member", surname="string", required=["surname"], read_only=True),
    tool("loans_of_member", member_no="string", required=["member_no"], read_only=True),
)


@pytest.mark.parametrize(
    ("value", "request_", "wrong"),
    [
        ("Eriksen", "What has member Eriksen at home?", True),
        ("Eriksen", "What has the member with the number Eriksen at home?", False),
        ("ERI", "What has member ERI at home?", False),
    ],
)
def test_a_name_behind_the_noun_is_no_number(value: str, request_: str, wrong: bool) -> None:
    """`member Eriksen` says who, and no `member_no`."""
    found = held(call("loans_of_member", member_no=value), request=request_, tools=DESK)
    assert [one.pattern for one in found] == (["wrong_kind"] if wrong else [])


def test_a_short_code_in_the_place_of_a_number_is_looked_for() -> None:
    """Letters and digits together are a code, however few the digits are."""
    (found,) = held(call("loans_of_member", member_no="m-ab0c1"), tools=DESK)
    assert (found.pattern, found.argument) == ("ungrounded", "member_no")
    known = "What has m-ab0c1 at home?"
    assert not held(call("loans_of_member", member_no="m-ab0c1"), request=known, tools=DESK)
    assert not held(call("loans_of_member", member_no="A1"), tools=DESK)


def test_words_are_identifiers_where_identifiers_are_words() -> None:
    """What results and accepted calls use as an id is one."""
    made = proposal(call("list_orders", customer_id="lamp"))
    request = "Show the lamp"
    assert looked(made, saw("find_customer", {"customer_id": "C-17"}), request=request)
    for seen in (
        saw("find_customer", {"customer_id": "lamp"}),
        saw("find_customer", {"customer_id": "desk"}),
        gave("list_orders", customer_id="lamp"),
    ):
        assert not looked(made, seen, request=request)


CANDIDATES = saw("list_orders", {"customer": "C-17", "order_ids": ["W1001", "W1002", "W1003"]})


def test_a_change_to_one_of_several_needs_a_look() -> None:
    """A bare list of ids says nothing of the things."""
    made = proposal(call("cancel_order", order_id="W1002"))
    (found,) = looked(made, CANDIDATES)
    assert (found.pattern, found.argument) == ("unlooked_choice", "order_id")
    assert "3 candidates" in found.detail
    assert "`get_order`" in found.advice
    assert not looked(made, CANDIDATES, unlooked_choice=False)
    assert not looked(proposal(call("get_order", order_id="W1002")), CANDIDATES)


SINGLED_OUT: list[tuple[str, Sequence[Passage], Sequence[str]]] = [
    ("looked at", (CANDIDATES, gave("get_order", order_id="W1002")), ["W1002"]),
    ("a sibling looked at", (CANDIDATES, gave("get_order", order_id="W1001")), ["W1002"]),
    ("with details", (saw("list_orders", [{"order_id": "W1002", "item": "lamp"}]),), ["W1002"]),
    ("the only one", (saw("list_orders", {"order_ids": ["W1002"]}),), ["W1002"]),
    ("all of them", (CANDIDATES,), ["W1001", "W1002", "W1003"]),
    ("said by the user", (CANDIDATES, told("It is W1002")), ["W1002"]),
]


@pytest.mark.parametrize(("why", "seen", "ids"), SINGLED_OUT, ids=lambda value: str(value)[:20])
def test_a_choice_that_something_singles_out(
    why: str, seen: Sequence[Passage], ids: Sequence[str]
) -> None:
    """A look, details in the list, an only candidate, all candidates, or the user."""
    assert not looked(proposal(*(call("cancel_order", order_id=one) for one in ids)), *seen), why


def test_all_is_no_choice() -> None:
    """The request says so."""
    made = proposal(call("cancel_order", order_id="W1002"))
    assert not looked(made, CANDIDATES, request="Cancel all my orders")


REFUND = proposal(call("refund_order", order_id="W1002", amount=1))
KNOWN = saw("get_order", {"order_id": "W1002", "status": "open"})


def test_a_change_that_nobody_asked_for_is_held() -> None:
    """It is not owed, and the text does not push to make it."""
    (found,) = looked(REFUND, KNOWN, request="Where is my lamp?")
    assert (found.pattern, found.intention) == ("unrequested_change", False)
    assert "nothing else" in found.advice
    assert not looked(REFUND, KNOWN, request="Where is my lamp?", unrequested_change=False)


@pytest.mark.parametrize(
    "said",
    ["Refund it", "I want my money back", "please send it back", "Yes, go ahead", "ok"],
)
def test_what_was_asked_for_in_other_words(said: str) -> None:
    """Synonyms, and a yes to what the agent proposed."""
    assert not looked(REFUND, KNOWN, told(said), request="Where is my lamp?")


def test_what_the_prompt_speaks_of_was_asked_for() -> None:
    """A policy that names the change."""
    policy = Passage("told", "Refund every order that is late.")
    assert not looked(REFUND, KNOWN, policy, request="Where is my lamp?")


@pytest.mark.parametrize(
    "request_", ["What is the address of the order W1002?", "Tell me the new address of W1002."]
)
def test_a_plain_question_asks_for_no_change(request_: str) -> None:
    """Its words are what it asks about, and no wish: `address` is not `add`."""
    made = proposal(call("move_orders", order_ids=["W1002"]))
    (found,) = looked(made, KNOWN, request=request_)
    assert found.pattern == "unrequested_change"
    assert not looked(made, told(request_), KNOWN, request="Please move that order W1002")
    assert not looked(made, KNOWN, told("Yes, can you do that?"), request=request_)


def test_a_change_of_no_known_kind_is_not_what_a_question_asks_for() -> None:
    """Where all that the user has said is a question, its kind does not matter."""
    tools = catalog(tool("hold_item", item_id="string", read_only=False))
    made = proposal(call("hold_item", item_id="W1002"))
    (found,) = looked(made, KNOWN, request="When does W1002 have to be back?", tools=tools)
    assert found.pattern == "unrequested_change"
    assert not looked(made, KNOWN, request="Keep W1002 for me until Friday", tools=tools)
    assert not looked(
        made, KNOWN, told("Go on, please"), request="When is W1002 back?", tools=tools
    )


SHED = catalog(
    tool("send_to_workshop", vehicle_id="string", read_only=False),
    replace(tool("suspend_item", item_id="string", read_only=False), description="Put it aside."),
)


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("send_to_workshop", "The van V1001 has a flat tyre: it belongs into the workshop, please"),
        ("suspend_item", "Could somebody please put it aside, the V1001"),
    ],
)
def test_a_phrase_of_the_tool_asks_for_it(name: str, request_: str) -> None:
    """Where its name leads to, or three words of its description."""
    made = proposal(call(name, **{f"{'vehicle' if 'send' in name else 'item'}_id": "V1001"}))
    assert not looked(made, request=request_, tools=SHED)
    assert looked(made, request="The van V1001 is of a lovely colour, I think", tools=SHED)


def final(text: str) -> Proposal:
    return proposal(text=text)


def test_a_claim_of_a_change_that_never_happened() -> None:
    """In the first person, of a change that a tool could have made."""
    (found,) = looked(final("Good news! I have cancelled your order."), KNOWN)
    assert (found.pattern, found.tool) == ("claimed_call", "cancel_order")
    assert not looked(final("I have cancelled your order."), KNOWN, claimed_call=False)


@pytest.mark.parametrize(
    "text",
    [
        "Once you confirm, I will have cancelled it.",
        "I have not cancelled your order.",
        "Your order has been cancelled.",
        "I checked your order.",
        "I have painted your order.",
        "Should I say that I have cancelled it?",
        "If I have cancelled it, you get a mail.",
    ],
)
def test_what_is_no_claim(text: str) -> None:
    """Conditions, denials, states that were read, look-ups, and what no tool does."""
    assert not looked(final(text), KNOWN)


def test_a_recap_is_no_claim() -> None:
    """Something was changed in the thread."""
    done = saw("cancel_order", {"status": "cancelled"})
    assert not looked(final("I have cancelled your order."), done)


@given(st.integers(0, 10**6), st.permutations(["find", "fetch", "list", "get"]))
def test_names_and_ids_change_nothing(number: int, verbs: list[str]) -> None:
    """Other ids and other names of tools: the same findings."""
    known, other = f"X{number:07}", f"X{number + 1:07}"
    name = f"{verbs[0]}_widget"
    tools = catalog(tool(name, widget_id="string", required=["widget_id"], read_only=True))
    request = f"Show me {known}"
    assert not held(call(name, widget_id=known), tools=tools, request=request)
    (found,) = held(call(name, widget_id=other), tools=tools, request=request)
    assert found.pattern == "ungrounded"
