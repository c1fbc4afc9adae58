"""LangChain messages as the passages that provenance looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AnyMessage

from sentry_langgraph.graph.messages import Memo, is_own, message_id, text_of
from sentry_langgraph.provenance import Passage, Provenance, written
from sentry_langgraph.records import reads_as_error
from sentry_langgraph.values import Sought

_AI = frozenset({"ai", "AIMessageChunk"})
_TOOL = frozenset({"tool", "ToolMessageChunk"})
_TOLD = frozenset({"human", "HumanMessageChunk", "system", "SystemMessageChunk", "chat"})

_places = Memo(256)
"""Where values were found, by the id of a history's first message. Hints only: see
`Provenance.places`."""


def provenance_of(
    messages: Sequence[AnyMessage], position: int, instructions: Sequence[str] = ()
) -> Provenance:
    """What the agent was told and saw before the message at `position`.

    Args:
        messages: The history.
        position: Where the newest message of the agent stands.
        instructions: Texts that the model is given outside of the messages.
    """

    def passages() -> Iterator[Passage]:
        yield from _newest_first(messages, position)
        for text in instructions:
            yield Passage("told", text)

    def holds(place: int, wanted: Sought) -> bool:
        if not 0 <= place < position:
            return False
        message: Any = messages[place]
        if is_own(message):
            return False
        if message.type in _AI:
            return _worked_with(messages, place, position, wanted)
        text = text_of(message)
        if not wanted.stands_in(text):
            return False
        return message.type in _TOLD or (message.type in _TOOL and not _failed(message, text))

    return Provenance(passages, holds, _remembered(messages))


def _remembered(messages: Sequence[AnyMessage]) -> dict[str, int]:
    first = messages[0].id if messages else None
    if not first:
        return {}
    known: dict[str, int] | None = _places.get(first)
    if known is None:
        known = {}
        _places.put(first, known)
    return known


def _worked_with(messages: Sequence[AnyMessage], place: int, position: int, wanted: Sought) -> bool:
    """Whether a call of the message at `place` was given a value and worked."""
    message: Any = messages[place]
    asked = [c.get("id") for c in message.tool_calls if wanted.stands_in(_written(c))]
    for after in range(place + 1, position) if asked else ():
        result: Any = messages[after]
        if result.type in _AI:
            break
        if result.type in _TOOL and result.tool_call_id in asked and not is_own(result):
            return not _failed(result, text_of(result))
    return False


def _failed(message: Any, text: str) -> bool:
    return message.status == "error" or reads_as_error(text)


def _newest_first(messages: Sequence[AnyMessage], position: int) -> Iterator[Passage]:
    results: dict[str, tuple[Any, int]] = {}
    for place in range(position - 1, -1, -1):
        message: Any = messages[place]
        kind = message.type
        if is_own(message):
            continue
        if kind in _TOOL:
            results[message.tool_call_id] = (message, place)
        elif kind in _AI:
            yield from _step(message, place, results)
            results = {}
        elif kind in _TOLD:
            user = not kind.lower().startswith("system")
            step = message_id(message, place)
            yield Passage("told", text_of(message), step=step, place=place, user=user)


def _step(message: Any, place: int, results: dict[str, tuple[Any, int]]) -> Iterator[Passage]:
    step = message_id(message, place)
    for call in reversed(message.tool_calls):
        found = results.get(call.get("id") or "")
        if found is None:
            continue
        result, at = found
        text = text_of(result)
        name = call.get("name") or ""
        if _failed(result, text):
            # not remembered as a place: what a failed call asked for is only known here
            yield Passage("result", text, name, True, step, asked=_written(call))
            continue
        yield Passage("result", text, name, False, step, at)
        if call.get("args"):
            yield Passage("given", _written(call), name, False, step, place)


def _written(call: Any) -> str:
    return written(call.get("args"))
