"""The same value in another form is the same value; a part of a longer word is another one."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentry_langgraph.values import sought

SAME = [
    ("#W9502126", "my order is 9502126, thanks"),
    ("9502126", "order #W9502126"),
    ("ORD-1023", "ord1023."),
    ("ORD1023", "the order ORD-1023"),
    ("k-7f3a", '{"id": "k-7f3a"}'),
    ("W1x", r'{"text": "a\nW1x"}'),
    ("a/b1.txt", r'{"path": "a\/b1.txt"}'),
    ("é1x2", r'{"a": "\u00e91x2"}'),
    ("Ana.Ruiz@Example.com", "write to ana.ruiz@example.com."),
    ("555-123-2002", "(555) 123 2002"),
    ("+1 555 123 2002", "call 555-123-2002"),
    ("5551232002", "555.123.2002"),
    ("2024-05-20", "on May 20, 2024"),
    ("2024-05-20", "the 20th of May"),
    ("2024-05-20", "5/20/2024"),
    ("2024-05-20", "20.05.24"),
    ("May 20, 2024", '{"date": "2024-05-20"}'),
    (1234.5, "$1,234.50 are due"),
    ("$1,234.50", '{"amount": 1234.5}'),
    (12345, '{"id": 12345}'),
    ("ana ruiz", "I am Ana Ruiz."),
    ("credit_card_7334", "credit card 7334"),
]
OTHER = [
    ("W950", "W9502126"),
    ("12345", "112345"),
    ("1", "card 12, row 1a"),
    ("credit_card_7334", "my credit card ending in 7334"),
    ("lamp_order_ana_ruiz", "cancel the lamp order of Ana Ruiz"),
    ("2024-05-20", "on May 21, 2024"),
    ("2024-05-20", "2023-05-20"),
    (1234.5, "11,234.50"),
    ("555-123-2002", "555-123-2003"),
    ("ana@example.com", "ana@example.org"),
]


@pytest.mark.parametrize(("value", "text"), SAME)
def test_the_same_value(value: object, text: str) -> None:
    """Case, separators, prefixes, and forms of dates, amounts and telephone numbers."""
    assert sought(value).stands_in(text)


@pytest.mark.parametrize(("value", "text"), OTHER)
def test_another_value(value: object, text: str) -> None:
    """Parts of longer runs, and words that are only strewn over the text."""
    assert not sought(value).stands_in(text)


TOKENS = st.text(string.ascii_letters + string.digits + "-_#.@", min_size=1, max_size=30).filter(
    lambda token: any(map(str.isalnum, token))
)
AROUND = st.text(string.ascii_letters + string.digits + " ,;:\n\"'{}[]()", max_size=80)


@given(TOKENS, AROUND, AROUND)
def test_a_token_of_a_text_always_stands_in_it(token: str, before: str, after: str) -> None:
    """Whatever stands around it, and also where the text is written as JSON."""
    text = f"{before} {token} {after}"
    assert sought(token).stands_in(text)
    assert sought(token).stands_in(json.dumps({"text": f"{before}\n{token}\t{after}"}))
    assert sought(token.upper()).stands_in(text)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_value_and_text_are_answered(value: str, text: str) -> None:
    """No form breaks the search."""
    assert sought(value).stands_in(text) in (True, False)
    assert sought(value).is_value(value) or not any(map(str.isalnum, value))
