"""A chat model that answers from a script, offline, and keeps what it was asked."""

from __future__ import annotations

import copy
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr, field_validator

from sentry_langgraph.testing.messages import Reply, Respond
from sentry_langgraph.testing.provider_rules import Rule, refuse, with_produced
from sentry_langgraph.testing.streaming import pieces_of

ScriptEntry: TypeAlias = Reply | Exception | Respond
"""An answer, an error to raise, or a function that reads the request and answers."""


class ScriptExhausted(AssertionError):
    """The model was called more often than its script provides for.

    Args:
        calls: How many calls were made, this one included.
        entries: How many entries the script has.
    """

    def __init__(self, calls: int, entries: int) -> None:
        self.calls = calls
        self.entries = entries
        super().__init__(
            f"the script has ended: {calls} calls were made and it has {entries} entries; "
            'add entries, or pass on_end="repeat"'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.calls, self.entries))


@dataclass(slots=True)
class _Session:
    """What a model and all its copies share."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    position: int = 0
    calls: int = 0
    used: set[int] = field(default_factory=set)
    requests: list[list[BaseMessage]] = field(default_factory=list)
    produced: dict[str, AIMessage] = field(default_factory=dict)
    call_ids: set[str] = field(default_factory=set)
    tools: tuple[dict[str, Any], ...] = ()

    def __copy__(self) -> _Session:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> _Session:
        return self


class ScriptedChatModel(BaseChatModel):
    """Answers each call with the next entry of a script; no network, no key.

    An entry is an `AIMessage`, a text, an exception (raised), or a function of the request.
    Sync, async and streaming calls draw on the same position, from any number of threads, and
    so do copies and what `bind_tools` returns. A message that has no id gets a fresh one.

    Attributes:
        script: The entries.
        on_end: After the last entry: `raise` a `ScriptExhausted`, `repeat` the last entry, or
            answer with this message from then on. What is said again has a new message id.
        rules: Provider rules that each request must keep; see `provider_rules`. A broken one
            raises `ProviderRefusal` and uses up no entry.
        fresh_call_ids: Whether calls get new ids where an earlier answer already used theirs.
        record: Whether requests are kept.
        model_name: The name the model reports.
    """

    script: list[Any] = Field(default_factory=list, repr=False)
    on_end: Literal["raise", "repeat"] | AIMessage = "raise"
    rules: tuple[Callable[..., str | None], ...] = Field(default=(), repr=False)
    fresh_call_ids: bool = False
    record: bool = True
    model_name: str = "scripted"
    cache: Literal[False] = Field(default=False, exclude=True)

    _session: _Session = PrivateAttr(default_factory=_Session)

    @field_validator("script", mode="before")
    @classmethod
    def _known_entries(cls, script: Any) -> list[Any]:
        entries = list(script)
        for position, entry in enumerate(entries):
            if not isinstance(entry, AIMessage | str | Exception) and not callable(entry):
                raise ValueError(
                    f"script entry {position} is a {type(entry).__name__}; it must be an "
                    "AIMessage, a str, an exception or a function of the messages"
                )
        return entries

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of every call so far, refused ones included, as they were then."""
        return self._session.requests

    @property
    def calls(self) -> int:
        """How many calls were made, refused ones included."""
        return self._session.calls

    @property
    def position(self) -> int:
        """How many entries of the script are used up."""
        return self._session.position

    @property
    def produced(self) -> Mapping[str, AIMessage]:
        """The answers so far, by message id."""
        return self._session.produced

    @property
    def bound_tools(self) -> tuple[dict[str, Any], ...]:
        """The tools of the newest `bind_tools`, in OpenAI's format."""
        return self._session.tools

    def seek(self, position: int) -> None:
        """Go on with the script entry at `position`, from 0."""
        with self._session.lock:
            self._session.position = position

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Keep the tools in `bound_tools`; the result shares script position and requests."""
        self._session.tools = tuple(convert_to_openai_tool(tool) for tool in tools)
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=list(self._session.tools), **kwargs)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in pieces_of(self._answer(messages)):
            yield ChatGenerationChunk(message=piece)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in pieces_of(self._answer(messages)):
            yield ChatGenerationChunk(message=piece)

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """One call: record it, check it, take the next entry, and say it."""
        session = self._session
        request = [_kept(message) for message in messages] if self.record else list(messages)
        with session.lock:
            session.calls += 1
            if self.record:
                session.requests.append(request)
            rules: list[Rule] = with_produced(self.rules, dict(session.produced))
        refuse(messages, rules)
        entry, again = self._take()
        if isinstance(entry, Exception):
            raise entry
        reply = entry(list(request)) if callable(entry) else entry
        return self._said(reply, again)

    def _take(self) -> tuple[ScriptEntry, bool]:
        """The next entry, and whether it was said before."""
        session = self._session
        with session.lock:
            position = session.position
            if position < len(self.script):
                session.position += 1
            elif isinstance(self.on_end, AIMessage):
                return self.on_end, True
            elif self.on_end == "repeat" and self.script:
                position = len(self.script) - 1
            else:
                raise ScriptExhausted(session.calls, len(self.script))
            again = position in session.used
            session.used.add(position)
            return self.script[position], again

    def _said(self, reply: Reply, again: bool) -> AIMessage:
        """A copy of the reply with an id of its own, remembered as produced."""
        message = AIMessage(reply) if isinstance(reply, str) else reply.model_copy(deep=True)
        if again or not message.id:
            message.id = f"msg_{uuid4().hex}"
        session = self._session
        with session.lock:
            if self.fresh_call_ids:
                taken = {i for i in _ids(message) if i in session.call_ids}
                message = renamed_calls(message, {i: f"call_{uuid4().hex}" for i in taken})
            session.call_ids.update(_ids(message))
            session.produced[str(message.id)] = message.model_copy(deep=True)
        return message


def renamed_calls(message: AIMessage, names: Mapping[str, str]) -> AIMessage:
    """The message with its call ids replaced wherever they stand."""
    if not names:
        return message

    def renamed(entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        ids = {k: names[entry[k]] for k in ("id", "call_id") if entry.get(k) in names}
        return {**entry, **ids}

    update: dict[str, Any] = {
        "tool_calls": [renamed(c) for c in message.tool_calls],
        "invalid_tool_calls": [renamed(c) for c in message.invalid_tool_calls],
    }
    if isinstance(message.content, list):
        update["content"] = [renamed(block) for block in message.content]
    raw = message.additional_kwargs.get("tool_calls")
    if isinstance(raw, list):
        calls = [renamed(c) for c in raw]
        update["additional_kwargs"] = {**message.additional_kwargs, "tool_calls": calls}
    return message.model_copy(update=update)


def _ids(message: AIMessage) -> set[str]:
    calls = (*message.tool_calls, *message.invalid_tool_calls)
    return {str(c["id"]) for c in calls if c.get("id")}


def _kept(message: BaseMessage) -> BaseMessage:
    """A copy that later changes don't reach. An artifact, which no provider sees, is shared."""
    if isinstance(message, ToolMessage) and message.artifact is not None:
        bare = copy.copy(message)
        bare.artifact = None
        kept = bare.model_copy(deep=True)
        kept.artifact = message.artifact
        return kept
    return message.model_copy(deep=True)
