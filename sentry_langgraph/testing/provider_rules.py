"""What chat providers refuse in a history, as pure checks.

Each rule reads a request and returns None, or what is wrong as `message N: …` (from 0). The
rules say what the strict ones among OpenAI, Anthropic, Gemini, Mistral and their compatible
servers answer with HTTP 400.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

Rule: TypeAlias = Callable[[Sequence[BaseMessage]], str | None]
"""Checks a request; None means that it is in order."""

CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "invalid_tool_call"})
REASONING_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning"})
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")


class ProviderRefusal(ValueError):
    """A request that a strict provider would refuse.

    Args:
        rule: The name of the rule.
        problem: What the rule said.
    """

    def __init__(self, rule: str, problem: str) -> None:
        self.rule = rule
        self.problem = problem
        super().__init__(f"provider rule {rule} is broken at {problem}")

    @property
    def index(self) -> int | None:
        """Position of the message at fault, from 0, where the rule names one."""
        found = re.match(r"message (\d+):", self.problem)
        return int(found[1]) if found else None

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.rule, self.problem))


def answered_calls(messages: Sequence[BaseMessage]) -> str | None:
    """Every call of an assistant message has exactly one result, directly after the message."""
    for index, message, results in _tool_turns(messages):
        wanted = Counter(call_ids(message))
        given = Counter(result.tool_call_id for _, result in results)
        for call_id, count in wanted.items():
            if call_id is None:
                return f"message {index}: a call has no id, so nothing can answer it"
            if given[call_id] < count:
                return f"message {index}: the call {call_id!r} has no result directly after it"
            if given[call_id] > count:
                return f"message {index}: the call {call_id!r} has more than one result"
    return None


def no_orphan_results(messages: Sequence[BaseMessage]) -> str | None:
    """Every result stands directly after the assistant message that made the call."""
    owned: set[str | None] = set()
    for index, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            owned = set(call_ids(message)) if isinstance(message, AIMessage) else set()
        elif message.tool_call_id not in owned:
            return f"message {index}: the result {message.tool_call_id!r} has no call before it"
    return None


def leading_system_only(messages: Sequence[BaseMessage]) -> str | None:
    """System messages stand in one block at the start."""
    leading = True
    for index, message in enumerate(messages):
        if not isinstance(message, SystemMessage):
            leading = False
        elif not leading:
            return f"message {index}: a system message stands after the start"
    return None


def no_trailing_assistant(messages: Sequence[BaseMessage]) -> str | None:
    """The request doesn't end with an assistant message."""
    if messages and isinstance(messages[-1], AIMessage):
        return f"message {len(messages) - 1}: the request ends with an assistant message"
    return None


def human_first(messages: Sequence[BaseMessage]) -> str | None:
    """The first message that is not a system message is the user's."""
    for index, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            continue
        if isinstance(message, HumanMessage):
            return None
        return f"message {index}: the first message is {message.type!r} and not the user's"
    return f"message {len(messages)}: the request has no message of the user"


def no_consecutive_assistants(messages: Sequence[BaseMessage]) -> str | None:
    """No two assistant messages follow one another."""
    for index in range(1, len(messages)):
        if isinstance(messages[index], AIMessage) and isinstance(messages[index - 1], AIMessage):
            return f"message {index}: an assistant message follows an assistant message"
    return None


def unique_call_ids_per_message(messages: Sequence[BaseMessage]) -> str | None:
    """The calls of one message have different ids; a later message may use an id again."""
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            repeated = [i for i, count in Counter(call_ids(message)).items() if count > 1]
            if repeated:
                return f"message {index}: several calls have the id {repeated[0]!r}"
    return None


def parsable_arguments(messages: Sequence[BaseMessage]) -> str | None:
    """No call in the history carries arguments that are not one JSON object."""
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            for name, raw in _raw_arguments(message):
                if not _is_object(raw):
                    return f"message {index}: the arguments of {name!r} are not one JSON object"
    return None


def reasoning_intact(
    messages: Sequence[BaseMessage], produced: Mapping[str, AIMessage] | None = None
) -> str | None:
    """An assistant message with calls carries its reasoning as the model wrote it.

    Args:
        messages: The request.
        produced: The messages the model itself wrote, by id. A message whose id is unknown is
            compared with those that made the same calls. Without any, only the position is
            checked: reasoning comes before everything else.
    """
    for index, message in enumerate(messages):
        if not isinstance(message, AIMessage) or not call_ids(message):
            continue
        originals = _originals(message, produced or {})
        if originals and _reasoning(message) not in [_reasoning(o) for o in originals]:
            return f"message {index}: its reasoning is not what the model wrote"
        moved = _has_reasoning(message) and not _starts_with_reasoning(message)
        if moved and (not originals or any(_starts_with_reasoning(o) for o in originals)):
            return f"message {index}: it doesn't start with its reasoning"
    return None


STRICT: tuple[Rule, ...] = (
    answered_calls,
    no_orphan_results,
    leading_system_only,
    no_trailing_assistant,
    human_first,
    no_consecutive_assistants,
    unique_call_ids_per_message,
)
"""What all strict providers share. `parsable_arguments` and `reasoning_intact` are some's only."""


def check_history(messages: Sequence[BaseMessage], rules: Sequence[Rule] = STRICT) -> list[str]:
    """What a provider with these rules would refuse, as `rule: message N: …`; empty if nothing."""
    found = ((rule_name(rule), rule(messages)) for rule in rules)
    return [f"{name}: {problem}" for name, problem in found if problem is not None]


def refuse(messages: Sequence[BaseMessage], rules: Sequence[Rule]) -> None:
    """Raise `ProviderRefusal` for the first rule that the request breaks."""
    for rule in rules:
        problem = rule(messages)
        if problem is not None:
            raise ProviderRefusal(rule_name(rule), problem)


def with_produced(rules: Sequence[Rule], produced: Mapping[str, AIMessage]) -> list[Rule]:
    """The rules, with `reasoning_intact` told what the model wrote, by message id."""
    return [
        partial(reasoning_intact, produced=produced) if rule is reasoning_intact else rule
        for rule in rules
    ]


def rule_name(rule: Rule) -> str:
    """The name a rule is reported under."""
    inner = rule.func if isinstance(rule, partial) else rule
    return str(getattr(inner, "__name__", type(inner).__name__))


def call_ids(message: AIMessage) -> list[str | None]:
    """The id of every call that the message would send to a provider, in order.

    Calls that stand only in content blocks or in `additional_kwargs` count too. An id that is
    missing is None.
    """
    ids = [c.get("id") for c in (*message.tool_calls, *message.invalid_tool_calls)]
    if not ids:
        ids = [c.get("id") for c in _raw_openai_calls(message)]
    known = set(ids)
    blocks = [b for b in _blocks(message) if _kind(b) in CALL_BLOCKS]
    in_blocks = [str(b.get("call_id") or b.get("id") or "") or None for b in blocks]
    return ids + [i for i in in_blocks if i not in known]


def _tool_turns(
    messages: Sequence[BaseMessage],
) -> Iterator[tuple[int, AIMessage, list[tuple[int, ToolMessage]]]]:
    for index, message in enumerate(messages):
        if not isinstance(message, AIMessage):
            continue
        results: list[tuple[int, ToolMessage]] = []
        for later in range(index + 1, len(messages)):
            result = messages[later]
            if not isinstance(result, ToolMessage):
                break
            results.append((later, result))
        yield index, message, results


def _blocks(message: AIMessage) -> list[dict[Any, Any]]:
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    return [b if isinstance(b, dict) else {"type": "text", "text": b} for b in message.content]


def _kind(block: Mapping[Any, Any]) -> str:
    return str(block.get("type", ""))


def _raw_openai_calls(message: AIMessage) -> list[dict[str, Any]]:
    raw = message.additional_kwargs.get("tool_calls")
    return [c for c in raw if isinstance(c, dict)] if isinstance(raw, list) else []


def _raw_arguments(message: AIMessage) -> Iterator[tuple[str, Any]]:
    for invalid in message.invalid_tool_calls:
        yield str(invalid.get("name")), invalid.get("args")
    for openai_call in _raw_openai_calls(message):
        function = openai_call.get("function") or {}
        yield str(function.get("name")), function.get("arguments")
    for block in _blocks(message):
        if _kind(block) in CALL_BLOCKS:
            for key in ("input", "args", "arguments"):
                if key in block:
                    yield str(block.get("name")), block[key]


def _is_object(raw: Any) -> bool:
    if not isinstance(raw, str):
        return isinstance(raw, Mapping)
    try:
        return isinstance(json.loads(raw), dict)
    except ValueError:
        return False


def _originals(message: AIMessage, produced: Mapping[str, AIMessage]) -> list[AIMessage]:
    own = produced.get(message.id or "")
    if own is not None:
        return [own]
    ids = set(call_ids(message)) - {None}
    return [original for original in produced.values() if ids & set(call_ids(original))]


def _reasoning(message: AIMessage) -> str:
    """The message's reasoning, one text per content: equal texts mean equal bytes."""
    blocks = [b for b in _blocks(message) if _kind(b) in REASONING_BLOCKS]
    fields = {k: v for k, v in message.additional_kwargs.items() if k in REASONING_FIELDS}
    return json.dumps([blocks, fields], sort_keys=True, default=repr)


def _has_reasoning(message: AIMessage) -> bool:
    return any(_kind(block) in REASONING_BLOCKS for block in _blocks(message))


def _starts_with_reasoning(message: AIMessage) -> bool:
    blocks = _blocks(message)
    return bool(blocks) and _kind(blocks[0]) in REASONING_BLOCKS
