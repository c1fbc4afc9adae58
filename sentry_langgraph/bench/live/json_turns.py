"""One JSON object a turn: for models and servers without tool calls of their own.

The tools stand in the prompt. A turn is `{"thought": …, "tool": NAME, "args": {…}}`; the tool
`finish` ends the run. What the model wrote is kept as it is, so that the next request begins
with the very text that the server has already read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool

FINISH = "finish"
WRITTEN = "written"
"""Key under which a message keeps what the model wrote."""

_PROMPT = """{about} You work in steps. In each step reply with one JSON object and nothing else:
{{"thought": "what the request needs next", "tool": "NAME", "args": {{...}}}}
Tools:
{tools}
- finish(text: string): Tell the user the outcome, when the request is done or can't be done."""


def prompt(about: str, tools: Sequence[BaseTool]) -> str:
    """The system prompt: place, format and tools."""
    return _PROMPT.format(about=about, tools="\n".join(_line(tool) for tool in tools))


def _line(tool: BaseTool) -> str:
    arguments = ", ".join(
        f"{name}: {schema.get('type', 'any')}" for name, schema in tool.args.items()
    )
    said = "" if tool.description == tool.name else f": {tool.description}"
    return f"- {tool.name}({arguments}){said}"


def as_chat(messages: Sequence[AnyMessage]) -> list[BaseMessage]:
    """The history as plain chat: results are user messages, neighbours of a kind are joined."""
    turns: list[BaseMessage] = []
    for message in messages:
        made = _as_chat(message)
        if turns and type(turns[-1]) is type(made) and not isinstance(made, SystemMessage):
            turns[-1] = type(made)(f"{turns[-1].text}\n{made.text}")
        else:
            turns.append(made)
    return turns


def _as_chat(message: AnyMessage) -> BaseMessage:
    if isinstance(message, AIMessage):
        return AIMessage(_written(message))
    if isinstance(message, ToolMessage):
        return HumanMessage(f"Result of {message.name}: {message.text}")
    return message


def _written(message: AIMessage) -> str:
    calls = [(call["name"], call["args"]) for call in message.tool_calls]
    written = message.additional_kwargs.get(WRITTEN)
    if written and written["calls"] == [list(call) for call in calls]:
        return str(written["text"])
    if not calls:
        return _turn("", FINISH, {"text": message.text})
    return "\n".join(_turn(message.text, name, args) for name, args in calls)


def _turn(thought: str, tool: str, args: Any) -> str:
    said = {"thought": thought} if thought else {}
    return json.dumps({**said, "tool": tool, "args": args}, ensure_ascii=False)


def read_turn(text: str, id_: str) -> AIMessage:
    """What the model wrote, as a message.

    The first object that names a tool counts; whatever stands around it is left out. Text
    without any object is a final answer. What begins as an object and can't be read is an
    invalid call, as a provider with tool calls of its own would say.

    Args:
        text: What the model wrote.
        id_: The id of the call.
    """
    for turn in _objects(text):
        name, args = turn.get("tool"), turn.get("args")
        if isinstance(name, str) and name:
            return _message(text, str(turn.get("thought") or ""), name, args, id_)
        if isinstance(answer := turn.get("answer") or turn.get("text"), str):
            return _kept(AIMessage(answer), text)
    if '"tool"' in text:
        name = text.partition('"tool"')[2].partition('"')[2].partition('"')[0]
        bad = {"name": name, "args": text, "id": id_, "error": "not one JSON object"}
        return AIMessage("", invalid_tool_calls=[{**bad, "type": "invalid_tool_call"}])
    return _kept(AIMessage(text.strip()), text)


def _message(text: str, thought: str, name: str, args: Any, id_: str) -> AIMessage:
    if name == FINISH:
        said = args.get("text") if isinstance(args, dict) else args
        return _kept(AIMessage(str(said or "")), text)
    if args is not None and not isinstance(args, dict):
        bad = {"name": name, "args": json.dumps(args), "id": id_, "error": "not an object"}
        return AIMessage(thought, invalid_tool_calls=[{**bad, "type": "invalid_tool_call"}])
    call = {"name": name, "args": args or {}, "id": id_, "type": "tool_call"}
    return _kept(AIMessage(thought, tool_calls=[call]), text)


def _kept(message: AIMessage, text: str) -> AIMessage:
    calls = [[call["name"], call["args"]] for call in message.tool_calls]
    message.additional_kwargs[WRITTEN] = {"text": text.strip(), "calls": calls}
    return message


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, in order."""
    decoder, at = json.JSONDecoder(strict=False), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict):
            yield value
