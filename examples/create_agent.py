"""`create_agent` with a loop: advice at the third identical call, and the agent finds out.

Needs the extra `langchain`: `pip install ".[langchain]"`.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from models import chat_model

from sentry_langgraph import sentry_report, with_sentry
from sentry_langgraph.testing import ai, call

ORDERS = {"2024": 7, "2025": 12}


@tool
def count_orders(table: str) -> str:
    """How many rows a table has. Tables are named orders_YEAR."""
    year = table.removeprefix("orders_")
    return str(ORDERS[year]) if year in ORDERS else f"Error: there is no table {table}"


MODEL = chat_model(
    [
        *[ai("", call("count_orders", {"table": "orders"})) for _ in range(3)],
        ai("", call("count_orders", {"table": "orders_2025"})),
        "There were 12 orders in 2025.",
    ]
)

graph = with_sentry(
    create_agent(MODEL, [count_orders], checkpointer=InMemorySaver()),
    {"playbook": {"kind": "memory"}},
)


def main() -> None:
    """Run it and show what Sentry did."""
    config = {"configurable": {"thread_id": "create-agent"}}
    answer = graph.invoke({"messages": [("user", "How many orders in 2025?")]}, config)
    print(answer["messages"][-1].content)
    print()
    print(sentry_report(graph, config))


if __name__ == "__main__":
    main()
