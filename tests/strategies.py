"""Hypothesis strategies: JSON values, plain runs of an agent, and runs of any shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builders import Ran, catalog, failed, held, proposal, ran, state, step, tool, trajectory
from hypothesis import strategies as st

from sentry_langgraph.records import Catalog, Finding, ToolCall, Trajectory

TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any text: lone surrogates, NUL and line breaks included."""

_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = (
    _PLAIN
    | st.lists(_PLAIN, max_size=2)
    | st.dictionaries(st.text(max_size=3), _PLAIN | st.lists(_PLAIN, max_size=2), max_size=2)
)

NAMES = st.sampled_from(["search", "get_order", "cancel_order", "add_note", "nope", "", "a b"])


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    """Any call: known and unknown tools, any arguments, unparsable ones, empty and shared ids."""
    args: Mapping[str, Any] | None = draw(
        st.none() | st.dictionaries(st.sampled_from(["q", "order_id", "x"]), JSON, max_size=3)
    )
    raw = draw(TEXTS) if args is None else ""
    return ToolCall(draw(st.sampled_from(["", "a", "b", "c"])), draw(NAMES), args, 0, raw)


@st.composite
def runs(draw: st.DrawFn) -> Ran:
    """Any executed call: worked, refused, held by us, or lost."""
    text = draw(st.none() | TEXTS | st.just("error: not found"))
    return Ran(draw(calls()), text, error=draw(st.booleans()), own=draw(st.booleans()))


@st.composite
def trajectories(draw: st.DrawFn, tools: Catalog) -> Trajectory:
    """Any trajectory over `tools`."""
    done = [
        step(f"s{position}", *turn, text=draw(TEXTS))
        for position, turn in enumerate(draw(st.lists(st.lists(runs(), max_size=2), max_size=6)))
    ]
    proposed = draw(st.lists(calls(), max_size=3))
    newest = proposal(
        *proposed,
        text=draw(TEXTS),
        finish=draw(st.booleans()),
        stop_reason=draw(st.sampled_from(["", "stop", "length", "refusal"])),
        structured=draw(st.booleans()),
        wants_structured=draw(st.booleans()),
    )
    return trajectory(done, newest, tools=tools, state=state())


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of an abstract run: everything is a number, to be given names later."""

    tool: int
    args: int
    result: int
    kind: str  # ran, failed, held


TURNS = st.builds(
    Turn,
    tool=st.integers(0, 2),
    args=st.integers(0, 1),
    result=st.integers(0, 1),
    kind=st.sampled_from(["ran", "ran", "ran", "failed", "held"]),
)
PLANS = st.lists(st.lists(TURNS, min_size=1, max_size=2), min_size=1, max_size=14)
"""Runs of three tools with few arguments and results, so that loops are common."""


@dataclass(frozen=True, slots=True)
class Words:
    """The names that an abstract run is told in."""

    tools: Sequence[str]
    argument: str
    values: Sequence[str]
    results: Sequence[str]
    ids: str


PLAIN = Words(["alpha", "beta", "gamma"], "x", ["one", "two"], ["red", "blue"], "m")


def told(plan: Sequence[Sequence[Turn]], words: Words) -> Trajectory:
    """The run in these words: the last turn is proposed, the ones before it have run."""
    made = {"ran": ran, "failed": failed, "held": held}
    done = []
    for position, turn in enumerate(plan[:-1]):
        parts = []
        for one in turn:
            args = {words.argument: words.values[one.args]}
            if one.kind == "held":
                parts.append(held(words.tools[one.tool], **args))
            else:
                build = made[one.kind]
                parts.append(build(words.tools[one.tool], words.results[one.result], **args))
        done.append(step(f"{words.ids}{position}", *parts))
    proposed = [
        ToolCall("c0", words.tools[one.tool], {words.argument: words.values[one.args]})
        for one in plan[-1]
    ]
    newest = replace(proposal(*proposed), id=f"{words.ids}now")
    specs = catalog(
        tool(words.tools[0], read_only=True),
        tool(words.tools[1], read_only=False),
        tool(words.tools[2]),
    )
    return trajectory(done, newest, tools=specs)


def shape(finding: Finding) -> tuple[Any, ...]:
    """What a finding says apart from names, ids and digests."""
    return (
        finding.label,
        finding.pattern,
        finding.severity,
        finding.confidence,
        finding.calls,
        finding.origin,
        finding.intention,
        len(finding.related),
        {key: value for key, value in finding.evidence.items() if isinstance(value, int)},
    )
