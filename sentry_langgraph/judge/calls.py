"""Work that waits for a model, written once and driven sync or async.

A flow is a generator: it yields the calls it needs and gets each result, or the error, back.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable, RunnableConfig

T = TypeVar("T")

TAGS = ["nostream", "sentry:judge"]
"""Tags of every call: LangGraph leaves what `nostream` tags out of `stream_mode="messages"`."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model.

    Attributes:
        model: The model, or what structured output made of it.
        messages: The request.
        timeout: Seconds to wait for the answer.
    """

    model: Runnable[Any, Any]
    messages: Sequence[BaseMessage]
    timeout: float


Flow: TypeAlias = Generator[Call, Any, T]
"""Yields calls; is sent what the model gave, or the exception that it raised."""


def drive(flow: Flow[T], config: RunnableConfig | None = None) -> T:
    """Run a flow to its end, calling models in a thread that is left behind when it is late."""
    done, value = _advance(flow, None)
    while not done:
        done, value = _advance(flow, _called(value, _tagged(config)))
    return value  # type: ignore[no-any-return]


async def adrive(flow: Flow[T], config: RunnableConfig | None = None) -> T:
    """As `drive`; what the flow does between its calls may do I/O and runs in a thread."""
    done, value = await asyncio.to_thread(_advance, flow, None)
    while not done:
        answer = await _acalled(value, _tagged(config))
        done, value = await asyncio.to_thread(_advance, flow, answer)
    return value  # type: ignore[no-any-return]


def _advance(flow: Flow[Any], answer: Any) -> tuple[bool, Any]:
    """Whether the flow has ended, and its result or its next call."""
    try:
        return False, flow.send(answer)
    except StopIteration as stop:
        return True, stop.value


def _called(call: Call, config: RunnableConfig) -> Any:
    """What the model gave, or the exception: a late answer is a `TimeoutError`."""
    answers: list[Any] = []
    context = contextvars.copy_context()

    def ask() -> None:
        try:
            answers.append(context.run(call.model.invoke, list(call.messages), config))
        except Exception as error:  # the flow decides what it means
            answers.append(error)

    # a daemon: a model that never answers must not keep the process from ending
    thread = threading.Thread(target=ask, name="sentry-judge", daemon=True)
    thread.start()
    thread.join(call.timeout)
    return answers[0] if answers else TimeoutError(f"no answer within {call.timeout:g} s")


async def _acalled(call: Call, config: RunnableConfig) -> Any:
    try:
        async with asyncio.timeout(call.timeout):
            return await call.model.ainvoke(list(call.messages), config)
    except Exception as error:
        return error


def _tagged(config: RunnableConfig | None) -> RunnableConfig:
    from langchain_core.runnables.config import merge_configs  # noqa: PLC0415 - half a second

    return merge_configs(config, {"tags": list(TAGS), "run_name": "sentry_judge"})
