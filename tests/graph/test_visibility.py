"""Where the ledger is seen, and where not; what the drawn graph shows."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from .kinds import KINDS, Kind
from .runs import CONFIG, Drive, events_of, made, request

NODES = {"sentry_hard_repair", "sentry_soft_repair", "sentry_verify", "sentry_escalate"}
LABELS = {"invalid action", "soft failure", "verdict due", "needs human", "broken history"}


def _names_ledger(value: Any) -> bool:
    """Whether any mapping inside of `value` has the key `sentry` with the ledger's events."""
    if isinstance(value, dict):
        if isinstance(value.get("sentry"), list):
            return True
        return any(_names_ledger(one) for one in value.values())
    if isinstance(value, list | tuple):
        return any(_names_ledger(one) for one in value)
    return False


async def test_only_the_state_shows_the_ledger(kind: Kind, drive: Drive) -> None:
    """Events of a failing run are in `get_state` and in no streamed value, with subgraphs too."""
    saver = InMemorySaver()
    graph, _, _ = made(kind, "mixed", checkpointer=saver)
    chunks = await drive.stream(graph, request(kind.key), stream_mode="values", subgraphs=True)
    assert chunks
    assert not _names_ledger([chunk for _, chunk in chunks])
    assert [event["kind"] for event in events_of(graph, saver)] == [
        "failure",
        "repair",
        "verdict",
    ]
    if not kind.inner:
        assert len((await drive.state(graph)).values["sentry"]) == 3


async def test_updates_show_what_nodes_wrote(kind: Kind, drive: Drive) -> None:
    """`stream(mode="updates")` names Sentry's nodes, as it names every node that ran."""
    graph, _, _ = made(kind, "hard", checkpointer=InMemorySaver())
    chunks = await drive.stream(graph, request(kind.key), stream_mode="updates", subgraphs=True)
    names = [name for _, chunk in chunks for name in chunk]
    assert names.count("sentry_hard_repair") == 3


async def test_output_keys_are_respected(drive: Drive) -> None:
    """Who asks for the ledger by name gets it; a single key is given as it is."""
    kind = KINDS[0]
    graph, _, _ = made(kind, "mixed")
    values = await drive.stream(
        graph, request(), {"recursion_limit": 60}, stream_mode="values", output_keys=["sentry"]
    )
    assert [len(value["sentry"]) for value in values][-1] == 3
    graph, _, _ = made(kind, "mixed")
    alone = await drive.invoke(graph, request(), {"recursion_limit": 60}, output_keys="messages")
    assert alone[-1].content == "It is mild in Oslo."


async def test_version_two_of_the_stream(kind: Kind, drive: Drive) -> None:
    """`version="v2"` gives typed parts; none of its values holds the ledger."""
    graph, _, _ = made(kind, "mixed", checkpointer=InMemorySaver())
    parts = await drive.stream(
        graph,
        request(kind.key),
        stream_mode=["values", "updates"],
        subgraphs=True,
        version="v2",
    )
    values = [part["data"] for part in parts if part["type"] == "values"]
    assert values
    assert not _names_ledger(values)
    graph, _, _ = made(kind, "mixed", checkpointer=InMemorySaver())
    output = await drive.invoke(graph, request(kind.key), version="v2")
    held = output.value
    assert not (held.get("sentry") if isinstance(held, dict) else getattr(held, "sentry", None))


async def test_events_of_the_run(kind: Kind) -> None:
    """`astream_events` tells each event of the ledger once, as a custom event of ours, and no
    output of the graph holds the ledger."""
    saver = InMemorySaver()
    graph, _, _ = made(kind, "mixed", checkpointer=saver)
    told = [e async for e in graph.astream_events(request(kind.key), CONFIG, version="v2")]
    custom = [e["data"]["id"] for e in told if e["event"] == "on_custom_event"]
    assert custom == [event["id"] for event in events_of(graph, saver)]
    ended = [e for e in told if e["event"] == "on_chain_end" and not e["parent_ids"]]
    assert len(ended) == 1
    assert not _names_ledger(ended[0]["data"]["output"])


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
async def test_version_three_of_the_events(kind: Kind, drive: Drive) -> None:
    """No event and no output of `stream_events(version="v3")` holds the ledger."""
    graph, _, _ = made(kind, "hard", checkpointer=InMemorySaver())
    if drive.way == "sync":
        run = graph.stream_events(request(kind.key), CONFIG, version="v3")
        events, output = list(run), run.output
    else:
        later = await graph.astream_events(request(kind.key), CONFIG, version="v3")
        events = [event async for event in later]
        output = await later.output()
    values = [event for event in events if event["method"] == "values"]
    assert values
    assert not _names_ledger(values)
    assert not _names_ledger(output)


def test_drawn_graph(kind: Kind) -> None:
    """The drawn graph shows Sentry's nodes and labelled conditional edges, and Mermaid text
    can be made of it."""
    graph, _, _ = made(kind, "single")
    drawn = graph.get_graph(xray=True) if kind.inner else graph.get_graph()
    names = {node.split(":")[-1] for node in drawn.nodes}
    assert names >= NODES
    shown = {str(edge.data) for edge in drawn.edges if edge.conditional and edge.data}
    assert shown >= LABELS
    text = drawn.draw_mermaid()
    assert "invalid action" in text
    assert "sentry_hard_repair" in text
    assert graph.get_graph(xray=True).draw_mermaid()


async def test_drawn_graph_keeps_what_was_drawn(kind: Kind, drive: Drive) -> None:
    """Every node and every pair of connected nodes of the original is still drawn."""
    bare, _, _ = made(kind, "single", bare=True)
    graph, _, _ = made(kind, "single")
    before, after = bare.get_graph(xray=True), graph.get_graph(xray=True)
    assert set(before.nodes) <= set(after.nodes)
    pairs = {(edge.source, edge.target) for edge in before.edges}
    missing = pairs - {(edge.source, edge.target) for edge in after.edges}
    assert missing == set()
