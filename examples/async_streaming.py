"""Async streaming with a callback that hears every event as it happens."""

from __future__ import annotations

import asyncio

from langchain_core.tools import tool
from models import chat_model

from sentry_langgraph import SentryCallback, with_sentry
from sentry_langgraph.testing import ai, call, react_graph


@tool
async def read_page(name: str) -> str:
    """The text of a page."""
    return f"{name}: all systems are up"


MODEL = chat_model(
    [
        "I will read the status page now.",  # announced and not done
        ai("", call("read_page", {"name": "status"})),
        "All systems are up.",
    ]
)

graph = with_sentry(react_graph(MODEL, [read_page]), {"playbook": {"kind": "memory"}})


async def main() -> None:
    """Stream the answer's tokens, and print Sentry's events beside them."""
    callback = SentryCallback(
        on_event=lambda event: print(f"\n[sentry] {event['kind']} {event.get('label', '')}")
    )
    question = {"messages": [("user", "Is the site up?")]}
    async for chunk, meta in graph.astream(
        question, {"callbacks": [callback]}, stream_mode="messages"
    ):
        if meta["langgraph_node"] == "agent" and chunk.content:
            print(chunk.content, end="", flush=True)
    print()


if __name__ == "__main__":
    asyncio.run(main())
