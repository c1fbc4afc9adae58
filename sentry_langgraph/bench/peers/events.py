"""What a rule of another project sees of a run: messages in order, with their positions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

Level: TypeAlias = Literal["warning", "stop"]
"""What a rule does: says something to the model or the user, or keeps the action from running."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    Attributes:
        id: The call's id.
        name: The tool.
        args: The arguments, or None where they are not one JSON object.
        raw: The arguments as the model wrote them.
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


def events_of(messages: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """The events of recorded messages in OpenAI style.

    Calls and results of a simulated user (`requestor: "user"`, or calls in a user message) are
    not the agent's, and are left out.
    """
    known = list(messages)
    calls: dict[str, Call] = {}
    open_ids: set[str] = set()
    for position, message in enumerate(known):
        role = message["role"]
        if role == "user" and message.get("content"):
            yield UserText(position, str(message["content"]))
        elif role == "assistant":
            made = tuple(map(_call, message.get("tool_calls") or ()))
            calls.update((call.id, call) for call in made)
            open_ids = {call.id for call in made}
            yield Turn(position, str(message.get("content") or ""), made)
        elif role == "tool" and message.get("requestor") != "user":
            call = calls.get(str(message.get("tool_call_id")))
            if call is not None:
                open_ids.discard(call.id)
                text, failed = str(message.get("content") or ""), bool(message.get("error"))
                yield Result(position, call, text, failed, last=not open_ids)


def _call(raw: Mapping[str, Any]) -> Call:
    function = raw["function"]
    written = function.get("arguments") or ""
    return Call(str(raw.get("id")), str(function["name"]), _parsed(written), str(written))


def _parsed(written: Any) -> Mapping[str, Any] | None:
    if isinstance(written, Mapping):
        return written
    try:
        value = json.loads(written, strict=False) if written else {}
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
