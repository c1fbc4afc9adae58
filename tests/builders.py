"""Small records for tests: what a step, a proposal or a trajectory needs and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sentry_langgraph import ledger
from sentry_langgraph.records import (
    ActiveRepair,
    Catalog,
    Finding,
    Observation,
    Proposal,
    Step,
    Task,
    TaskState,
    ToolCall,
    ToolSpec,
    Trajectory,
)
from sentry_langgraph.schema import schema_check
from sentry_langgraph.signature import digest
from sentry_langgraph.taxonomy import Label, Severity, Strategy

TASK = Task("task-1", "Cancel my order and tell me the refund.")


@dataclass(frozen=True, slots=True)
class Ran:
    """A call and what came back; None where nothing did."""

    call: ToolCall
    text: str | None
    error: bool = False
    own: bool = False


def call(name: str = "search", id: str = "c0", index: int = 0, **args: Any) -> ToolCall:
    """A call with readable arguments."""
    return ToolCall(id, name, args, index)


def unparsable(name: str = "search", raw: str = "{", id: str = "c0", index: int = 0) -> ToolCall:
    """A call whose arguments are not one JSON object."""
    return ToolCall(id, name, None, index, raw)


def ran(name: str = "search", text: str | None = "found", **args: Any) -> Ran:
    """A call that worked; with text None no result came back."""
    return Ran(call(name, **args), text)


def failed(name: str = "search", text: str = "error: no", **args: Any) -> Ran:
    """A call that the environment refused."""
    return Ran(call(name, **args), text, error=True)


def held(name: str = "search", **args: Any) -> Ran:
    """A call that Sentry held: the tool never ran."""
    return Ran(call(name, **args), "Not executed.", error=True, own=True)


def observation(
    made: ToolCall, text: str, *, error: bool = False, own: bool = False
) -> Observation:
    """What came back for `made`."""
    status = "error" if error else "success"
    return Observation(made.id, made.name, text, status, digest(text), own)


def step(id: str, *runs: Ran, text: str = "") -> Step:
    """One executed turn; calls get ids and positions of their own."""
    calls = [
        replace(run.call, id=f"{id}-{position}", index=position)
        for position, run in enumerate(runs)
    ]
    seen = [
        observation(made, run.text, error=run.error, own=run.own)
        for made, run in zip(calls, runs, strict=True)
        if run.text is not None
    ]
    return Step(id, text, tuple(calls), tuple(seen))


def steps(*turns: Ran | Sequence[Ran]) -> tuple[Step, ...]:
    """Turns in order, with the ids `s0`, `s1`, …"""
    return tuple(
        step(f"s{position}", *([turn] if isinstance(turn, Ran) else turn))
        for position, turn in enumerate(turns)
    )


def proposal(
    *calls: ToolCall, text: str = "", id: str = "now", finish: bool | None = None, **more: Any
) -> Proposal:
    """The newest message; without calls it wants to finish, unless told otherwise."""
    placed = tuple(
        replace(made, id=made.id if made.id != "c0" else f"{id}-{position}", index=position)
        for position, made in enumerate(calls)
    )
    return Proposal(id, text, placed, finish=not calls if finish is None else finish, **more)


def tool(
    name: str,
    *,
    required: Sequence[str] = (),
    read_only: bool | None = None,
    polling: bool = False,
    exempt: Iterable[Label] = (),
    ignore_args: Iterable[str] = (),
    **arguments: Any,
) -> ToolSpec:
    """A tool; `arguments` are JSON Schemas or names of types, and are checked where given."""
    properties = {
        key: {"type": value} if isinstance(value, str) else value
        for key, value in arguments.items()
    }
    parameters: dict[str, Any] = {}
    if properties:
        parameters = {"type": "object", "properties": properties, "required": list(required)}
    spec = ToolSpec(
        name,
        parameters=parameters,
        read_only=read_only,
        polling=polling,
        exempt=frozenset(exempt),
        ignore_args=frozenset(ignore_args),
    )
    return replace(spec, check=schema_check(parameters)) if parameters else spec


def catalog(*specs: ToolSpec, declared: Iterable[str] = (), complete: bool = True) -> Catalog:
    """The tools of an agent."""
    return Catalog({spec.name: spec for spec in specs}, frozenset(declared), complete)


SHOP = catalog(
    tool("search", q="integer", read_only=True),
    tool("get_order", order_id="string", required=["order_id"], read_only=True),
    tool(
        "cancel_order",
        order_id="string",
        reason={"enum": ["damaged", "late", "other"]},
        required=["order_id", "reason"],
        read_only=False,
    ),
    tool("add_note", note="string", required=["note"], read_only=False),
)
"""A shop: two look-ups and two changes."""


def trajectory(
    done: Iterable[Step] = (),
    newest: Proposal | None = None,
    *,
    tools: Catalog = SHOP,
    state: TaskState | None = None,
    task: Task = TASK,
) -> Trajectory:
    """What the gate sees."""
    return Trajectory(task, tuple(done), newest or proposal(), tools, state or TaskState())


def finding(label: Label = Label.REPETITION_OR_LOOPING, **fields: Any) -> Finding:
    """A finding with a key of its own."""
    return Finding(label, **{"step": "now", "key": f"{label}:key", **fields})


def advice(label: Label = Label.REPETITION_OR_LOOPING, **fields: Any) -> Finding:
    """A finding that asks for advice only."""
    return finding(label, **{"severity": Severity.ADVISE, **fields})


def active(
    label: Label = Label.REPETITION_OR_LOOPING,
    *,
    step: str = "s0",
    strategy: Strategy | None = None,
    **fields: Any,
) -> ActiveRepair:
    """A repair whose verdict is open."""
    made = ledger.event_id("repair", step, f"{label}:key")
    fields = {"id": made, "key": f"{label}:key", "strategy": strategy or Strategy.ADVISE, **fields}
    return ActiveRepair(label=label, step=step, **fields)


def state(*repairs: ActiveRepair, **fields: Any) -> TaskState:
    """The fold of a ledger with these open repairs."""
    return TaskState(active=repairs, **fields)


def schema(required: Sequence[str] = (), **properties: Any) -> Mapping[str, Any]:
    """A JSON Schema of arguments."""
    return {"type": "object", "properties": properties, "required": list(required)}
