"""Two calls are the same call where tool and arguments are."""

from __future__ import annotations

from typing import Any

import pytest
from builders import call, tool, unparsable
from hypothesis import given
from hypothesis import strategies as st
from strategies import JSON, TEXTS, calls

from sentry_langgraph.records import ToolCall
from sentry_langgraph.signature import VOLATILE, call_key, digest

PLAIN = tool("search")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (call(a=1, b=2), call(b=2, a=1), True),
        (call(a={"x": 1, "y": 2}), call(a={"y": 2, "x": 1}), True),
        (call(a=1), call(a=2), False),
        (call(a=1), call(a="1"), False),
        (call(a=[1, 2]), call(a=[2, 1]), False),
        (call(a=None), call(), False),
        (call("x", a=1), call("y", a=1), False),
        (call(id="1", a=1), call(id="2", a=1), True),
        (call(index=0, a=1), call(index=3, a=1), True),
        (unparsable(raw="{a"), unparsable(raw="{a"), True),
        (unparsable(raw="{a"), unparsable(raw="{b"), False),
        (call(a=1, trace_id="x"), call(a=1, trace_id="y"), True),
        (call(a=1, Request_ID="x"), call(a=1), True),
    ],
)
def test_what_counts_as_the_same_call(one: ToolCall, other: ToolCall, same: bool) -> None:
    """Order of keys, ids and volatile arguments don't count; everything else does."""
    assert (call_key(one, PLAIN) == call_key(other, PLAIN)) is same


def test_ignored_arguments_do_not_count() -> None:
    """The user may leave arguments of a tool out."""
    spec = tool("search", ignore_args=["page"])
    assert call_key(call(a=1, page=1), spec) == call_key(call(a=1, page=2), spec)
    assert call_key(call(a=1, page=1), spec) != call_key(call(a=2, page=1), spec)


def test_what_names_the_target_counts_whatever_it_is_called() -> None:
    """A required argument and the only argument are never volatile."""
    required = tool("search", required=["request_id"], request_id="string", note="string")
    one, other = call(request_id="a", note="n"), call(request_id="b", note="n")
    assert call_key(one, required) != call_key(other, required)
    assert call_key(call(timestamp=1), PLAIN) != call_key(call(timestamp=2), PLAIN)


def test_two_views_of_one_call_have_their_own_keys() -> None:
    """What is remembered on a call does not mix up tools that ignore different arguments."""
    made = call(a=1, page=1)
    first = call_key(made, tool("search", ignore_args=["page"]))
    second = call_key(made, tool("search", ignore_args=["a"]))
    assert first != second
    assert call_key(made, tool("search", ignore_args=["page"])) == first


@given(calls(), st.randoms(use_true_random=False))
def test_a_key_holds_a_name_and_a_digest(made: ToolCall, random: Any) -> None:
    """No value of an argument stands in it, and the order of keys does not change it."""
    key = call_key(made, PLAIN)
    name, _, rest = key.rpartition("#")
    assert name == made.name
    assert len(rest) == 16
    if made.args is not None:
        items = list(made.args.items())
        random.shuffle(items)
        assert call_key(ToolCall("other", made.name, dict(items), 5), PLAIN) == key


@given(TEXTS, TEXTS)
def test_digests_are_equal_for_equal_texts_only(one: str, other: str) -> None:
    """Lone surrogates included."""
    assert (digest(one) == digest(other)) is (one == other)


def test_digests_are_the_same_in_every_process() -> None:
    """They stand in stored events, so they must not depend on a seed."""
    assert digest("sentry") == "8d63ccf72725f19b"


@given(st.dictionaries(st.sampled_from(sorted(VOLATILE)), JSON, max_size=2))
def test_volatile_arguments_beside_others_do_not_count(extra: dict[str, Any]) -> None:
    """A call that carries a fresh trace id is the same call."""
    one, other = ToolCall("", "t", {"a": 1, **extra}), ToolCall("", "t", {"a": 1})
    assert call_key(one, PLAIN) == call_key(other, PLAIN)
