"""Messages and model scripts from the turns of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from cases.loader import CaseError
from cases.words import exception
from sentry_langgraph.testing import ScriptEntry

_ROLES = {"assistant": "ai", "user": "human"}


def script(turns: Sequence[Any]) -> list[ScriptEntry]:
    """What a scripted model says; `repeat` blocks are written out, `{n}` counts from 1.

    Raises:
        CaseError: A turn can't be read.
    """
    entries: list[ScriptEntry] = []
    for turn in turns:
        entries += _entry(turn)
    return entries


def _entry(turn: Any) -> list[ScriptEntry]:
    if not isinstance(turn, Mapping):
        raise CaseError(f"a turn is an object, not {turn!r}")
    if "repeat" in turn:
        block = turn.get("turns") or [turn["turn"]]
        return [
            entry
            for number in range(1, int(turn["repeat"]) + 1)
            for entry in script(_numbered(block, number))
        ]
    if "raise" in turn:
        error = exception(str(turn["raise"]))
        assert isinstance(error, Exception)
        return [error]
    made = message(turn)
    if not isinstance(made, AIMessage):
        raise CaseError(f"the model can't say {turn.get('role')!r}")
    return [made]


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, Mapping):
        return {key: _numbered(inner, number) for key, inner in value.items()}
    if isinstance(value, list):
        return [_numbered(inner, number) for inner in value]
    return value


def message(turn: Mapping[str, Any]) -> AnyMessage:
    """One message.

    Raises:
        CaseError: Its role is not known.
    """
    role = _ROLES.get(turn.get("role", ""), turn.get("role", ""))
    fields: dict[str, Any] = {
        key: turn[key]
        for key in ("id", "name", "additional_kwargs", "response_metadata")
        if key in turn
    }
    content = turn.get("content", "")
    match role:
        case "human":
            return HumanMessage(content, **fields)
        case "system":
            return SystemMessage(content, **fields)
        case "tool":
            return ToolMessage(
                content,
                tool_call_id=turn["tool_call_id"],
                status=turn.get("status", "success"),
                **fields,
            )
        case "ai":
            return _assistant(turn, content, fields)
        case "remove":
            return RemoveMessage(id=turn["id"])  # type: ignore[return-value]
    raise CaseError(f"the role {turn.get('role')!r} is not known")


def _assistant(turn: Mapping[str, Any], content: Any, fields: dict[str, Any]) -> AIMessage:
    calls = [{"type": "tool_call", **call} for call in turn.get("tool_calls", ())]
    made = AIMessage(
        content,
        tool_calls=[
            call if isinstance(call["args"], Mapping) else {**call, "args": {}} for call in calls
        ],
        invalid_tool_calls=[
            {"type": "invalid_tool_call", "error": None, **call}
            for call in turn.get("invalid_tool_calls", ())
        ],
        **fields,
    )
    for kept, call in zip(made.tool_calls, calls, strict=True):
        if not isinstance(call["args"], Mapping):  # the check of the constructor is passed by
            kept["args"] = call["args"]
    return made


def messages(turns: Sequence[Mapping[str, Any]], prefix: str = "given") -> list[AnyMessage]:
    """Several messages, each with an id where it has none."""
    made = []
    for position, turn in enumerate(turns):
        one = message(turn)
        if one.id is None:
            one.id = f"{prefix}-{position}"
        made.append(one)
    return made


def calls_in(turn: Any) -> list[str]:
    """The ids of the calls of a turn."""
    if not isinstance(turn, Mapping):
        return []
    if "repeat" in turn:
        return [
            call.replace("{n}", str(number))
            for number in range(1, int(turn["repeat"]) + 1)
            for one in turn.get("turns") or [turn["turn"]]
            for call in calls_in(one)
        ]
    made = [*turn.get("tool_calls", ()), *turn.get("invalid_tool_calls", ())]
    return [str(call.get("id")) for call in made]
