"""How long the gate takes, by the length of the history.

Timed is the whole conditional edge of the wrapped graph, the user's own router included, called
from inside a run with the config of that run. What the graph does around the edge is not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import MessagesState
from langgraph.prebuilt import ToolNode, tools_condition

from sentry_langgraph.bench.sampling import quiet_collector
from sentry_langgraph.bench.workload import SETTINGS, SHAPES, exchange, look_up_tools, request
from sentry_langgraph.graph.wrap import with_sentry

LENGTHS = (10, 1_000, 10_000)
WINDOW = 5
_LEAD = 4
"""Turns that run untimed before the timed one, as in a run that has come this far."""

_FIRST = 3
"""How often the first call after a restart is timed."""


@dataclass(frozen=True, slots=True)
class GateTime:
    """Times in microseconds of CPU.

    Attributes:
        median: By shape, then by length of the history.
        router: Median of the user's own router, which is part of every time.
        first: The first call in a process that finds a history of this length, by length.
        samples: Timed calls for each shape and length.
    """

    median: dict[str, dict[int, float]]
    router: float
    first: dict[int, float]
    samples: int

    @property
    def slowest(self) -> dict[int, float]:
        """The slower of the shapes, by length."""
        shapes = list(self.median.values())
        return {length: max(shape[length] for shape in shapes) for length in shapes[0]}

    @property
    def growth(self) -> float:
        """The time at the longest history in relation to the shortest, for the worse shape."""
        return max(shape[max(shape)] / shape[min(shape)] for shape in self.median.values())


Edge = Callable[[Sequence[AnyMessage]], object]
"""Takes one decision of the conditional edge."""


def gate_time(samples: int, lengths: Sequence[int] = LENGTHS) -> GateTime:
    """Time the gate at window 5 with ten tools.

    Args:
        samples: Timed calls for each shape and length, one of each by turns.
        lengths: Lengths of the histories, in messages.
    """
    found: list[GateTime] = []
    _inside_a_run(lambda gated, plain: found.append(_measure(gated, plain, samples, lengths)))
    return found[0]


def _inside_a_run(measure: Callable[[Edge, Edge], None]) -> None:
    """Call `measure` from the agent node of a running graph, with its edge, gated and plain."""
    edges: list[Any] = []

    def agent(_: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        gated, plain = (_edge(path, config) for path in edges)
        measure(gated, plain)
        return {"messages": [AIMessage("It is mild in the first city.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(look_up_tools()))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, ["tools", END])
    builder.add_edge("tools", "agent")
    wrapped = with_sentry(builder, {**SETTINGS, "window": WINDOW})
    for graph in (wrapped.builder, builder):
        (branch,) = graph.branches["agent"].values()
        edges.append(branch.path)
    wrapped.invoke(request())


def _edge(path: Any, config: RunnableConfig) -> Edge:
    return lambda messages: path.invoke({"messages": messages}, config)


def _measure(gated: Edge, plain: Edge, samples: int, lengths: Sequence[int]) -> GateTime:
    cells = [(shape, length) for shape in SHAPES for length in lengths]
    histories = {
        (shape, length): _history(shape, max(length - 2 * _LEAD - 1, 1)) for shape, length in cells
    }
    times: dict[tuple[str, int], list[int]] = {cell: [] for cell in cells}
    own: list[int] = []
    with quiet_collector():
        for number in range(samples):
            for cell in cells:
                times[cell].append(_warm(gated, histories[cell], f"{cell}-{number}"))
            own.append(_timed(plain, [*histories[cells[0]], exchange(f"plain-{number}", 0)[0]]))
    return GateTime(
        median={
            shape: {length: _microseconds(times[shape, length]) for length in lengths}
            for shape in SHAPES
        },
        router=_microseconds(own),
        first={length: _microseconds(_cold(gated, length)) for length in lengths},
        samples=samples,
    )


def _history(shape: str, length: int) -> list[AnyMessage]:
    """About `length` messages, up to a place where the agent is to speak."""
    history = list(islice(SHAPES[shape](f"{shape}-{length}"), length))
    while isinstance(history[-1], AIMessage):
        history.pop()
    return history


def _warm(edge: Edge, base: Sequence[AnyMessage], prefix: str) -> int:
    """The time at the end of a stretch that the gate has followed, as it does in a run."""
    messages = [*base]
    taken = 0
    for turn in range(_LEAD + 1):
        proposed, result = exchange(prefix, turn)
        messages = [*messages, proposed]
        taken = _timed(edge, messages)
        messages.append(result)
    return taken


def _cold(edge: Edge, length: int) -> list[int]:
    """Times of the first call on histories that this process has never seen."""
    times = []
    for number in range(_FIRST):
        prefix = f"restart-{length}-{number}"
        history = list(islice(SHAPES["one_task"](prefix), length - 1))
        times.append(_timed(edge, [*history, exchange(prefix, length)[0]]))
    return times


def _timed(edge: Edge, messages: Sequence[AnyMessage]) -> int:
    start = time.thread_time_ns()
    destination = edge(messages)
    taken = time.thread_time_ns() - start
    if destination != "tools":
        raise RuntimeError(f"the gate found a failure in a healthy history: {destination!r}")
    return taken


def _microseconds(times: Sequence[int]) -> float:
    return statistics.median(times) / 1_000
