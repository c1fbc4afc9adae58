"""Running a graph with a scripted model, and writing down what happened."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from cases.observe import Record
from cases.tools import Workshop
from sentry_langgraph import with_sentry
from sentry_langgraph.playbook import MemoryPlaybook, Playbook
from sentry_langgraph.testing import ScriptedChatModel

Graph = CompiledStateGraph[Any, Any, Any, Any]
MakeGraph = Callable[[ScriptedChatModel, Workshop, Any], Graph]
"""Builds the agent from model, tools and checkpointer, without Sentry."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run to make.

    Attributes:
        name: Which run of the case it is.
        make: Builds the agent.
        script: What the model says.
        inputs: The inputs, one for each invocation; None resumes.
        settings: Sentry's configuration.
        rules: What the model refuses.
        config: The config of each invocation.
        playbook: Lessons to start with; by default a new store in memory.
        prepare: Puts something into the thread before the run.
        checkpointer: Makes the checkpointer.
    """

    name: str
    make: MakeGraph
    script: Sequence[Any]
    inputs: Sequence[Any]
    settings: Mapping[str, Any]
    rules: Sequence[Any] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    playbook: Playbook | None = None
    prepare: Callable[[Graph, dict[str, Any]], None] | None = None
    checkpointer: Callable[[], Any] = InMemorySaver
    on_end: Any = "raise"
    workshop: Workshop = field(default_factory=Workshop)
    wrapped: bool = True


class Listener(BaseCallbackHandler):
    """Keeps Sentry's custom events."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Keep what Sentry reports."""
        if name == "sentry":
            self.events.append(data)


@contextmanager
def captured() -> Iterator[list[tuple[str, str, str]]]:
    """Every log record from INFO on, as level, logger and text."""
    kept: list[tuple[str, str, str]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append((record.levelname, record.name, record.getMessage()))

    handler = Keep(level=logging.INFO)
    root, own = logging.getLogger(), logging.getLogger("sentry_langgraph")
    before = own.level
    root.addHandler(handler)
    own.setLevel(logging.INFO)
    try:
        yield kept
    finally:
        root.removeHandler(handler)
        own.setLevel(before)


def run_sync(scenario: Scenario) -> Record:
    """The scenario through `invoke`."""
    return asyncio.run(_run(scenario, asynchronous=False))


def run_async(scenario: Scenario) -> Record:
    """The scenario through `ainvoke`."""
    return asyncio.run(_run(scenario, asynchronous=True))


async def _run(scenario: Scenario, *, asynchronous: bool) -> Record:
    workshop = scenario.workshop
    model = ScriptedChatModel(
        script=list(scenario.script), rules=tuple(scenario.rules), on_end=scenario.on_end
    )
    store = scenario.playbook or MemoryPlaybook()
    listener = Listener()
    with captured() as logs:
        bare = scenario.make(model, workshop, scenario.checkpointer())
        graph = (
            with_sentry(bare, dict(scenario.settings), playbook=store)
            if scenario.wrapped
            else bare
        )
        config = _config(scenario, listener)
        started = time.monotonic()
        if scenario.prepare is not None:
            scenario.prepare(graph, config)
        output: Any = None
        error: BaseException | None = None
        for given in scenario.inputs:
            try:
                if asynchronous:
                    output = await graph.ainvoke(given, config)
                else:
                    output = await asyncio.to_thread(graph.invoke, given, config)
            except Exception as raised:
                error = raised
        seconds = time.monotonic() - started
        values = graph.get_state(config).values if graph.checkpointer else dict(output or {})
    return Record(
        name=scenario.name,
        mode="async" if asynchronous else "sync",
        tool_runs=tuple(workshop.runs),
        requests=tuple(tuple(request) for request in model.requests),
        produced=tuple(model.produced.values()),
        events=tuple(values.get("sentry") or ()),
        values=values,
        output=output,
        error=error,
        logs=tuple(logs),
        seen=tuple(listener.events),
        lessons=tuple(store.find()),
        seconds=seconds,
    )


def _config(scenario: Scenario, listener: Listener) -> dict[str, Any]:
    given = dict(scenario.config)
    return {
        **given,
        "callbacks": [*given.get("callbacks", ()), listener],
        "configurable": {"thread_id": "case", **given.get("configurable", {})},
    }
