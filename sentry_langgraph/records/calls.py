"""What the agent said and called, and what came back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["success", "error"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the agent wrote it.

    Attributes:
        id: The call id; may be empty, and may repeat in a broken message.
        name: The tool's name as written.
        args: The arguments, or None where they are not one JSON object.
        index: Position in the message, from 0, over valid and unparsable calls together.
        raw: The unparsable arguments as text; empty where `args` is set.
        keys: What `call_key` has computed for this call, by ignored arguments. A cache: it is
            no part of what the call is.
    """

    id: str
    name: str
    args: Mapping[str, Any] | None
    index: int = 0
    raw: str = ""
    keys: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)


_ERROR_TEXT = re.compile(r"\s*(?:error\b|exception\b|traceback \(most recent)", re.IGNORECASE)


def reads_as_error(text: str) -> bool:
    """Whether a result says in its first words that it is an error, where no status does."""
    return _ERROR_TEXT.match(text[:64]) is not None


_NOT_THERE = re.compile(
    r"\b(?:not found|no such|does(?:n't| not) exist|not available|unavailable|"
    r"unknown (?:id|key|name)|(?:there is|has) no\b|no longer exists?)\b",
    re.IGNORECASE,
)


def reads_as_not_there(text: str) -> bool:
    """Whether an error says that what was asked for does not exist."""
    return _NOT_THERE.search(text[:2_000]) is not None


@dataclass(frozen=True, slots=True)
class Observation:
    """What came back for one call.

    Attributes:
        call_id: The id of the call it answers.
        name: The tool's name.
        text: The result's text; images and other blocks stand as a digest.
        status: Whether the environment said that the call worked.
        digest: A digest of the complete result: equal digests mean equal results.
        own: Whether Sentry wrote it, so that the tool never ran.
    """

    call_id: str
    name: str
    text: str
    status: Status
    digest: str
    own: bool = False

    @property
    def worked(self) -> bool:
        """Whether the tool ran, and with success."""
        return not self.own and self.status == "success"

    @property
    def found_nothing(self) -> bool:
        """Whether the tool ran, and its error says that what was asked for does not exist."""
        return not self.own and self.status == "error" and reads_as_not_there(self.text)


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the agent that has run: what it said, called and saw."""

    id: str
    text: str
    calls: tuple[ToolCall, ...]
    observations: tuple[Observation, ...]

    def observation_of(self, call: ToolCall) -> Observation | None:
        """The result of `call`, or None where none came back."""
        for seen in self.observations:
            if seen.call_id == call.id:
                return seen
        return None


@dataclass(frozen=True, slots=True)
class Proposal:
    """The newest message of the agent, not yet executed.

    Attributes:
        id: The message's id.
        text: What it says, without reasoning blocks.
        calls: The calls that still have no result, unparsable ones included.
        finish: Whether the run is about to end with this message.
        stop_reason: What the provider says about why it stopped, lower case, or empty.
        answered: Results that the framework gave in the same step, such as the refusal of a
            structured answer.
        structured: Whether a structured answer has been accepted.
        wants_structured: Whether the agent owes a structured answer at the end.
    """

    id: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: bool = False
    stop_reason: str = ""
    answered: tuple[Observation, ...] = ()
    structured: bool = False
    wants_structured: bool = False
