"""What `sentry_report` says is what the ledger holds."""

from __future__ import annotations

import json
from io import StringIO
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from rich.console import Console
from typing_extensions import TypedDict

from sentry_langgraph import with_sentry
from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.graph.report import SentryReport, sentry_report
from sentry_langgraph.playbook import MemoryPlaybook
from sentry_langgraph.records import Lesson
from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_builder

CONFIG: RunnableConfig = {"configurable": {"thread_id": "one"}}
QUIET: dict[str, Any] = {"playbook": {"kind": "none"}}


class Chat(TypedDict):
    """The usual state."""

    messages: Annotated[list[AnyMessage], add_messages]


class FullPlaybook(MemoryPlaybook):
    """A playbook that can be searched and takes nothing."""

    def add(self, lesson: Lesson) -> Lesson:
        raise PlaybookError("the disk is full")


@tool
def forecast(city: str, days: int = 1) -> str:
    """Weather of a city."""
    return f"mild for {days} days"


@tool
def climate(city: str) -> str:
    """Climate of a city."""
    return "temperate"


def _run(*script: Any, config: Any = QUIET, playbook: Any = None) -> Any:
    model = ScriptedChatModel(script=list(script))
    builder = react_builder(model, [forecast, climate])
    graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), config, playbook=playbook)
    graph.invoke({"messages": [("user", "Weather in Oslo?")]}, CONFIG)
    return graph


def _asks(days: Any = 1) -> Any:
    return ai("", call("forecast", {"city": "Oslo", "days": days}))


def _loop() -> list[Any]:
    return [*[_asks() for _ in range(3)], ai("", call("climate", {"city": "Oslo"})), "Mild."]


def test_a_healthy_run_reports_nothing() -> None:
    """Without a failure all counts are 0, and the text says so."""
    report = sentry_report(_run(_asks(), "Mild."), CONFIG)
    assert report == SentryReport()
    assert not any(report.counts.values())
    assert "no failure" in str(report)


def test_a_hard_repair_is_one_row_with_its_verdict() -> None:
    """Failure, repair and verdict of one call stand in one row, with names and no values."""
    report = sentry_report(_run(_asks("two-secret"), _asks(2), "Mild."), CONFIG)
    (row,) = report.rows
    assert (row.label, row.done, row.verdict) == ("invalid_arguments", "hard", "recovered")
    assert row.tool == "forecast"
    assert row.checkpoint_id
    assert report.counts["failures"] == report.counts["hard"] == report.counts["recovered"] == 1
    assert report.labels == {"invalid_arguments": 1}
    assert report.tokens == row.tokens > 0
    assert "days" in str(report)
    assert "two-secret" not in str(report) + json.dumps(report.to_dict())


def test_every_source_gives_the_same_report() -> None:
    """A graph, its snapshot, its values and its events are the same run."""
    graph = _run(_asks("two"), _asks(2), "Mild.")
    snapshot = graph.get_state(CONFIG)
    report = sentry_report(graph, CONFIG)
    assert report.rows
    assert report == sentry_report(snapshot)
    assert report == sentry_report(snapshot.values)
    assert report == sentry_report(snapshot.values["sentry"])


async def test_the_snapshot_of_an_async_run_is_read() -> None:
    """`aget_state` gives what `sentry_report` takes."""
    model = ScriptedChatModel(script=[_asks("two"), _asks(2), "Mild."])
    builder = react_builder(model, [forecast])
    graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), QUIET)
    await graph.ainvoke({"messages": [("user", "Weather?")]}, CONFIG)
    assert sentry_report(await graph.aget_state(CONFIG)).counts["recovered"] == 1


def test_a_stopped_run_says_why() -> None:
    """The end of the ladder is a row of its own, and its label is the stop reason."""
    model = ScriptedChatModel(script=[_asks()], on_end="repeat")
    builder = react_builder(model, [forecast])
    graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), QUIET)
    graph.invoke({"messages": [("user", "Weather?")]}, CONFIG)
    report = sentry_report(graph, CONFIG)
    assert report.stop_reason == "repetition_or_looping"
    assert report.rows[-1].done == "stopped"
    assert report.counts["stopped"] == 1
    assert report.counts["relapsed"] == report.counts["repairs"] == 2
    assert report.counts["suppressed"] == sum(1 for row in report.rows if row.reason)
    assert "Stopped: repetition_or_looping" in str(report)


def test_lessons_that_were_not_stored_are_listed() -> None:
    """What the playbook could not take is counted and marked in the text."""
    stored = sentry_report(_run(*_loop(), config={}, playbook=MemoryPlaybook()), CONFIG)
    assert [lesson.stored for lesson in stored.lessons] == [True]
    assert "not stored" not in str(stored)
    lost = sentry_report(_run(*_loop(), config={}, playbook=FullPlaybook()), CONFIG)
    assert [lesson.stored for lesson in lost.unstored] == [False]
    assert lost.counts["lessons_not_stored"] == 1
    assert lost.lessons[0].text == stored.lessons[0].text
    assert "1 lesson not stored" in str(lost)


def test_lessons_that_were_shown_stand_in_the_row() -> None:
    """A second run with the same failure shows the lesson of the first, and the row names it."""
    playbook = MemoryPlaybook()
    learned = sentry_report(_run(*_loop(), config={}, playbook=playbook), CONFIG).lessons[0]
    again = sentry_report(_run(*_loop(), config={}, playbook=playbook), CONFIG)
    assert again.rows[0].lessons == (learned.id,)


def test_the_ledger_of_a_subgraph_is_found() -> None:
    """An agent that is a subgraph keeps its own ledger; the parent's report holds it."""
    model = ScriptedChatModel(
        script=[_asks("two"), _asks(2), "Mild.", _asks("three"), _asks(3), "Mild."]
    )
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Chat)
    builder.add_node("assistant", react_builder(model, [forecast]).compile())
    builder.add_edge(START, "assistant")
    graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), QUIET)
    graph.invoke({"messages": [("user", "Weather for two days?")]}, CONFIG)
    graph.invoke({"messages": [("user", "And for three?")]}, CONFIG)
    report = sentry_report(graph, CONFIG)
    assert [(row.label, row.verdict) for row in report.rows] == [
        ("invalid_arguments", "recovered"),
        ("invalid_arguments", "recovered"),
    ]


def test_the_report_is_plain_json() -> None:
    """`to_dict` goes through JSON unchanged."""
    report = sentry_report(_run(_asks("two"), _asks(2), "Mild."), CONFIG)
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_names_from_the_model_can_not_steer_the_terminal() -> None:
    """Control characters in a tool name are shown as escapes, and brackets are no markup."""
    wrong = ai("", call("fore\x1b[2Jcast[red]", {"city": "Oslo"}))
    report = sentry_report(_run(wrong, _asks(), "Mild."), CONFIG)
    assert "\x1b" not in str(report)
    assert "\\x1b[2Jcast[red]" in str(report)
    printed = StringIO()
    Console(width=200, file=printed).print(report)
    assert "\\x1b[2Jcast[red]" in printed.getvalue()


@pytest.mark.parametrize("source", [3, "text", object(), [1], [{"id": "x"}]])
def test_other_sources_are_refused(source: Any) -> None:
    """What is no run is a TypeError that says what would be right."""
    with pytest.raises(TypeError, match=r"[Ss]entry"):
        sentry_report(source)


def test_a_graph_without_config_is_refused() -> None:
    """A graph alone does not say which thread is meant."""
    with pytest.raises(ValueError, match="thread_id"):
        sentry_report(_run(_asks(), "Mild."))
