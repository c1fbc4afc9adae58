"""What a graph was compiled with stays; the original graph is not touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, NodeTimeoutError
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import get_runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, RetryPolicy
from typing_extensions import TypedDict

from sentry_langgraph import with_sentry
from sentry_langgraph.testing import ai, call, react_builder

from .kinds import KINDS, Kind
from .runs import CONFIG, QUIET, Drive, Toolbox, made, model_for, outcome, request

ROOT = Path(__file__).parents[2]


def test_compile_options_stay(kind: Kind) -> None:
    """Checkpointer, store, cache, debug and name are the very objects that were compiled in."""
    given: dict[str, Any] = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    if "prebuilt" not in kind.name:
        given["cache"] = InMemoryCache()
    graph, _, _ = made(kind, "single", name="weather", **given)
    assert graph.name == "weather"
    assert graph.get_name() == "weather"
    for key, value in given.items():
        assert getattr(graph, key) is value
    assert graph.debug is False


def test_nothing_is_compiled_in_by_us(kind: Kind) -> None:
    """Without a checkpointer or store of the user there is none: a server brings its own."""
    graph, _, _ = made(kind, "single")
    assert graph.checkpointer is None
    assert graph.store is None


async def test_the_original_is_untouched(kind: Kind, drive: Drive) -> None:
    """The graph that was wrapped keeps its nodes, edges and channels, and still runs as
    before; its builder compiles again."""
    if kind.inner:
        pytest.skip("the factory wraps before it compiles the parent")
    box, model = Toolbox(), model_for("single")
    original = kind.bare(model, box.tools(), checkpointer=InMemorySaver())
    builder = original.builder
    before = (
        set(original.nodes),
        set(original.channels),
        set(builder.edges),
        {name: set(branches) for name, branches in builder.branches.items()},
        set(builder.nodes),
    )
    wrapped = with_sentry(original, QUIET, **kind.options(box.tools()))
    assert wrapped is not original
    after = (
        set(original.nodes),
        set(original.channels),
        set(builder.edges),
        {name: set(branches) for name, branches in builder.branches.items()},
        set(builder.nodes),
    )
    assert after == before
    output = await drive.invoke(original, request(kind.key))
    assert "sentry" not in original.get_state(CONFIG).values
    assert output[kind.key][-1].content == "It is mild in Oslo."
    assert set(builder.compile().nodes) == before[0]


def test_wrapping_twice_changes_nothing(kind: Kind) -> None:
    """A wrapped graph comes back as it is."""
    graph, _, box = made(kind, "single")
    if kind.inner == "alone":  # the parent was not wrapped yet
        graph = with_sentry(graph, QUIET)
    assert with_sentry(graph, QUIET, **kind.options(box.tools())) is graph


@pytest.mark.parametrize("again", ["original", "builder"])
def test_one_graph_is_wrapped_several_times(again: str) -> None:
    """The same graph, or its builder, can be wrapped again with other settings."""
    original = react_builder(model_for("single"), Toolbox().tools()).compile()
    source: Any = original if again == "original" else original.builder
    first = with_sentry(source, QUIET)
    second = with_sentry(source, {**QUIET, "mode": "shadow"})
    assert first is not second
    assert set(first.nodes) == set(second.nodes)
    assert "sentry" not in original.channels


async def test_config_stays(drive: Drive) -> None:
    """`with_config` on the graph, tags and metadata and the recursion limit, still holds."""
    kind = KINDS[0]
    box = Toolbox()
    original = kind.bare(model_for("single"), box.tools()).with_config(
        {"recursion_limit": 3, "tags": ["weather"], "metadata": {"team": "north"}}
    )
    graph = with_sentry(original, QUIET)
    assert graph.config == original.config
    with pytest.raises(GraphRecursionError):
        await drive.invoke(graph, request(), None)


async def test_a_repair_counts_as_a_step(drive: Drive) -> None:
    """The recursion limit is the user's: repairs live within it and do not raise it."""
    graph, _, _ = made(KINDS[0], "hard")
    with pytest.raises(GraphRecursionError):
        await drive.invoke(graph, request(), {"recursion_limit": 6})


class Where(TypedDict):
    """A context of a run."""

    city: str


async def test_context_schema_stays(drive: Drive) -> None:
    """The context reaches the nodes, and its schema is the same."""
    seen: list[str] = []

    def route(state: Any) -> str:
        seen.append(get_runtime(Where).context["city"])
        return "tools" if state["messages"][-1].tool_calls else "__end__"

    box = Toolbox()
    template = react_builder(model_for("hard"), box.tools())
    builder = StateGraph(template.state_schema, context_schema=Where)
    for name, spec in template.nodes.items():
        builder.add_node(name, spec.runnable)
    builder.set_entry_point("agent")
    builder.add_conditional_edges("agent", route, ["tools", "__end__"])
    builder.add_edge("tools", "agent")
    graph = with_sentry(builder.compile(), QUIET)
    assert graph.context_schema is Where
    output = await drive.invoke(graph, request(), {"recursion_limit": 40}, context={"city": "Oslo"})
    assert output["messages"][-1].content == "It is mild in Oslo."
    assert seen == ["Oslo"] * 5


async def test_tools_still_get_store_state_and_context(drive: Drive) -> None:
    """A tool reads state, store and context through its runtime, and the model never has to
    give them: they are no missing arguments. The valid part of a parted batch gets them too."""
    store, seen = InMemoryStore(), []

    @tool
    def remember(what: str, runtime: ToolRuntime[Where, Any]) -> str:
        """Remember something."""
        seen.append((len(runtime.state["messages"]), runtime.tool_call_id, runtime.context))
        assert runtime.store is not None
        runtime.store.put(("notes",), what, {"what": what})
        return "remembered"

    model = model_for("single")
    model.script[:] = [
        ai(
            "",
            call("remember", {"what": "rain"}, id="c1"),
            call("forecast", {"town": "Oslo"}, id="c2"),
            id="m1",
        ),
        "Done.",
    ]
    agent = create_agent(model, [*Toolbox().tools(), remember], store=store, context_schema=Where)
    graph = with_sentry(agent, QUIET)
    output = await drive.invoke(graph, request(), {}, context={"city": "Oslo"})
    assert seen == [(2, "c1", {"city": "Oslo"})]
    assert store.get(("notes",), "rain") is not None
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool", "tool", "ai"]


async def test_retry_policy_stays(drive: Drive) -> None:
    """A node's retry policy still retries it, and the repair of its answer runs once."""
    box = Toolbox()
    model = model_for("hard")
    model.script.insert(0, ConnectionError("down"))
    builder = react_builder(model, box.tools())
    builder.nodes["agent"].retry_policy = RetryPolicy(initial_interval=0.001, jitter=False)
    graph = with_sentry(builder.compile(checkpointer=InMemorySaver()), QUIET)
    output = await drive.invoke(graph, request())
    assert output["messages"][-1].content == "It is mild in Oslo."
    assert model.calls == 6
    events = (await drive.state(graph)).values["sentry"]
    assert [e["kind"] for e in events].count("repair") == 3


async def test_cache_policy_stays(drive: Drive) -> None:
    """A cached tool node answers the second run from the cache."""
    box = Toolbox()
    model = model_for("single")
    model.script[:] = [*model.script, *model_for("single").script]
    builder = react_builder(model, box.tools())
    builder.nodes["tools"].cache_policy = CachePolicy(key_func=_newest)
    graph = with_sentry(builder.compile(cache=InMemoryCache()), QUIET)
    first = await drive.invoke(graph, request(), {"recursion_limit": 30})
    second = await drive.invoke(graph, request(), {"recursion_limit": 30})
    assert outcome(second["messages"]) == outcome(first["messages"])
    assert box.names() == ["forecast", "forecast"]


def _newest(state: Any) -> str:
    return str([c["args"] for c in state["messages"][-1].tool_calls])


async def test_step_timeout_stays() -> None:
    """A step that takes too long still ends the run."""
    graph = KINDS[0].bare(_slow_model(), Toolbox().tools())
    graph.step_timeout = 0.05
    wrapped = with_sentry(graph, QUIET)
    assert wrapped.step_timeout == 0.05
    with pytest.raises((TimeoutError, NodeTimeoutError)):
        await wrapped.ainvoke(request(), {"recursion_limit": 10})


def _slow_model() -> Any:
    import time

    def slow(messages: Any) -> str:
        time.sleep(0.3)
        return "late"

    model = model_for("single")
    model.script[:] = [slow]
    return model


@pytest.mark.parametrize("fails", [False, True])
async def test_default_error_handler(drive: Drive, fails: bool) -> None:
    """A graph with node defaults, an error handler and a retry policy, can be wrapped, also
    twice, and the handler still takes over."""
    box = Toolbox()
    model = model_for("hard")
    if fails:
        model.script[1:] = [ValueError("broken")] * 10
    builder = react_builder(model, box.tools())
    builder.set_node_defaults(
        error_handler=lambda state: {"messages": [ai("I could not go on.", id="m50")]},
        retry_policy=RetryPolicy(max_attempts=1),
    )
    with_sentry(builder, QUIET)
    original = builder.compile()
    with_sentry(original, QUIET)
    graph = with_sentry(original, QUIET)
    output = await drive.invoke(graph, request(), {"recursion_limit": 30})
    last = "I could not go on." if fails else "It is mild in Oslo."
    assert output["messages"][-1].content == last


_STRICT = """
import sqlite3, sys, warnings
warnings.simplefilter("error")
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.memory import InMemorySaver
from graph.runs import CONFIG, QUIET, Toolbox, model_for, request
from sentry_langgraph import with_sentry
from sentry_langgraph.testing import react_builder
for name in ("hard", "loop"):
    with SqliteSaver.from_conn_string(":memory:") as saver:
        graph = with_sentry(
            react_builder(model_for(name), Toolbox().tools()).compile(checkpointer=saver), QUIET
        )
        output = graph.invoke(request(), CONFIG)
        events = graph.get_state(CONFIG).values["sentry"]
        assert all(type(event) is dict for event in events), events
        kinds = {event["kind"] for event in events}
        assert {"failure", "repair", "verdict"} <= kinds, kinds
        types = [type(m).__name__ for m in graph.get_state(CONFIG).values["messages"]]
        assert set(types) <= {"HumanMessage", "AIMessage", "ToolMessage"}, types
print("kept")
"""


def test_strict_msgpack() -> None:
    """With LANGGRAPH_STRICT_MSGPACK nothing of the ledger is lost or degraded, and nothing of
    ours is refused."""
    ended = subprocess.run(
        [sys.executable, "-c", _STRICT],
        cwd=ROOT,
        env={
            **os.environ,
            "LANGGRAPH_STRICT_MSGPACK": "true",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "kept\n"
    assert "unregistered" not in ended.stderr
    assert "Blocked" not in ended.stderr
