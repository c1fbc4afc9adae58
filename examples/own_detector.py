"""A detector of your own: one function, named in the configuration by its import path.

It refuses a refund of an order that nobody has looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from models import chat_model

from sentry_langgraph import sentry_report, with_sentry
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.taxonomy import Label
from sentry_langgraph.testing import ai, call, react_graph


def refund_unseen(trajectory: Trajectory) -> Iterator[Finding]:
    """A refund needs a look at the order first, even where the user names it."""
    seen = {one.name for step in trajectory.steps for one in step.calls}
    for proposed in trajectory.proposal.calls:
        if proposed.name != "refund_order" or "get_order" in seen:
            continue
        yield Finding(
            label=Label.IRREVERSIBLE_ACTION,
            step=trajectory.proposal.id,
            key="refund_unseen",
            confidence=0.9,
            detail="the order was not looked at",
            advice="call `get_order`, and refund only what was delivered.",
            calls=(proposed.index,),
            tool=proposed.name,
            pattern="unseen",
        )


@tool
def get_order(order_id: str) -> str:
    """One order."""
    return f"{order_id}: 1 lamp, 40 EUR, delivered"


@tool
def refund_order(order_id: str) -> str:
    """Refund an order."""
    return f"{order_id} refunded"


MODEL = chat_model(
    [
        ai("", call("refund_order", {"order_id": "A7"})),
        ai("", call("get_order", {"order_id": "A7"})),
        ai("", call("refund_order", {"order_id": "A7"})),
        "Your lamp, order A7, is refunded.",
    ]
)

graph = with_sentry(
    react_graph(MODEL, [get_order, refund_order], checkpointer=InMemorySaver()),
    {
        "playbook": {"kind": "memory"},
        "detectors": [{"kind": f"{__name__}:refund_unseen"}],
    },
)


def main() -> None:
    """Run it and show what Sentry did."""
    config = {"configurable": {"thread_id": "own-detector"}}
    answer = graph.invoke({"messages": [("user", "Refund order A7, please")]}, config)
    for message in answer["messages"]:
        message.pretty_print()
    print()
    print(sentry_report(graph, config))


if __name__ == "__main__":
    main()
