"""All runs of one measurement, in an order that keeps a server's prompt cache of use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

import sentry_langgraph
from sentry_langgraph.bench.live.domains import DOMAINS
from sentry_langgraph.bench.live.names import Arm, Protocol
from sentry_langgraph.bench.live.run import Result, run_task
from sentry_langgraph.bench.live.store import Store
from sentry_langgraph.bench.live.world import Domain, Task


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured.

    Attributes:
        domains: The domains.
        arms: The arms.
        protocol: How the model is told of tools.
        tasks: How many tasks of each domain; None is all. They are taken evenly, so that few
            tasks are of every kind.
        max_turns: Calls of the model in one run.
        transcripts: Whether what was said is kept.
        parallel: Runs at the same time.
    """

    domains: tuple[Domain, ...]
    arms: tuple[Arm, ...]
    protocol: Protocol = "native"
    tasks: int | None = None
    max_turns: int = 16
    transcripts: bool = False
    parallel: int = 1

    def runs(self) -> list[tuple[Domain, Task, Arm]]:
        """Every run: the arms of one task that share their prompt stand side by side."""
        groups = (
            [arm for arm in self.arms if arm != "rules-bare"],
            [arm for arm in self.arms if arm == "rules-bare"],
        )
        return [
            (domain, task, arm)
            for arms in groups
            for domain in self.domains
            for task in chosen(domain.tasks, self.tasks)
            for arm in arms
        ]


def chosen(tasks: Sequence[Task], count: int | None) -> list[Task]:
    """`count` tasks, evenly spread."""
    if count is None or count >= len(tasks):
        return list(tasks)
    return [tasks[position * len(tasks) // count] for position in range(count)]


def settings(plan: Plan, **model: Any) -> dict[str, Any]:
    """What results depend on, plain JSON: results of other settings are no part of a measurement.

    Which domains, arms and tasks are run is not among it.
    """
    return {
        **model,
        "protocol": plan.protocol,
        "max_turns": plan.max_turns,
        "sentry_langgraph": sentry_langgraph.__version__,
        "tasks": _digest(),
    }


def _digest() -> str:
    told = [
        [
            domain.name,
            domain.about,
            domain.tables,
            [[t.id, t.request, t.facts] for t in domain.tasks],
        ]
        for domain in DOMAINS.values()
    ]
    text = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measure(
    plan: Plan,
    model: BaseChatModel,
    store: Store,
    on_run: Callable[[Domain, Task, Arm], None] = lambda *_: None,
) -> Iterator[Result]:
    """Make the runs that `store` does not hold yet, and give each result as it comes.

    Args:
        plan: What is measured.
        model: The model; it is called from several threads where the plan is parallel.
        store: Holds the results.
        on_run: Called when a run begins.

    Raises:
        Exception: What the model's client raises; results up to then are kept.
    """

    def run(domain: Domain, task: Task, arm: Arm) -> Result:
        on_run(domain, task, arm)
        return run_task(
            domain,
            task,
            arm,
            model,
            protocol=plan.protocol,
            max_turns=plan.max_turns,
            transcript=plan.transcripts,
        )

    left = [one for one in plan.runs() if (one[0].name, one[1].id, one[2]) not in store.done]
    with ThreadPoolExecutor(plan.parallel) as pool:
        runs = [pool.submit(run, *one) for one in left]
        try:
            for done in as_completed(runs):
                result = done.result()
                store.add(result)
                yield result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def results_of(plan: Plan, store: Store) -> list[Result]:
    """The results of the plan that are there, in its order."""
    keys = [(domain.name, task.id, arm) for domain, task, arm in plan.runs()]
    return [store.done[key] for key in keys if key in store.done]
