"""What happened in a run, as one frozen record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from sentry_langgraph.records import Lesson

MARK = "sentry"

LABELS = {
    "schema_invalid": "invalid_arguments",
    "malformed_args": "malformed_arguments",
    "duplicate_id": "duplicate_call_id",
    "dangling_tool_call": "unanswered_call",
    "loop": "repetition_or_looping",
    "missed_termination": "termination_miscalibration",
    "hallucinated_id": "hallucination",
    "goal_drift": "objective_drift",
    "stall": "planning_stall",
}
"""The names of the cases, and ours."""

ALSO = {
    "premature_termination": {
        "termination_miscalibration",
        "planning_stall",
        "malformed_model_output",
    },
    "stall": {"planning_stall", "repetition_or_looping"},
    "schema_invalid": {"invalid_arguments"},
}
"""Names of the cases that stand for one of several of ours."""


def ours(name: str) -> frozenset[str]:
    """Our labels for a case's name of a failure."""
    name = name.strip()
    return frozenset(ALSO.get(name) or {LABELS.get(name, name)})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one call.

    Attributes:
        call_id: Its id.
        outcome: `allow`, `reject` (invalid), `hold` (a soft repair) or `open` (no result).
        label: The failure it was kept from running by.
        text: What the model was told instead of a result.
    """

    call_id: str
    outcome: str
    label: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """One run.

    Attributes:
        name: Which run of the case it is.
        mode: `sync`, `async`, …
        tool_runs: Every execution, in order: tool and arguments.
        requests: What the model was asked, in order.
        produced: What the model said, in order.
        events: The ledger.
        values: The state at the end.
        output: What `invoke` returned.
        error: What it raised.
        logs: `(level, logger, text)` of every log record.
        seen: Events that a callback received.
        lessons: The playbook at the end.
        seconds: How long it took.
        extra: What else a scenario notes.
    """

    name: str
    mode: str
    tool_runs: tuple[tuple[str, dict[str, Any]], ...] = ()
    requests: tuple[tuple[BaseMessage, ...], ...] = ()
    produced: tuple[AIMessage, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    output: Any = None
    error: BaseException | None = None
    logs: tuple[tuple[str, str, str], ...] = ()
    seen: tuple[dict[str, Any], ...] = ()
    lessons: tuple[Lesson, ...] = ()
    seconds: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        # a short one: asyncio writes the result of its main task down when it ends
        return f"Record({self.name!r}, {self.mode!r})"

    @property
    def messages(self) -> tuple[AnyMessage, ...]:
        """The messages at the end."""
        return tuple(self.values.get("messages") or ())

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.requests)

    @property
    def final(self) -> str:
        """The text of the last message."""
        return str(self.messages[-1].text) if self.messages else ""

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["kind"] == kind]

    def failures(self, name: str | None = None) -> list[dict[str, Any]]:
        """The failures, of one name where it is given."""
        found = self.kinds("failure")
        return found if name is None else [e for e in found if e["label"] in ours(name)]

    def reported(self, name: str | None = None) -> list[dict[str, Any]]:
        """The failures and what was detected without acting on it."""
        found = self.kinds("failure") + self.kinds("suppressed")
        return found if name is None else [e for e in found if e["label"] in ours(name)]

    def runs(self, tool: str | None = None) -> list[dict[str, Any]]:
        """The arguments of each execution, of one tool where it is given."""
        return [args for name, args in self.tool_runs if tool is None or name == tool]

    def guidance(self, request: int | None = None) -> list[BaseMessage]:
        """What Sentry put into a request, or into any."""
        chosen = self.requests if request is None else self.requests[request : request + 1]
        found: dict[str, BaseMessage] = {}
        for messages in chosen:
            for message in messages:
                if MARK in message.additional_kwargs:
                    found.setdefault(str(message.id), message)
        return list(found.values())

    def advice(self, request: int | None = None) -> list[BaseMessage]:
        """Guidance in messages of its own."""
        return [m for m in self.guidance(request) if isinstance(m, HumanMessage)]

    def results(self, call_id: str) -> list[ToolMessage]:
        """The answers to a call, in the order in which they appeared."""
        found: dict[str, ToolMessage] = {}
        for messages in (*self.requests, self.messages):
            for message in messages:
                if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
                    found.setdefault(str(message.id), message)
        return list(found.values())

    def verdict(self, call_id: str) -> Verdict:
        """What became of the call with this id."""
        answers = self.results(call_id)
        if not answers:
            return Verdict(call_id, "open")
        own = [m for m in answers if MARK in m.additional_kwargs]
        if not own:
            return Verdict(call_id, "allow")
        mark = own[0].additional_kwargs[MARK]
        label = mark.get("label")
        hard = {event["label"] for event in self.kinds("repair") if event["strategy"] == "hard"}
        return Verdict(call_id, "reject" if label in hard else "hold", label, str(own[0].text))

    def repair_texts(self) -> list[str]:
        """Everything that Sentry told the model."""
        return [str(message.text) for message in self.guidance()]

    def own_text(self) -> str:
        """Everything that Sentry wrote: events, guidance, logs, what callbacks got, lessons."""
        return "\n".join(self.own_texts())

    def own_texts(self) -> list[str]:
        """The same, piece by piece."""
        return [
            *(json.dumps(event, default=str) for event in self.events),
            *(json.dumps(event, default=str) for event in self.seen),
            *(text for _, logger, text in self.logs if logger.startswith("sentry_langgraph")),
            *(json.dumps(lesson.to_dict(), default=str) for lesson in self.lessons),
        ]


def guided(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Messages that Sentry wrote."""
    return [m for m in messages if MARK in m.additional_kwargs]


def plain(value: Any) -> bool:
    """Whether a value consists of JSON's types only."""
    if value is None or type(value) in (str, int, float, bool):
        return True
    if type(value) is list:
        return all(plain(inner) for inner in value)
    if type(value) is dict:
        return all(type(key) is str and plain(inner) for key, inner in value.items())
    return False


def skeleton(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Roles and texts."""
    return [(message.type, str(message.text)) for message in messages]
