"""One recorded message, in any of the forms in which messages are kept, to `Message`.

OpenAI's (`role`, also with the older `function_call`), and LangChain's: `messages_to_dict`
(`type`, `data`), `dumpd` (`lc`, `kwargs`), `model_dump` (`type`, `content`), and pairs of role
and text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from sentry_langgraph.content import (
    MARK,
    content_text,
    raw_arguments,
    result_digest,
    result_status,
    result_text,
    stop_reason,
)
from sentry_langgraph.records import Observation, ToolCall
from sentry_langgraph.replay.recording import Message, RecordingError, Speaker

_SPEAKERS: Mapping[str, Speaker] = {
    "assistant": "agent",
    "ai": "agent",
    "AIMessage": "agent",
    "AIMessageChunk": "agent",
    "user": "user",
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "system": "system",
    "developer": "system",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "function": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "tool",
}
_EXPECTED = (
    "expected a message: an object with role and content (OpenAI), or with type and content "
    "(LangChain)"
)
_LONG = 18
_LONG_NUMBER = re.compile(r"\d{18}")
_decode = json.JSONDecoder(strict=False).decode
_NOTHING: Mapping[str, Any] = {}


def read_messages(raw: Iterable[Any]) -> tuple[Message, ...]:
    """The agent's history; the calls of a simulated user, and their results, are left out.

    Raises:
        RecordingError: A message has none of the known forms. The error names its position.
    """
    names: dict[str, str] = {}
    found: list[Message] = []
    for position, one in enumerate(raw):
        try:
            message = _read(one, position, names)
        except RecordingError as error:
            raise RecordingError(f"messages[{position}]: {error}") from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RecordingError(f"messages[{position}]: {_EXPECTED} ({error!r})") from error
        if message is not None:
            found.append(message)
    return tuple(found)


def _read(raw: Any, position: int, names: dict[str, str]) -> Message | None:
    speaker = _SPEAKERS.get(raw.get("role", "")) if type(raw) is dict else None
    body = raw
    if speaker is None:
        speaker, body = _form(raw)
    content = body.get("content")
    id_ = body.get("id") or ""
    own = "additional_kwargs" in body and MARK in (body["additional_kwargs"] or _NOTHING)
    if speaker == "tool":
        if body.get("requestor") == "user":
            return None
        return _result(body, content, position, names, own)
    text = content if type(content) is str else content_text(content)
    if speaker == "agent":
        calls = _calls(body, position)
        for call in calls:
            names[call.id] = call.name
        return Message("agent", text, position, id_, own, calls, _stop_reason(body))
    if speaker == "user":
        if not content and body.get("tool_calls"):
            return None  # a simulated user used a tool of its own: the agent saw nothing
        own = own or body.get("name") == MARK
    return Message(speaker, text, position, id_, own)


def _form(raw: Any) -> tuple[Speaker, Mapping[str, Any]]:
    """Who speaks, and the object that holds the fields."""
    if isinstance(raw, dict):
        named = raw.get("role")
        body = raw
        if named is None:
            if "lc" in raw and isinstance(raw.get("kwargs"), dict):
                named, body = (raw.get("id") or ("",))[-1], raw["kwargs"]
                if named == "ChatMessage":
                    named = body.get("role")
            elif isinstance(raw.get("data"), dict):
                named, body = raw.get("type"), raw["data"]
                named = body.get("role") if named == "chat" else named
            else:
                named = raw.get("type")
    elif isinstance(raw, list) and len(raw) == 2 and all(isinstance(one, str) for one in raw):
        named, body = raw[0], {"content": raw[1]}
    else:
        raise RecordingError(f"{_EXPECTED}, got {type(raw).__name__}")
    speaker = _SPEAKERS.get(named) if isinstance(named, str) else None
    if speaker is None:
        raise RecordingError(f"{_EXPECTED}; the role {str(named)[:40]!r} is not known")
    return speaker, body


def _calls(body: Mapping[str, Any], position: int) -> tuple[ToolCall, ...]:
    listed = body.get("tool_calls")
    invalid = body.get("invalid_tool_calls")
    if not listed and not invalid:
        listed = _older_calls(body, position)
        if not listed:
            return ()
    good: list[ToolCall] = []
    bad: list[tuple[str, str, Any]] = []
    for call in listed or ():
        function = call.get("function")
        if function is None:
            args, name = call.get("args", call.get("arguments")), call.get("name")
            readable = isinstance(args, dict)
        else:
            name = function.get("name")
            args, readable = _arguments(function.get("arguments"))
        if readable:
            good.append(ToolCall(call.get("id") or "", name or "", args, len(good)))
        else:
            bad.append((call.get("id") or "", name or "", args))
    if invalid:
        bad += [(one.get("id") or "", one.get("name") or "", one.get("args")) for one in invalid]
    for id_, name, args in bad:
        good.append(ToolCall(id_, name, None, len(good), raw_arguments(args)))
    return tuple(good)


def _older_calls(body: Mapping[str, Any], position: int) -> Any:
    """Calls where older forms keep them: `function_call`, and `additional_kwargs`."""
    single = body.get("function_call")
    if single is None:
        additional = body.get("additional_kwargs")
        if not additional:
            return ()
        if additional.get("tool_calls"):
            return additional["tool_calls"]
        single = additional.get("function_call")
    return [{"id": f"call-{position}", "function": single}] if single else ()


def _arguments(raw: Any) -> tuple[Any, bool]:
    """Arguments as LangChain parses them, and whether they are one JSON object."""
    if not raw:
        return {}, True
    if isinstance(raw, dict):
        return raw, True
    try:
        value = _parsed(raw) or {}
    except (ValueError, RecursionError, TypeError):
        return raw, False
    return (value, True) if isinstance(value, dict) else (raw, False)


def _parsed(raw: str) -> Any:
    """As `json.loads(raw, strict=False)`, and faster for nearly all arguments."""
    # long whole numbers, and what is beyond the standard, are read differently by the fast reader
    if len(raw) < _LONG or not _LONG_NUMBER.search(raw):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            pass
    return _decode(raw)


def _result(
    body: Mapping[str, Any], content: Any, position: int, names: dict[str, str], own: bool
) -> Message:
    call_id = body.get("tool_call_id")
    if call_id is None:
        # the older form names the function only: it answers the newest call
        call_id = next(reversed(names), "")
    if type(content) is not str and not isinstance(content, list):
        content = _as_text(content)
    text = result_text(content)
    seen = Observation(
        call_id,
        body.get("name") or names.get(call_id, ""),
        text,
        "error" if body.get("error") else result_status(body.get("status"), text),
        result_digest(content),
        own,
    )
    full = content if type(content) is str else content_text(content)
    return Message("tool", full, position, body.get("id") or "", own, (), "", seen)


def _as_text(content: Any) -> str:
    return "" if content is None else json.dumps(content, default=str)


def _stop_reason(body: Mapping[str, Any]) -> str:
    if body.get("refusal"):
        return "refusal"
    metadata, additional = body.get("response_metadata"), body.get("additional_kwargs")
    if metadata or additional:
        return stop_reason(additional or _NOTHING, metadata or _NOTHING)
    return stop_reason(_NOTHING, body)
