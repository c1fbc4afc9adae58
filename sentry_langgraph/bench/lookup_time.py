"""How long `hallucination` looks for the values of a call, by the length of the history.

`python -m sentry_langgraph.bench.lookup_time` prints the table. Timed is what the detector adds to
a decision: making the provenance of the history and judging the newest message.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from sentry_langgraph.bench.sampling import quiet_collector
from sentry_langgraph.detect.hallucination import Hallucination, HallucinationOptions
from sentry_langgraph.graph.messages import proposal_of
from sentry_langgraph.graph.passages import provenance_of
from sentry_langgraph.graph.tools import catalog_of
from sentry_langgraph.records import Catalog, Task, Trajectory

LENGTHS = (10, 1_000, 10_000)
_TEXT: Mapping[str, Any] = {"type": "string"}


def catalog() -> Catalog:
    """Three look-ups: without arguments, with free text, and with two ids."""

    def shown(name: str, *arguments: str) -> dict[str, Any]:
        properties = dict.fromkeys(arguments, _TEXT)
        parameters = {"type": "object", "properties": properties, "required": list(arguments)}
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    tools = [shown("get_time"), shown("search", "query"), shown("get_order", "order", "order_id")]
    tools.append(shown("get_customer_order", "order_id", "customer_id"))
    return catalog_of([], tools, {})


def history(length: int) -> list[AnyMessage]:
    """A request with two ids, and look-ups that each give new ones."""
    messages: list[AnyMessage] = [HumanMessage("Show W5001 of C-1001.", id=f"bench-{length}")]
    while len(messages) < length:
        at = len(messages)
        call = {"name": "search", "args": {"query": "next"}, "id": f"c{at}"}
        messages.append(AIMessage("", tool_calls=[call], id=f"a{at}"))
        rows = ", ".join(f'{{"row": {row}, "text": "{"x" * 40}"}}' for row in range(10))
        text = f'{{"rows": [{rows}], "order_id": "W{700_000 + at}"}}'
        messages.append(ToolMessage(text, tool_call_id=f"c{at}", id=f"t{at}"))
    return messages


def cases(messages: list[AnyMessage]) -> dict[str, tuple[str, dict[str, Any]]]:
    """The newest call, by what is timed."""
    newest = f"W{700_000 + len(messages) - 2}"
    return {
        "no arguments": ("get_time", {}),
        "free text": ("search", {"query": "lamps in stock"}),
        "two ids, one new": ("get_customer_order", {"order_id": newest, "customer_id": "C-1001"}),
        "two ids of the request": (
            "get_customer_order",
            {"order_id": "W5001", "customer_id": "C-1001"},
        ),
        "an invented id": ("get_customer_order", {"order_id": "W99", "customer_id": "C-1001"}),
    }


def measure(length: int, repeats: int = 2_000) -> dict[str, tuple[float, float]]:
    """Microseconds of CPU of the first look and of a later one, by case."""
    detector = Hallucination(HallucinationOptions())
    tools = catalog()
    found: dict[str, tuple[float, float]] = {}
    for name, (tool, args) in cases(history(length)).items():
        messages = history(length)
        call = {"name": tool, "args": args, "id": "now"}
        messages = [*messages, AIMessage("", tool_calls=[call], id="now")]
        at = len(messages) - 1
        messages[0] = HumanMessage(messages[0].content, id=f"bench-{length}-{name}")
        proposal = proposal_of(messages, at, finish=False)

        def look() -> None:
            seen = provenance_of(messages, at)  # noqa: B023 (called before the next round)
            newest = Trajectory(Task(), (), proposal, tools, provenance=seen)  # noqa: B023
            list(detector.detect(newest))

        first = _timed(look, 1)
        slow = first > 1e-3
        found[name] = (first * 1e6, _timed(look, 5 if slow else repeats) * 1e6)
    return found


def _timed(look: Callable[[], None], repeats: int) -> float:
    with quiet_collector():
        best = float("inf")
        for _ in range(1 if repeats == 1 else 5):
            start = time.process_time()
            for _ in range(repeats):
                look()
            best = min(best, (time.process_time() - start) / repeats)
    return best


def main() -> None:
    """Print the table."""
    tables = {length: measure(length) for length in LENGTHS}
    head = " | ".join(f"{length:,} messages" for length in LENGTHS)
    lines = [f"| newest call: later look (first look), µs | {head} |", "|---" * 4 + "|"]
    for name in tables[LENGTHS[0]]:
        figures = (f"{later:,.0f} ({first:,.0f})" for first, later in _row(tables, name))
        lines.append(f"| {name} | {' | '.join(figures)} |")
    sys.stdout.write("\n".join(lines) + "\n")


def _row(
    tables: Mapping[int, Mapping[str, tuple[float, float]]], name: str
) -> list[tuple[float, float]]:
    return [table[name] for table in tables.values()]


if __name__ == "__main__":
    main()
