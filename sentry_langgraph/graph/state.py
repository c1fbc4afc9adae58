"""The private channel that holds the ledger."""

from __future__ import annotations

from typing import Annotated, Any

from langgraph.graph import StateGraph
from typing_extensions import TypedDict

from sentry_langgraph import ledger
from sentry_langgraph.errors import WiringError
from sentry_langgraph.records import Event

CHANNEL = "sentry"
"""Name of the channel: in `get_state`, and in no input, output or streamed value."""


def view(builder: StateGraph[Any, Any, Any, Any], messages_key: str) -> type[Any]:
    """The schema that edges and nodes of ours read: messages, the ledger, hook messages.

    Raises:
        WiringError: The graph has no channel of that name, or uses ours for something else.
    """
    if messages_key not in builder.channels:
        raise WiringError(
            f"the state has no key {messages_key!r}. Pass messages_key=… with the key that holds "
            f"the messages. Keys of the state: {', '.join(builder.channels)}.",
            nodes=tuple(builder.nodes),
        )
    if CHANNEL in builder.channels:
        raise WiringError(f"the state already has a key {CHANNEL!r}; rename it.")
    fields: dict[str, Any] = {CHANNEL: Annotated[list[Event], ledger.append], messages_key: list}
    if HOOK_MESSAGES in builder.channels:
        fields[HOOK_MESSAGES] = list
    return TypedDict("SentryView", fields)  # type: ignore[operator, no-any-return]


HOOK_MESSAGES = "llm_input_messages"
"""What a `pre_model_hook` gives to the model instead of the messages of the state."""
