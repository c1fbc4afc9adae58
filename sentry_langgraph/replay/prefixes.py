"""A recorded run as the gate would have seen it: one trajectory for each message of the agent.

Replay is open-loop: a recording goes on as it was recorded, whatever Sentry would have said. So
the state of the ledger is empty at every step, and every budget is unspent. Messages of Sentry's
own that a recording holds are recognised, as in the gate.

Whether a message wanted to end the run is read off the recording: it has no call that can be
read, and the agent did not go on by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import (
    Catalog,
    Observation,
    Proposal,
    Step,
    Task,
    TaskState,
    Trajectory,
)
from sentry_langgraph.replay.recording import Message, Recording

_OBJECTIVE_MESSAGES = 4
_UNTOUCHED = TaskState()


class Prefix(NamedTuple):
    """The run up to one message of the agent.

    Attributes:
        position: The message's position in the recorded messages, from 0.
        trajectory: What the gate would have seen.
    """

    position: int
    trajectory: Trajectory


def prefixes(recording: Recording, catalog: Catalog, window: int) -> Iterator[Prefix]:
    """What the gate would have seen at every message of the agent, in order.

    Args:
        recording: The run.
        catalog: The tools the agent had.
        window: Steps that a trajectory holds at most.
    """
    past = _Past(window, recording.instructions)
    messages = recording.messages
    last = len(messages) - 1
    for place, message in enumerate(messages):
        if message.kind == "agent" and not message.own:
            past.close()
            after = messages[place + 1] if place < last else message
            goes_on = after.kind == "agent" and after is not message and not after.own
            calls = message.calls
            id_ = message.id or f"message-{place}"
            proposal = Proposal(
                id_,
                message.text,
                calls,
                (not calls or calls[0].args is None) and not goes_on,
                message.stop_reason,
            )
            yield Prefix(
                message.position,
                Trajectory(past.task, past.steps, proposal, catalog, _UNTOUCHED, past.provenance()),
            )
            past.open(message, id_)
        else:
            past.read(message, place)


@dataclass(slots=True)
class _Turn:
    """A message of the agent with the results that have come for it."""

    message: Message
    id: str
    results: list[Message]
    passages: tuple[Passage, ...] | None = None


class _Past:
    """What has happened before the next message, grown message by message."""

    def __init__(self, window: int, instructions: Sequence[str]) -> None:
        self.task = Task()
        self.steps: tuple[Step, ...] = ()
        self._window = window
        self._told: list[_Turn | Passage] = [
            Passage("told", text) for text in reversed(instructions)
        ]
        self._asked: list[str] = []
        self._open: _Turn | None = None
        self._newest: _Turn | None = None

    def open(self, message: Message, id_: str) -> None:
        """Take a message of the agent; its results follow."""
        self._asked = []
        self._open = self._newest = _Turn(message, id_, [])
        self._told.append(self._newest)

    def close(self) -> None:
        """Make the open message a step."""
        turn = self._open
        if turn is None:
            return
        self._open = None
        self.steps = (*self.steps, _step(turn))[-self._window :]

    def read(self, message: Message, place: int) -> None:
        """Take any other message."""
        if message.kind == "tool":
            self._result(message)
        elif message.kind == "user" and not message.own:
            self._request(message, message.id or f"message-{place}")
            return
        elif message.kind == "system" and not message.own:
            self._told.append(Passage("told", message.text, step=message.id or f"message-{place}"))
        elif message.kind == "agent":
            self.close()  # an answer of ours in the agent's place: what follows is not its
        self._asked = []

    def provenance(self) -> Provenance:
        """What was told and seen so far. Read only when somebody asks."""
        return Provenance(partial(_newest_first, self._told, len(self._told)))

    def _request(self, message: Message, id_: str) -> None:
        self._open = None
        self.steps = ()
        self._asked = [*self._asked, message.text][-_OBJECTIVE_MESSAGES:]
        self.task = Task(id_, "\n".join(self._asked))
        self._told.append(Passage("told", message.text, step=id_))

    def _result(self, message: Message) -> None:
        # one that comes too late for its step is seen by the agent all the same
        if (turn := self._newest) is not None:
            turn.results.append(message)
            turn.passages = None


def _step(turn: _Turn) -> Step:
    message = turn.message
    calls = message.calls
    observations: tuple[Observation, ...] = ()
    if turn.results:
        seen = {
            found.call_id: found
            for result in turn.results
            if (found := result.observation) is not None
        }
        observations = tuple(seen[call.id] for call in calls if call.id in seen)
    return Step(turn.id, message.text, calls, observations)


def _newest_first(told: Sequence[_Turn | Passage], count: int) -> Iterator[Passage]:
    for place in range(count - 1, -1, -1):
        one = told[place]
        if isinstance(one, Passage):
            yield one
        else:
            if one.passages is None:
                one.passages = _passages(one)
            yield from one.passages


def _passages(turn: _Turn) -> tuple[Passage, ...]:
    """The results of a message, and the arguments of what worked; newest first."""
    results: dict[str, Message] = {}
    for result in turn.results:
        if result.observation is not None and not result.own:
            results.setdefault(result.observation.call_id, result)
    found: list[Passage] = []
    for call in reversed(turn.message.calls):
        result_message = results.get(call.id)
        if result_message is None or result_message.observation is None:
            continue
        failed = result_message.observation.status == "error"
        found.append(Passage("result", result_message.text, call.name, failed, turn.id))
        if not failed and call.args:
            given = json.dumps(call.args, default=str)
            found.append(Passage("given", given, call.name, False, turn.id))
    return tuple(found)
