"""A detector of your own: one function, named in the configuration by its import path.

It refuses a change whose `order_id` stands neither in the request nor in any result.
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


def order_id_from_nowhere(trajectory: Trajectory) -> Iterator[Finding]:
    """A refund needs an order id that the agent was told or has seen."""
    known = [trajectory.task.objective]
    known += [seen.text for step in trajectory.steps for seen in step.observations]
    for proposed in trajectory.proposal.calls:
        order_id = str((proposed.args or {}).get("order_id", ""))
        if proposed.name != "refund_order" or any(order_id in text for text in known):
            continue
        yield Finding(
            label=Label.HALLUCINATION,
            step=trajectory.proposal.id,
            key="order_id_from_nowhere",
            confidence=0.9,
            detail="`order_id` stands neither in the request nor in any result",
            advice="call `list_orders` and take the order id from its result.",
            calls=(proposed.index,),
            tool=proposed.name,
            argument="order_id",
        )


@tool
def list_orders(item: str) -> str:
    """The orders of an item."""
    return f"A7: 1 {item}, 40 EUR, delivered"


@tool
def refund_order(order_id: str) -> str:
    """Refund an order."""
    return f"{order_id} refunded"


MODEL = chat_model(
    [
        ai("", call("refund_order", {"order_id": "lamp-order-1"})),
        ai("", call("list_orders", {"item": "lamp"})),
        ai("", call("refund_order", {"order_id": "A7"})),
        "Your lamp, order A7, is refunded.",
    ]
)

graph = with_sentry(
    react_graph(MODEL, [list_orders, refund_order], checkpointer=InMemorySaver()),
    {
        "playbook": {"kind": "memory"},
        "detectors": [{"kind": f"{__name__}:order_id_from_nowhere"}],
    },
)


def main() -> None:
    """Run it and show what Sentry did."""
    config = {"configurable": {"thread_id": "own-detector"}}
    answer = graph.invoke({"messages": [("user", "Refund the lamp I ordered")]}, config)
    for message in answer["messages"]:
        message.pretty_print()
    print()
    print(sentry_report(graph, config))


if __name__ == "__main__":
    main()
