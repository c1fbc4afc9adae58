"""What stays of guidance in the context once a recovery is verified."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import RemoveMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from sentry_langgraph import with_sentry
from sentry_langgraph.testing import (
    STRICT,
    ScriptedChatModel,
    ai,
    call,
    is_guidance,
    react_graph,
)

CONFIG: Any = {"configurable": {"thread_id": "1"}}
SETTINGS = {"playbook": {"kind": "none"}}


@tool
def price_list(vendor: str) -> str:
    """The prices of a vendor."""
    return "Error: no prices" if vendor == "C" else f"{vendor}: 10"


def ask(graph: Any, text: str) -> list[Any]:
    messages: list[Any] = graph.invoke({"messages": [("user", text)]}, CONFIG)["messages"]
    return messages


def test_guidance_at_a_finish_stays() -> None:
    """Taken out, it would leave two assistant messages side by side, which providers refuse."""
    script = [
        "Next I will pull the price list of vendor A.",
        ai("", call("price_list", {"vendor": "A"})),
        "A costs 10.",
        "You are welcome.",
    ]
    model = ScriptedChatModel(script=script, rules=STRICT)
    graph = with_sentry(react_graph(model, [price_list], checkpointer=InMemorySaver()), SETTINGS)
    ask(graph, "Compare the vendors")
    messages = ask(graph, "Thanks")
    assert [one.type for one in messages] == [
        "human", "ai", "human", "ai", "tool", "ai", "human", "ai",
    ]  # fmt: skip
    events = graph.get_state(CONFIG).values["sentry"]
    assert [e["verdict"] for e in events if e["kind"] == "verdict"] == ["recovered"]


def test_advice_leaves_the_context_after_recovery() -> None:
    """It is read once, and no later request carries it."""
    again = ai("", call("price_list", {"vendor": "C"}))
    script = [
        again,
        again,
        again,
        ai("", call("price_list", {"vendor": "A"})),
        "A costs 10.",
        "Yes.",
    ]
    model = ScriptedChatModel(script=script, rules=STRICT, fresh_call_ids=True)
    graph = with_sentry(react_graph(model, [price_list], checkpointer=InMemorySaver()), SETTINGS)
    ask(graph, "What does it cost?")
    ask(graph, "Really?")
    seen = [any(is_guidance(one) for one in request) for request in model.requests]
    assert seen == [False, False, False, True, True, False]


def test_cleanup_never_keeps_guidance_in() -> None:
    """`cleanup: never` leaves advice where it is."""
    again = ai("", call("price_list", {"vendor": "C"}))
    script = [again, again, again, ai("", call("price_list", {"vendor": "A"})), "A costs 10."]
    model = ScriptedChatModel(script=script, rules=STRICT, fresh_call_ids=True)
    graph = with_sentry(
        react_graph(model, [price_list], checkpointer=InMemorySaver()),
        {**SETTINGS, "repair": {"cleanup": "never"}},
    )
    messages = ask(graph, "What does it cost?")
    assert sum(is_guidance(one) for one in messages) == 1


def test_a_tool_that_clears_the_history_beside_a_clean_up_ends_no_run() -> None:
    """Removing a message that something else has removed would raise in the reducer."""

    from langgraph.types import Command

    @tool
    def start_over(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Forget everything."""
        gone = RemoveMessage(id=REMOVE_ALL_MESSAGES)
        return Command(
            update={
                "messages": [
                    gone,
                    ai("", call("start_over", id=call_id)),
                    ToolMessage("cleared", tool_call_id=call_id),
                ]
            }
        )

    again = ai("", call("price_list", {"vendor": "C"}))
    script = [
        again, again, again, ai("", call("price_list", {"vendor": "A"})),
        ai("", call("start_over")), "Cleared.",
    ]  # fmt: skip
    model = ScriptedChatModel(script=script, fresh_call_ids=True)
    graph = with_sentry(
        react_graph(model, [price_list, start_over], checkpointer=InMemorySaver()), SETTINGS
    )
    assert ask(graph, "What does it cost?")[-1].content == "Cleared."
