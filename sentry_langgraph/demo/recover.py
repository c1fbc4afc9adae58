"""Part two: the scripted agent works in the shop, without and with Sentry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentry_langgraph import with_sentry
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.demo.agents import AgentKind, AnyGraph, build
from sentry_langgraph.demo.meter import Cost
from sentry_langgraph.demo.scripted import FOUR_WAYS, SAME_AGAIN, Task
from sentry_langgraph.demo.shop import Shop
from sentry_langgraph.demo.watch import Watch
from sentry_langgraph.graph.report import SentryReport
from sentry_langgraph.playbook import open_playbook
from sentry_langgraph.records import Lesson
from sentry_langgraph.testing.scripted import ScriptedChatModel

PLAYBOOK = "playbook"


@dataclass(frozen=True, slots=True)
class Done:
    """How one task went.

    Attributes:
        cost: What it took.
        value: What the database says at the end.
        solved: Whether that is what the user asked for.
        answer: The last message.
    """

    cost: Cost
    value: Any
    solved: bool
    answer: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """One task without and with Sentry.

    Attributes:
        task: The task.
        bare: Without Sentry.
        guarded: With Sentry.
        report: What Sentry saw and did.
        injected: What it said, in order.
        thread: The thread with Sentry.
    """

    task: Task
    bare: Done
    guarded: Done
    report: SentryReport
    injected: tuple[str, ...]
    thread: str


@dataclass(frozen=True, slots=True)
class Recoveries:
    """All tasks of part two.

    Attributes:
        tasks: The four failures, then the one that comes again.
        playbook: The directory of the lessons.
        lessons: The lessons that lie there at the end.
        graph: One of the wrapped graphs, for its picture.
    """

    tasks: tuple[Recovery, ...]
    playbook: Path
    lessons: tuple[Lesson, ...]
    graph: AnyGraph


def recover(directory: Path, agent: AgentKind = AgentKind.REACT) -> Recoveries:
    """Do the four tasks, then one with a failure that has been met before.

    Args:
        directory: Where the two databases and the playbook are made.
        agent: The kind of graph.
    """
    path = directory / PLAYBOOK
    config = SentryConfig.model_validate({"playbook": {"kind": "chroma", "path": str(path)}})
    without = Shop(directory / "shop_without_sentry.sqlite")
    guarded = Shop(directory / "shop_with_sentry.sqlite")
    graph: AnyGraph | None = None
    tasks = []
    for number, task in enumerate((*FOUR_WAYS, SAME_AGAIN), 1):
        thread = f"task-{number}"
        bare, _ = _do(task, build(agent, _model(task), without.tools()), without, thread)
        graph = with_sentry(build(agent, _model(task), guarded.tools()), config)
        done, watch = _do(task, graph, guarded, thread)
        said = tuple(text for texts in watch.injected.values() for text in texts)
        tasks.append(Recovery(task, bare, done, watch.report(), said, thread))
    assert graph is not None
    playbook = open_playbook(config.playbook)
    lessons = tuple(playbook.find()) if playbook is not None else ()
    return Recoveries(tuple(tasks), path, lessons, graph)


def _model(task: Task) -> ScriptedChatModel:
    return ScriptedChatModel(
        script=[task.policy], on_end="repeat", record=False, model_name="scripted-demo-agent"
    )


def _do(task: Task, graph: AnyGraph, shop: Shop, thread: str) -> tuple[Done, Watch]:
    watch = Watch(graph, thread)
    watch.say(task.request)
    value = shop.value(task.check)
    answer = str(watch.messages[-1].text)
    return Done(watch.cost(), value, value == task.wanted, answer), watch
