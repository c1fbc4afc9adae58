"""An assistant message cut into the pieces that a streaming provider sends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk

PIECE = 16
"""Length of a piece of a call's arguments, in characters."""


def pieces_of(message: AIMessage) -> Iterator[AIMessageChunk]:
    """The message in pieces: words or content blocks, then each call's name and arguments.

    The pieces add up to the message, with two exceptions that real streams have too: LangChain
    completes arguments whose JSON is only cut off, and drops the `error` of an invalid call.
    The message's `name` is not streamed.
    """
    empty: str | list[str | dict[Any, Any]] = "" if isinstance(message.content, str) else []
    bodies: list[dict[str, Any]] = [
        *({"content": content} for content in _content_pieces(message)),
        *({"content": empty, "tool_call_chunks": [chunk]} for chunk in _call_pieces(message)),
    ] or [{"content": empty}]
    for position, body in enumerate(bodies):
        fields = dict(body)
        if position == 0:
            fields["additional_kwargs"] = dict(message.additional_kwargs)
        if position == len(bodies) - 1:
            fields["response_metadata"] = dict(message.response_metadata)
            fields["usage_metadata"] = message.usage_metadata
            fields["chunk_position"] = "last"
        yield AIMessageChunk(id=message.id, **fields)


def _content_pieces(message: AIMessage) -> Iterator[str | list[str | dict[Any, Any]]]:
    if isinstance(message.content, str):
        yield from re.findall(r"\s*\S+\s*$|\s*\S+|\s+", message.content)
    else:
        for block in message.content:
            yield [block]


def _call_pieces(message: AIMessage) -> Iterator[ToolCallChunk]:
    valid = [(c["name"], json.dumps(c["args"]), c["id"]) for c in message.tool_calls]
    invalid = [(c["name"], c["args"] or "", c["id"]) for c in message.invalid_tool_calls]
    for index, (name, args, call_id) in enumerate([*valid, *invalid]):
        yield tool_call_chunk(name=name, args="", id=call_id, index=index)
        for start in range(0, len(args), PIECE):
            yield tool_call_chunk(args=args[start : start + PIECE], index=index)
