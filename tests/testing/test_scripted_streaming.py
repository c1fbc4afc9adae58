"""Streaming: pieces on every path, which add up to the scripted message."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool

from sentry_langgraph.testing import ScriptedChatModel, ai, call, invalid_call, react_graph
from sentry_langgraph.testing.streaming import pieces_of

THOUGHT = {"type": "thinking", "thinking": "I need the sum.", "signature": "SIG"}

MESSAGES = {
    "text": ai("The sum of one and two  is three. ", id="m"),
    "empty": ai("", id="m"),
    "spaces": ai(" \n", id="m"),
    "calls": ai("Now:", call("add", {"a": 1, "b": "é" * 40}), call("add", {}), id="m"),
    "same id twice": ai("", call("add", id="c"), call("sub", id="c"), id="m"),
    "unparsable": ai("", call("add", {"a": 1}), invalid_call("add", "{a: 1}", id="i"), id="m"),
    "blocks": ai([THOUGHT, {"type": "text", "text": "So."}], call("add", {"a": 1}), id="m"),
    "extras": ai(
        "x",
        id="m",
        additional_kwargs={"reasoning_content": "why"},
        response_metadata={"finish_reason": "stop"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_the_pieces_add_up(message: AIMessage) -> None:
    """Content, calls and metadata of the whole stream are those of the message."""
    pieces = list(pieces_of(message))
    whole = pieces[0] if len(pieces) == 1 else pieces[0].__add__(pieces[1:])
    assert isinstance(whole, AIMessageChunk)
    assert whole.content == message.content
    assert whole.tool_calls == message.tool_calls
    assert whole.invalid_tool_calls == message.invalid_tool_calls
    assert whole.additional_kwargs == message.additional_kwargs
    assert whole.usage_metadata == message.usage_metadata
    assert message.response_metadata.items() <= whole.response_metadata.items()
    assert {piece.id for piece in pieces} == {"m"}


def test_langchain_completes_cut_off_json_in_a_stream() -> None:
    """A cut-off object becomes a valid call when streamed, as it does for real models."""
    cut = ai("", invalid_call("add", '{"a": 1', id="c"))
    assert ScriptedChatModel(script=[cut]).invoke("hi").invalid_tool_calls
    pieces = list(ScriptedChatModel(script=[cut]).stream("hi"))
    whole = pieces[0].__add__(pieces[1:])
    assert isinstance(whole, AIMessageChunk)
    assert [c["args"] for c in whole.tool_calls] == [{"a": 1}]


async def test_stream_and_astream_give_words_and_call_pieces() -> None:
    """Both ways to stream give several pieces, among them the call's arguments."""
    entry = ai("one two three", call("add", {"a": 1, "b": 2}, id="c"))
    model = ScriptedChatModel(script=[entry, entry])
    pieces = list(model.stream("hi"))
    apieces = [piece async for piece in model.astream("hi")]
    for got in (pieces, apieces):
        assert [p.content for p in got if p.content] == ["one", " two", " three"]
        arguments = "".join(
            c["args"] or ""
            for p in got
            if isinstance(p, AIMessageChunk)
            for c in p.tool_call_chunks
        )
        assert arguments == '{"a": 1, "b": 2}'
    assert model.calls == 2


def _graph_script() -> list[AIMessage | str]:
    return [ai("Let me add.", call("add", {"a": 1, "b": 2}, id="c")), "It is three."]


def test_messages_mode_shows_tokens() -> None:
    """`stream_mode="messages"` of a graph shows the words of each answer, once."""
    graph = react_graph(ScriptedChatModel(script=_graph_script()), [add])
    stream = graph.stream({"messages": [("user", "1 + 2?")]}, stream_mode="messages")
    words = [m.content for m, _ in stream if isinstance(m, AIMessageChunk) and m.content]
    assert words == ["Let", " me", " add.", "It", " is", " three."]


async def test_messages_mode_shows_tokens_async() -> None:
    """The same through `astream`, and the state holds whole messages with their calls."""
    graph = react_graph(ScriptedChatModel(script=_graph_script()), [add])
    words = []
    final = {}
    async for mode, data in graph.astream(
        {"messages": [("user", "1 + 2?")]}, stream_mode=["messages", "values"]
    ):
        if mode == "values":
            final = data
        elif isinstance(data[0], AIMessageChunk) and data[0].content:
            words.append(data[0].content)
    assert words == ["Let", " me", " add.", "It", " is", " three."]
    messages = final["messages"]
    assert [type(m).__name__ for m in messages] == [
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "AIMessage",
    ]
    assert messages[1].tool_calls[0]["args"] == {"a": 1, "b": 2}
    assert messages[2].content == "3"


async def test_create_agent_runs_on_it() -> None:
    """LangChain's `create_agent` binds tools to it, runs and streams."""
    agents = pytest.importorskip("langchain.agents", reason="needs the extra [langchain]")
    agent = agents.create_agent(ScriptedChatModel(script=_graph_script()), [add])
    out = await agent.ainvoke({"messages": [("user", "1 + 2?")]})
    assert out["messages"][-1].text == "It is three."
