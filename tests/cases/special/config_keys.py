"""What Sentry adds to the configurable part of a run's config."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from cases.agents import react
from cases.assume import settings
from cases.drive import Graph, Scenario, run
from cases.loader import Case
from cases.scripts import messages, script
from cases.tools import Workshop
from sentry_langgraph.testing import ScriptedChatModel, router, state_class


def added_keys(case: Case) -> set[str]:
    """The keys that are in `configurable` of a wrapped run and not in that of the bare one."""
    return _keys(case, wrapped=True) - _keys(case, wrapped=False)


def _keys(case: Case, wrapped: bool) -> set[str]:
    found: set[str] = set()
    given = case.input

    def make(model: ScriptedChatModel, workshop: Workshop, saver: Any) -> Graph:
        bare = react(given["tools"])(model, workshop, saver)

        def agent(state: Any, config: RunnableConfig) -> dict[str, Any]:
            found.update(key for key in config["configurable"] if not key.startswith("__pregel"))
            return {"messages": [model.invoke(state["messages"], config)]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(state_class())
        builder.add_node("agent", agent)
        builder.add_node("tools", bare.builder.nodes["tools"].runnable)
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", router("tools"), ["tools", END])
        builder.add_edge("tools", "agent")
        return builder.compile(checkpointer=saver)

    run(
        Scenario(
            "keys",
            make,
            script(given["model_script"]),
            [{"messages": messages(given["messages"])}],
            settings(),
            config=given["config"],
            wrapped=wrapped,
        )
    )
    return found
