"""A callback that hears what Sentry did, with the place in the thread where it happened."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from sentry_langgraph.graph.nodes import EVENT_NAME
from sentry_langgraph.records import Event

logger = logging.getLogger("sentry_langgraph")

_PLACE = {
    "thread_id": "thread_id",
    "checkpoint_ns": "langgraph_checkpoint_ns",
    "node": "langgraph_node",
    "superstep": "langgraph_step",
}


class SentryCallback(BaseCallbackHandler):
    """Collects Sentry's events, each linked to thread, namespace, node and superstep.

    Pass it in `config["callbacks"]`. It never reads the checkpointer, so it works the same with
    sync and async ones, inside the event loop and outside.

    Args:
        on_event: Called with each linked event as it happens. What it raises is logged.

    Attributes:
        events: The linked events so far, oldest first: the ledger's event with the keys
            `thread_id`, `checkpoint_ns`, `node` and `superstep` where they are known.
    """

    run_inline = True

    def __init__(self, on_event: Callable[[Event], None] | None = None) -> None:
        self.events: list[Event] = []
        self._on_event = on_event

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take an event of Sentry; other custom events are not ours."""
        if name != EVENT_NAME or not isinstance(data, Mapping):
            return
        place = {
            ours: metadata[theirs]
            for ours, theirs in _PLACE.items()
            if metadata and metadata.get(theirs) is not None
        }
        linked: Event = {**data, **place}
        self.events.append(linked)
        if self._on_event is not None:
            try:
                self._on_event(linked)
            except Exception:
                logger.exception("on_event failed for %s", linked["id"])
