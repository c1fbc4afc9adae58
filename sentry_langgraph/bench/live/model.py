"""The chat model of a run: counts calls and tokens, and speaks one of two protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import Field

from sentry_langgraph.bench.live.json_turns import as_chat, prompt, read_turn
from sentry_langgraph.bench.live.names import Protocol

_CHARACTERS_PER_TOKEN = 4


class TurnLimit(Exception):
    """The run has used up its calls of the model."""


@dataclass(slots=True)
class Meter:
    """What a run has used.

    Attributes:
        calls: Calls of the model.
        prompt_tokens: Tokens it read.
        completion_tokens: Tokens it wrote.
        approximate: Whether tokens are partly guessed from characters, where the server
            reports none.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    approximate: bool = False


class MeteredModel(BaseChatModel):
    """A chat model that stops after `max_turns` calls.

    Attributes:
        inner: The model behind it.
        protocol: How tools are told and calls are read.
        about: The first sentence of the system prompt.
        max_turns: Calls of the model in one run.
        meter: What has been used.
    """

    inner: BaseChatModel
    protocol: Protocol
    about: str
    max_turns: int
    meter: Meter = Field(default_factory=Meter)
    bound: Any = None
    system: str = ""

    @property
    def _llm_type(self) -> str:
        return "metered"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The same model with tools: it keeps counting on the same meter."""
        given = [tool for tool in tools if isinstance(tool, BaseTool)]
        if self.protocol == "native":
            bound: Any = self.inner.bind_tools(given, **kwargs)
            system = f"{self.about} When the request is done or can't be done, tell the user."
        else:
            bound, system = self.inner, prompt(self.about, given)
        return self.model_copy(update={"bound": bound, "system": system, "meter": self.meter})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.meter.calls >= self.max_turns:
            raise TurnLimit(f"{self.max_turns} calls of the model")
        self.meter.calls += 1
        history: Sequence[Any] = (
            messages if self.protocol == "native" else as_chat(_known(messages))
        )
        request = [SystemMessage(self.system), *history]
        answer: AIMessage = (self.bound or self.inner).invoke(request)
        self._count(request, answer)
        if self.protocol == "json":
            read = read_turn(answer.text, f"call-{self.meter.calls}")
            read.response_metadata = answer.response_metadata
            answer = read
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _count(self, request: Sequence[BaseMessage], answer: AIMessage) -> None:
        meter, usage = self.meter, answer.usage_metadata
        if usage is not None:
            meter.prompt_tokens += usage["input_tokens"]
            meter.completion_tokens += usage["output_tokens"]
            return
        meter.approximate = True
        meter.prompt_tokens += sum(len(one.text) for one in request) // _CHARACTERS_PER_TOKEN
        written = answer.text + "".join(str(call["args"]) for call in answer.tool_calls)
        meter.completion_tokens += len(written) // _CHARACTERS_PER_TOKEN


def _known(messages: Sequence[BaseMessage]) -> list[AnyMessage]:
    return list(messages)  # type: ignore[arg-type]  # a history holds no other messages
