"""Only a plain question or look-up counts as a request for no change."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import TEXTS

from sentry_langgraph.wants import wants_change


@pytest.mark.parametrize(
    "request_",
    [
        "Cancel my order.",
        "What is the status of my order? If it is open, cancel it.",
        "Could you update the address?",
        "I'd like to know the fare, then please book a seat.",
        "My parcel never came.",
        "Please set the alarm.",
        "Renewing my card, how does it work?",
        "",
    ],
)
def test_it_may_ask_for_a_change(request_: str) -> None:
    """A verb of change anywhere, or nothing that reads like a question."""
    assert wants_change(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "What is the address of the shop?",
        "Which item did she order?",
        "Tell me the price.",
        "Please list all open invoices.",
        "Here is a card. Who is it of?",
        "How many books are there",
    ],
)
def test_it_asks_to_know(request_: str) -> None:
    """A question or a look-up, and no verb of change: `address` is not `add`."""
    assert not wants_change(request_)


@given(TEXTS)
def test_any_text_has_an_answer(text: str) -> None:
    """Whatever the user writes."""
    assert wants_change(text * 500) in (True, False)
