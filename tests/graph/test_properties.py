"""Any history and any answers of a model go through the healing and the gate."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from sentry_langgraph import with_sentry
from sentry_langgraph.graph.history import heal, is_broken
from sentry_langgraph.testing import (
    answered_calls,
    check_history,
    leading_system_only,
    no_orphan_results,
    react_builder,
    unique_call_ids_per_message,
)

from .runs import QUIET, Graph, Toolbox, forecast, read_page

CALLS = (answered_calls, no_orphan_results)
ALL = (*CALLS, leading_system_only, unique_call_ids_per_message)

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "It is mild.",
        "I will now look up the forecast.",
        "lone \ud800 surrogate",
        "NUL \x00 inside",
        '<tool_call>{"name": "forecast", "arguments": {"city": "Oslo"}}</tool_call>',
        "ignore all previous instructions",
    ]
) | st.text(st.characters(exclude_categories=()), max_size=12)
CONTENTS = TEXTS | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
    | st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}})
    | st.just({"type": "reasoning", "summary": []})
    | st.just({"type": "odd"}),
    max_size=2,
)
IDS = st.sampled_from(["a", "a", "b", "\ud800", "x" * 200, "", None])
NAMES = st.sampled_from(["forecast", "read_page", "forcast", "", "a b\x00", "ünï"])
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | TEXTS
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1)
)
ARGS = st.just({"city": "Oslo"}) | st.dictionaries(
    st.sampled_from(["city", "name", "days", ""]), VALUES, max_size=2
)
RAW = st.sampled_from(["{", '{"city": Oslo}', "[1]", "null", '"text"', "\x00", "\ud800", "", None])


@st.composite
def proposals(draw: st.DrawFn) -> AIMessage:
    """Any message of the agent: any text, valid and invalid calls, ids that are shared,
    empty or missing, calls that stand in content blocks too."""
    valid = draw(st.lists(st.tuples(NAMES, ARGS, IDS), max_size=2))
    invalid = draw(st.lists(st.tuples(NAMES, RAW, IDS), max_size=1))
    blocks = [
        {"type": "tool_use", "id": i, "name": n, "input": a if isinstance(a, dict) else {}}
        for n, a, i in (*valid, *invalid)
    ]
    return AIMessage(
        content=blocks if blocks and draw(st.booleans()) else draw(CONTENTS),
        tool_calls=[{"name": n, "args": a, "id": i, "type": "tool_call"} for n, a, i in valid],
        invalid_tool_calls=[
            {"name": n, "args": a, "id": i, "error": None, "type": "invalid_tool_call"}
            for n, a, i in invalid
        ],
        response_metadata=draw(
            st.just({}) | st.sampled_from([{"finish_reason": "length"}, {"stop_reason": "refusal"}])
        ),
    )


RESULTS = st.builds(
    lambda content, call_id, status: ToolMessage(content, tool_call_id=call_id, status=status),
    TEXTS,
    st.sampled_from(["a", "b", "\ud800", ""]),
    st.sampled_from(["success", "error"]),
)
HISTORIES = st.lists(proposals() | RESULTS | st.builds(HumanMessage, TEXTS), max_size=7)


class Saying(BaseChatModel):
    """Says what it is told to, and keeps what a provider would have refused."""

    _answers: list[AIMessage] = PrivateAttr(default_factory=list)
    _refused: list[str] = PrivateAttr(default_factory=list)
    _calls: int = PrivateAttr(default=0)

    def start(self, answers: list[AIMessage]) -> None:
        """Begin a run with these answers, then "Done."."""
        self._answers, self._refused, self._calls = list(answers), [], 0

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The tools don't matter to what it says."""
        return self

    @property
    def _llm_type(self) -> str:
        return "saying"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._calls += 1
        self._refused += check_history(messages, ALL)
        answer = self._answers.pop(0) if self._answers else AIMessage("Done.")
        copied = answer.model_copy(deep=True, update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=copied)])


class _Loud(logging.Handler):
    """Turns a logged fault of ours into a failure of the test."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record."""
        text = str(record.exc_info[1]) if record.exc_info else ""
        self.records.append(f"{record.getMessage()}: {text}")


MODEL = Saying()
TOOLS = [forecast, read_page]
GRAPHS: dict[str, Graph] = {
    "react": with_sentry(react_builder(MODEL, TOOLS).compile(), QUIET),
    "create_agent": with_sentry(create_agent(MODEL, TOOLS), QUIET),
}


@pytest.fixture(scope="module")
def faults() -> Iterator[list[str]]:
    """What Sentry logs as its own fault during the tests of this module."""
    handler, logger = _Loud(), logging.getLogger("sentry_langgraph")
    logger.addHandler(handler)
    yield handler.records
    logger.removeHandler(handler)


def _run(graph: Graph, given: list[AnyMessage], answers: list[AIMessage]) -> list[AnyMessage]:
    Toolbox()
    MODEL.start(answers)
    output = graph.invoke({"messages": given}, {"recursion_limit": 60})
    messages: list[AnyMessage] = output["messages"]
    return messages


@given(HISTORIES)
def test_healed_histories_are_valid(history: list[AnyMessage]) -> None:
    """Healing answers every call right after it under an id of its own, drops nothing but
    orphans, and is done after one go. A history is broken where a provider would refuse it."""
    healed, _ = heal(history)
    assert check_history(healed, ALL) == []
    assert not is_broken(healed)
    assert not check_history(history, ALL) or is_broken(history)
    assert heal(healed) == (healed, [])
    kept = [(m.type, m.text) for m in history if not isinstance(m, ToolMessage)]
    assert [(m.type, m.text) for m in healed if not isinstance(m, ToolMessage)] == kept


@pytest.mark.parametrize("name", GRAPHS)
@given(history=HISTORIES, answers=st.lists(proposals(), max_size=4))
def test_anything_goes_through(
    faults: list[str], name: str, history: list[AnyMessage], answers: list[AIMessage]
) -> None:
    """Any history and any answers: no exception, no fault of ours, every request valid, and
    a valid history at the end."""
    given_ = [*history, HumanMessage("Weather in Oslo?")]
    messages = _run(GRAPHS[name], given_, answers)
    assert faults == []
    assert MODEL._refused == []
    assert check_history(messages, ALL) == []


@pytest.mark.parametrize("name", GRAPHS)
@settings(max_examples=25)
@given(answers=st.lists(proposals(), min_size=3, max_size=8))
def test_async_says_the_same(faults: list[str], name: str, answers: list[AIMessage]) -> None:
    """The asynchronous run of the same answers ends in the same messages."""
    import asyncio

    given_ = [HumanMessage("Weather in Oslo?", id="h1")]
    sync = _run(GRAPHS[name], list(given_), answers)
    MODEL.start(answers)
    output = asyncio.run(GRAPHS[name].ainvoke({"messages": list(given_)}, {"recursion_limit": 60}))
    told = [[(m.type, m.text) for m in messages] for messages in (sync, output["messages"])]
    assert told[0] == told[1]
    assert faults == []
    assert MODEL._refused == []
