"""Where the nodes of a graph go in a layered drawing.

In the manner of Sugiyama, Tagawa and Toda (1981): edges against the flow are turned round, long
edges get a place in each layer that they pass, the order within the layers follows the
barycenters of the neighbours, and positions are drawn to the middle of the neighbours. That is
enough for the few nodes of an agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from langgraph.graph import END

GAP = 44.0
"""Room between two nodes of a layer."""
LANE = 26.0
"""Width of the place that a long edge takes in a layer."""
SWEEPS = 12
"""Rounds of ordering, and of drawing to the middle."""


@dataclass(slots=True)
class Spot:
    """A place in a layer: a node, or where a long edge passes.

    Attributes:
        name: The node's name; of a passing edge, one that no node has.
        layer: From 0, at the top.
        width: Its width.
        x: Its middle.
        node: Whether it is a node.
    """

    name: str
    layer: int
    width: float
    x: float = 0.0
    node: bool = True


@dataclass(frozen=True, slots=True)
class Route:
    """The way of an edge.

    Attributes:
        edge: The edge's number.
        spots: Names of the spots that it passes, from top to bottom.
        turned: Whether it runs from bottom to top.
    """

    edge: int
    spots: list[str]
    turned: bool


@dataclass(slots=True)
class Layout:
    """A layered layout; `of` makes it.

    Attributes:
        widths: The nodes, with their widths.
        edges: Source and target of each edge. One from a node to itself has no route.
        spots: Where nodes and passing edges are.
        layers: Names of the spots, layer by layer, from left to right.
        routes: The ways of the edges.
    """

    widths: Mapping[str, float]
    edges: Sequence[tuple[str, str]]
    spots: dict[str, Spot] = field(default_factory=dict)
    layers: list[list[str]] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)

    @classmethod
    def of(cls, widths: Mapping[str, float], edges: Sequence[tuple[str, str]]) -> Layout:
        """The layout of a graph."""
        made = cls(widths, edges)
        made._place()
        return made

    def _place(self) -> None:
        turned = self._against_the_flow()
        rank = self._ranks(turned)
        for name, width in self.widths.items():
            self.spots[name] = Spot(name, rank[name], width)
        for number, (source, target) in enumerate(self.edges):
            if source == target:
                continue
            back = number in turned
            top, bottom = (target, source) if back else (source, target)
            names = [top]
            for layer in range(rank[top] + 1, rank[bottom]):
                name = f"\0{number}:{layer}"
                self.spots[name] = Spot(name, layer, LANE, node=False)
                names.append(name)
            self.routes.append(Route(number, [*names, bottom], back))
        self.layers = [[] for _ in range(max(rank.values(), default=0) + 1)]
        for spot in self.spots.values():
            self.layers[spot.layer].append(spot.name)
        self._order()
        self._align()

    def _against_the_flow(self) -> set[int]:
        """Numbers of the edges that close a cycle, seen from the start."""
        following: dict[str, list[tuple[int, str]]] = {name: [] for name in self.widths}
        for number, (source, target) in enumerate(self.edges):
            following[source].append((number, target))
        turned: set[int] = set()
        done: set[str] = set()
        for root in self.widths:
            if root in done:
                continue
            path = {root}
            stack = [(root, iter(following[root]))]
            while stack:
                name, rest = stack[-1]
                step = next(rest, None)
                if step is None:
                    stack.pop()
                    path.discard(name)
                    done.add(name)
                elif step[1] in path:
                    turned.add(step[0])
                elif step[1] not in done:
                    path.add(step[1])
                    stack.append((step[1], iter(following[step[1]])))
        return turned

    def _ranks(self, turned: set[int]) -> dict[str, int]:
        """Layer of each node: the longest way from the top."""
        rank = dict.fromkeys(self.widths, 0)
        for _ in self.widths:
            for number, (source, target) in enumerate(self.edges):
                if source == target:
                    continue
                top, bottom = (target, source) if number in turned else (source, target)
                rank[bottom] = max(rank[bottom], rank[top] + 1)
        if END in rank:
            rank[END] = max(rank.values())
        return rank

    def _neighbours(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        up: dict[str, list[str]] = {name: [] for name in self.spots}
        down: dict[str, list[str]] = {name: [] for name in self.spots}
        for route in self.routes:
            for one, other in pairwise(route.spots):
                down[one].append(other)
                up[other].append(one)
        return up, down

    def _order(self) -> None:
        """Order within the layers, by barycenters, down and up in turn."""
        up, down = self._neighbours()
        for sweep in range(SWEEPS):
            beside = up if sweep % 2 == 0 else down
            places = {name: i for layer in self.layers for i, name in enumerate(layer)}
            for layer in self.layers if sweep % 2 == 0 else reversed(self.layers):
                middle = {
                    name: sum(places[n] for n in beside[name]) / len(beside[name])
                    if beside[name]
                    else places[name]
                    for name in layer
                }
                layer.sort(key=lambda name, middle=middle: middle[name])  # type: ignore[misc]
                places.update({name: i for i, name in enumerate(layer)})

    def _align(self) -> None:
        """Positions: packed, then drawn to the middle of the neighbours, order kept."""
        up, down = self._neighbours()
        for layer in self.layers:
            x = 0.0
            for name in layer:
                spot = self.spots[name]
                spot.x = x + spot.width / 2
                x += spot.width + GAP
            for name in layer:
                self.spots[name].x -= (x - GAP) / 2
        for _ in range(SWEEPS):
            for layer in [*self.layers, *reversed(self.layers)]:
                wanted = [
                    sum(self.spots[n].x for n in near) / len(near)
                    if (near := up[name] + down[name])
                    else self.spots[name].x
                    for name in layer
                ]
                self._settle(layer, wanted)

    def _settle(self, layer: Sequence[str], wanted: Sequence[float]) -> None:
        """Move a layer towards `wanted` without overlaps: the mean of packing from both sides."""
        spots = [self.spots[name] for name in layer]
        room = [(one.width + other.width) / 2 + GAP for one, other in pairwise(spots)]
        rightwards, leftwards = list(wanted), list(wanted)
        for i in range(1, len(spots)):
            rightwards[i] = max(wanted[i], rightwards[i - 1] + room[i - 1])
        for i in range(len(spots) - 2, -1, -1):
            leftwards[i] = min(wanted[i], leftwards[i + 1] - room[i])
        for spot, one, other in zip(spots, rightwards, leftwards, strict=True):
            spot.x = (one + other) / 2
