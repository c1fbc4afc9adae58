"""Runs a graph turn by turn, and collects what Sentry puts into the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from sentry_langgraph.demo.agents import AnyGraph
from sentry_langgraph.demo.meter import Cost, Meter
from sentry_langgraph.graph.report import SentryReport, sentry_report
from sentry_langgraph.testing.messages import is_guidance


@dataclass(slots=True)
class Watch:
    """One thread of one graph.

    Attributes:
        graph: The graph, which has a checkpointer.
        thread: The thread's id.
        injected: What Sentry said, by the id of the agent's message that it answers.
        stop: The message with which Sentry ended the run.
    """

    graph: AnyGraph
    thread: str
    injected: dict[str, list[str]] = field(default_factory=dict)
    stop: AIMessage | None = None
    _meter: Meter = field(default_factory=Meter)

    @property
    def config(self) -> RunnableConfig:
        """The config of the thread."""
        return {"configurable": {"thread_id": self.thread}, "callbacks": [self._meter]}

    def say(self, text: str) -> None:
        """One turn: the user says `text`, and the graph runs until it ends."""
        newest = ""
        turn = {"messages": [HumanMessage(text)]}
        # a checkpoint at the end of the turn is enough for a report
        for update in self.graph.stream(
            turn, self.config, stream_mode="updates", durability="exit"
        ):
            for message in _messages(update):
                if isinstance(message, AIMessage):
                    if "sentry" in message.additional_kwargs:
                        self.stop = message
                    else:
                        newest = str(message.id)
                elif is_guidance(message) and message.text:
                    self.injected.setdefault(newest, []).append(str(message.text))

    @property
    def messages(self) -> list[BaseMessage]:
        """The conversation so far."""
        return list(self.graph.get_state(self.config).values.get("messages", ()))

    def cost(self) -> Cost:
        """What it has cost so far."""
        step = (self.graph.get_state(self.config).metadata or {}).get("step", 0)
        return self._meter.cost(int(step))

    def report(self) -> SentryReport:
        """What Sentry saw and did."""
        return sentry_report(self.graph, self.config)


def _messages(update: Any) -> Iterator[BaseMessage]:
    for change in (update or {}).values():
        changes = change if isinstance(change, list) else [change]
        for one in changes:
            written: Any = one.get("messages") if isinstance(one, dict) else None
            for message in written if isinstance(written, list) else [written]:
                if isinstance(message, BaseMessage):
                    yield message
