"""What a run costs: model calls, tool runs, graph steps and approximate tokens, measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took.

    Attributes:
        model_calls: Requests to the chat model.
        tool_runs: Tools that ran.
        graph_steps: Supersteps of the graph.
        tokens: Approximate tokens of all requests and replies, 4 characters each; without
            system prompt and tool schemas, which are the same with and without Sentry.
        seconds: Time on the clock.
    """

    model_calls: int = 0
    tool_runs: int = 0
    graph_steps: int = 0
    tokens: int = 0
    seconds: float = 0.0


class Meter(BaseCallbackHandler):
    """Counts while a graph runs. Pass it in `callbacks`."""

    def __init__(self) -> None:
        self._calls = 0
        self._tools = 0
        self._tokens = 0
        self._known: dict[str, tuple[int, int]] = {}
        self._started = time.perf_counter()

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        """Count a request."""
        self._calls += 1
        self._tokens += sum(self._size(one) for request in messages for one in request)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count a reply."""
        for generation in response.generations[0]:
            if isinstance(generation, ChatGeneration):
                self._tokens += self._size(generation.message)

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, **kwargs: Any) -> None:
        """Count a tool."""
        self._tools += 1

    def cost(self, graph_steps: int) -> Cost:
        """What was counted so far."""
        seconds = time.perf_counter() - self._started
        return Cost(self._calls, self._tools, graph_steps, self._tokens, round(seconds, 3))

    def _size(self, message: BaseMessage) -> int:
        """Tokens of a message; kept by id, since each request holds the earlier ones again."""
        if not message.id:
            return tokens([message])
        length, size = self._known.get(message.id, (-1, 0))
        if length != len(message.text):
            length, size = len(message.text), tokens([message])
            self._known[message.id] = length, size
        return size


def tokens(messages: Sequence[BaseMessage]) -> int:
    """Approximate tokens of messages."""
    return int(count_tokens_approximately(messages))
