"""What a detector should have seen, read off outcomes and results and never off our own rules.

Every target is defined on fields of the recording: how the run ended, which calls came back with
what. No name of a data set, a tool or an argument is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema

from sentry_langgraph.bench.peers.events import Call, Event, Result, Turn, UserText

STEP_LIMIT = "ran into the step limit"
HALTED = "halted with a repeated call"
SECOND = "second identical call with the same result"

LOOP_TARGETS = (STEP_LIMIT, HALTED, SECOND)
"""Targets of loop rules, in the order of the tables."""


def loop_targets(
    outcome: Mapping[str, Any], events: Sequence[Event]
) -> dict[str, tuple[int, bool]]:
    """The loop targets of a run: the message by which it counts, and whether only that one does.

    A run that hit the step limit or was halted counts as caught wherever the rule fires. The
    second identical call counts where the rule fires on the message that proposes it, or before.
    """
    end = max((event.position for event in events), default=0)
    found: dict[str, tuple[int, bool]] = {}
    if outcome.get("termination") == "max_steps":
        found[STEP_LIMIT] = (end, False)
    if outcome.get("halted") and repeats(events):
        found[HALTED] = (end, False)
    second = second_identical(events)
    if second is not None:
        found[SECOND] = (second, True)
    return found


def repeats(events: Sequence[Event]) -> bool:
    """Whether any call is made twice."""
    keys = [call.canonical for event in events if isinstance(event, Turn) for call in event.calls]
    return len(set(keys)) < len(keys)


def second_identical(events: Sequence[Event]) -> int | None:
    """Where a call is proposed again whose result then is the same as before.

    Without a text of the user in between. A result that is empty counts as a result.
    """
    seen: dict[str, str] = {}
    proposed: dict[str, int] = {}
    for event in events:
        if isinstance(event, UserText):
            seen.clear()
        elif isinstance(event, Turn):
            proposed.update((call.id, event.position) for call in event.calls)
        else:
            key = event.call.canonical
            if seen.get(key) == event.text:
                return proposed.get(event.call.id)
            seen[key] = event.text
    return None


@dataclass(frozen=True, slots=True)
class Answered:
    """A call and what the environment made of it.

    Attributes:
        position: The message that proposes it.
        index: Its position in that message.
        accepted: Whether the environment ran it without an error.
        visible: Why the schema alone shows that it can't work; empty where it doesn't.
    """

    position: int
    index: int
    accepted: bool
    visible: str


def answered(events: Sequence[Event], tools: Sequence[Mapping[str, Any]]) -> Iterator[Answered]:
    """Every call that got a result."""
    schemas = {str(tool["name"]): tool for tool in map(_function, tools)}
    places: dict[str, tuple[int, int]] = {}
    for event in events:
        if isinstance(event, Turn):
            for index, call in enumerate(event.calls):
                places[call.id] = (event.position, index)
        elif isinstance(event, Result) and event.call.id in places:
            position, index = places.pop(event.call.id)
            why = visible_fault(event.call, schemas) if event.failed else ""
            yield Answered(position, index, not event.failed, why)


def visible_fault(call: Call, schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """Why a call can't work, as far as the schemas show it; empty where they don't."""
    if call.name not in schemas:
        return "unknown tool"
    if call.args is None:
        return "arguments are not a JSON object"
    parameters = schemas[call.name].get("parameters") or {}
    properties = parameters.get("properties") or {}
    if any(name not in call.args for name in parameters.get("required") or ()):
        return "argument missing"
    if properties and any(name not in properties for name in call.args):
        return "argument unknown"
    if next(_validator(_frozen(parameters)).iter_errors(dict(call.args)), None) is not None:
        return "argument of the wrong kind"
    return ""


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return function if isinstance(function, Mapping) else tool


def _frozen(parameters: Mapping[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True, default=str)


@lru_cache(maxsize=512)
def _validator(parameters: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads(parameters))
