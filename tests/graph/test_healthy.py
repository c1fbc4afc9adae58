"""A healthy run costs nothing and looks like the run of the graph without Sentry."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from .kinds import Kind
from .runs import Drive, made, outcome, plain, request

MODES = ("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints")


def _told(states: list[Any], key: str) -> list[Any]:
    return [
        (state.metadata["step"], state.next, outcome(state.values.get(key, ())))
        for state in states
    ]


@pytest.mark.parametrize("name", ["single", "parallel"])
async def test_same_checkpoints_and_supersteps(kind: Kind, drive: Drive, name: str) -> None:
    """The same checkpoints, each with the same step, `next` and messages; the same calls ran."""
    told = []
    for bare in (True, False):
        graph, model, box = made(kind, name, bare=bare, checkpointer=InMemorySaver())
        output = await drive.invoke(graph, request(kind.key))
        states = await drive.history(graph)
        told.append(
            (
                _told(states, kind.key),
                sorted(output),
                outcome(output[kind.key]),
                box.names(),
                model.calls,
                [outcome(one) for one in model.requests],
            )
        )
    assert told[1] == told[0]


async def test_no_ledger_in_the_stored_checkpoints(kind: Kind, drive: Drive) -> None:
    """Neither a checkpoint nor a pending write of a healthy run holds anything of the ledger."""
    saver = InMemorySaver()
    graph, _, _ = made(kind, "parallel", checkpointer=saver)
    await drive.invoke(graph, request(kind.key))
    assert "sentry" not in repr(saver.storage)
    assert "sentry" not in repr(saver.writes)
    assert "sentry" not in repr(saver.blobs)


@pytest.mark.parametrize("mode", [*MODES, ["updates", "messages", "values"]], ids=str)
async def test_same_stream(kind: Kind, drive: Drive, mode: Any) -> None:
    """Every stream mode, and several together, give the same chunks in the same order."""
    chunks = []
    for bare in (True, False):
        graph, _, _ = made(kind, "single", bare=bare, checkpointer=InMemorySaver())
        got = await drive.stream(graph, request(kind.key), stream_mode=mode)
        chunks.append([plain(chunk) for chunk in got])
    assert chunks[1] == chunks[0]
    assert mode == "custom" or chunks[0]


async def test_same_stream_of_subgraphs(kind: Kind, drive: Drive) -> None:
    """The same holds with `subgraphs=True`."""
    chunks = []
    for bare in (True, False):
        graph, _, _ = made(kind, "single", bare=bare, checkpointer=InMemorySaver())
        got = await drive.stream(
            graph, request(kind.key), stream_mode=["values", "updates"], subgraphs=True
        )
        chunks.append([plain(chunk) for chunk in got])
    assert chunks[1] == chunks[0]


def test_same_schemas(kind: Kind) -> None:
    """Input, output, config and context schemas are those of the graph without Sentry."""
    bare, _, _ = made(kind, "single", bare=True)
    graph, _, _ = made(kind, "single")
    assert graph.get_input_jsonschema() == bare.get_input_jsonschema()
    assert graph.get_output_jsonschema() == bare.get_output_jsonschema()
    assert graph.get_context_jsonschema() == bare.get_context_jsonschema()
    assert graph.get_input_schema().model_json_schema() == (
        bare.get_input_schema().model_json_schema()
    )
    assert "sentry" not in str(graph.get_output_jsonschema())


@pytest.mark.parametrize("name", ["asks_healthy", "notes"])
async def test_no_checkpointer_is_needed(kind: Kind, drive: Drive, name: str) -> None:
    """Without a checkpointer a run ends in the same messages as the graph without Sentry."""
    if name == "asks_healthy":
        name = "single"
    ended = []
    for bare in (True, False):
        graph, _, box = made(kind, name, bare=bare)
        output = await drive.invoke(graph, request(kind.key), {"recursion_limit": 60})
        ended.append((outcome(output[kind.key]), box.names(), sorted(output)))
    assert ended[1] == ended[0]
