"""A detector of your own: one function, named in the configuration by its import path."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from models import chat_model

from sentry_langgraph import sentry_report, with_sentry
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.taxonomy import Label
from sentry_langgraph.testing import ai, call, react_graph


def refund_before_lookup(trajectory: Trajectory) -> Iterator[Finding]:
    """A refund may only follow a look at the order."""
    seen = {call.name for step in trajectory.steps for call in step.calls}
    for proposed in trajectory.proposal.calls:
        if proposed.name == "refund_order" and "get_order" not in seen:
            yield Finding(
                label=Label.REASONING_ACTION_MISMATCH,
                step=trajectory.proposal.id,
                key="refund_before_lookup",
                confidence=0.9,
                detail="the order was not looked at before the refund; call `get_order` first",
                calls=(proposed.index,),
                tool=proposed.name,
                pattern="refund_before_lookup",
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
        "Order A7 was delivered and is refunded now.",
    ]
)

graph = with_sentry(
    react_graph(MODEL, [get_order, refund_order], checkpointer=InMemorySaver()),
    {
        "playbook": {"kind": "memory"},
        "detectors": [{"kind": f"{__name__}:refund_before_lookup"}],
    },
)


def main() -> None:
    """Run it and show what Sentry did."""
    config = {"configurable": {"thread_id": "own-detector"}}
    answer = graph.invoke({"messages": [("user", "Refund my order A7")]}, config)
    print(answer["messages"][-1].content)
    print()
    print(sentry_report(graph, config))


if __name__ == "__main__":
    main()
