"""A copy of a graph with Sentry's nodes and labelled edges in it.

The agent's own nodes are taken over as they are. Only edges change: the routers into tool
nodes decide after the original router has, and edges into the model look at the history.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, StateGraph
from langgraph.types import Command, Send

from sentry_langgraph.graph.anatomy import PREFIX
from sentry_langgraph.graph.gate import Gate
from sentry_langgraph.graph.healing import Healer
from sentry_langgraph.graph.internals import (
    DEFAULT_ERROR_HANDLER,
    BranchSpec,
    read_channels,
    routing_callable,
)
from sentry_langgraph.graph.nodes import Nodes
from sentry_langgraph.graph.scene import DIAGNOSE, ESCALATE, HARD, SOFT, VERIFY

LABELS = {
    "invalid action": HARD,
    "soft failure": SOFT,
    "verdict due": VERIFY,
    "needs human": ESCALATE,
}
"""Labels of the edges that the gate adds."""

SUSPICIOUS = "suspicious"
"""Label of the edge to the judge, where there is one."""

BROKEN = "broken history"

Builder = StateGraph[Any, Any, Any, Any]


def copy_builder(builder: Builder) -> Builder:
    """An independent copy: compiling it changes nothing of the original."""
    made = copy.copy(builder)
    made.nodes = {
        name: copy.copy(spec)
        for name, spec in builder.nodes.items()
        if name != DEFAULT_ERROR_HANDLER
    }
    made.edges = set(builder.edges)
    made.waiting_edges = set(builder.waiting_edges)
    made.branches = defaultdict(dict, {name: dict(b) for name, b in builder.branches.items()})
    made.channels = dict(builder.channels)
    made.managed = dict(builder.managed)
    made.schemas = dict(builder.schemas)
    made.compiled = False
    return made


def replaces_messages(builder: Builder, key: str) -> bool:
    """Whether the reducer of the messages replaces by id and removes, as `add_messages` does."""
    reducer = getattr(builder.channels[key], "operator", None)
    if reducer is None:
        return False
    try:
        old: list[BaseMessage] = [HumanMessage("a", id="1")]
        swapped = reducer(list(old), [HumanMessage("b", id="1")])
        removed = reducer(list(old), [RemoveMessage(id="1")])
    except Exception:
        return False
    return len(swapped) == 1 and not removed


def wire(
    builder: Builder,
    gates: Mapping[str, Gate],
    healers: Mapping[str, Healer],
    nodes: Nodes,
    schema: type[Any],
) -> None:
    """Put gates, healers and nodes into `builder`.

    Args:
        builder: A copy that may be changed.
        gates: By router.
        healers: By model node.
        nodes: The bodies of the nodes.
        schema: What Sentry's nodes and edges read of the state.
    """
    _add_nodes(builder, gates, healers, nodes, schema)
    for gate in gates.values():
        _guard(builder, gate)
    for model, healer in healers.items():
        _heal_before(builder, healer, schema, set(gates) | _tool_nodes(gates.values()))
        loops = [gate for gate in gates.values() if gate.loop.model == model]
        for gate in loops:
            if gate.loop.router != model:
                _refuse_before_hooks(builder, gate)


def _tool_nodes(gates: Iterable[Gate]) -> set[str]:
    return {tool for gate in gates for tool in gate.loop.tools}


def _add_nodes(
    builder: Builder,
    gates: Mapping[str, Gate],
    healers: Mapping[str, Healer],
    nodes: Nodes,
    schema: type[Any],
) -> None:
    loops = [gate.loop for gate in gates.values()]
    entries = dict.fromkeys((loop.entry for loop in loops), "redo")
    parallel = {
        healers[loop.model].name: "redo"
        for loop in loops
        if loop.parallel and loop.model in healers
    }
    exits = {name: "stop" for loop in loops for name in loop.exits if name.endswith(".after_agent")}
    tools = {name: "continue" for loop in loops for name in loop.tools}

    def add(name: str, runnable: Runnable[Any, Any], ends: dict[str, str]) -> None:
        builder.add_node(name, runnable, input_schema=schema, destinations=ends)

    add(HARD, nodes.runnable(nodes.hard, HARD), {**entries, **parallel})
    add(SOFT, nodes.runnable(nodes.soft, SOFT), {**entries, **parallel})
    add(VERIFY, nodes.asking(nodes.verify, VERIFY), {END: "recorded"})
    if any(gate.pipeline.judge is not None for gate in gates.values()):
        add(
            DIAGNOSE,
            nodes.asking(nodes.diagnose, DIAGNOSE),
            {**entries, **parallel, **dict.fromkeys(exits, "recorded"), END: "recorded"},
        )
    add(
        ESCALATE,
        nodes.runnable(nodes.escalate, ESCALATE),
        {**tools, **dict.fromkeys(entries, "continue"), **exits, END: "stop"},
    )
    for healer in healers.values():
        add(healer.name, _healing_node(healer), {healer.model: "healed"})


def _healing_node(healer: Healer) -> Runnable[Any, Any]:
    async def anode(state: dict[str, Any], config: RunnableConfig) -> Command[Any]:
        return healer.node(state, config)

    return routing_callable(healer.node, anode, healer.name)


def _guard(builder: Builder, gate: Gate) -> None:
    loop = gate.loop
    for name in loop.branches:
        builder.branches[loop.router][name] = _gated(
            builder, builder.branches[loop.router][name], gate
        )
    for tool in loop.plain:
        builder.edges.discard((loop.router, tool))
        builder.branches[loop.router][f"sentry_to_{tool}"] = _gated(
            builder, BranchSpec(_constant(tool), {tool: tool}), gate
        )
    if loop.commands:
        _guard_commands(builder, gate)


def _gated(builder: Builder, branch: BranchSpec, gate: Gate) -> BranchSpec:
    """The branch with the gate behind its router, and the labels of what the gate adds."""
    path, ends = branch.path, branch.ends
    if ends is None:
        names = [name for name in builder.nodes if not name.startswith(PREFIX)]
        ends = {**{name: name for name in names}, END: END}
    known = dict(ends)
    return branch._replace(
        path=_GatedPath(path, gate, known),
        ends={**known, **{_free(label, known): node for label, node in _labels(gate).items()}},
    )


class _GatedPath(Runnable[Any, Any]):
    """The user's router, then the gate. Runs in every turn, so it is no more than two calls."""

    def __init__(self, path: Runnable[Any, Any], gate: Gate, ends: Mapping[Any, str]) -> None:
        self.name = getattr(path, "name", None)
        self._path = path
        self._gate = gate
        self._ends = ends

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        config = config or {}
        return self._gate(input, self._path.invoke(input, config), config, self._ends)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        config = config or {}
        return self._gate(input, await self._path.ainvoke(input, config), config, self._ends)


def _labels(gate: Gate) -> dict[str, str]:
    return LABELS if gate.pipeline.judge is None else {**LABELS, SUSPICIOUS: DIAGNOSE}


def _free(label: str, taken: Mapping[Any, str]) -> str:
    return label if label not in taken else f"sentry: {label}"


def _constant(target: str) -> Runnable[Any, Any]:
    async def aroute(_: Any) -> str:
        return target

    return routing_callable(lambda _: target, aroute, f"to_{target}")


def _guard_commands(builder: Builder, gate: Gate) -> None:
    """For agents that answer with `Command(goto=…)`: the gate looks at the command."""
    router = gate.loop.router
    spec = builder.nodes[router]
    inner = cast("Runnable[Any, Any]", spec.runnable)

    def run(state: Any, config: RunnableConfig) -> Any:
        return _commanded(gate, state, inner.invoke(state, config), config)

    async def arun(state: Any, config: RunnableConfig) -> Any:
        return _commanded(gate, state, await inner.ainvoke(state, config), config)

    spec.runnable = routing_callable(run, arun, router)
    ends = spec.ends or ()
    labelled: dict[str, str] = dict(ends) if isinstance(ends, dict) else {e: e for e in ends}
    spec.ends = {**labelled, **{node: label for label, node in _labels(gate).items()}}


def _commanded(gate: Gate, state: Any, output: Any, config: RunnableConfig) -> Any:
    commands = output if isinstance(output, list | tuple) else [output]
    for position, command in enumerate(commands):
        if not isinstance(command, Command) or command.graph is not None:
            continue
        goto = command.goto
        listed = list(goto) if isinstance(goto, list | tuple) else [goto]
        messages = _updated(gate, state, command)
        result = gate(state, listed or [END], config, None, messages)
        if result is listed or (not listed and result == [END]):
            continue
        changed = replace(command, goto=result)
        if commands is output:
            return [*output[:position], changed, *output[position + 1 :]]
        return changed
    return output


def _updated(gate: Gate, state: Any, command: Command[Any]) -> Sequence[AnyMessage]:
    """The messages as they will be when the command's update is applied."""
    key = gate.messages_key
    before = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    update = dict(command._update_as_tuples()).get(key) or []
    new = list(update) if isinstance(update, list | tuple) else [update]
    return [*(before or ()), *(m for m in new if isinstance(m, BaseMessage))]


def _heal_before(builder: Builder, healer: Healer, schema: type[Any], skip: Iterable[str]) -> None:
    """Every edge into the model, except from tools and routers, looks at the history first."""
    model = healer.model
    sources = set(skip) | {name for name in builder.nodes if name.startswith(PREFIX)}
    for start, end in sorted(builder.edges):
        if end == model and start not in sources:
            builder.edges.discard((start, end))
            builder.branches[start][f"sentry_history_{model}"] = _checked(
                builder, BranchSpec(_constant(model), {model: model}, schema), healer, schema
            )
    for start, branches in list(builder.branches.items()):
        if start in sources:
            continue
        for name, branch in list(branches.items()):
            already = name == f"sentry_history_{model}"
            leads = branch.ends is not None and model in branch.ends.values()
            if leads and not already:
                branches[name] = _checked(builder, branch, healer, schema)


def _checked(builder: Builder, branch: BranchSpec, healer: Healer, schema: type[Any]) -> BranchSpec:
    path, known = branch.path, dict(branch.ends or {})
    reads_view = branch.input_schema is schema
    keys = tuple(builder.schemas[schema])

    def swap(state: Any, result: Any, config: RunnableConfig) -> Any:
        listed = list(result) if isinstance(result, list | tuple) else [result]
        hits = [
            one for one in listed if not isinstance(one, Send) and known.get(one) == healer.model
        ]
        if not hits:
            return result
        seen = state if reads_view else read_channels(config, keys, fresh=True)
        if not healer.broken(seen):
            return result
        return [label if one in hits else one for one in listed]

    label = _free(BROKEN, known)

    def route(state: Any, config: RunnableConfig) -> Any:
        return swap(state, path.invoke(state, config), config)

    async def aroute(state: Any, config: RunnableConfig) -> Any:
        return swap(state, await path.ainvoke(state, config), config)

    name = getattr(path, "name", None) or "route"
    return branch._replace(
        path=routing_callable(route, aroute, name), ends={**known, label: healer.name}
    )


def _refuse_before_hooks(builder: Builder, gate: Gate) -> None:
    """Between the model and its hooks: nobody is asked to approve a call that can't run.

    Every way from the model to a hook stands back together; one of them leads to the repair.
    """
    model, tools = gate.loop.model, set(gate.loop.tools)
    repairs = True
    for start, end in sorted(builder.edges):
        if start == model and end != END and end not in tools:
            builder.edges.discard((start, end))
            plain = BranchSpec(_constant(end), {end: end})
            builder.branches[model][f"sentry_before_{end}"] = _refusing(plain, gate, repairs)
            repairs = False
    for name, branch in list(builder.branches.get(model, {}).items()):
        if branch.ends is None or name.startswith("sentry_"):
            continue
        if any(end != END and end not in tools for end in branch.ends.values()):
            builder.branches[model][name] = _refusing(branch, gate, repairs)
            repairs = False


def _refusing(branch: BranchSpec, gate: Gate, repairs: bool) -> BranchSpec:
    path, known = branch.path, dict(branch.ends or {})

    def swap(state: Any, result: Any, config: RunnableConfig) -> Any:
        refused = gate.refuses(state, config)
        if refused is None:
            return result
        return refused if repairs else []

    def route(state: Any, config: RunnableConfig) -> Any:
        return swap(state, path.invoke(state, config), config)

    async def aroute(state: Any, config: RunnableConfig) -> Any:
        return swap(state, await path.ainvoke(state, config), config)

    label: dict[Any, str] = {_free("invalid action", known): HARD} if repairs else {}
    name = getattr(path, "name", None) or "route"
    return branch._replace(path=routing_callable(route, aroute, name), ends={**known, **label})
