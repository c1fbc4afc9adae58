"""Two calls are the same call where tool and arguments are."""

from __future__ import annotations

from typing import Any

import pytest
from builders import call, unparsable
from hypothesis import given
from hypothesis import strategies as st
from strategies import JSON, TEXTS, calls

from sentry_langgraph.detect.signature import VOLATILE, call_key, digest
from sentry_langgraph.records import ToolCall


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
    assert (call_key(one) == call_key(other)) is same


def test_ignored_arguments_do_not_count() -> None:
    """The caller may leave arguments out."""
    assert call_key(call(a=1, page=1), frozenset({"page"})) == call_key(call(a=1))


@given(calls(), st.randoms(use_true_random=False))
def test_a_key_holds_a_name_and_a_digest(made: ToolCall, random: Any) -> None:
    """No value of an argument stands in it, and the order of keys does not change it."""
    key = call_key(made)
    name, _, rest = key.rpartition("#")
    assert name == made.name
    assert len(rest) == 16
    if made.args is not None:
        items = list(made.args.items())
        random.shuffle(items)
        assert call_key(ToolCall("other", made.name, dict(items), 5)) == key


@given(TEXTS, TEXTS)
def test_digests_are_equal_for_equal_texts_only(one: str, other: str) -> None:
    """Lone surrogates included."""
    assert (digest(one) == digest(other)) is (one == other)


def test_digests_are_the_same_in_every_process() -> None:
    """They stand in stored events, so they must not depend on a seed."""
    assert digest("sentry") == "b5de7c1ce2e3fc2e"


@given(st.dictionaries(st.sampled_from(sorted(VOLATILE)), JSON, max_size=2))
def test_volatile_arguments_beside_others_do_not_count(extra: dict[str, Any]) -> None:
    """A call that carries a fresh trace id is the same call."""
    assert call_key(ToolCall("", "t", {"a": 1, **extra})) == call_key(ToolCall("", "t", {"a": 1}))
