"""LangChain messages to records, read from the tail.

The cost depends on the window, not on the length of the history: the only thing that may lie
far back is the message that opened the task, and where it was is remembered.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from sentry_langgraph.content import (
    MARK,
    content_text,
    raw_arguments,
    result_digest,
    result_status,
    result_text,
    stop_reason,
)
from sentry_langgraph.records import Observation, Proposal, Step, Task, ToolCall

__all__ = [
    "MARK",
    "Memo",
    "calls_of",
    "is_own",
    "last_ai",
    "message_id",
    "observation_of",
    "opening",
    "proposal_of",
    "steps_before",
    "task_at",
    "text_of",
]


class Memo(OrderedDict[Any, Any]):
    """A small cache that forgets the oldest entry. Losing one costs time and nothing else."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def put(self, key: Any, value: Any) -> None:
        """Remember `value`, and forget the oldest where there are too many."""
        self[key] = value
        while len(self) > self._limit:
            try:
                self.popitem(last=False)
            except KeyError:  # another thread was faster
                break


_steps = Memo(1_024)
_openings = Memo(1_024)
_tails = Memo(256)

# by type name: messages have an abstract metaclass, which makes isinstance slow
_HUMAN = frozenset({"human", "HumanMessageChunk"})
_AI = frozenset({"ai", "AIMessageChunk"})
_TOOL = frozenset({"tool", "ToolMessageChunk"})


def is_own(message: BaseMessage) -> bool:
    """Whether Sentry wrote the message."""
    return MARK in message.additional_kwargs


def text_of(message: BaseMessage) -> str:
    """What a message says: its text blocks, without reasoning, calls and images."""
    return content_text(message.content)


def observation_of(message: ToolMessage) -> Observation:
    """A tool message as an observation."""
    text = result_text(message.content)
    return Observation(
        call_id=message.tool_call_id,
        name=message.name or "",
        text=text,
        status=result_status(message.status, text),
        digest=result_digest(message.content),
        own=is_own(message),
    )


def calls_of(message: AIMessage) -> tuple[ToolCall, ...]:
    """All calls of a message, valid ones first, with their positions."""
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        args: Any = call.get("args")
        good = isinstance(args, dict)
        calls.append(
            ToolCall(
                id=call.get("id") or "",
                name=call.get("name") or "",
                args=args if good else None,
                index=len(calls),
                raw="" if good else raw_arguments(args),
            )
        )
    for bad in message.invalid_tool_calls:
        calls.append(
            ToolCall(
                id=bad.get("id") or "",
                name=bad.get("name") or "",
                args=None,
                index=len(calls),
                raw=raw_arguments(bad.get("args")),
            )
        )
    return tuple(calls)


def message_id(message: BaseMessage, position: int) -> str:
    """The message's id, or a name from its position where it has none."""
    return message.id or f"message-{position}"


def last_ai(messages: Sequence[AnyMessage]) -> int | None:
    """The position of the newest message of the agent."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].type in _AI:
            return position
    return None


def proposal_of(
    messages: Sequence[AnyMessage],
    position: int,
    *,
    finish: bool,
    structured: bool = False,
    wants_structured: bool = False,
) -> Proposal:
    """The newest message of the agent, with the calls that have no result yet."""
    message: Any = messages[position]
    calls = calls_of(message)
    later: Any = messages[position + 1 :]
    answered = [m for m in later if m.type in _TOOL] if later else []
    if answered:
        ids = {m.tool_call_id for m in answered}
        calls = tuple(call for call in calls if call.id not in ids or not call.id)
    return Proposal(
        id=message_id(message, position),
        text=text_of(message),
        calls=calls,
        finish=finish,
        stop_reason=stop_reason(message.additional_kwargs, message.response_metadata),
        answered=tuple(observation_of(m) for m in answered),
        structured=structured,
        wants_structured=wants_structured,
    )


def steps_before(
    messages: Sequence[AnyMessage], position: int, depth: int
) -> tuple[Task, tuple[Step, ...]]:
    """The current task, and up to `depth` of its steps before the message at `position`.

    Goes on from where the last look at this history ended, where that message is still the very
    same object and only results have come since; else it reads the window again. So a result
    that a node shortens or clears later in the run counts as it was when it came.
    """
    if position >= len(messages):
        return _read_back(messages, position, depth)
    found = _gone_on(messages, position, depth) or _read_back(messages, position, depth)
    first = messages[0].id
    if first:
        _tails.put(first, (position, weakref.ref(messages[position]), depth, *found))
    return found


def _gone_on(
    messages: Sequence[AnyMessage], position: int, depth: int
) -> tuple[Task, tuple[Step, ...]] | None:
    first = messages[0].id
    known = _tails.get(first) if first else None
    if known is None:
        return None
    at, last, before_depth, task, steps = known
    if not depth or at >= position or before_depth != depth or messages[at] is not last():
        return None
    results: list[ToolMessage] = []
    for place in range(position - 1, at, -1):
        message: Any = messages[place]
        if message.type in _TOOL:
            results.append(message)
        elif message.type not in _HUMAN or not is_own(message):
            return None
    newest: Any = messages[at]
    return task, (*steps, _known_step(newest, at, results))[-depth:]


def _read_back(
    messages: Sequence[AnyMessage], position: int, depth: int
) -> tuple[Task, tuple[Step, ...]]:
    steps: list[Step] = []
    results: list[ToolMessage] = []
    at = position - 1
    while at >= 0 and len(steps) < depth:
        message: Any = messages[at]
        kind = message.type
        if kind in _TOOL:
            results.append(message)
        elif kind in _AI:
            if not is_own(message):
                steps.append(_known_step(message, at, results))
            results = []
        elif kind in _HUMAN and not is_own(message):
            break
        at -= 1
    steps.reverse()
    return _task(messages, at), tuple(steps)


def _known_step(message: AIMessage, position: int, results: Sequence[ToolMessage]) -> Step:
    """The step of a message, built once for as long as LangGraph keeps the same objects."""
    key = message.id
    known = _steps.get(key) if key else None
    step: Step
    if known is not None:
        own, seen, step = known
        if own() is message and len(seen) == len(results):
            for old, new in zip(seen, results, strict=True):
                if old() is not new:
                    break
            else:
                return step
    found: dict[str, Observation] = {}
    for result in results:
        found.setdefault(result.tool_call_id, observation_of(result))
    step = _step(message, position, found)
    if key:
        _steps.put(key, (weakref.ref(message), tuple(map(weakref.ref, results)), step))
    return step


def _step(message: AIMessage, position: int, results: Mapping[str, Observation]) -> Step:
    calls = calls_of(message)
    return Step(
        id=message_id(message, position),
        text=text_of(message),
        calls=calls,
        observations=tuple(results[call.id] for call in calls if call.id in results),
    )


def opening(messages: Sequence[AnyMessage], before: int) -> int | None:
    """The position of the user message that opened the task, at or before `before`.

    Where it was is remembered by the very objects, so an edited history is read again.
    """
    if before < 0:
        return None
    first = messages[0].id
    known = _openings.get(first) if first else None
    if known is not None:
        position, opened, upto, read = known
        if position <= before and messages[position] is opened():
            goes_on = upto <= before and messages[upto] is read()
            newer = _scan(messages, before, upto if goes_on else position)
            return _remember(messages, position if newer is None else newer, before)
    found = _scan(messages, before, -1)
    return None if found is None else _remember(messages, found, before)


def _scan(messages: Sequence[AnyMessage], start: int, stop: int) -> int | None:
    for position in range(start, stop, -1):
        message = messages[position]
        if message.type in _HUMAN and not is_own(message):
            return position
    return None


def _remember(messages: Sequence[AnyMessage], position: int, upto: int) -> int:
    first = messages[0].id
    if first:
        opened, read = weakref.ref(messages[position]), weakref.ref(messages[upto])
        _openings.put(first, (position, opened, upto, read))
    return position


def _task(messages: Sequence[AnyMessage], at: int) -> Task:
    position = opening(messages, at)
    if position is None:
        return Task()
    text = [text_of(messages[position])]
    for earlier in range(position - 1, max(position - 4, -1), -1):
        message = messages[earlier]
        if not isinstance(message, HumanMessage) or is_own(message):
            break
        text.insert(0, text_of(message))
    return Task(message_id(messages[position], position), "\n".join(text))


def task_at(messages: Sequence[AnyMessage]) -> Task:
    """The task that the newest message belongs to."""
    return _task(messages, len(messages) - 1)
