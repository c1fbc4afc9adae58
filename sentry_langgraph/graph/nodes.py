"""Sentry's nodes. They run only when there is something to do.

What they do was decided in the edge; a node looks lessons up, writes lessons down, and puts
messages and events into the state. One body serves sync and async: the async node runs it in a
worker thread, because the playbook does I/O. A body that asks a language model is a generator of
calls, so that an async node waits for the model without a thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.types import Command, interrupt

from sentry_langgraph import ledger
from sentry_langgraph.graph.internals import has_checkpointer, routing_callable
from sentry_langgraph.graph.judging import Judging
from sentry_langgraph.graph.scene import Guard
from sentry_langgraph.graph.sends import guidance, refusal
from sentry_langgraph.graph.state import CHANNEL
from sentry_langgraph.judge import Flow, Judges, adrive, drive
from sentry_langgraph.playbook.port import Playbook
from sentry_langgraph.recall import count_outcome, find_lessons, store_lesson
from sentry_langgraph.records import (
    Event,
    Finding,
    Lesson,
    Task,
)
from sentry_langgraph.repair import compose, remembered
from sentry_langgraph.repair.templates import NOT_RUN_WHOLE_BATCH
from sentry_langgraph.taxonomy import Strategy, Verdict

logger = logging.getLogger("sentry_langgraph")

EVENT_NAME = "sentry"
"""Name of the custom event that callbacks and `astream_events` receive."""

Body = Callable[[dict[str, Any], RunnableConfig], Command[Any]]
Asking = Callable[[dict[str, Any], RunnableConfig], Flow[Command[Any]]]


class Nodes:
    """The bodies of Sentry's nodes for one graph.

    Args:
        gates: The guarded loops, by the name of their router.
        playbook: Where lessons lie, or None.
        messages_key: The state's key of the messages.
        judges: The language models that are asked, or None.
    """

    def __init__(
        self,
        gates: Mapping[str, Guard],
        playbook: Playbook | None,
        messages_key: str,
        judges: Judges | None = None,
    ) -> None:
        self._gates = gates
        self._playbook = playbook
        self._key = messages_key
        self._judging = Judging(gates, playbook, judges)

    def runnable(self, body: Body, name: str) -> Runnable[Any, Any]:
        """A node from one body, for sync and async runs. Events go to the callbacks."""

        async def acall(payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
            return await asyncio.to_thread(body, payload, config)

        return self._reporting(body, acall, name)

    def asking(self, body: Asking, name: str) -> Runnable[Any, Any]:
        """As `runnable`, for a body that asks a language model."""

        def call(payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
            return drive(body(payload, config), config)

        async def acall(payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
            return await adrive(body(payload, config), config)

        return self._reporting(call, acall, name)

    def _reporting(
        self,
        call: Body,
        acall: Callable[[dict[str, Any], RunnableConfig], Awaitable[Command[Any]]],
        name: str,
    ) -> Runnable[Any, Any]:
        def run(payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
            command = call(payload, config)
            for event in _events(command):
                _log(event)
                try:
                    dispatch_custom_event(EVENT_NAME, event, config=config)
                except Exception:  # a handler's fault, or no run to report to
                    logger.debug("the event %s reached no callback", event["id"], exc_info=True)
            return command

        async def arun(payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
            command = await acall(payload, config)
            for event in _events(command):
                _log(event)
                try:
                    await adispatch_custom_event(EVENT_NAME, event, config=config)
                except Exception:
                    logger.debug("the event %s reached no callback", event["id"], exc_info=True)
            return command

        return routing_callable(run, arun, name)

    def hard(self, payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
        """Answer the calls that can't run."""
        return self._command(
            [*_forget(payload.get("removed", ())), *payload["messages"]],
            payload["events"],
            payload["goto"],
        )

    def soft(self, payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
        """Give guidance with the lessons that match this failure, or the reminder of a plan."""
        if "finding" not in payload:
            return self.hard(payload, config)
        started = time.perf_counter()
        gate = self._gates[payload["loop"]]
        options = gate.pipeline.repair
        finding = Finding.from_dict(payload["finding"])
        task = Task(**payload["task"])
        events: list[Event] = list(payload["events"])
        lessons, fault = find_lessons(
            self._playbook,
            finding,
            gate.catalog,
            wanted=options.max_lessons,
            agent=gate.loop.router,
            model=payload.get("model"),
        )
        if fault is not None:
            events.append(ledger.notice("fault:playbook", task, finding.step, error=fault))
        finding = remembered(finding, lessons, gate.catalog)
        text = compose(finding, gate.catalog, task, lessons=lessons, max_chars=options.max_chars)
        messages: list[AnyMessage] = []
        if payload["answers"]:
            last = payload["answers"][-1]
            messages += [
                refusal(
                    call["id"],
                    call["name"],
                    finding.step,
                    text if call is last else NOT_RUN_WHOLE_BATCH,
                    finding,
                )
                for call in payload["answers"]
            ]
        else:
            messages.append(guidance(finding, finding.step, text))
        events.append(
            ledger.repair(
                finding,
                task,
                Strategy.HOLD if payload["hold"] else Strategy.ADVISE,
                lessons=[scored.lesson.id for scored in lessons],
                # guidance at a wish to finish stays: it parts two messages of the assistant
                messages=[] if payload["hold"] else [message.id or "" for message in messages],
                removed=payload["removed"],
                tokens=len(text) // 4,
                seconds=time.perf_counter() - started,
                **payload["context"],
            )
        )
        return self._command([*_forget(payload["removed"]), *messages], events, payload["goto"])

    def verify(self, payload: dict[str, Any], config: RunnableConfig) -> Flow[Command[Any]]:
        """Write verdicts down, count the lessons that were shown, and learn."""
        events: list[Event] = yield from self._judging.reviewed(payload, config)
        events += payload["events"]
        for outcome in payload.get("outcomes", ()):
            count_outcome(
                self._playbook,
                outcome["ids"],
                Verdict(outcome["verdict"]),
                payload["context"]["at"],
            )
        for learned in payload.get("lessons", ()):
            lesson = Lesson.from_dict(learned["lesson"])
            lesson, wording = yield from self._judging.worded(lesson, payload, events)
            stored = store_lesson(self._playbook, lesson)
            events.append(
                ledger.lesson(
                    lesson,
                    Task(**payload["task"]),
                    payload["step"],
                    stored=stored,
                    repair_id=learned["repair"],
                    **wording,
                    **payload["context"],
                )
            )
        return self._command(_forget(payload.get("removed", ())), events, None)

    def diagnose(self, payload: dict[str, Any], config: RunnableConfig) -> Flow[Command[Any]]:
        """Ask the judge, and give advice where it finds a failure."""
        events, advice = yield from self._judging.diagnosis(payload, config)
        if advice is None:
            return self._command([], events, payload["resume"] or None)
        return self.soft({**advice, "events": [*events, *advice["events"]]}, config)

    def escalate(self, payload: dict[str, Any], config: RunnableConfig) -> Command[Any]:
        """Ask a human where that was wanted and is possible, else end with a partial answer."""
        finding = Finding.from_dict(payload["finding"])
        task = Task(**payload["task"])
        decision: Any = "stop"
        if payload["human"] and has_checkpointer(config):
            decision = interrupt({"sentry": payload["question"]})
        choice, words = _decision(decision)
        events: list[Event] = list(payload["events"])
        if choice == "continue":
            events.append(ledger.escalation(finding, task, "continue", **payload["context"]))
            if words:
                messages: list[AnyMessage] = [
                    refusal(call["id"], call["name"], finding.step, words, finding)
                    for call in payload["answers"]
                ] or [guidance(finding, finding.step, words)]
                return self._command(messages, events, payload["entry"])
            return self._command([], events, payload["resume"])
        events.append(ledger.escalation(finding, task, "stopped", **payload["context"]))
        return self._command(payload["messages"], events, payload["goto"])

    def _command(
        self, messages: Sequence[BaseMessage], events: Sequence[Event], goto: Any
    ) -> Command[Any]:
        update: dict[str, Any] = {CHANNEL: list(events)}
        if messages:
            update[self._key] = list(messages)
        return Command(update=update, goto=goto if goto is not None else ())


def _decision(answer: Any) -> tuple[str, str]:
    """What a human's answer to an escalation says: the choice, and words for the agent."""
    if isinstance(answer, Mapping):
        words = str(answer.get("guidance") or "")
        return str(answer.get("decision") or ("continue" if words else "stop")), words
    if answer is True or answer == "continue":
        return "continue", ""
    if isinstance(answer, str) and answer != "stop":
        return "continue", answer
    return "stop", ""


def _forget(ids: Sequence[str]) -> list[BaseMessage]:
    """Messages that remove ours from the context.

    Each is put there first: a removal of an id that something else has already removed would
    raise and end the user's run.
    """
    gone: list[BaseMessage] = []
    for id_ in ids:
        gone += [HumanMessage("", id=id_, name="sentry"), RemoveMessage(id=id_)]
    return gone


def _events(command: Command[Any]) -> list[Event]:
    update = command.update
    return update[CHANNEL] if isinstance(update, dict) else []


def _log(event: Event) -> None:
    level = logging.DEBUG if event["kind"] in ("notice", "suppressed") else logging.INFO
    logger.log(
        level,
        "%s %s%s at %s",
        event["kind"],
        event.get("label") or event.get("what", ""),
        f" ({event['tool']})" if event.get("tool") else "",
        event["step"],
        extra={"sentry": event},
    )
