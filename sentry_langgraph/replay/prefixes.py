"""A recorded run as the gate would have seen it: one trajectory for each message of the agent.

Replay is open-loop: a recording goes on as it was recorded, whatever Sentry would have said. So
the state of the ledger is empty at every step, and every budget is unspent. Messages of Sentry's
own that a recording holds are recognised, as in the gate.

Whether a message wanted to end the run is read off the recording: it has no call that can be
read, and the agent did not go on by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sentry_langgraph.provenance import Passage, Provenance, written
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
from sentry_langgraph.values import Sought

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
    messages = recording.messages
    past = _Past(window, messages, recording.instructions)
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
                Trajectory(
                    past.task, past.steps, proposal, catalog, _UNTOUCHED, past.provenance(place)
                ),
            )
            past.open(message, id_, place)
        else:
            past.read(message, place)


@dataclass(slots=True)
class _Turn:
    """A message of the agent with the results that have come for it."""

    message: Message
    id: str
    place: int
    results: list[tuple[Message, int]]
    passages: tuple[Passage, ...] | None = None


class _Past:
    """What has happened before the next message, grown message by message."""

    def __init__(
        self, window: int, messages: Sequence[Message], instructions: Sequence[str]
    ) -> None:
        self.task = Task()
        self.steps: tuple[Step, ...] = ()
        self._window = window
        self._messages = messages
        self._places: dict[str, int] = {}
        self._told: list[_Turn | Passage] = [
            Passage("told", text) for text in reversed(instructions)
        ]
        self._asked: list[str] = []
        self._users = 0
        self._open: _Turn | None = None
        self._newest: _Turn | None = None

    def open(self, message: Message, id_: str, place: int) -> None:
        """Take a message of the agent; its results follow."""
        self._asked = []
        self._open = self._newest = _Turn(message, id_, place, [])
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
            self._result(message, place)
        elif message.kind == "user" and not message.own:
            self._request(message, message.id or f"message-{place}", place)
            return
        elif message.kind == "system" and not message.own:
            id_ = message.id or f"message-{place}"
            self._told.append(Passage("told", message.text, step=id_, place=place))
        elif message.kind == "agent":
            self.close()  # an answer of ours in the agent's place: what follows is not its
        self._asked = []

    def provenance(self, before: int) -> Provenance:
        """What was told and seen before the message at `before`. Read only when somebody asks."""
        return Provenance(
            partial(_newest_first, self._told, len(self._told)),
            partial(_holds, self._messages, before),
            self._places,
            self._users,
        )

    def _request(self, message: Message, id_: str, place: int) -> None:
        self._open = None
        self._users += 1
        self.steps = ()
        self._asked = [*self._asked, message.text][-_OBJECTIVE_MESSAGES:]
        self.task = Task(id_, "\n".join(self._asked))
        self._told.append(Passage("told", message.text, step=id_, place=place, user=True))

    def _result(self, message: Message, place: int) -> None:
        # one that comes too late for its step is seen by the agent all the same
        if (turn := self._newest) is not None:
            turn.results.append((message, place))
            turn.passages = None


def _step(turn: _Turn) -> Step:
    message = turn.message
    calls = message.calls
    observations: tuple[Observation, ...] = ()
    if turn.results:
        seen = {
            found.call_id: found
            for result, _ in turn.results
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
    results: dict[str, tuple[Message, int]] = {}
    for result, at in turn.results:
        if result.observation is not None and not result.own:
            results.setdefault(result.observation.call_id, (result, at))
    found: list[Passage] = []
    for call in reversed(turn.message.calls):
        if call.args is None or call.id not in results:
            continue
        result, at = results[call.id]
        if _failed(result):
            # not remembered as a place: what a failed call asked for is only known here
            asked = written(call.args)
            found.append(Passage("result", result.text, call.name, True, turn.id, asked=asked))
            continue
        found.append(Passage("result", result.text, call.name, False, turn.id, at))
        if call.args:
            given = written(call.args)
            found.append(Passage("given", given, call.name, False, turn.id, turn.place))
    return tuple(found)


def _holds(messages: Sequence[Message], before: int, place: int, wanted: Sought) -> bool:
    """Whether a value stands in the message at `place`, which has to come before `before`."""
    if not 0 <= place < before or messages[place].own:
        return False
    message = messages[place]
    if message.kind == "agent":
        return _worked_with(messages, before, place, wanted)
    return wanted.stands_in(message.text) and not _failed(message)


def _worked_with(messages: Sequence[Message], before: int, place: int, wanted: Sought) -> bool:
    """Whether a call of the message at `place` was given a value and worked."""
    asked = {
        call.id
        for call in messages[place].calls
        if call.args is not None and wanted.stands_in(written(call.args))
    }
    for after in range(place + 1, before) if asked else ():
        result = messages[after]
        if result.kind == "agent":
            break
        seen = result.observation
        if seen is not None and seen.call_id in asked and not result.own:
            return seen.status != "error"
    return False


def _failed(message: Message) -> bool:
    return message.observation is not None and message.observation.status == "error"
