"""Histories that a provider would refuse: a call without its result, a result without a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from sentry_langgraph.graph.messages import MARK, calls_of, message_id
from sentry_langgraph.graph.rewrite import normalised, rewrite
from sentry_langgraph.records import ToolCall
from sentry_langgraph.repair.templates import INTERRUPTED
from sentry_langgraph.taxonomy import Label


@dataclass(frozen=True, slots=True)
class Break:
    """One place where calls and results don't match.

    Attributes:
        message: The id of the message of the agent, or of the orphaned result.
        tools: Names of the tools concerned.
        orphan: Whether it is a result without a call.
    """

    message: str
    tools: tuple[str, ...]
    orphan: bool


def is_broken(messages: Sequence[AnyMessage], start: int = 0) -> bool:
    """Whether a provider would refuse the history from `start` on."""
    waiting: Counter[str] = Counter()
    for position in range(start, len(messages)):
        message = messages[position]
        if isinstance(message, ToolMessage):
            if not waiting[message.tool_call_id]:
                return True
            waiting[message.tool_call_id] -= 1
            continue
        if waiting.total():
            return True
        if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
            waiting = Counter(call.id for call in calls_of(message))
            if "" in waiting or len(waiting) < waiting.total():
                return True
    return bool(waiting.total())


def heal(messages: Sequence[AnyMessage]) -> tuple[list[AnyMessage], list[Break]]:
    """The history with every call answered right after it and no orphaned result.

    Real results are kept and moved to their calls; calls without one are answered by an error
    that says they did not run. Calls without an id of their own get one, with their result.
    Nothing is called again.
    """
    healed: list[AnyMessage] = []
    breaks: list[Break] = []
    used: set[int] = set()
    for position, message in enumerate(messages):
        if position in used:
            continue
        if isinstance(message, ToolMessage):
            breaks.append(Break(message_id(message, position), (message.name or "?",), True))
        elif isinstance(message, AIMessage) and (calls := calls_of(message)):
            name = message_id(message, position)
            fixed = normalised(calls, name)
            own_ids = all(old.id == new.id for old, new in zip(calls, fixed, strict=True))
            healed.append(message if own_ids else rewrite(message, fixed))
            lost = []
            for call, new in zip(calls, fixed, strict=True):
                found = _result(messages, position, call.id, used)
                if found is None:
                    lost.append(call.name)
                    healed.append(_interrupted(name, new))
                else:
                    used.add(found)
                    healed.append(_renamed(messages[found], new.id))
            if lost:
                breaks.append(Break(name, tuple(lost), False))
        else:
            healed.append(message)
    return healed, breaks


def _renamed(result: AnyMessage, call_id: str) -> AnyMessage:
    if isinstance(result, ToolMessage) and result.tool_call_id != call_id:
        return result.model_copy(update={"tool_call_id": call_id})
    return result


def _result(
    messages: Sequence[AnyMessage], position: int, call_id: str, used: set[int]
) -> int | None:
    """The result of a call: the first one before another message makes the same call id."""
    for at in range(position + 1, len(messages)):
        message = messages[at]
        if isinstance(message, ToolMessage):
            if message.tool_call_id == call_id and at not in used:
                return at
        elif isinstance(message, AIMessage) and any(
            call.id == call_id for call in calls_of(message)
        ):
            return None
    return None


def _interrupted(message: str, call: ToolCall) -> ToolMessage:
    return ToolMessage(
        INTERRUPTED,
        tool_call_id=call.id,
        name=call.name,
        status="error",
        id=f"sentry-heal-{message}-{call.index}",
        additional_kwargs={MARK: {"label": Label.UNANSWERED_CALL.value}},
    )
