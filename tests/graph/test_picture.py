"""The picture is valid, complete and drawn without help from outside."""

from __future__ import annotations

import re
import socket
from typing import Any
from xml.etree import ElementTree

import pytest
from langchain_core.runnables.graph import Graph
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from sentry_langgraph import with_sentry
from sentry_langgraph.graph.picture import draw_mermaid, draw_svg
from sentry_langgraph.testing import ScriptedChatModel, react_graph

SVG = "{http://www.w3.org/2000/svg}"


class State(TypedDict):
    """A state of no interest."""

    value: int


@tool
def forecast(city: str) -> str:
    """Weather of a city."""
    return "mild"


def _wrapped() -> Any:
    return with_sentry(react_graph(ScriptedChatModel(), [forecast]), {"playbook": {"kind": "none"}})


def _root(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.encode())


def _boxes(root: ElementTree.Element) -> dict[str, tuple[float, float, float, float]]:
    """Name and (left, top, right, bottom) of each node."""
    boxes = {}
    for group in root.iter(f"{SVG}g"):
        rect, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert rect is not None
        assert text is not None
        x, y, width, height = (float(rect.get(k, "")) for k in ("x", "y", "width", "height"))
        boxes[str(text.text)] = (x, y, x + width, y + height)
    return boxes


def _labels(root: ElementTree.Element) -> list[str]:
    return [str(t.text) for t in root.iter(f"{SVG}text") if t.get("class") == "label"]


def test_every_node_edge_and_label_is_drawn() -> None:
    """Nodes, edges and labels of `get_graph` stand in the SVG; conditional edges are dashed."""
    drawable = _wrapped().get_graph()
    root = _root(draw_svg(_wrapped()))
    names = {{"__start__": "start", "__end__": "end"}.get(n, n) for n in drawable.nodes}
    assert set(_boxes(root)) == names
    paths = [p for p in root.iter(f"{SVG}path") if p.get("class")]
    assert len(paths) == len(drawable.edges)
    dashed = [p for p in paths if p.get("class") == "conditional"]
    assert len(dashed) == sum(1 for edge in drawable.edges if edge.conditional) > 0
    labels = sorted(str(edge.data).strip() for edge in drawable.edges if edge.data)
    assert sorted(_labels(root)) == labels
    assert "invalid action" in labels


def test_nodes_do_not_overlap_and_lie_inside() -> None:
    """No two boxes share a point, and the view box holds all of them."""
    root = _root(draw_svg(_wrapped()))
    left, top, width, height = map(float, str(root.get("viewBox")).split())
    boxes = list(_boxes(root).values())
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        assert left <= x0 < x1 <= left + width
        assert top <= y0 < y1 <= top + height
        for a0, b0, a1, b1 in boxes[i + 1 :]:
            assert x1 < a0 or a1 < x0 or y1 < b0 or b1 < y0


def test_edges_begin_and_end_at_their_nodes() -> None:
    """Each line starts on the border of its source and ends on the border of its target."""
    drawable = _wrapped().get_graph()
    root = _root(draw_svg(_wrapped()))
    boxes = _boxes(root)
    short = {"__start__": "start", "__end__": "end"}
    paths = [str(p.get("d")) for p in root.iter(f"{SVG}path") if p.get("class")]
    for path, edge in zip(paths, drawable.edges, strict=True):
        numbers = [float(n) for n in re.findall(r"-?\d+\.\d+", path)]
        for (x, y), name in ((numbers[:2], edge.source), (numbers[-2:], edge.target)):
            x0, y0, x1, y1 = boxes[short.get(name, name)]
            assert x0 <= x <= x1
            assert y in (y0, y1)


def test_names_and_labels_are_escaped() -> None:
    """A name with XML's own characters, or with ones that XML does not have, breaks nothing."""
    builder = StateGraph(State)
    name = 'a<b> & "c"'
    builder.add_node(name, lambda state: state)
    builder.add_edge(START, name)
    builder.add_conditional_edges(
        name, lambda state: "x", {"</svg>\x00": END, "again & \ud800": name}
    )
    root = _root(draw_svg(builder.compile(), title="<title> & co"))
    assert name in _boxes(root)
    assert any("</svg>" in label for label in _labels(root))
    assert str(next(root.iter(f"{SVG}title")).text) == "<title> & co"


def test_an_empty_graph_is_a_picture_too() -> None:
    """Nothing to draw is no error."""
    assert _root(draw_svg(Graph())).tag == f"{SVG}svg"


def test_a_picture_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither form opens a connection."""

    def refuse(*args: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert "sentry_hard_repair" in draw_mermaid(_wrapped())
    assert "sentry_hard_repair" in draw_svg(_wrapped())
