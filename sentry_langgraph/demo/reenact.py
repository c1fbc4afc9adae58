"""Part one: a recorded run of a real model, acted again without and with Sentry.

A recorded model cannot hear: it proposes what it proposed then, whatever it is told. So this
shows what is seen, what would be said, and where the ladder ends, not whether an agent recovers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import PrivateAttr

from sentry_langgraph import with_sentry
from sentry_langgraph.demo.agents import AgentKind, build
from sentry_langgraph.demo.meter import Cost
from sentry_langgraph.demo.watch import Watch
from sentry_langgraph.graph.report import SentryReport
from sentry_langgraph.testing.messages import is_guidance
from sentry_langgraph.testing.recorded import RecordedChatModel, canonical, recorded_tools
from sentry_langgraph.testing.traces import RecordedRun

BEYOND = "(Nothing more was recorded for this turn.)"
"""What the recorded model says where its recording of a turn is used up."""

CONFIG: dict[str, Any] = {
    "preset": "chat",
    "playbook": {"kind": "none"},
    "learn": {"enabled": False},
}
"""A recording that goes on does not recover, so it teaches nothing. The preset advises on the
third equal call; what `auto` takes for these tools waits longer with look-ups that work."""


class TurnModel(RecordedChatModel):
    """A recorded model that stays in its turn: it never says what belongs to a later one."""

    _last: int = PrivateAttr(default=0)
    _beyond: int = PrivateAttr(default=0)

    @property
    def beyond(self) -> int:
        """How often it was asked for more than the recording holds."""
        return self._beyond

    def open_turn(self, index: int) -> str:
        """Go on with the first message of a turn, from 0. Returns what the user says there."""
        text = super().open_turn(index)
        self._last = self.position + len(self.run.turns[index].replies)
        return text

    def _answer(self, messages: Any) -> AIMessage:
        if self.position >= self._last:
            self._beyond += 1
            return AIMessage(BEYOND, id=f"{self.run.id}:beyond-{self._beyond}")
        return super()._answer(messages)


@dataclass(frozen=True, slots=True)
class Played:
    """One performance of a recorded run.

    Attributes:
        cost: What it took.
        beyond: Model calls for which nothing was recorded.
        turns: User turns that were played.
        repeats: How often the most frequent call ran, equal arguments counted together.
        stopped: Whether Sentry ended the run.
        answer: The last message.
    """

    cost: Cost
    beyond: int
    turns: int
    repeats: int
    stopped: bool
    answer: str


@dataclass(frozen=True, slots=True)
class Reenactment:
    """A recorded run without and with Sentry.

    Attributes:
        run: The recording.
        about: What goes wrong in it, for people; may be empty.
        bare: Without Sentry, to the end of the recording.
        guarded: With Sentry.
        report: What Sentry saw and did.
        injected: What it said, by the id of the message that it answers.
    """

    run: RecordedRun
    about: str
    bare: Played
    guarded: Played
    report: SentryReport
    injected: dict[str, list[str]]


def reenact(run: RecordedRun, about: str = "", agent: AgentKind = AgentKind.REACT) -> Reenactment:
    """Play a recorded run twice: the bare graph to the end, and the wrapped one.

    Args:
        run: The recording.
        about: What goes wrong in it.
        agent: The kind of graph.
    """
    _, bare = _play(run, agent, guarded=False)
    watch, guarded = _play(run, agent, guarded=True)
    return Reenactment(
        run=run,
        about=about,
        bare=bare,
        guarded=guarded,
        report=watch.report(),
        injected=watch.injected,
    )


def position(message_id: str) -> str:
    """The position in the recording that a message id of `RecordedChatModel` names."""
    return message_id.rpartition(":")[2] or message_id


def _play(run: RecordedRun, agent: AgentKind, *, guarded: bool) -> tuple[Watch, Played]:
    model = TurnModel(run=run, record=False)
    graph = build(agent, model, recorded_tools(run))
    if guarded:
        graph = with_sentry(graph, CONFIG)
    watch = Watch(graph, thread=run.id)
    turns = 0
    for index in range(len(run.turns)):
        watch.say(model.open_turn(index))
        turns += 1
        if watch.stop is not None:
            break
    messages = watch.messages
    return watch, Played(
        cost=watch.cost(),
        beyond=model.beyond,
        turns=turns,
        repeats=_repeats(messages),
        stopped=watch.stop is not None,
        answer=str(messages[-1].text) if messages else "",
    )


def _repeats(messages: Sequence[BaseMessage]) -> int:
    """How often the most frequent call reached its tool."""
    calls: dict[str, str] = {}
    ran: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, AIMessage):
            calls |= {
                str(call["id"]): f"{call['name']} {canonical(call['args'])}"
                for call in message.tool_calls
            }
        elif isinstance(message, ToolMessage) and not is_guidance(message):
            ran[calls.get(message.tool_call_id, "")] += 1
    return max(ran.values(), default=0)
