"""One JSON object a turn, whatever stands around it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from sentry_langgraph.bench.live.domains import DOMAINS
from sentry_langgraph.bench.live.json_turns import as_chat, prompt, read_turn

CALL = '{"thought": "look", "tool": "get", "args": {"id": "a"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"I will look it up.\n{CALL}\nThen I go on.",
        f'{CALL}\n{{"tool": "other", "args": {{}}}}',
        '{"note": 1} ' + CALL,
        CALL.replace("look", "look\nhere"),
        "{ not this one } " + CALL,
    ],
)
def test_the_first_object_that_names_a_tool_counts(text: str) -> None:
    """Fences, words and further objects are left out."""
    read = read_turn(text, "c1")
    assert [(call["name"], call["args"], call["id"]) for call in read.tool_calls] == [
        ("get", {"id": "a"}, "c1")
    ]
    assert read.text.startswith("look")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"thought": "x", "tool": "finish", "args": {"text": "It is 4."}}', "It is 4."),
        ('{"tool": "finish", "args": "It is 4."}', "It is 4."),
        ('{"tool": "finish"}', ""),
        ('{"answer": "It is 4."}', "It is 4."),
        (" It is 4. ", "It is 4."),
        ("", ""),
        ("{}", "{}"),
        ('["tool"]', '["tool"]') if False else ("[1]", "[1]"),
    ],
)
def test_a_final_answer(text: str, answer: str) -> None:
    """`finish`, or no object that names a tool."""
    read = read_turn(text, "c1")
    assert (read.text, read.tool_calls, read.invalid_tool_calls) == (answer, [], [])


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "get", "args": {"id": "a"',
        '{"tool": "get", "args": [1]}',
        '{"tool": "get", "args": "a"}',
    ],
)
def test_an_unreadable_call_is_an_invalid_one(text: str) -> None:
    """It is no answer: the run would end with it unseen."""
    read = read_turn(text, "c1")
    assert [call["name"] for call in read.invalid_tool_calls] == ["get"]
    assert not read.tool_calls


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever a model writes is a message."""
    assert isinstance(read_turn(text, "c1"), AIMessage)


def test_the_history_keeps_what_was_written() -> None:
    """So the server knows the beginning of the next request; a changed call is written anew."""
    written = f"Well.\n{CALL}"
    read = read_turn(written, "c1")
    history: list[Any] = [
        SystemMessage("s"),
        HumanMessage("q"),
        read,
        ToolMessage("r", tool_call_id="c1", name="get"),
        HumanMessage("note"),
        AIMessage("done"),
    ]
    chat = as_chat(history)
    assert [(one.type, one.text) for one in chat] == [
        ("system", "s"),
        ("human", "q"),
        ("ai", written),
        ("human", "Result of get: r\nnote"),
        ("ai", '{"tool": "finish", "args": {"text": "done"}}'),
    ]
    read.tool_calls[0]["args"] = {"id": "b"}
    assert as_chat([read])[0].text == '{"thought": "look", "tool": "get", "args": {"id": "b"}}'


def test_the_prompt_lists_the_tools() -> None:
    """With arguments and descriptions, and without those where they give nothing away."""
    domain = DOMAINS["shop"]
    told = prompt(domain.about, domain.tools(domain.open()))
    assert "- get_order(order_id: string): Show one order: item, quantity and status." in told
    bare = prompt(domain.about, domain.tools(domain.open(), bare=True))
    assert "- get_order(order_id: string)\n" in bare
