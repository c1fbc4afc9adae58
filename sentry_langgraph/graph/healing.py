"""The entry of the loop: a history that a provider would refuse is healed before the model."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send

from sentry_langgraph import ledger
from sentry_langgraph.graph.history import Break, heal, is_broken
from sentry_langgraph.graph.internals import read_channels, where
from sentry_langgraph.graph.messages import Memo, task_at
from sentry_langgraph.graph.state import CHANNEL, HOOK_MESSAGES
from sentry_langgraph.records import Event, Finding
from sentry_langgraph.taxonomy import Label

logger = logging.getLogger("sentry_langgraph")


_sound = Memo(1_024)
"""Up to which message object a history was found valid, by model and first message."""


@dataclass(frozen=True, slots=True)
class Healer:
    """Checks and heals what one model node is about to read.

    Attributes:
        name: The name of the healing node.
        model: The node that calls the model.
        messages_key: The state's key of the messages.
        replaces: Whether the messages' reducer can remove messages.
        state_keys: Channels that the model node reads, for a request that is healed without
            touching the state.
        active: False in shadow mode: nothing is touched.
    """

    name: str
    model: str
    messages_key: str
    replaces: bool
    state_keys: tuple[str, ...]
    active: bool = True

    def broken(self, state: Mapping[str, Any]) -> bool:
        """Whether the model's next request would be refused."""
        try:
            return self.active and self._is_broken(self._read(state)[1])
        except Exception:
            logger.exception("the history before %r could not be checked", self.model)
            return False

    def _is_broken(self, messages: Sequence[AnyMessage]) -> bool:
        """Looks at what is new since the last look, where the history goes on from there."""
        if not messages:
            return False
        first = messages[0].id
        position, read = _sound.get((self.model, first), (-1, None)) if first else (-1, None)
        goes_on = read is not None and position < len(messages) and messages[position] is read()
        if is_broken(messages, position + 1 if goes_on else 0):
            return True
        if first:
            last = len(messages) - 1
            _sound.put((self.model, first), (last, weakref.ref(messages[last])))
        return False

    def _read(self, state: Mapping[str, Any]) -> tuple[str, Sequence[AnyMessage]]:
        """The messages that the model will see, and the key they stand under."""
        hooked = state.get(HOOK_MESSAGES)
        if hooked:
            return HOOK_MESSAGES, hooked
        return self.messages_key, state.get(self.messages_key) or ()

    def node(self, state: Mapping[str, Any], config: RunnableConfig) -> Command[Any]:
        """Put a valid history in place, record what was wrong, and go on to the model."""
        try:
            return self._heal(state, config)
        except Exception:
            logger.exception("the history before %r could not be healed", self.model)
            return Command(goto=self.model)

    def _heal(self, state: Mapping[str, Any], config: RunnableConfig) -> Command[Any]:
        key, messages = self._read(state)
        healed, breaks = heal(messages)
        if not breaks and len(healed) == len(messages) and list(messages) == healed:
            return Command(goto=self.model)
        known = {event["id"] for event in state.get(CHANNEL) or ()}
        events = [
            event
            for event in self._events(breaks, messages, where(config))
            if event["id"] not in known
        ]
        update: dict[str, Any] = {CHANNEL: events}
        if key == HOOK_MESSAGES:
            return Command(update={**update, HOOK_MESSAGES: healed}, goto=self.model)
        if self.replaces:
            shared = min(len(messages), len(healed))
            start = next((i for i in range(shared) if messages[i] is not healed[i]), shared)
            if start == len(messages):  # only results at the end were missing
                return Command(update={**update, key: healed[start:]}, goto=self.model)
            whole = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *healed]
            return Command(update={**update, key: whole}, goto=self.model)
        request = {**read_channels(config, self.state_keys, fresh=False), key: healed}
        return Command(update=update, goto=Send(self.model, request))

    def _events(
        self,
        breaks: Sequence[Break],
        messages: Sequence[AnyMessage],
        context: Mapping[str, Any],
    ) -> list[Event]:
        task = task_at(messages)
        events: list[Event] = []
        for one in breaks:
            finding = Finding(
                Label.UNANSWERED_CALL,
                one.message,
                key=Label.UNANSWERED_CALL.value,
                detail="a result without its call" if one.orphan else "a call without its result",
                evidence={"tools": list(one.tools), "orphaned_result": one.orphan},
                tool=one.tools[0] if len(one.tools) == 1 else None,
                pattern="orphaned_result" if one.orphan else "dangling_call",
            )
            events.append(ledger.failure(finding, task, agent=self.model, **context))
        return events
