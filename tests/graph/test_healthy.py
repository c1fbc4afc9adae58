"""A healthy run costs nothing and looks like the run of the graph without Sentry."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from .kinds import BROKEN, KINDS, Kind
from .runs import Drive, made, outcome, plain, request

MODES = ("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints")


def _told(states: list[Any], key: str) -> list[Any]:
    return [
        (state.metadata["step"], state.next, outcome(state.values.get(key, ()))) for state in states
    ]


async def test_same_checkpoints_and_supersteps(kind: Kind, drive: Drive) -> None:
    """The same checkpoints, each with the same step, `next` and messages; the same calls and
    requests; the same output. Nothing of the ledger is stored."""
    told = []
    for bare in (True, False):
        saver = InMemorySaver()
        graph, model, box = made(kind, "parallel", bare=bare, checkpointer=saver)
        output = await drive.invoke(graph, request(kind.key))
        states = await drive.history(graph)
        told.append(
            (
                _told(states, kind.key),
                sorted(output),
                outcome(output[kind.key]),
                box.names(),
                [outcome(one) for one in model.requests],
            )
        )
        assert "sentry" not in repr([saver.storage, saver.writes, saver.blobs])
    assert told[1] == told[0]


async def test_same_stream(kind: Kind, drive: Drive) -> None:
    """All stream modes together give the same chunks in the same order, subgraphs included."""
    chunks = []
    for bare in (True, False):
        graph, _, _ = made(kind, "single", bare=bare, checkpointer=InMemorySaver())
        got = await drive.stream(graph, request(kind.key), stream_mode=list(MODES), subgraphs=True)
        chunks.append([plain(chunk) for chunk in got])
    assert chunks[1] == chunks[0]
    assert len(chunks[0]) > 20


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.name in ("react_typeddict", "create_agent_3")],
    ids=lambda kind: kind.name,
)
async def test_same_stream_of_one_mode(kind: Kind, drive: Drive, mode: Any) -> None:
    """Every stream mode by itself gives the same chunks in the same order."""
    chunks = []
    for bare in (True, False):
        graph, _, _ = made(kind, "single", bare=bare, checkpointer=InMemorySaver())
        got = await drive.stream(graph, request(kind.key), stream_mode=mode)
        chunks.append([plain(chunk) for chunk in got])
    assert chunks[1] == chunks[0]
    assert mode == "custom" or chunks[0]


async def test_same_schemas(kind: Kind) -> None:
    """Input, output and context schemas are those of the graph without Sentry."""
    bare, _, _ = made(kind, "single", bare=True)
    graph, _, _ = made(kind, "single")
    assert graph.get_input_jsonschema() == bare.get_input_jsonschema()
    assert graph.get_output_jsonschema() == bare.get_output_jsonschema()
    assert graph.get_context_jsonschema() == bare.get_context_jsonschema()
    assert "sentry" not in str(graph.get_output_jsonschema())


async def test_no_checkpointer_is_needed(kind: Kind, drive: Drive) -> None:
    """Without a checkpointer a run ends in the same messages as the graph without Sentry."""
    ended = []
    for bare in (True, False):
        graph, _, box = made(kind, "single", bare=bare)
        output = await drive.invoke(graph, request(kind.key), {"recursion_limit": 60})
        ended.append((outcome(output[kind.key]), box.names(), sorted(output)))
    assert ended[1] == ended[0]


async def test_a_graph_that_never_worked_stays_as_it_is(drive: Drive) -> None:
    """`create_react_agent` v1 with a post-model hook can't call tools in LangGraph itself:
    its answers without calls pass, and its error is the same with Sentry."""
    errors = []
    for bare in (True, False):
        graph, model, _ = made(BROKEN, "single", bare=bare)
        with pytest.raises(KeyError) as caught:
            await drive.invoke(graph, request(), {"recursion_limit": 10})
        errors.append(caught.value.args[0])
        output = await drive.invoke(graph, _answering(model), {"recursion_limit": 10})
        assert output["messages"][-1].content == "Mild."
    assert errors == ["tools", "tools"]


def _answering(model: Any) -> dict[str, Any]:
    model.script[1:] = ["Mild."]
    return request()
