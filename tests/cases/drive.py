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
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langgraph.graph.state import CompiledStateGraph

from cases.loader import CaseError
from cases.observe import Record
from cases.savers import fitting, opened
from cases.tools import Workshop
from sentry_langgraph import with_sentry
from sentry_langgraph.playbook import MemoryPlaybook, Playbook, PlaybookOptions
from sentry_langgraph.testing import ScriptedChatModel

Graph = CompiledStateGraph[Any, Any, Any, Any]
MakeGraph = Callable[[ScriptedChatModel, Workshop, Any], Graph]
"""Builds the agent from model, tools and checkpointer, without Sentry."""

BOTH = ("sync", "async")
ASYNC = ("async",)


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
        saver: The name of the checkpointer.
        playbook: Lessons to start with; by default a new store in memory.
        stored: Messages that stand in the thread before the run, as written by the agent node.
        waits_at: Where the thread then has to wait.
        on_end: What the model does when its script has ended.
        wrapped: Whether Sentry is there.
        extra: What the record notes besides.
    """

    name: str
    make: MakeGraph
    script: Sequence[Any]
    inputs: Sequence[Any]
    settings: Mapping[str, Any]
    rules: Sequence[Any] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    saver: str | None = "InMemorySaver"
    playbook: Playbook | None = None
    stored: Sequence[AnyMessage] = ()
    waits_at: Sequence[str] | None = None
    on_end: Any = "raise"
    wrapped: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


class Listener(BaseCallbackHandler):
    """Keeps Sentry's custom events."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Keep what Sentry reports."""
        if name == "sentry":
            self.events.append(data)


def fresh_playbook() -> MemoryPlaybook:
    """An empty store of lessons."""
    return MemoryPlaybook(PlaybookOptions(kind="memory", embeddings="hashed"))


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


def run(scenario: Scenario, mode: str = "sync") -> Record:
    """Make the run.

    Args:
        scenario: What to run.
        mode: `sync`, `async`, `stream`, `astream`, or `parallel` (two threads at once).
    """
    return asyncio.run(_run(scenario, mode))


async def _run(scenario: Scenario, mode: str) -> Record:
    workshop = Workshop()
    script = list(scenario.script)
    model = ScriptedChatModel(
        script=[_next_of(script)] * 2 * len(script) if mode == "parallel" else script,
        rules=tuple(scenario.rules),
        on_end=scenario.on_end,
    )
    store = scenario.playbook or fresh_playbook()
    listener = Listener()
    asynchronous = mode not in ("sync", "stream")
    async with opened(fitting(scenario.saver, asynchronous=asynchronous)) as saver:
        with captured() as logs:
            graph = scenario.make(model, workshop, saver)
            if scenario.wrapped:
                graph = with_sentry(graph, dict(scenario.settings), playbook=store)
            config = _config(scenario, listener)
            started = time.monotonic()
            if scenario.stored:
                await _store(graph, scenario, config, asynchronous)
            outputs: list[Any] = []
            errors: list[BaseException] = []
            ledgers: list[list[dict[str, Any]]] = []
            for given in scenario.inputs:
                try:
                    outputs.append(await _invoke(graph, given, config, mode))
                except Exception as raised:
                    errors.append(raised)
                if saver is not None:
                    values = await _values(graph, config, asynchronous)
                    ledgers.append(list(values.get("sentry") or ()))
            seconds = time.monotonic() - started
            output = outputs[-1] if outputs else None
            values = (
                dict(output or {}) if saver is None else await _values(graph, config, asynchronous)
            )
    return Record(
        name=scenario.name,
        mode=mode,
        tool_runs=tuple(workshop.runs),
        requests=tuple(tuple(request) for request in model.requests),
        produced=tuple(model.produced.values()),
        events=tuple(values.get("sentry") or ()),
        values=values,
        output=output,
        error=errors[-1] if errors else None,
        logs=tuple(logs),
        seen=tuple(listener.events),
        lessons=tuple(store.find()),
        seconds=seconds,
        extra={
            **scenario.extra,
            "errors": errors,
            "ledgers": ledgers,
            "left": len(model.script) - model.position,
        },
    )


def _next_of(script: Sequence[Any]) -> Callable[[list[BaseMessage]], Any]:
    """What comes next on the thread that asks: two threads at once share no position."""

    def respond(messages: list[BaseMessage]) -> Any:
        said = script[sum(isinstance(message, AIMessage) for message in messages)]
        return said.model_copy(update={"id": None}) if isinstance(said, AIMessage) else said

    return respond


async def _values(graph: Graph, config: Any, asynchronous: bool) -> dict[str, Any]:
    state = await graph.aget_state(config) if asynchronous else graph.get_state(config)
    return dict(state.values)


async def _store(graph: Graph, scenario: Scenario, config: Any, asynchronous: bool) -> None:
    """Put the stored messages into the thread.

    Raises:
        CaseError: The thread does not wait where the case says.
    """
    update = {"messages": list(scenario.stored)}
    if asynchronous:
        await graph.aupdate_state(config, update, as_node="agent")
        waiting = (await graph.aget_state(config)).next
    else:
        graph.update_state(config, update, as_node="agent")
        waiting = graph.get_state(config).next
    if scenario.waits_at is not None and list(waiting) != list(scenario.waits_at):
        raise CaseError(f"the thread waits at {waiting}, not at {scenario.waits_at}")


async def _invoke(graph: Graph, given: Any, config: Any, mode: str) -> Any:
    match mode:
        case "sync":
            return await asyncio.to_thread(graph.invoke, given, config)
        case "async":
            return await graph.ainvoke(given, config)
        case "stream":
            return await asyncio.to_thread(
                lambda: list(graph.stream(given, config, stream_mode="values"))[-1]
            )
        case "astream":
            stream = graph.astream(given, config, stream_mode="values")
            return [values async for values in stream][-1]
        case "parallel":
            other = {
                **config,
                "configurable": {**config["configurable"], "thread_id": "another thread"},
            }
            both = await asyncio.gather(graph.ainvoke(given, config), graph.ainvoke(given, other))
            return both[0]
    raise ValueError(mode)


def _config(scenario: Scenario, listener: Listener) -> dict[str, Any]:
    given = dict(scenario.config)
    return {
        **given,
        "callbacks": [*given.get("callbacks", ()), listener],
        "configurable": {"thread_id": "case", **given.get("configurable", {})},
    }
