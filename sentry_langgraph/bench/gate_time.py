"""How long the gate takes, by the length of the history.

Timed is the conditional edge of the agent, called from inside a run with the config of that
run: in the wrapped graph, where the user's router and then the gate decide, and in the bare one,
where the router decides alone. The gate is what the one takes longer than the other.
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
        gate: Medians of what the gate adds, by shape, then by length of the history.
        edge: Medians of the whole edge, the user's router included.
        first: The first call in a process that finds a history of this length, by length.
        samples: Timed calls for each shape and length.
    """

    gate: dict[str, dict[int, float]]
    edge: dict[str, dict[int, float]]
    first: dict[int, float]
    samples: int

    @property
    def slowest(self) -> dict[int, float]:
        """The slower of the shapes, by length."""
        shapes = list(self.gate.values())
        return {length: max(shape[length] for shape in shapes) for length in shapes[0]}

    @property
    def growth(self) -> float:
        """The time at the longest history in relation to the shortest, for the worse shape."""
        return max(shape[max(shape)] / shape[min(shape)] for shape in self.gate.values())


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

    builder: Any = StateGraph(MessagesState)
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
    times: dict[tuple[str, int], list[tuple[int, int]]] = {cell: [] for cell in cells}
    with quiet_collector():
        for number in range(samples):
            for cell in cells:
                newest = _followed(gated, histories[cell], f"{cell}-{number}")
                if number % 2:
                    without, whole = _timed(plain, newest), _timed(gated, newest)
                else:
                    whole, without = _timed(gated, newest), _timed(plain, newest)
                times[cell].append((whole, whole - without))
    gate, edge = (
        {
            shape: {
                length: _microseconds([pair[part] for pair in times[shape, length]])
                for length in lengths
            }
            for shape in SHAPES
        }
        for part in (1, 0)
    )
    first = {length: _microseconds(_cold(gated, length)) for length in lengths}
    return GateTime(gate=gate, edge=edge, first=first, samples=samples)


def _history(shape: str, length: int) -> list[AnyMessage]:
    """About `length` messages, up to a place where the agent is to speak."""
    history = list(islice(SHAPES[shape](f"{shape}-{length}"), length))
    while isinstance(history[-1], AIMessage):
        history.pop()
    return history


def _followed(edge: Edge, base: Sequence[AnyMessage], prefix: str) -> list[AnyMessage]:
    """`base` and a stretch that the gate has followed, as in a run, up to the newest message."""
    messages = [*base]
    for turn in range(_LEAD):
        proposed, result = exchange(prefix, turn)
        messages = [*messages, proposed]
        edge(messages)
        messages.append(result)
    return [*messages, exchange(prefix, _LEAD)[0]]


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
