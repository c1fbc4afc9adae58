"""The gate: decides in the routing function, so that a healthy step costs nothing.

It reads the newest messages and the ledger, runs the pipeline, and returns the original
router's answer unread where nothing is wrong. Otherwise it adds destinations: Sentry's nodes,
in the same superstep as the tools wherever the flow allows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from sentry_langgraph import ledger
from sentry_langgraph.decisions import (
    Diagnose,
    Escalate,
    Execute,
    HardRepair,
    Remind,
    SoftRepair,
    Suppress,
    Verify,
)
from sentry_langgraph.graph import sends
from sentry_langgraph.graph.internals import where
from sentry_langgraph.graph.messages import is_own, last_ai, proposal_of, task_at
from sentry_langgraph.graph.scene import (
    VERIFY,
    Destination,
    Ends,
    Guard,
    Scene,
    target_of,
    value_of,
)
from sentry_langgraph.graph.sight import trajectory_at
from sentry_langgraph.graph.split import split
from sentry_langgraph.pipeline import Outcome
from sentry_langgraph.records import Event, Judgement

logger = logging.getLogger("sentry_langgraph")

_SEVERAL = (list, tuple)


@dataclass(frozen=True, slots=True)
class Gate(Guard):
    """Decides for one agent loop."""

    def __call__(
        self,
        state: Any,
        result: Any,
        config: RunnableConfig,
        ends: Ends = None,
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
            return result if outcome.healthy else self._act(scene, outcome)
        except Exception as error:  # our own fault must never be the user's
            logger.exception("the gate of %r failed open", self.loop.router)
            return self._record_fault(state, result, error, messages)

    def refuses(self, state: Any, config: RunnableConfig) -> list[Send] | None:
        """The hard repair of a message that can't run, before any hook sees it.

        A person should not be asked to approve a call that the gate refuses. So where one of
        the hooks asks a person, the whole batch is refused with its bad call; elsewhere only a
        message none of whose calls can run.
        """
        try:
            scene = self._scene(state, self.loop.tools[0], config, None, None)
            if scene is None or not scene.calls or self.pipeline.mode != "active":
                return None
            outcome = self.pipeline.decide(scene.trajectory)
            repair = next((one for one in outcome.decisions if isinstance(one, HardRepair)), None)
            if repair is None or (repair.good and not self.loop.approval):
                return None
            whole = replace(repair, bad=tuple(call.index for call in scene.calls), good=())
            decisions = tuple(whole if one is repair else one for one in outcome.decisions)
            answer = self._act(scene, replace(outcome, decisions=decisions))
            return [one for one in answer if isinstance(one, Send)]
        except Exception:
            logger.exception("the gate before the hooks of %r failed open", self.loop.router)
            return None

    def _scene(
        self,
        state: Any,
        result: Any,
        config: RunnableConfig,
        ends: Ends,
        messages: Sequence[AnyMessage] | None,
    ) -> Scene | None:
        if messages is None:
            messages = value_of(state, self.messages_key) or ()
        position = last_ai(messages)
        if position is None:
            return None
        message: Any = messages[position]
        if is_own(message):
            return None
        for place in range(position + 1, len(messages)):
            if isinstance(messages[place], HumanMessage):
                return None
        destinations = tuple(result) if type(result) in _SEVERAL else (result,)
        targets = {target_of(one, ends) for one in destinations}
        runs_tools = not targets.isdisjoint(self.loop.tools)
        proposal = proposal_of(
            messages,
            position,
            finish=not runs_tools and targets <= self.loop.exits,
            structured=value_of(state, "structured_response") is not None,
            wants_structured=self.wants_structured,
        )
        if not runs_tools and any(call.args is not None for call in proposal.calls):
            # the router leaves calls aside on purpose: its own limit, or a call it serves itself
            return None
        trajectory, events = trajectory_at(self, config, messages, position, proposal)
        return Scene(
            messages=messages,
            message=message,
            position=position,
            trajectory=trajectory,
            events=events,
            destinations=destinations,
            ends=ends,
            context={"agent": self.loop.router, **where(config)},
        )

    def _act(self, scene: Scene, outcome: Outcome) -> list[Destination]:
        scene.context["at"] = self.clock().isoformat(timespec="seconds")
        recorded: list[Event] = [{**fault, **scene.context} for fault in outcome.faults]
        judgements: Sequence[Judgement] = ()
        destinations = list(scene.destinations)
        ours: list[Send] = []
        for decision in outcome.decisions:
            match decision:
                case Verify(judged):
                    judgements = judged
                case Suppress(finding, reason):
                    recorded.append(ledger.suppressed(finding, scene.task, reason, **scene.context))
                case HardRepair():
                    held, destinations = split(self, scene, decision.bad)
                    ours.append(sends.hard(self, scene, decision, held))
                case SoftRepair(finding, True):
                    held, destinations = split(self, scene, finding.calls)
                    ours.append(sends.soft(self, scene, finding, hold=True, held=held))
                case SoftRepair(finding):
                    ours.append(sends.soft(self, scene, finding, hold=False, held=frozenset()))
                case Remind(owed):
                    ours.append(sends.reminder(self, scene, owed))
                case Diagnose():
                    # the end of a run waits for the answer, tools don't
                    ends = scene.trajectory.proposal.finish
                    resume = _resume(scene, destinations) if ends else []
                    destinations = [] if ends else destinations
                    ours.append(sends.diagnose(self, scene, decision, resume=resume))
                case Escalate(finding, human):
                    resume = _resume(scene, destinations)
                    ours.append(sends.escalate(self, scene, finding, human=human, resume=resume))
                    destinations = []
                case Execute():
                    pass
        if judgements or recorded:
            # first among ours: a verdict closes an old repair before a new one is counted
            ours.insert(0, sends.verdicts(self, scene, judgements, recorded))
        return [*destinations, *ours]

    def _record_fault(
        self, state: Any, result: Any, error: Exception, messages: Sequence[AnyMessage] | None
    ) -> Any:
        try:
            if messages is None:
                messages = value_of(state, self.messages_key) or ()
            task = task_at(messages)
            event = ledger.notice(
                "fault:gate",
                task,
                task.id,
                error=type(error).__name__,
                at=self.clock().isoformat(timespec="seconds"),
                agent=self.loop.router,
            )
            listed = list(result) if type(result) in _SEVERAL else [result]
            return [*listed, Send(VERIFY, {"events": [event]})]
        except Exception:  # not even that: the agent goes on as if we weren't there
            return result


def _resume(scene: Scene, destinations: Sequence[Destination]) -> list[str | Send]:
    """The router's answer as a node of ours can give it later: by node, not by label."""
    return [one if isinstance(one, Send) else scene.target(one) for one in destinations]
