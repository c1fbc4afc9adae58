"""Words of a step are compared with those of the request and of what it led to."""

from __future__ import annotations

import pytest
from builders import call, proposal, ran, step, steps
from hypothesis import given
from strategies import TEXTS

from sentry_langgraph.relevance import Said, comparable, said, serves, touches, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Add CSV export to the invoices page", "add csv expor invoi page"),
        ("invoices/export.py", "invoi expor py"),
        ("loginTheme_0.css", "login theme css"),
        ("order #W9502126, 3 times", "order 95021 time"),
        ("what is it that you want?", ""),
        ("Größe ändern", "größe änder"),
    ],
)
def test_words_are_stems_without_what_every_text_has(text: str, found: str) -> None:
    """Names in code are split, plurals are the same word, and small numbers are none."""
    assert words(text) == frozenset(found.split())


@pytest.mark.parametrize(
    ("objective", "can"),
    [("Cancel my order", True), ("go on", False), ("yes", False), ("取消我的订单 A17 B18", False)],
)
def test_what_can_be_compared(objective: str, can: bool) -> None:
    """Two words at least, in a script that parts them."""
    assert comparable(objective) is can


TOPIC = words("Add CSV export to the invoices page")


@pytest.mark.parametrize(
    ("args", "text", "fits"),
    [
        ("invoices/export.py", "", True),
        ("theme.css blue", "restyle colours of the page", False),
        ("theme.css", "restyle the invoices page", True),
        ("", "the page", True),
        ("", "the theme", None),
        ("", "back to csv", True),
        ("", "", None),
    ],
)
def test_an_argument_or_two_words_of_the_text_belong(
    args: str, text: str, fits: bool | None
) -> None:
    """One word of a text is shared by chance."""
    assert touches(Said(words(args), words(text)), TOPIC) is fits


def test_what_a_serving_step_brings_belongs_to_the_request() -> None:
    """An id or a file name out of a result; what an unrelated step brings does not."""
    done = steps(
        ran("search", "see module ledger", q="invoices export"),
        ran("read", "uses colours and themes", path="ledger module"),
        ran("edit", "gives zebra stripes", path="kernel", new="scheduler"),
        ran("edit", "ok", path="zebra stripes"),
        ran("edit", "ok", path="colours themes"),
    )
    served, topic = serves("Add CSV export to the invoices page", done)
    assert served == (True, True, False, False, True)
    assert "ledge" in topic
    assert "zebra" not in topic


def test_the_first_step_says_how_the_request_is_read() -> None:
    """No word of the request has to be in it."""
    done = (step("s0", ran("bash", "README src", cmd="ls -la /repo"), text="Look around"),)
    served, topic = serves("Fix the billing bug", done)
    assert served == (True,)
    assert {"repo", "readm", "src", "look"} <= topic


def test_a_result_that_names_the_request_makes_the_step_serve_it() -> None:
    """A look around that finds it."""
    done = steps(
        ran("search", "", q="billing"),
        ran("list", "billing bug 17 here", path="kernel scheduler"),
    )
    assert serves("Fix the billing bug", done)[0] == (True, True)


@given(TEXTS, TEXTS)
def test_any_text_can_be_read(objective: str, text: str) -> None:
    """Nothing raises, and the answers are of their kinds."""
    newest = proposal(call("search", q=text), text=text)
    assert touches(said(newest), words(objective)) in {True, False, None}
    assert comparable(objective) in {True, False}
