"""A second model that is asked where rules are not sure.

The agent reads about the history of lamps instead of looking at the order. No rule can see that;
the judge is asked at the second step, beside the tools, and names it. Its answer counts because it
quotes the agent's own words.
"""

from __future__ import annotations

import json

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from models import chat_model

from sentry_langgraph import sentry_report, with_sentry
from sentry_langgraph.testing import ai, call, react_graph


@tool
def search_web(text: str) -> str:
    """Search the web."""
    return f"12 pages about {text}"


@tool
def find_orders(customer: str) -> str:
    """The orders of a customer."""
    return "O-1003, desk lamp"


MODEL = chat_model(
    [
        ai("", call("search_web", {"text": "desk lamps"})),
        ai("", call("search_web", {"text": "the history of lamps"})),
        ai("", call("find_orders", {"customer": "Chloe Park"})),
        "You ordered a desk lamp; the order is O-1003.",
    ]
)
JUDGE = chat_model(
    [
        json.dumps(
            {
                "reason": "The request is about an order, the search is not.",
                "label": "objective_drift",
                "step": "s2",
                "quote": "the history of lamps",
                "confidence": 0.9,
                "next_tool": "find_orders",
            }
        )
    ]
)

graph = with_sentry(
    react_graph(MODEL, [search_web, find_orders], checkpointer=InMemorySaver()),
    {
        "playbook": {"kind": "none"},
        "detectors": [{"kind": "judge", "when": "both", "min_interval": 2}],
    },
    judge=JUDGE,
)


def main() -> None:
    """Run it and show what the judge said and cost."""
    config = {"configurable": {"thread_id": "judge"}}
    question = {"messages": [("user", "What did I order? I am Chloe Park.")]}
    for message in graph.invoke(question, config)["messages"]:
        message.pretty_print()
    print()
    print(sentry_report(graph, config))


if __name__ == "__main__":
    main()
