"""LangChain messages as the passages that provenance looks at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AnyMessage

from sentry_langgraph.graph.messages import calls_of, is_own, message_id, observation_of, text_of
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Observation


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

    return Provenance(passages)


def _newest_first(messages: Sequence[AnyMessage], position: int) -> Iterator[Passage]:
    results: dict[str, tuple[str, Observation]] = {}
    for place in range(position - 1, -1, -1):
        message: Any = messages[place]
        if is_own(message):
            continue
        if message.type == "tool":
            results[message.tool_call_id] = (text_of(message), observation_of(message))
        elif message.type in ("ai", "AIMessageChunk"):
            yield from _step(message, message_id(message, place), results)
            results = {}
        elif message.type in ("human", "system", "HumanMessageChunk", "SystemMessageChunk"):
            yield Passage("told", text_of(message), step=message_id(message, place))


def _step(message: Any, id_: str, results: dict[str, tuple[str, Observation]]) -> Iterator[Passage]:
    for call in reversed(calls_of(message)):
        if call.id not in results:
            continue
        text, seen = results[call.id]
        failed = seen.status == "error"
        yield Passage("result", text, call.name, failed, id_)
        if not failed and call.args:
            yield Passage("given", json.dumps(call.args, default=str), call.name, False, id_)
