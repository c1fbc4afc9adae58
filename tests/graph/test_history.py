"""A history that a provider would refuse is seen, and healed without losing anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from sentry_langgraph.graph.history import Break, heal, is_broken
from sentry_langgraph.graph.messages import is_own
from sentry_langgraph.testing import (
    ai,
    answered_calls,
    call,
    check_history,
    invalid_call,
    unique_call_ids_per_message,
)

USER = HumanMessage("x", id="u")


def calling(*ids: str, id: str = "m") -> AIMessage:
    """A message that makes calls with these ids."""
    return ai("", *[call("search", {}, id=one) for one in ids], id=id)


def result(id: str, text: str = "ok") -> ToolMessage:
    """The result of a call."""
    return ToolMessage(text, tool_call_id=id, name="search", id=f"r-{id}-{text}")


SOUND: list[list[AnyMessage]] = [
    [],
    [USER],
    [USER, AIMessage("a")],
    [USER, calling("a"), result("a")],
    [USER, calling("a"), result("a"), AIMessage("done"), USER],
    [USER, calling("a", "b"), result("b"), result("a")],
    [USER, calling("a"), result("a"), calling("a", id="n"), result("a")],
    [SystemMessage("s"), USER, ai("", invalid_call("x", "{", id="a")), result("a")],
]
BROKEN: list[list[AnyMessage]] = [
    [USER, calling("a")],
    [USER, calling("a"), USER],
    [USER, calling("a", "b"), result("a")],
    [USER, calling("a"), AIMessage("done"), result("a")],
    [USER, calling("a"), HumanMessage("between"), result("a")],
    [result("a")],
    [USER, calling("a"), result("b")],
    [USER, calling("a"), result("a"), result("a", "again")],
    [USER, ai("", invalid_call("x", "{", id="a"))],
    [USER, calling("a"), calling("b", id="n"), result("b"), result("a")],
]


@pytest.mark.parametrize("messages", SOUND, ids=range(len(SOUND)))
def test_sound_histories_are_left_alone(messages: list[AnyMessage]) -> None:
    """The very same messages come back; results stand in the order of their calls."""
    assert not is_broken(messages)
    healed, breaks = heal(messages)
    assert {id(one) for one in healed} == {id(one) for one in messages}
    assert len(healed) == len(messages)
    assert breaks == []


@pytest.mark.parametrize("messages", BROKEN, ids=range(len(BROKEN)))
def test_broken_histories_are_seen_and_healed(messages: list[AnyMessage]) -> None:
    """Afterwards each call has one result right after it, and each result its call."""
    assert is_broken(messages)
    healed, breaks = heal(messages)
    assert not is_broken(healed)
    assert breaks or len(healed) == len(messages)


def test_a_late_result_is_moved_to_its_call() -> None:
    """A real result is worth more than a made-up one."""
    late = result("a", "late")
    healed, breaks = heal([USER, calling("a"), HumanMessage("between"), late])
    assert healed[2] is late
    assert breaks == []


def test_a_call_without_a_result_is_answered_honestly() -> None:
    """It did not run: an error that is marked as ours, and no second try."""
    healed, breaks = heal([USER, calling("a", "b"), result("b")])
    (answer,) = [one for one in healed if is_own(one)]
    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.status, answer.name) == ("a", "error", "search")
    assert breaks == [Break("m", ("search",), orphan=False)]


def test_an_orphaned_result_goes() -> None:
    """It has no call that it could stand after."""
    healed, breaks = heal([result("gone"), USER, AIMessage("hello")])
    assert [one.type for one in healed] == ["human", "ai"]
    assert breaks == [Break("r-gone-ok", ("search",), orphan=True)]


def test_a_later_call_with_the_same_id_keeps_its_result() -> None:
    """The result that comes after the second call belongs to the second call."""
    messages = [USER, calling("a"), USER, calling("a", id="n"), result("a")]
    healed, _ = heal(messages)
    assert is_own(healed[2])
    assert healed[-1] is messages[-1]
    assert not is_broken(healed)


def test_one_id_for_two_calls_is_healed_for_good() -> None:
    """What was healed once is not healed again at every turn."""
    healed, _ = heal([USER, calling("a", "a")])
    assert not is_broken(healed)
    assert heal(healed)[1] == []


def test_a_check_can_begin_where_the_last_one_ended() -> None:
    """What was sound before stays sound; only what is new is looked at."""
    messages = [calling("a"), USER, calling("b"), result("b")]
    assert is_broken(messages)
    assert not is_broken(messages, 2)


PARTS = st.sampled_from(
    [
        lambda n: HumanMessage("x", id=f"u{n}"),
        lambda n: AIMessage("y", id=f"a{n}"),
        lambda n: calling("a", id=f"m{n}"),
        lambda n: calling("a", "b", id=f"m{n}"),
        lambda n: calling("a", "a", id=f"m{n}"),
        lambda n: ai("", invalid_call("x", "{", id="b"), id=f"m{n}"),
        lambda n: ToolMessage("1", tool_call_id="a", name="s", id=f"r{n}"),
        lambda n: ToolMessage("2", tool_call_id="b", name="s", id=f"r{n}"),
    ]
)


@given(st.lists(PARTS, max_size=14))
def test_any_history_can_be_healed(parts: list[object]) -> None:
    """Sound afterwards, and healed once for all; nothing but orphans is lost or reordered."""
    messages: list[AnyMessage] = [part(n) for n, part in enumerate(parts)]  # type: ignore[operator]
    healed, _ = heal(messages)
    assert not is_broken(healed)
    again, breaks = heal(healed)
    assert again == healed
    assert breaks == []
    spoken = [one for one in messages if not isinstance(one, ToolMessage)]
    kept = [one for one in healed if not isinstance(one, ToolMessage)]
    assert [(one.id, one.content) for one in kept] == [(one.id, one.content) for one in spoken]
    assert check_history(healed, rules=(answered_calls, unique_call_ids_per_message)) == []
    ids = [one.id for one in healed]
    assert len(set(ids)) == len(ids), "two messages share an id, and a reducer would drop one"
