"""What a rule of another project sees of a run: messages in order, with their positions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from sentry_langgraph.replay.recording import Message

Level: TypeAlias = Literal["warning", "stop"]
"""What a rule does: says something to the model or the user, or keeps the action from running."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    Attributes:
        id: The call's id.
        name: The tool.
        args: The arguments, or None where they are not one JSON object.
        raw: The arguments as written, where they are not one JSON object.
    """

    id: str
    name: str
    args: Mapping[str, Any] | None
    raw: str = ""

    @property
    def canonical(self) -> str:
        """Tool and arguments as one text, keys sorted: equal texts are equal calls."""
        body = self.raw if self.args is None else json.dumps(self.args, sort_keys=True, default=str)
        return f"{self.name}:{body}"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the agent, before its calls run."""

    position: int
    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What came back for one call.

    Attributes:
        position: Where the message stands in the recording, from 0.
        call: The call it answers.
        text: The result.
        failed: Whether the environment called it an error.
        last: Whether it is the last result of its turn.
    """

    position: int
    call: Call
    text: str
    failed: bool = False
    last: bool = True


@dataclass(frozen=True, slots=True)
class UserText:
    """A text of the user."""

    position: int
    text: str = field(default="", repr=False)


Event: TypeAlias = Turn | Result | UserText


class Rule(Protocol):
    """Watches one run; made anew for each."""

    def see(self, event: Event) -> Level | None:
        """Take the next event; the level where the rule fires on it."""
        ...


@dataclass(frozen=True, slots=True)
class Fire:
    """A rule fired.

    Attributes:
        position: The message it fired on.
        level: What it does.
    """

    position: int
    level: Level


def fires(rule: Rule, events: Iterable[Event]) -> tuple[Fire, ...]:
    """All fires of a fresh rule over one run, in order."""
    seen = ((event.position, rule.see(event)) for event in events)
    return tuple(Fire(position, level) for position, level in seen if level is not None)


def events_of(messages: Iterable[Message]) -> tuple[Event, ...]:
    """The events of a recorded run; what Sentry wrote is left out."""
    found: list[Event] = []
    calls: dict[str, Call] = {}
    waiting: set[str] = set()
    for message in messages:
        if message.own:
            continue
        if message.kind == "user":
            found.append(UserText(message.position, message.text))
        elif message.kind == "agent":
            made = tuple(Call(one.id, one.name, one.args, one.raw) for one in message.calls)
            calls.update((call.id, call) for call in made)
            waiting = {call.id for call in made}
            found.append(Turn(message.position, message.text, made))
        elif (seen := message.observation) is not None and seen.call_id in calls:
            waiting.discard(seen.call_id)
            failed = seen.status == "error"
            found.append(
                Result(message.position, calls[seen.call_id], message.text, failed, not waiting)
            )
    return tuple(found)
