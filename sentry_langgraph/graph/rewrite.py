"""A broken message of the agent in a form that every provider accepts again.

Text and reasoning stay byte for byte. Only the calls change: unparsable arguments become an
empty object (the error result says what was wrong with them), missing or doubled ids become
ids of their own, and names that no provider takes back lose their illegal characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage

from sentry_langgraph.records import ToolCall
from sentry_langgraph.signature import digest

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "invalid_tool_call", "function_call", "input_json_delta"}
)


def normalised(calls: Sequence[ToolCall], message: str) -> tuple[ToolCall, ...]:
    """The calls with ids of their own and names that providers take."""
    seen: set[str] = set()
    result = []
    for call in calls:
        id_ = call.id
        if not id_ or id_ in seen:
            # providers take no more than 40 characters
            id_ = f"call_{digest(f'{message}|{call.index}')}"
        seen.add(id_)
        result.append(replace(call, id=id_, name=_ILLEGAL.sub("_", call.name)[:64] or "unknown"))
    return tuple(result)


def needs_rewrite(before: Sequence[ToolCall], after: Sequence[ToolCall]) -> bool:
    """Whether a provider would refuse the message as it stands."""
    return any(
        old.args is None or old.id != new.id or old.name != new.name
        for old, new in zip(before, after, strict=True)
    )


def rewrite(message: AIMessage, calls: Sequence[ToolCall]) -> AIMessage:
    """`message` with `calls` in place of its own, by position."""
    update: dict[str, Any] = {
        "tool_calls": [
            {
                "name": call.name,
                "args": dict(call.args) if isinstance(call.args, Mapping) else {},
                "id": call.id,
                "type": "tool_call",
            }
            for call in calls
        ],
        "invalid_tool_calls": [],
        "additional_kwargs": {
            key: value
            for key, value in message.additional_kwargs.items()
            if key not in ("tool_calls", "function_call")
        },
    }
    if isinstance(message.content, list):
        update["content"] = _blocks(message.content, calls)
    return message.model_copy(update=update)


def _blocks(content: Sequence[Any], calls: Sequence[ToolCall]) -> list[Any]:
    """The content blocks with those of calls brought into line, in the order of the calls."""
    left = list(calls)
    blocks: list[Any] = []
    for block in content:
        if not isinstance(block, dict) or block.get("type") not in _CALL_BLOCKS:
            blocks.append(block)
            continue
        if not left:
            continue
        call = left.pop(0)
        args = dict(call.args) if isinstance(call.args, Mapping) else {}
        if block["type"] == "function_call":
            blocks.append(
                {**block, "name": call.name, "call_id": call.id, "arguments": "{}"}
                if call.args is None
                else {**block, "name": call.name, "call_id": call.id}
            )
        elif block["type"] in ("tool_call", "invalid_tool_call"):
            blocks.append({"type": "tool_call", "id": call.id, "name": call.name, "args": args})
        else:
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": args})
    return blocks
