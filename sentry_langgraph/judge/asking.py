"""One question to one chat model, whatever its provider can do.

Structured output is asked for by schema. Where the model or its server does not know that, the
same question is asked as plain text, and from then on only so. An answer that can't be read is
not asked again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel

from sentry_langgraph.judge.answer import read_answer
from sentry_langgraph.judge.calls import Call, Flow

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

logger = logging.getLogger("sentry_langgraph")

Outcome: TypeAlias = Literal["answered", "unparsed", "timeout", "error"]
AnswerMode: TypeAlias = Literal["auto", "schema", "text"]

_REFUSED_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""How servers say that they don't know structured output."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked.

    Attributes:
        system: What it has to do.
        data: What it has to look at.
        schema: The JSON Schema of the answer.
        form: The form that the answer is read as.
    """

    system: str
    data: str
    schema: Mapping[str, Any]
    form: type[BaseModel]

    @property
    def tokens(self) -> int:
        """Approximate tokens of the request: four characters each."""
        return (len(self.system) + len(self.data)) // 4 + 1


@dataclass(frozen=True, slots=True)
class Usage:
    """What answers have cost.

    Attributes:
        calls: Requests that were sent, those that a server refused included.
        tokens: Tokens of prompts and answers together.
        estimated: Whether some of them are estimated from the characters: the model did not
            report them.
        seconds: Time that was spent waiting.
    """

    calls: int = 0
    tokens: int = 0
    estimated: bool = False
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.estimated or other.estimated,
            self.seconds + other.seconds,
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as events hold them."""
        return {
            "judge_calls": self.calls,
            "judge_tokens": self.tokens,
            "judge_estimated": self.estimated,
            "judge_seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question.

    Attributes:
        outcome: Whether there is an answer, and why not.
        answer: The answer in its form.
        usage: What it cost.
        error: The name of the error, where there was one.
    """

    outcome: Outcome
    answer: Any = None
    usage: Usage = field(default_factory=Usage)
    error: str | None = None


class Asker:
    """Asks one chat model.

    Args:
        model: Any LangChain chat model.
        timeout: Seconds to wait for an answer, with everything that is tried.
        answer: `schema`, `text`, or `auto`: by schema first.
    """

    def __init__(
        self, model: BaseChatModel, *, timeout: float = 30.0, answer: AnswerMode = "auto"
    ) -> None:
        self._model = _unstreamed(model)
        self._timeout = timeout
        self._modes: tuple[str, ...] = ("schema", "text") if answer == "auto" else (answer,)

    def ask(self, question: Question) -> Flow[Reply]:
        """The answer to a question, or why there is none. Raises nothing that a model raises."""
        began = time.monotonic()
        calls = 0
        for mode in self._modes:
            asked = self._prepared(mode, question)
            if asked is None:
                continue
            calls += 1
            left = self._timeout - (time.monotonic() - began)
            given = yield Call(asked, _request(question), max(left, 0.001))
            if mode == "schema" and "text" in self._modes and _not_understood(given):
                logger.info("the judge's model refused structured output; it is asked in text")
                self._modes = ("text",)
                continue
            return _reply(question, given, calls, time.monotonic() - began)
        return Reply("error", usage=Usage(calls), error="NotImplementedError")

    def _prepared(self, mode: str, question: Question) -> Runnable[Any, Any] | None:
        """The model as it is asked; None where it has no structured output."""
        if mode == "text":
            return self._model
        try:
            return self._model.with_structured_output(
                dict(question.schema), method="json_schema", include_raw=True
            )
        except Exception as error:  # what a provider's package raises here is its own business
            logger.debug("no structured output: %s", error)
            return None


def _unstreamed(model: BaseChatModel) -> BaseChatModel:
    """A copy that never streams, so that tokens are reported and nobody sees the judge think."""
    from langchain_core.language_models import BaseChatModel as Base  # noqa: PLC0415

    if isinstance(model, Base):
        return model.model_copy(update={"disable_streaming": True})
    return model


def _request(question: Question) -> Sequence[BaseMessage]:
    from langchain_core.messages import HumanMessage, SystemMessage  # noqa: PLC0415

    return [SystemMessage(question.system), HumanMessage(question.data)]


def _not_understood(given: object) -> bool:
    """Whether an error says that structured output is not known here."""
    if not isinstance(given, Exception) or isinstance(given, TimeoutError):
        return False
    status = getattr(given, "status_code", None)
    if isinstance(status, int):
        return status in _REFUSED_STATUS
    return isinstance(given, NotImplementedError | TypeError | ValueError | AttributeError)


def _reply(question: Question, given: Any, calls: int, seconds: float) -> Reply:
    if isinstance(given, Exception):
        kind = type(given).__name__
        late = isinstance(given, TimeoutError) or "timeout" in kind.lower()
        unread = kind == "OutputParserException"
        # a late answer may still be billed; a refused request is not
        spent = question.tokens if late or unread else 0
        usage = Usage(calls, spent, bool(spent), seconds)
        outcome: Outcome = "timeout" if late else "unparsed" if unread else "error"
        return Reply(outcome, usage=usage, error=kind)
    message, parsed = given, None
    if isinstance(given, Mapping) and "raw" in given:
        message, parsed = given["raw"], given.get("parsed")
    text = _text(message)
    tokens = _reported(message)
    usage = Usage(
        calls,
        tokens if tokens is not None else question.tokens + len(text) // 4,
        tokens is None,
        seconds,
    )
    for raw in (parsed, *_arguments(message), text):
        answer = read_answer(question.form, raw)
        if answer is not None:
            return Reply("answered", answer, usage)
    return Reply("unparsed", usage=usage)


def _text(message: Any) -> str:
    content = getattr(message, "content", message)
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    parts = [
        block if isinstance(block, str) else str(block.get("text") or "")
        for block in blocks
        if isinstance(block, str | dict)
    ]
    return "\n".join(parts)


def _arguments(message: Any) -> list[Any]:
    return [call.get("args") for call in getattr(message, "tool_calls", None) or ()]


def _reported(message: Any) -> int | None:
    usage = getattr(message, "usage_metadata", None)
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) and total > 0 else None
