"""A broken message takes a form that providers accept; its words stay as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from strategies import calls

from sentry_langgraph.graph.messages import calls_of
from sentry_langgraph.graph.rewrite import needs_rewrite, normalised, rewrite
from sentry_langgraph.records import ToolCall
from sentry_langgraph.signature import digest
from sentry_langgraph.testing import ai, call, check_history, invalid_call

NEW_0, NEW_1 = (f"call_{digest(f'm|{index}')}" for index in (0, 1))


def repaired(message: AIMessage) -> AIMessage:
    """The message as the repair node writes it."""
    return rewrite(message, normalised(calls_of(message), message.id or "m"))


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([("a", "x")], [("a", "x")]),
        ([("a", "x"), ("a", "x")], [("a", "x"), (NEW_1, "x")]),
        ([("", "x")], [(NEW_0, "x")]),
        ([("", "x"), ("", "y")], [(NEW_0, "x"), (NEW_1, "y")]),
        ([("a", "get order!")], [("a", "get_order_")]),
        ([("a", "functions.x")], [("a", "functions_x")]),
        ([("a", "")], [("a", "unknown")]),
        ([("a", "x" * 99)], [("a", "x" * 64)]),
    ],
)
def test_ids_and_names_that_providers_take(
    given_: list[tuple[str, str]], expected: list[tuple[str, str]]
) -> None:
    """An id for each call, and names of letters, digits, dashes and underscores."""
    made = [ToolCall(id, name, {}, index) for index, (id, name) in enumerate(given_)]
    after = normalised(made, "m")
    assert [(one.id, one.name) for one in after] == expected
    assert needs_rewrite(made, after) is (given_ != expected)


def test_unparsable_arguments_need_a_rewrite() -> None:
    """Some providers refuse them, some crash on them."""
    made = [ToolCall("a", "x", None, 0, "{")]
    assert needs_rewrite(made, normalised(made, "m"))


@given(st.lists(calls(), max_size=5))
def test_any_calls_get_ids_of_their_own(made: list[ToolCall]) -> None:
    """Unique, never empty, the same each time; arguments and order stay."""
    made = [replace(one, index=position) for position, one in enumerate(made)]
    after = normalised(made, "m")
    assert len({one.id for one in after}) == len(made)
    assert all(one.id and one.name for one in after)
    assert [one.args for one in after] == [one.args for one in made]
    assert normalised(made, "m") == after
    assert normalised(after, "m") == after


def test_words_and_reasoning_stay_byte_for_byte() -> None:
    """Only the calls change."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s1gn"}
    text = {"type": "text", "text": "Let me look."}
    message = AIMessage(
        [thinking, text, {"type": "tool_use", "id": "a", "name": "x y", "input": {"q": 1}}],
        tool_calls=[{"name": "x y", "args": {"q": 1}, "id": "a"}],
        id="m",
        response_metadata={"finish_reason": "tool_calls"},
    )
    after = repaired(message)
    assert after.content == [
        thinking,
        text,
        {"type": "tool_use", "id": "a", "name": "x_y", "input": {"q": 1}},
    ]
    assert after.id == message.id
    assert after.response_metadata == message.response_metadata
    assert message.tool_calls[0]["name"] == "x y", "the original is not touched"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "function_call", "id": "fc", "call_id": "a", "name": "x", "arguments": "{"},
            {"type": "function_call", "id": "fc", "call_id": "a", "name": "x", "arguments": "{}"},
        ),
        (
            {"type": "invalid_tool_call", "id": "a", "name": "x", "args": "{"},
            {"type": "tool_call", "id": "a", "name": "x", "args": {}},
        ),
        (
            {"type": "input_json_delta", "index": 1, "partial_json": "{"},
            {"type": "tool_use", "id": "a", "name": "x", "input": {}},
        ),
    ],
)
def test_blocks_of_unparsable_calls_become_empty_calls(block: Any, expected: Any) -> None:
    """In each provider's own form; the error result says what was wrong."""
    message = AIMessage(
        [{"type": "text", "text": "t"}, block],
        invalid_tool_calls=[
            {"name": "x", "args": "{", "id": "a", "error": None, "type": "invalid_tool_call"}
        ],
        id="m",
    )
    after = repaired(message)
    assert after.content == [{"type": "text", "text": "t"}, expected]
    assert after.invalid_tool_calls == []
    assert after.tool_calls == [{"name": "x", "args": {}, "id": "a", "type": "tool_call"}]


def test_blocks_beyond_the_calls_go() -> None:
    """A fragment that no call belongs to would be sent back to the provider."""
    blocks = [
        {"type": "tool_use", "id": "a", "name": "x", "input": {}},
        {"type": "input_json_delta", "partial_json": "{"},
    ]
    message = AIMessage(blocks, tool_calls=[{"name": "x", "args": {}, "id": "a"}], id="m")  # type: ignore[arg-type]
    assert len(repaired(message).content) == 1


def test_raw_calls_of_the_provider_go() -> None:
    """They hold the unparsable text and would be sent again."""
    message = AIMessage(
        "",
        additional_kwargs={"tool_calls": [{"function": {"arguments": "{"}}], "kept": 1},
        invalid_tool_calls=[
            {"name": "x", "args": "{", "id": "a", "error": None, "type": "invalid_tool_call"}
        ],
        id="m",
    )
    assert repaired(message).additional_kwargs == {"kept": 1}


@pytest.mark.parametrize(
    "message",
    [
        ai("", invalid_call("x", "{", id="a"), id="m"),
        ai("", call("x", {}, id="a"), call("x", {}, id="a"), id="m"),
        ai("Hm.", call("x y!", {}, id="a"), invalid_call("z", "nope", id="b"), id="m"),
        AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": None}], id="m"),
    ],
)
def test_strict_providers_take_the_history_afterwards(message: AIMessage) -> None:
    """With an answer for each call."""
    after = repaired(message)
    history: list[AnyMessage] = [HumanMessage("x"), after]
    history += [
        ToolMessage("no", tool_call_id=str(one["id"]), status="error") for one in after.tool_calls
    ]
    assert check_history(history) == []
