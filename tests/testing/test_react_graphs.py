"""`react_graph`: the same behaviour however state, tool node and router are written."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from typing_extensions import TypedDict

from sentry_langgraph.testing import (
    STRICT,
    ScriptedChatModel,
    ai,
    call,
    invalid_call,
    react_builder,
    react_graph,
)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _model() -> ScriptedChatModel:
    two = ai("", call("add", {"a": 1, "b": 2}, id="c1"), call("add", {"a": 3, "b": 4}, id="c2"))
    return ScriptedChatModel(script=[two, "3 and 7."], rules=STRICT)


@pytest.mark.parametrize("state", ["typeddict", "pydantic", "dataclass"])
@pytest.mark.parametrize("tool_node", ["node", "function"])
@pytest.mark.parametrize("key", ["messages", "chat"])
async def test_every_form_runs_sync_and_async(state: Any, tool_node: Any, key: str) -> None:
    """State kind, tool node and messages key change how it is written, not what it does."""
    for use_async in (False, True):
        graph = react_graph(_model(), [add], state=state, tool_node=tool_node, messages_key=key)
        given = {key: [("user", "sums?")]}
        out = await graph.ainvoke(given) if use_async else graph.invoke(given)
        assert [m.type for m in out[key]] == ["human", "ai", "tool", "tool", "ai"]
        assert [m.text for m in out[key]][2:] == ["3", "7", "3 and 7."]


@pytest.mark.parametrize("routing", ["path_map", "annotated", "bare"])
def test_every_router_runs(routing: Any) -> None:
    """Destinations may be listed, annotated or left undeclared."""
    builder = react_builder(_model(), [add], routing=routing)
    (branch,) = builder.branches["agent"].values()
    assert (branch.ends is None) is (routing == "bare")
    out = builder.compile().invoke({"messages": [("user", "sums?")]})
    assert len(out["messages"]) == 5


def test_names_state_class_and_compile_options() -> None:
    """Nodes can be renamed, a state class given, and anything passed to `compile`."""

    class Mine(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        note: str

    graph = react_graph(
        _model(),
        [add],
        state=Mine,
        names=("think", "act"),
        checkpointer=InMemorySaver(),
        compile_options={"interrupt_before": ["act"], "name": "mine"},
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"messages": [("user", "sums?")], "note": "n"}, config)
    assert graph.get_state(config).next == ("act",)
    out = graph.invoke(None, config)
    assert (out["messages"][-1].text, out["note"], graph.name) == ("3 and 7.", "n", "mine")


def test_tool_node_kinds() -> None:
    """One form holds a real `ToolNode`, the other a function that knows no tool node."""
    node = react_builder(_model(), [add]).nodes["tools"].runnable
    function = react_builder(_model(), [add], tool_node="function").nodes["tools"].runnable
    assert isinstance(node, ToolNode)
    assert not hasattr(function, "tools_by_name")


def test_a_message_with_only_unparsable_calls_ends_the_run() -> None:
    """The usual router looks at valid calls only, which is the silent end that users meet."""
    model = ScriptedChatModel(script=[ai("", invalid_call("add", "{a"))])
    out = react_graph(model, [add]).invoke({"messages": [("user", "sums?")]})
    assert [m.type for m in out["messages"]] == ["human", "ai"]


def test_tool_errors_are_handled_as_asked() -> None:
    """By default a failing tool ends the run; with `handle_tool_errors` it is a result."""

    @tool
    def fail() -> str:
        """Fail."""
        raise RuntimeError("down")

    script = [ai("", call("fail")), "sorry"]
    with pytest.raises(RuntimeError, match="down"):
        react_graph(ScriptedChatModel(script=script), [fail]).invoke({"messages": [("user", "x")]})
    graph = react_graph(ScriptedChatModel(script=script), [fail], handle_tool_errors=True)
    out = graph.invoke({"messages": [("user", "x")]})
    assert out["messages"][2].status == "error"


async def test_async_runs_call_the_model_on_the_event_loop() -> None:
    """The agent node has an async body of its own and needs no worker thread."""
    threads = []

    def answer(_: list[Any]) -> str:
        threads.append(threading.current_thread())
        return "done"

    graph = react_graph(ScriptedChatModel(script=[answer]), [add])
    await graph.ainvoke({"messages": [("user", "x")]})
    assert threads == [threading.current_thread()]
