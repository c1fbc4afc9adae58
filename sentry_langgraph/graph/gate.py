"""The gate: decides in the routing function, so that a healthy step costs nothing.

It reads the newest messages and the ledger, runs the pipeline, and returns the original
router's answer unread where nothing is wrong. Otherwise it adds destinations: Sentry's nodes,
in the same superstep as the tools wherever the flow allows. Everything that needs no I/O is
made here; the nodes write it down.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.types import Send

from sentry_langgraph import ledger
from sentry_langgraph.detect.signature import digest
from sentry_langgraph.graph.anatomy import PREFIX, Loop
from sentry_langgraph.graph.internals import read_channels, where
from sentry_langgraph.graph.messages import (
    MARK,
    calls_of,
    is_own,
    last_ai,
    proposal_of,
    steps_before,
    task_at,
)
from sentry_langgraph.graph.rewrite import needs_rewrite, normalised, rewrite
from sentry_langgraph.graph.state import CHANNEL
from sentry_langgraph.learn import Provenance, learn
from sentry_langgraph.pipeline import Outcome, Pipeline
from sentry_langgraph.records import (
    Catalog,
    Escalate,
    Event,
    Execute,
    Finding,
    HardRepair,
    Remind,
    SoftRepair,
    Suppress,
    Task,
    ToolCall,
    Trajectory,
    Verify,
)
from sentry_langgraph.repair import compose, partial_answer, remind
from sentry_langgraph.repair.templates import NOT_RUN_STOPPED, NOT_RUN_WHOLE_BATCH
from sentry_langgraph.taxonomy import Strategy, Verdict

logger = logging.getLogger("sentry_langgraph")

HARD = f"{PREFIX}hard_repair"
SOFT = f"{PREFIX}soft_repair"
VERIFY = f"{PREFIX}verify"
ESCALATE = f"{PREFIX}escalate"
HEAL = f"{PREFIX}heal"

REMINDER = "reminder"
"""Failure key under which reminders of held actions are kept in the ledger."""

Destination: TypeAlias = Any
"""What a router returns for one destination: a label, a node name or a `Send`."""

Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Scene:
    """Everything that one decision of the gate looks at."""

    messages: Sequence[AnyMessage]
    message: AIMessage
    trajectory: Trajectory
    destinations: tuple[Destination, ...]
    context: dict[str, Any]

    @property
    def task(self) -> Task:
        return self.trajectory.task

    @property
    def step(self) -> str:
        return self.trajectory.proposal.id


@dataclass(frozen=True, slots=True)
class Gate:
    """Guards one agent loop.

    Attributes:
        loop: Where it stands in the graph.
        pipeline: The stages.
        catalog: The tools of this loop.
        messages_key: The state's key of the messages.
        wants_structured: Whether the agent owes a structured answer.
        splittable: Tool nodes that can take a part of a batch.
        heal: The healing node before the model.
        replaces: Whether the messages' reducer replaces a message by its id and can remove one.
        owner: Whose lessons are learned.
        clock: The time.
    """

    loop: Loop
    pipeline: Pipeline
    catalog: Catalog
    messages_key: str = "messages"
    wants_structured: bool = False
    splittable: frozenset[str] = frozenset()
    heal: str = HEAL
    replaces: bool = True
    owner: str | None = None
    clock: Clock = utc_now

    def __call__(
        self,
        state: Any,
        result: Any,
        config: RunnableConfig,
        ends: Mapping[Any, str] | None = None,
        messages: Sequence[AnyMessage] | None = None,
    ) -> Any:
        """The router's `result`, or other destinations where something has to be done.

        Args:
            state: What the router read.
            result: What the router returned.
            config: The config of the running step.
            ends: The router's map from labels to nodes.
            messages: The messages, where `state` doesn't hold the newest.
        """
        try:
            scene = self._scene(state, result, config, ends, messages)
            if scene is None:
                return result
            outcome = self.pipeline.decide(scene.trajectory)
            return result if outcome.healthy else self._act(scene, outcome, ends)
        except Exception as error:  # our own fault must never be the user's
            logger.exception("the gate of %r failed open", self.loop.router)
            return self._record_fault(state, result, error, messages)

    def refuses(self, state: Any, config: RunnableConfig) -> list[Send] | None:
        """The hard repair of a message none of whose calls can run, before any hook sees it.

        A person should not be asked to approve a call that the gate refuses.
        """
        try:
            scene = self._scene(state, self.loop.tools[0], config, None, None)
            if scene is None or not scene.trajectory.proposal.calls:
                return None
            if self.pipeline.mode != "active":
                return None
            outcome = self.pipeline.decide(scene.trajectory)
            hard = [one for one in outcome.decisions if isinstance(one, HardRepair)]
            if not hard or hard[0].good:
                return None
            return [one for one in self._act(scene, outcome, None) if isinstance(one, Send)]
        except Exception:
            logger.exception("the gate before the hooks of %r failed open", self.loop.router)
            return None

    # Reading

    def _scene(
        self,
        state: Any,
        result: Any,
        config: RunnableConfig,
        ends: Mapping[Any, str] | None,
        messages: Sequence[AnyMessage] | None,
    ) -> _Scene | None:
        if messages is None:
            messages = get(state, self.messages_key) or ()
        position = last_ai(messages)
        if position is None:
            return None
        message = messages[position]
        if is_own(message) or (
            position + 1 < len(messages)
            and any(isinstance(later, HumanMessage) for later in messages[position + 1 :])
        ):
            return None
        destinations = tuple(result) if isinstance(result, list | tuple) else (result,)
        targets = {_target(one, ends) for one in destinations}
        runs_tools = not targets.isdisjoint(self.loop.tools)
        finish = not runs_tools and targets <= self.loop.exits
        proposal = proposal_of(
            messages,
            position,
            finish=finish,
            structured=get(state, "structured_response") is not None,
            wants_structured=self.wants_structured,
        )
        if not runs_tools and any(call.args is not None for call in proposal.calls):
            # the router leaves calls aside on purpose: its own limit, or a call it serves itself
            return None
        events = read_channels(config, (CHANNEL,), fresh=False).get(CHANNEL) or ()
        depth = self.pipeline.depth if events else self.pipeline.window
        task, steps = steps_before(messages, position, depth)
        folded = ledger.fold(ledger.of_task(events, task.id)) if events else ledger.EMPTY
        assert isinstance(message, AIMessage)
        return _Scene(
            messages=messages,
            message=message,
            trajectory=Trajectory(task, steps, proposal, self.catalog, folded),
            destinations=destinations,
            context={"agent": self.loop.router, **where(config)},
        )

    # Acting

    def _act(
        self, scene: _Scene, outcome: Outcome, ends: Mapping[Any, str] | None
    ) -> list[Destination]:
        scene.context["at"] = self.clock().isoformat(timespec="seconds")
        recorded: list[Event] = [{**fault, **scene.context} for fault in outcome.faults]
        destinations = list(scene.destinations)
        sends: list[Send] = []
        verdicts: dict[str, Any] | None = None
        for decision in outcome.decisions:
            match decision:
                case Verify(judgements):
                    verdicts = self._verdicts(scene, judgements)
                case Suppress(finding, reason):
                    recorded.append(ledger.suppressed(finding, scene.task, reason, **scene.context))
                case HardRepair():
                    destinations, send = self._hard(scene, decision, destinations, ends)
                    sends.append(send)
                case SoftRepair(finding, hold):
                    held: frozenset[int] = frozenset()
                    if hold:
                        held, destinations = self._split(scene, finding.calls, destinations, ends)
                    sends.append(self._soft(scene, finding, hold, held))
                case Remind(owed):
                    sends.append(self._reminder(scene, owed))
                case Escalate(finding, human):
                    sends.append(self._escalate(scene, finding, human, destinations, ends))
                    destinations = []
                case Execute():
                    pass
        if verdicts is not None or recorded:
            payload = verdicts or {"events": [], "lessons": [], "outcomes": [], "removed": []}
            payload["events"] = [*payload["events"], *recorded]
            # first among ours: a verdict closes an old repair before a new one is counted
            sends.insert(0, Send(VERIFY, payload))
        return [*destinations, *sends]

    def _verdicts(self, scene: _Scene, judgements: Sequence[Any]) -> dict[str, Any]:
        events: list[Event] = []
        lessons: list[dict[str, Any]] = []
        outcomes: list[dict[str, Any]] = []
        removed: list[str] = []
        guidance = scene.trajectory.state.guidance
        owed = {repair.id for repair in scene.trajectory.state.owed}
        for judgement in judgements:
            gone: list[str] = []
            owed.discard(judgement.repair.id)
            if judgement.verdict is not Verdict.RELAPSED and self._cleans:
                gone += guidance.get(judgement.repair.key, ())
                gone += () if owed else guidance.get(REMINDER, ())
            events.append(
                ledger.verdict(judgement, scene.task, scene.step, removed=gone, **scene.context)
            )
            removed += gone
            if judgement.repair.lessons:
                outcomes.append(
                    {"ids": list(judgement.repair.lessons), "verdict": judgement.verdict.value}
                )
            learned = (
                learn(judgement, self.catalog, self._provenance(scene, judgement.repair.id))
                if self.pipeline.learn.enabled
                else None
            )
            if learned is not None:
                lessons.append({"lesson": learned.to_dict(), "repair": judgement.repair.id})
        return {
            "events": events,
            "lessons": lessons,
            "outcomes": outcomes,
            "removed": removed,
            "task": _task(scene.task),
            "step": scene.step,
            "context": scene.context,
        }

    @property
    def _cleans(self) -> bool:
        return self.replaces and self.pipeline.repair.cleanup == "after_recovery"

    def _provenance(self, scene: _Scene, repair: str) -> Provenance:
        return Provenance(
            at=scene.context["at"],
            agent=self.loop.router,
            thread_id=scene.context["thread_id"],
            checkpoint_id=scene.context["checkpoint_id"],
            checkpoint_ns=scene.context["checkpoint_ns"],
            model=_model_name(scene.message),
            owner=self.owner,
        )

    def _hard(
        self,
        scene: _Scene,
        repair: HardRepair,
        destinations: Sequence[Destination],
        ends: Mapping[Any, str] | None,
    ) -> tuple[list[Destination], Send]:
        bad, kept = self._split(scene, repair.bad, destinations, ends)
        calls = scene.trajectory.proposal.calls
        state = scene.trajectory.state
        attempt = state.hard_streak + 1
        options = self.pipeline.repair
        by_call = {index: finding for finding in repair.findings for index in finding.calls}
        fixed = normalised(calls, scene.step)
        messages: list[AnyMessage] = []
        if self.replaces and scene.message.id and needs_rewrite(calls, fixed):
            messages.append(self._rewritten(scene, fixed))
        else:
            fixed = calls
        answered = [call for call in fixed if call.index in bad]
        tokens = 0
        for call in answered:
            finding = by_call.get(call.index)
            text = NOT_RUN_WHOLE_BATCH
            if finding is not None:
                text = compose(
                    finding,
                    self.catalog,
                    scene.task,
                    attempt=attempt,
                    last_attempt=attempt > options.max_hard_attempts,
                    max_chars=options.max_chars,
                    with_request=call is answered[-1],
                )
            tokens += len(text) // 4
            messages.append(refusal(call.id, call.name, scene.step, text, finding))
        if not answered:
            finding = repair.findings[0]
            text = compose(
                finding,
                self.catalog,
                scene.task,
                attempt=attempt,
                last_attempt=attempt > options.max_hard_attempts,
                max_chars=options.max_chars,
            )
            tokens += len(text) // 4
            messages.append(guidance(finding, scene.step, text))
        events: list[Event] = []
        for position, finding in enumerate(repair.findings):
            events.append(ledger.failure(finding, scene.task, **scene.context))
            events.append(
                ledger.repair(
                    finding,
                    scene.task,
                    Strategy.HARD,
                    tokens=tokens if position == 0 else 0,
                    **scene.context,
                )
            )
        payload = {
            "messages": messages,
            "events": events,
            "goto": self._back,
        }
        return kept, Send(HARD, payload)

    def _rewritten(self, scene: _Scene, fixed: Sequence[ToolCall]) -> AIMessage:
        """The whole message rewritten: calls that already have a result stay as they are."""
        open_calls = {call.index: call for call in fixed}
        return rewrite(
            scene.message,
            [open_calls.get(call.index, call) for call in calls_of(scene.message)],
        )

    def _soft(self, scene: _Scene, finding: Finding, hold: bool, held: frozenset[int]) -> Send:
        calls = [call for call in scene.trajectory.proposal.calls if call.index in held]
        payload = {
            "finding": finding.to_dict(),
            "loop": self.loop.router,
            "task": _task(scene.task),
            "model": _model_name(scene.message),
            "hold": hold,
            "answers": [{"id": call.id, "name": call.name} for call in calls],
            "events": [ledger.failure(finding, scene.task, **scene.context)],
            "removed": self._previous(scene, finding),
            "context": scene.context,
            "goto": self._back if hold else None,
        }
        return Send(SOFT, payload)

    def _split(
        self,
        scene: _Scene,
        bad: Sequence[int],
        destinations: Sequence[Destination],
        ends: Mapping[Any, str] | None,
    ) -> tuple[frozenset[int], list[Destination]]:
        """The calls that don't run, and the destinations of the others.

        Where a tool node can't take a part of the batch, none of the batch runs.
        """
        calls = scene.trajectory.proposal.calls
        wanted = frozenset(bad) or frozenset(call.index for call in calls)
        good = [call for call in calls if call.index not in wanted]
        ids = [call.id for call in calls]
        unclear = len(set(ids)) < len(ids) or "" in ids
        tools = [one for one in destinations if _target(one, ends) in self.loop.tools]
        divisible = not unclear and all(self._divisible(one, ends) for one in tools)
        others = [
            one
            for one in destinations
            if (target := _target(one, ends)) not in self.loop.tools
            and target not in self.loop.exits
            and target != self.loop.entry
        ]
        if not good or not divisible:
            return frozenset(call.index for call in calls), others
        keep = {call.id for call in good}
        kept: list[Destination] = []
        for one in tools:
            if isinstance(one, Send):
                if _call_id(one.arg) in keep:
                    kept.append(one)
                continue
            raw = [dict(call) for call in scene.message.tool_calls if call["id"] in keep]
            kept.append(Send(_target(one, ends), [{**call, "type": "tool_call"} for call in raw]))
        return wanted, [*others, *kept]

    def _divisible(self, one: Destination, ends: Mapping[Any, str] | None) -> bool:
        if isinstance(one, Send):
            return _call_id(one.arg) is not None
        return _target(one, ends) in self.splittable

    def _reminder(self, scene: _Scene, owed: Sequence[Any]) -> Send:
        text = remind(owed, self.catalog, scene.task)
        message = HumanMessage(
            text,
            name=MARK,
            id=f"sentry-reminder-{digest(scene.step)}",
            additional_kwargs={MARK: {"kind": REMINDER}},
        )
        old = list(scene.trajectory.state.guidance.get(REMINDER, ())) if self.replaces else []
        event = ledger.notice(
            REMINDER,
            scene.task,
            scene.step,
            failure_key=REMINDER,
            owed=[repair.owes for repair in owed],
            messages=[message.id],
            removed=old,
            tokens=len(text) // 4,
            **scene.context,
        )
        return Send(HARD, {"messages": [message], "events": [event], "removed": old, "goto": None})

    def _escalate(
        self,
        scene: _Scene,
        finding: Finding,
        human: bool,
        destinations: Sequence[Destination],
        ends: Mapping[Any, str] | None,
    ) -> Send:
        proposal = scene.trajectory.proposal
        text = partial_answer(finding, scene.trajectory.steps, scene.task)
        fixed = normalised(proposal.calls, scene.step)
        messages: list[AnyMessage] = []
        if self.replaces and scene.message.id and needs_rewrite(proposal.calls, fixed):
            messages.append(self._rewritten(scene, fixed))
        else:
            fixed = proposal.calls
        messages += [
            refusal(
                call.id,
                call.name,
                scene.step,
                NOT_RUN_STOPPED.format(label=finding.label.value),
                finding,
            )
            for call in fixed
        ]
        # an empty message of the agent is replaced: two assistant messages in a row are refused
        empty = not proposal.calls and not scene.message.content and self.replaces
        final = AIMessage(
            text,
            id=scene.message.id if empty else f"sentry-stop-{digest(scene.step)}",
            additional_kwargs={
                MARK: {"stop_reason": finding.label.value, "outcome": "stopped", "finished": False}
            },
        )
        messages.append(final)
        payload = {
            "finding": finding.to_dict(),
            "task": _task(scene.task),
            "context": scene.context,
            "events": [ledger.failure(finding, scene.task, **scene.context)],
            "messages": messages,
            "human": human,
            "question": {
                "label": finding.label.value,
                "detail": finding.detail,
                "tool": finding.tool,
                "options": ["continue", "stop"],
            },
            "resume": [
                one if isinstance(one, Send) else _target(one, ends) for one in destinations
            ],
            "answers": [{"id": call.id, "name": call.name} for call in fixed],
            "entry": self.loop.entry,
            "goto": self._exit,
        }
        return Send(ESCALATE, payload)

    @property
    def _back(self) -> str:
        """Where a repair goes: to the agent, past the healing node where others run beside it."""
        return self.heal if self.loop.parallel else self.loop.entry

    @property
    def _exit(self) -> str:
        hooks = sorted(name for name in self.loop.exits if name.endswith(".after_agent"))
        return hooks[0] if hooks and len(hooks) == 1 else END

    def _previous(self, scene: _Scene, finding: Finding) -> list[str]:
        """Older guidance on the same failure, which the new one replaces."""
        if not self.replaces:
            return []
        return list(scene.trajectory.state.guidance.get(finding.key, ()))

    def _record_fault(
        self, state: Any, result: Any, error: Exception, messages: Sequence[AnyMessage] | None
    ) -> Any:
        try:
            if messages is None:
                messages = get(state, self.messages_key) or ()
            task = task_at(messages)
            event = ledger.notice(
                "fault:gate",
                task,
                task.id,
                error=type(error).__name__,
                at=self.clock().isoformat(timespec="seconds"),
                agent=self.loop.router,
            )
            listed = list(result) if isinstance(result, list | tuple) else [result]
            return [*listed, Send(VERIFY, {"events": [event]})]
        except Exception:  # not even that: the agent goes on as if we weren't there
            return result


def refusal(call_id: str, name: str, step: str, text: str, finding: Finding | None) -> ToolMessage:
    """The answer to a call that did not run, with an id that replays keep."""
    return ToolMessage(
        text,
        tool_call_id=call_id,
        name=name,
        status="error",
        id=f"sentry-{digest(f'answer:{step}:{call_id}')}",
        additional_kwargs={
            MARK: {"kind": "refusal", "label": finding.label.value if finding else None}
        },
    )


def guidance(finding: Finding, step: str, text: str) -> HumanMessage:
    """Guidance as a message of its own, after all tool results, with an id that replays keep."""
    return HumanMessage(
        text,
        name=MARK,
        id=f"sentry-{digest(ledger.event_id('repair', step, finding.key))}",
        additional_kwargs={
            MARK: {"kind": "guidance", "label": finding.label.value, "pattern": finding.pattern}
        },
    )


def get(state: Any, key: str) -> Any:
    """A value of the state, whether it is a mapping, a dataclass or a pydantic model."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _target(one: Destination, ends: Mapping[Any, str] | None) -> str:
    if isinstance(one, Send):
        return one.node
    return str(ends.get(one, one) if ends else one)


def _call_id(payload: Any) -> str | None:
    """The call id in a payload to a tool node, in the forms that LangGraph 1.x sends."""
    call: Any = None
    if isinstance(payload, Mapping):
        call = payload.get("tool_call")
    elif isinstance(payload, list) and len(payload) == 1:
        call = payload[0]
    return str(call["id"]) if isinstance(call, Mapping) and call.get("id") else None


def _task(task: Task) -> dict[str, str]:
    return {"id": task.id, "objective": task.objective}


def _model_name(message: AIMessage) -> str | None:
    name = message.response_metadata.get("model_name") or message.response_metadata.get("model")
    return str(name) if name else None
