"""The task that is open: its steps and its ledger."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sentry_langgraph import ledger
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Catalog, Event, Proposal, Step, Task, Trajectory
from sentry_langgraph.runner.step import passages_of, slim

logger = logging.getLogger("sentry_langgraph")


class OpenTask:
    """The task that is open: its steps and its ledger.

    Args:
        task: The task.
        catalog: Its tools.
        instructions: What the model is told besides the request.
    """

    def __init__(self, task: Task, catalog: Catalog, instructions: str = "") -> None:
        self.task = task
        self.catalog = catalog
        self.steps: list[Step] = []
        self.events: list[Event] = []
        self.count = 0
        self._ids: set[str] = set()
        told = Passage("told", task.objective, step=task.id, user=True)
        self._seen: list[Passage] = [Passage("told", instructions), told]
        self._places: dict[str, int] = {}
        self._depth = 0

    def unique(self, id_: str) -> str:
        """The id of a step, made different from earlier ones: a loop may repeat its numbers."""
        made, number = id_, 1
        while made in self._ids:
            number += 1
            made = f"{id_}#{number}"
        self._ids.add(made)
        return made

    def add(self, step: Step, depth: int) -> None:
        """Keep a step that has run; of those beyond `depth` only the outline."""
        self.count += 1
        self._depth = depth
        self.steps.append(step)
        self._seen += passages_of(step)
        if len(self.steps) > depth:
            self.steps[-depth - 1] = slim(self.steps[-depth - 1])

    def trajectory(self, proposal: Proposal, *ran: Step) -> Trajectory:
        """What the stages see: the newest steps, and `ran` after them."""
        steps = (*self.steps[-self._depth :], *ran) if self._depth else ran
        state = ledger.fold(self.events)
        seen = Provenance.of(self._seen, self._places)
        return Trajectory(self.task, steps, proposal, self.catalog, state, seen)

    def record(self, events: Sequence[Event]) -> None:
        """Append to the ledger, each event once."""
        self.events = ledger.append(self.events, events)
        for event in events:
            logger.debug("%s at %s", event["kind"], event["step"], extra={"sentry": event})
