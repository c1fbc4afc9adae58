"""A recorded run as the records that replay reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from sentry_langgraph.records import Observation, ToolCall

Json: TypeAlias = Mapping[str, Any]

Speaker: TypeAlias = Literal["system", "user", "agent", "tool"]


class RecordingError(ValueError):
    """A file or a run in it can't be read. Says where, what is wrong and what is expected."""


class Message(NamedTuple):
    """One message that the agent wrote or was given.

    A tuple, which is built three times as fast as a frozen dataclass: a file holds millions.

    Attributes:
        kind: Who speaks.
        text: What it says; for a result, its complete text.
        position: Its position in the recorded messages, from 0, messages between others
            included.
        id: Its recorded id; empty where there is none.
        own: Whether Sentry wrote it.
        calls: The agent's calls, valid ones first, then those whose arguments can't be read.
        stop_reason: What the provider says about why it stopped, lower case, or empty.
        observation: The result, for a message of a tool.
    """

    kind: Speaker
    text: str
    position: int
    id: str = ""
    own: bool = False
    calls: tuple[ToolCall, ...] = ()
    stop_reason: str = ""
    observation: Observation | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run.

    Attributes:
        id: Its id in the source; the place where it stands, where it has none.
        messages: The agent's history. What a simulated user did with tools of its own is left
            out.
        tools: The schemas of the tools the agent had; None where they were not recorded.
        instructions: System texts that stand outside of the messages.
        where: File and line, or database and thread.
        source: The benchmark, project or file it comes from; empty where unknown.
        model: The model that wrote it; empty where unknown.
        outcome: What the source says about success.
        annotations: What people say about steps; `step` is a position of a message.
        meta: What else the source says.
    """

    id: str
    messages: tuple[Message, ...]
    tools: tuple[Json, ...] | None = None
    instructions: tuple[str, ...] = ()
    where: str = ""
    source: str = ""
    model: str = ""
    outcome: Json = field(default_factory=dict)
    annotations: tuple[Json, ...] = ()
    meta: Json = field(default_factory=dict)

    @property
    def success(self) -> bool | None:
        """Whether the source says that the run succeeded; None where it doesn't say."""
        said = self.outcome.get("success")
        return said if isinstance(said, bool) else None


OnProblem: TypeAlias = Callable[[RecordingError], None]
"""Is told of a run that can't be read."""
