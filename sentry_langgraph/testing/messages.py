"""Short ways to write assistant messages, and to find Sentry's guidance in a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)

Reply: TypeAlias = AIMessage | str
"""What a model says: a message, or its text."""

Respond: TypeAlias = Callable[[list[BaseMessage]], Reply]
"""Writes a reply to a request."""

GUIDANCE = "sentry"
"""The name of Sentry's own human messages, and the mark in `additional_kwargs`."""


def call(name: str, args: Mapping[str, Any] | None = None, id: str | None = None) -> ToolCall:
    """A tool call; without `id` it gets a fresh one."""
    return ToolCall(
        name=name, args=dict(args or {}), id=_fresh("call") if id is None else id, type="tool_call"
    )


def invalid_call(
    name: str, raw: str, id: str | None = None, error: str | None = None
) -> InvalidToolCall:
    """A tool call whose arguments, `raw`, are not one JSON object.

    Streamed, LangChain completes JSON that is only cut off (`'{"a": 1'` becomes a valid call,
    as it does for real models) and drops `error`; any other text stays invalid.
    """
    return InvalidToolCall(
        name=name,
        args=raw,
        id=_fresh("call") if id is None else id,
        error=error,
        type="invalid_tool_call",
    )


def ai(
    text: str | list[str | dict[Any, Any]] = "",
    *calls: ToolCall | InvalidToolCall,
    id: str | None = None,
    **kw: Any,
) -> AIMessage:
    """An assistant message with its calls, valid and invalid together.

    Args:
        text: The text, or a list of content blocks.
        calls: What `call` and `invalid_call` give.
        id: The message's id; without one the model gives a fresh id per answer.
        kw: Further fields of `AIMessage`.
    """
    return AIMessage(
        content=text,
        id=id,
        tool_calls=[c for c in calls if c.get("type") != "invalid_tool_call"],
        invalid_tool_calls=[c for c in calls if c.get("type") == "invalid_tool_call"],
        **kw,
    )


def is_guidance(message: BaseMessage) -> bool:
    """Whether Sentry wrote the message: a human message named so, or a marked refusal."""
    if isinstance(message, HumanMessage):
        return message.name == GUIDANCE
    return (
        isinstance(message, ToolMessage)
        and message.status == "error"
        and GUIDANCE in message.additional_kwargs
    )


def guidance_in(messages: Sequence[BaseMessage], *, fresh: bool = False) -> str | None:
    """The text of Sentry's newest guidance in a request, or None.

    Args:
        messages: The request.
        fresh: Only what came after the newest assistant message.
    """
    for message in reversed(messages):
        if is_guidance(message):
            return str(message.text)
        if fresh and isinstance(message, AIMessage):
            return None
    return None


def if_guided(then: Reply | Callable[[str], Reply], otherwise: Reply | Respond) -> Respond:
    """A script entry that really follows guidance: what it says depends on what it reads.

    Args:
        then: The reply, or a function of the guidance's text, when the request holds guidance
            that came after the newest assistant message.
        otherwise: The reply, or a function of the request, when it holds none.
    """

    def respond(messages: list[BaseMessage]) -> Reply:
        guidance = guidance_in(messages, fresh=True)
        if guidance is not None:
            return then(guidance) if callable(then) else then
        return otherwise(messages) if callable(otherwise) else otherwise

    return respond


def _fresh(prefix: str) -> str:
    return f"{prefix}_{uuid4().hex}"
