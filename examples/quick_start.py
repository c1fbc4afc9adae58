"""A hand-written ReAct graph, wrapped in one line.

The model calls a tool that does not exist, then gives it a word where a number belongs. Both
calls are refused before they run, with a plan for the next one.
"""

from __future__ import annotations

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from models import chat_model

from sentry_langgraph import sentry_report, with_sentry
from sentry_langgraph.testing import ai, call


@tool
def get_forecast(city: str, days: int = 1) -> str:
    """The weather of a city for some days."""
    return f"{city}: mild for {days} days"


MODEL = chat_model(
    [
        ai("", call("fetch_forecast", {"city": "Oslo", "days": 3})),
        ai("", call("get_forecast", {"city": "Oslo", "days": "three"})),
        ai("", call("get_forecast", {"city": "Oslo", "days": 3})),
        "It stays mild in Oslo for three days.",
    ]
).bind_tools([get_forecast])


def agent(state: MessagesState) -> dict[str, list[object]]:
    """Ask the model."""
    return {"messages": [MODEL.invoke(state["messages"])]}


def route(state: MessagesState) -> str:
    """To the tools while there are calls."""
    return "tools" if state["messages"][-1].tool_calls else END


builder = StateGraph(MessagesState)
builder.add_node("agent", agent)
builder.add_node("tools", ToolNode([get_forecast]))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", route, ["tools", END])
builder.add_edge("tools", "agent")

graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), {"playbook": {"kind": "memory"}})


def main() -> None:
    """Run it and show what Sentry did."""
    config = {"configurable": {"thread_id": "quick-start"}}
    question = {"messages": [("user", "How is the weather in Oslo for the next three days?")]}
    for message in graph.invoke(question, config)["messages"]:
        message.pretty_print()
    print()
    print(sentry_report(graph, config))


if __name__ == "__main__":
    main()
