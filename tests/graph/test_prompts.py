"""Prompts that stand outside of the messages ground values."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from sentry_langgraph import with_sentry
from sentry_langgraph.graph.prompts import instructions_of
from sentry_langgraph.testing import ScriptedChatModel, ai, call

PROMPT = "Policy: book everything on the account ACC-7731."
MODEL = ScriptedChatModel(script=["done"])


@tool
def book_item(account_id: str) -> str:
    """Book something, such as on ACC-0000."""
    return f"booked on {account_id}"


def graph(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", node)
    builder.add_node("tools", ToolNode([book_item]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver())


def with_global(state: MessagesState) -> Any:
    return {"messages": [MODEL.invoke([SystemMessage(PROMPT), *state["messages"]])]}


def with_constant(state: MessagesState) -> Any:
    said = ("system", "Policy: book everything on the account ACC-7731.")
    return {"messages": [MODEL.invoke([said, *state["messages"]])]}


async def with_async(state: MessagesState) -> Any:
    return {"messages": [await MODEL.ainvoke([SystemMessage(PROMPT), *state["messages"]])]}


CHAIN = ChatPromptTemplate.from_messages([("system", PROMPT), ("placeholder", "{messages}")])


def with_chain(state: MessagesState) -> Any:
    return {"messages": [(CHAIN | MODEL).invoke(dict(state))]}


def with_closure() -> Any:
    message = SystemMessage(PROMPT)

    def node(state: MessagesState) -> Any:
        return {"messages": [MODEL.invoke([message, *state["messages"]])]}

    return node


class Agent:
    def __init__(self) -> None:
        self.prompt = PROMPT

    def __call__(self, state: MessagesState) -> Any:
        return {"messages": [MODEL.invoke([SystemMessage(self.prompt), *state["messages"]])]}

    def node(self, state: MessagesState) -> Any:
        return self(state)


NODES = {
    "global": with_global,
    "constant": with_constant,
    "async": with_async,
    "chain": with_chain,
    "closure": with_closure(),
    "object": Agent(),
    "method": Agent().node,
}


@pytest.mark.parametrize("name", NODES)
def test_agents_written_by_hand(name: str) -> None:
    """Global names, constants, closures, attributes, prompt templates."""
    found = instructions_of(graph(NODES[name]).builder.nodes["agent"].runnable)
    assert any("ACC-7731" in text for text in found)
    assert not any("ACC-0000" in text for text in found)


@pytest.mark.parametrize("prompt", [PROMPT, SystemMessage(PROMPT)], ids=["text", "message"])
def test_create_agent(prompt: Any) -> None:
    """`system_prompt` lies in a closure of the model node."""
    agents = pytest.importorskip("langchain.agents")
    made = agents.create_agent(MODEL, [book_item], system_prompt=prompt)
    assert PROMPT in instructions_of(made.builder.nodes["model"].runnable)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize(
    "prompt",
    [PROMPT, SystemMessage(PROMPT), lambda state: [SystemMessage(PROMPT), *state["messages"]]],
    ids=["text", "message", "function"],
)
def test_create_react_agent(prompt: Any) -> None:
    """`prompt` lies in a runnable before the model."""
    from langgraph.prebuilt import create_react_agent

    made = create_react_agent(MODEL, [book_item], prompt=prompt)
    assert PROMPT in instructions_of(made.builder.nodes["agent"].runnable)


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_reading_prompts_never_raises() -> None:
    """Whatever a node refers to."""
    loop: list[Any] = []
    loop.append(loop)

    def node(state: Any) -> Any:
        return loop, Hostile

    for value in (node, Hostile(), loop, None, 7, object()):
        assert isinstance(instructions_of(value), tuple)


def run(model: ScriptedChatModel, node: Any) -> list[Any]:
    wrapped = with_sentry(graph(node), {"playbook": {"kind": "none"}})
    config: Any = {"configurable": {"thread_id": "1"}}
    messages: list[Any] = wrapped.invoke({"messages": [("user", "Book a lamp")]}, config)[
        "messages"
    ]
    return messages


def test_a_value_of_the_prompt_is_used_and_another_one_held() -> None:
    """In a running graph."""
    for account, runs in (("ACC-7731", True), ("ACC-9999", False)):
        booked = call("book_item", {"account_id": account})
        model = ScriptedChatModel(
            script=[ai("", booked), "I could not book it.", *["Not possible."] * 2]
        )

        def node(state: MessagesState, model: ScriptedChatModel = model) -> dict[str, Any]:
            answer: AIMessage = model.invoke([SystemMessage(PROMPT), *state["messages"]])
            return {"messages": [answer]}

        results = [m.text for m in run(model, node) if m.type == "tool"]
        assert (results == [f"booked on {account}"]) is runs
