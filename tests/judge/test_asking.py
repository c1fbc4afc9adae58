"""One question to one model: whatever a provider can do, there is a reply and no exception."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage

from sentry_langgraph.judge import Asker, adrive, drive
from sentry_langgraph.judge.answer import VERDICT_SCHEMA, VerdictAnswer
from sentry_langgraph.judge.asking import Question, Reply
from sentry_langgraph.testing import ScriptedChatModel, ai, call

from .samples import scripted

QUESTION = Question("Say it.", "data", VERDICT_SCHEMA, VerdictAnswer)
YES = '{"recovered": true, "confidence": 1}'
Way = Literal["sync", "async"]


class NotKnown(Exception):
    """A server that does not know structured output."""

    status_code = 400


class Down(Exception):
    """A server that is down."""

    status_code = 503


class APITimeoutError(Exception):
    """As the client of a provider names it."""


class Plain(ScriptedChatModel):
    """A model without structured output."""

    def with_structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """As the base class of LangChain says it."""
        raise NotImplementedError


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    """Sync and async are one body."""
    found: Way = request.param
    return found


async def ask(way: Way, asker: Asker, question: Question = QUESTION, config: Any = None) -> Reply:
    """The reply, in either way."""
    if way == "async":
        return await adrive(asker.ask(question), config)
    return await asyncio.to_thread(drive, asker.ask(question), config)


async def test_an_answer_by_schema(way: Way) -> None:
    """A tool call, as structured output comes in, and JSON in a text are both read."""
    for said in (ai("", call("RecoveryVerdict", {"recovered": True, "confidence": 1})), YES):
        model = scripted(said)
        reply = await ask(way, Asker(model))
        assert reply.outcome == "answered"
        assert reply.answer.recovered
        assert model.bound_tools[0]["function"]["name"] == "RecoveryVerdict"
        assert model.calls == reply.usage.calls == 1


async def test_a_server_without_schemas_is_asked_in_text(way: Way) -> None:
    """Once it has refused, it is not asked that way again."""
    model = scripted(NotKnown("response_format"), YES, YES)
    asker = Asker(model)
    assert (await ask(way, asker)).usage.calls == 2
    assert (await ask(way, asker)).usage.calls == 1
    assert model.calls == 3


async def test_a_model_without_schemas_is_asked_in_text(way: Way) -> None:
    """Nothing is sent to find that out; where only a schema is wanted, nothing at all."""
    assert (await ask(way, Asker(Plain(script=[YES])))).outcome == "answered"
    reply = await ask(way, Asker(Plain(script=[YES]), answer="schema"))
    assert (reply.outcome, reply.usage.calls) == ("error", 0)


async def test_an_answer_that_can_not_be_read(way: Way) -> None:
    """Is not asked for again, and is paid for."""
    model = scripted("I would rather not say.")
    reply = await ask(way, Asker(model))
    assert (reply.outcome, reply.answer, model.calls) == ("unparsed", None, 1)
    assert reply.usage.tokens > 0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(Down(), "error"), (APITimeoutError(), "timeout"), (ConnectionError(), "error")],
)
async def test_errors_are_replies(way: Way, error: Exception, outcome: str) -> None:
    """A service that is down is not asked a second time in another form."""
    model = scripted(error)
    reply = await ask(way, Asker(model))
    assert (reply.outcome, reply.error) == (outcome, type(error).__name__)
    assert model.calls == 1


async def test_a_late_answer_is_not_waited_for(way: Way) -> None:
    """The thread of a sync call is left behind; the tokens it may cost are counted."""

    def slowly(_: Any) -> str:
        time.sleep(0.6)
        return YES

    began = time.monotonic()
    reply = await ask(way, Asker(scripted(slowly), timeout=0.1, answer="text"))
    # the scripted model blocks the event loop, so only the sync way shows the time saved
    assert way == "async" or time.monotonic() - began < 0.5
    assert reply.outcome == "timeout"
    assert reply.usage.estimated
    assert reply.usage.tokens >= QUESTION.tokens


async def test_reported_tokens_count(way: Way) -> None:
    """Where the model reports them; else four characters are a token, and it is said."""
    usage: Any = {"input_tokens": 70, "output_tokens": 7, "total_tokens": 77}
    reply = await ask(way, Asker(scripted(AIMessage(YES, usage_metadata=usage))))
    assert (reply.usage.tokens, reply.usage.estimated) == (77, False)
    reply = await ask(way, Asker(scripted(YES)))
    assert (reply.usage.tokens, reply.usage.estimated) == (QUESTION.tokens + len(YES) // 4, True)


async def test_calls_are_tagged_for_traces(way: Way) -> None:
    """Callbacks see the call of the judge, by name and tags."""
    seen: list[Any] = []

    class Listens(BaseCallbackHandler):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            seen.append((kwargs.get("tags"), kwargs.get("name")))

    await ask(way, Asker(scripted(YES), answer="text"), config={"callbacks": [Listens()]})
    assert seen == [(["nostream", "sentry:judge"], "sentry_judge")]
