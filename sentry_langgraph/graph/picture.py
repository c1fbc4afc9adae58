"""The picture of a graph: as Mermaid text, and as an SVG that is made without a browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from langchain_core.runnables.graph import Graph
from langgraph.graph.state import CompiledStateGraph

from sentry_langgraph.graph.anatomy import PREFIX
from sentry_langgraph.graph.layout import LANE, Layout, Spot

_CHARACTER = 7.3
_HEIGHT = 36.0
_LAYER = 116.0
_MARGIN = 28.0
_PORT = 15.0
_LABEL_HEIGHT = 15.0
_XML_FORBIDDEN = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], "�")
_ENDS = ("__start__", "__end__")

Drawable = CompiledStateGraph[Any, Any, Any, Any] | Graph


def draw_mermaid(graph: Drawable) -> str:
    """The graph as Mermaid text, with labelled edges. Needs no network."""
    return _drawable(graph).draw_mermaid()


def draw_svg(graph: Drawable, *, title: str = "Agent with Sentry") -> str:
    """The graph as an SVG document. Sentry's own nodes are coloured; dashed edges are conditional.

    Args:
        graph: A compiled graph, or what its `get_graph` gives.
        title: What screen readers say.
    """
    drawable = _drawable(graph)
    edges = [
        _Edge(edge.source, edge.target, str(edge.data or "").strip(), edge.conditional)
        for edge in drawable.edges
    ]
    ends = Counter(name for edge in edges for name in (edge.source, edge.target))
    layout = Layout.of(
        {name: _width(name, ends[name]) for name in drawable.nodes},
        [(edge.source, edge.target) for edge in edges],
    )
    return _Drawing({name: _style(name) for name in drawable.nodes}, edges, layout).svg(title)


def _drawable(graph: Drawable) -> Graph:
    return graph if isinstance(graph, Graph) else graph.get_graph()


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    target: str
    label: str
    conditional: bool


@dataclass(frozen=True, slots=True)
class _Drawing:
    styles: Mapping[str, str]
    edges: Sequence[_Edge]
    layout: Layout

    def svg(self, title: str) -> str:
        spots, layers = self.layout.spots, self.layout.layers
        right = max((s.x + s.width / 2 for s in spots.values()), default=100.0)
        left = min((s.x - s.width / 2 for s in spots.values()), default=0.0)
        lines, labels = self._lines()
        reach = [x + 3.2 * len(text) for x, _, text in labels]
        width = max([right, *reach]) - left + 2 * _MARGIN + LANE
        height = max(len(layers) - 1, 0) * _LAYER + _HEIGHT + 2 * _MARGIN
        nodes = [self._node(spot) for spot in spots.values() if spot.node]
        texts = [
            f'<text class="label" x="{x:.1f}" y="{y:.1f}">{_text(text)}</text>'
            for x, y, text in labels
        ]
        body = "\n".join([*lines, *nodes, *texts])
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{left - _MARGIN:.1f} {-_MARGIN:.1f} {width:.1f} {height:.1f}" '
            f'role="img">\n<title>{_text(title)}</title>\n{_DEFINITIONS}\n'
            f'<rect x="{left - _MARGIN:.1f}" y="{-_MARGIN:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" fill="#ffffff"/>\n{body}\n</svg>\n'
        )

    def _lines(self) -> tuple[list[str], list[tuple[float, float, str]]]:
        ports = self._ports()
        lines: list[str] = []
        labels: list[tuple[float, float, str]] = []
        spots = self.layout.spots
        for number, route in enumerate(self.layout.routes):
            edge = self.edges[route.edge]
            points: list[tuple[float, float]] = []
            for name in route.spots:
                spot = spots[name]
                y = spot.layer * _LAYER
                if not spot.node:
                    points += [(spot.x, y), (spot.x, y + _HEIGHT)]
                elif name == route.spots[0]:
                    points.append((ports[number, name], y + _HEIGHT))
                else:
                    points.append((ports[number, name], y))
            if route.turned:
                points.reverse()
            lines.append(_line(points, edge))
            if edge.label:
                labels.append(_free(*_label_place(points), edge.label, labels))
        for edge in self.edges:
            if edge.source == edge.target:
                lines.append(self._loop(spots[edge.source], edge))
        return lines, labels

    def _ports(self) -> dict[tuple[int, str], float]:
        """Where each edge meets its nodes: side by side, in the order of the other ends."""
        sides: dict[tuple[str, bool], list[tuple[float, int]]] = {}
        spots = self.layout.spots
        for number, route in enumerate(self.layout.routes):
            for name, other, below in (
                (route.spots[0], route.spots[1], True),
                (route.spots[-1], route.spots[-2], False),
            ):
                sides.setdefault((name, below), []).append((spots[other].x, number))
        ports: dict[tuple[int, str], float] = {}
        for (name, _), ends in sides.items():
            spot = spots[name]
            room = spot.width - 20.0
            for place, (_, number) in enumerate(sorted(ends), 1):
                ports[number, name] = spot.x - room / 2 + room * place / (len(ends) + 1)
        return ports

    def _loop(self, spot: Spot, edge: _Edge) -> str:
        x, y = spot.x + spot.width / 2, spot.layer * _LAYER + _HEIGHT / 2
        path = f"M{x:.1f},{y - 8:.1f} C{x + 30:.1f},{y - 20:.1f} {x + 30:.1f},{y + 20:.1f} "
        return f'<path class="{_kind(edge)}" d="{path}{x:.1f},{y + 8:.1f}"/>'

    def _node(self, spot: Spot) -> str:
        x, y = spot.x - spot.width / 2, spot.layer * _LAYER
        style = self.styles[spot.name]
        radius = _HEIGHT / 2 if style == "end" else 7
        return (
            f'<g class="{style}"><rect x="{x:.1f}" y="{y:.1f}" width="{spot.width:.1f}" '
            f'height="{_HEIGHT:.1f}" rx="{radius}"/><text x="{spot.x:.1f}" '
            f'y="{y + _HEIGHT / 2 + 4.5:.1f}">{_text(_name(spot.name))}</text></g>'
        )


def _line(points: Sequence[tuple[float, float]], edge: _Edge) -> str:
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(y1 - y0) <= _HEIGHT:
            path += f" L{x1:.1f},{y1:.1f}"
        else:
            bend = (y1 - y0) * 0.45
            path += f" C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}"
    return f'<path class="{_kind(edge)}" d="{path}"/>'


def _label_place(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """On the first curve of the edge, nearer to its far end, where fans have spread."""
    (x0, y0), (x1, y1) = points[0], points[1]
    at = 0.68
    bend = 3 * at * at - 2 * at**3
    return x0 + (x1 - x0) * bend, y0 + (y1 - y0) * at


def _free(
    x: float, y: float, text: str, taken: Sequence[tuple[float, float, str]]
) -> tuple[float, float, str]:
    """The nearest height at which the label covers no other."""
    for shift in (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0):
        height = y + shift * _LABEL_HEIGHT
        if all(
            abs(height - other_y) >= _LABEL_HEIGHT - 1
            or abs(x - other_x) >= 3.2 * (len(text) + len(other))
            for other_x, other_y, other in taken
        ):
            return x, height, text
    return x, y, text


def _kind(edge: _Edge) -> str:
    return "conditional" if edge.conditional else "plain"


def _style(name: str) -> str:
    if name in _ENDS:
        return "end"
    return "sentry" if name.startswith(PREFIX) else "own"


def _name(name: str) -> str:
    return {"__start__": "start", "__end__": "end"}.get(name, name)


def _width(name: str, ends: int) -> float:
    """Room for the name, and for the edges that meet the node."""
    return max(len(_name(name)) * _CHARACTER + 28.0, 64.0, ends * _PORT)


def _text(text: str) -> str:
    """Text for an XML document: escaped, without characters that XML does not have."""
    clean = text.translate(_XML_FORBIDDEN).encode("utf-8", "replace").decode("utf-8")
    return escape(clean)


_DEFINITIONS = """<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" \
markerHeight="7" orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="#555555"/></marker>
<style>
path.plain, path.conditional { fill: none; stroke: #555555; stroke-width: 1.3; \
marker-end: url(#arrow); }
path.conditional { stroke-dasharray: 5 4; }
rect { stroke-width: 1.2; }
text { font: 13px ui-sans-serif, system-ui, sans-serif; text-anchor: middle; fill: #222222; }
text.label { font-size: 11px; fill: #7a4a00; paint-order: stroke; stroke: #ffffff; \
stroke-width: 4px; }
g.own rect { fill: #eef2fb; stroke: #5a78b5; }
g.sentry rect { fill: #fff3dc; stroke: #d9962b; }
g.end rect { fill: #f1f1f1; stroke: #888888; }
</style></defs>"""
