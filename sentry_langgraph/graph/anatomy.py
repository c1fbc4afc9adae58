"""Where the agents, the tool nodes and the loops of a graph are.

Found by structure: a tool node has `tools_by_name`, a router is a node that leads into one, the
loop entry is where the tool node goes back to. What structure doesn't show has to be named by
the user; nothing is guessed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import (
    Runnable,
    RunnableBinding,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from sentry_langgraph.errors import WiringError
from sentry_langgraph.graph.tools import name_of

PREFIX = "sentry_"

_HOOK_SUFFIXES = (".after_model", "post_model_hook")
_APPROVAL = "HumanInTheLoopMiddleware"
_BEFORE_SUFFIXES = (".before_model", ".before_agent")


@dataclass(frozen=True, slots=True)
class Loop:
    """One agent and the tools it calls.

    Attributes:
        router: The node whose outgoing edges decide what runs next.
        branches: Names of the router's conditional edges that lead into a tool node.
        plain: Tool nodes that the router reaches by a plain edge.
        commands: Whether the router decides by returning a `Command`.
        tools: The tool nodes it leads to.
        entry: Where the tools go back to.
        model: The node that calls the model.
        exits: Where it goes when it is done, `END` included.
        parallel: Whether the router has further outgoing edges beside those.
        approval: Whether a hook between model and router asks a person to approve calls.
    """

    router: str
    branches: tuple[str, ...]
    plain: tuple[str, ...]
    commands: bool
    tools: tuple[str, ...]
    entry: str
    model: str
    exits: frozenset[str] = field(default_factory=frozenset)
    parallel: bool = False
    approval: bool = False


def find_loops(
    builder: StateGraph[Any, Any, Any, Any],
    *,
    agent: str | Sequence[str] | None = None,
    tool_nodes: Sequence[str] | None = None,
) -> tuple[Loop, ...]:
    """The agent loops of a graph.

    Args:
        builder: The graph.
        agent: The routers to guard, where structure does not show them.
        tool_nodes: The tool nodes, where they are plain functions.

    Raises:
        WiringError: A named node does not exist, or tool nodes exist and nothing leads to them.
    """
    nodes = tuple(builder.nodes)
    tools = _tool_nodes(builder, tool_nodes)
    if not tools:
        return ()
    wanted = _named(agent, nodes)
    routers = wanted or tuple(
        name for name in nodes if name not in tools and _leads_to(builder, name, tools)
    )
    routers = tuple(name for name in routers if not name.endswith(_BEFORE_SUFFIXES))
    routers = routers or _without_map(builder, tools)
    if not routers:
        raise WiringError(
            f"no node leads to the tool node {_listed(tools)}. Pass agent=… with the name of the "
            "node that calls the model, or annotate its router with the nodes it can return.",
            nodes=nodes,
        )
    final = _final(builder, routers)
    return tuple(_loop(builder, name, tools, explicit=bool(wanted)) for name in final)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _named(names: str | Sequence[str] | None, nodes: Sequence[str]) -> tuple[str, ...]:
    if names is None:
        return ()
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        if name not in nodes:
            raise WiringError(f"the graph has no node named {name!r}.", nodes=tuple(nodes))
    return listed


def _tool_nodes(
    builder: StateGraph[Any, Any, Any, Any], named: Sequence[str] | None
) -> tuple[str, ...]:
    if named is not None:
        return _named(named, tuple(builder.nodes))
    return tuple(
        name for name, spec in builder.nodes.items() if served_by(spec.runnable) is not None
    )


def served_by(runnable: Any) -> Any | None:
    """The part of a runnable that has `tools_by_name`, inside bindings, fallbacks, sequences."""
    if getattr(runnable, "tools_by_name", None) is not None:
        return runnable
    if isinstance(runnable, RunnableBindingBase):
        return served_by(runnable.bound)
    if isinstance(runnable, RunnableWithFallbacks):
        return served_by(runnable.runnable)
    if isinstance(runnable, RunnableSequence):
        return next((found for step in runnable.steps if (found := served_by(step))), None)
    return None


def _leads_to(builder: StateGraph[Any, Any, Any, Any], name: str, tools: Sequence[str]) -> bool:
    if any((name, tool) in builder.edges for tool in tools):
        return True
    for branch in builder.branches.get(name, {}).values():
        if branch.ends is not None and not set(tools).isdisjoint(branch.ends.values()):
            return True
    ends = builder.nodes[name].ends or ()
    return not set(tools).isdisjoint(ends)


def _without_map(builder: StateGraph[Any, Any, Any, Any], tools: Sequence[str]) -> tuple[str, ...]:
    """Routers without annotations: the only node with one may be the agent."""
    open_ended = [
        name
        for name, branches in builder.branches.items()
        if name not in tools
        and name != START
        and any(branch.ends is None for branch in branches.values())
    ]
    return tuple(open_ended) if len(open_ended) == 1 else ()


def _final(builder: StateGraph[Any, Any, Any, Any], routers: Sequence[str]) -> tuple[str, ...]:
    """Of hooks in a row that may each jump to the tools, the last one decides."""
    hooks = [name for name in routers if name.endswith(".after_model")]
    if len(hooks) < 2:
        return tuple(routers)
    chained = {
        name
        for name in hooks
        if any(target in hooks for target in successors(builder, name) if target != name)
    }
    return tuple(name for name in routers if name not in chained)


def successors(builder: StateGraph[Any, Any, Any, Any], name: str) -> Iterator[str]:
    """Where a node can lead, by plain edges, conditional edges and commands."""
    for start, end in builder.edges:
        if start == name:
            yield end
    for starts, end in builder.waiting_edges:
        if name in starts:
            yield end
    for branch in builder.branches.get(name, {}).values():
        yield from branch.ends.values() if branch.ends is not None else builder.nodes
    if name in builder.nodes:
        yield from builder.nodes[name].ends or ()


def _loop(
    builder: StateGraph[Any, Any, Any, Any], router: str, tools: Sequence[str], *, explicit: bool
) -> Loop:
    branches, reached = [], set()
    targets: set[str] = set()
    for name, branch in builder.branches.get(router, {}).items():
        ends = set(branch.ends.values()) if branch.ends is not None else {*builder.nodes, END}
        if ends & set(tools):
            branches.append(name)
            reached |= ends & set(tools)
            targets |= ends
    plain = tuple(tool for tool in tools if (router, tool) in builder.edges)
    commanded = set(builder.nodes[router].ends or ()) & set(tools)
    commands = not branches and not plain and (bool(commanded) or explicit)
    reached |= set(plain) | (commanded or (set(tools) if commands else set()))
    if commands:
        targets |= set(builder.nodes[router].ends or ())
    entry = _entry(builder, router, reached)
    path = _path(builder, entry, router, tools)
    exits = frozenset(
        end for end in targets | {END} if end not in tools and end not in path and end != router
    )
    others = sum(1 for start, _ in builder.edges if start == router) - len(plain)
    others += len(builder.branches.get(router, {})) - len(branches)
    return Loop(
        router=router,
        branches=tuple(branches),
        plain=plain,
        commands=commands,
        tools=tuple(tool for tool in tools if tool in reached),
        entry=entry,
        model=_model(router, path),
        exits=exits,
        parallel=others > 0,
        approval=any(name.startswith(_APPROVAL) for name in (*path, router)),
    )


def _entry(builder: StateGraph[Any, Any, Any, Any], router: str, tools: Iterable[str]) -> str:
    """Where the tools go back to: the router itself, or a node that leads to it."""
    candidates = [end for tool in tools for end in successors(builder, tool) if end != END]
    if router in candidates or not candidates:
        return router
    for candidate in candidates:
        if _path(builder, candidate, router, tuple(tools)):
            return candidate
    return router


def _path(
    builder: StateGraph[Any, Any, Any, Any], start: str, end: str, avoid: Sequence[str]
) -> tuple[str, ...]:
    """The shortest way from `start` to `end` that passes no tool node; empty where none."""
    queue: deque[tuple[str, ...]] = deque([(start,)])
    seen = {start, *avoid}
    while queue:
        path = queue.popleft()
        if path[-1] == end:
            return path
        for target in successors(builder, path[-1]):
            if target not in seen and target != END:
                seen.add(target)
                queue.append((*path, target))
    return ()


def _model(router: str, path: Sequence[str]) -> str:
    """The node that calls the model: the router, or the node before its hooks."""
    for name in reversed(path):
        if not name.endswith(_HOOK_SUFFIXES):
            return name
    return router


def bound_tools(runnable: Any) -> list[Any]:
    """The tools that a node's model was bound to, as far as its closure shows them.

    They tell which names the model was shown that no tool node serves, such as the schema of a
    final answer, and whether two of them have the same name.
    """
    found: list[Any] = []
    for value in _reachable(runnable):
        if isinstance(value, RunnableBinding) and isinstance(value.kwargs.get("tools"), list):
            found += value.kwargs["tools"]
    return found


def ambiguous_names(runnable: Any) -> list[str]:
    """Names that two different tools of one list in the node's closure share."""
    doubled: list[str] = []
    for value in _reachable(runnable):
        lists = [value.kwargs.get("tools")] if isinstance(value, RunnableBinding) else [value]
        for tools in lists:
            if isinstance(tools, list | tuple) and tools and _are_tools(tools):
                names = [name_of(tool) for tool in tools]
                doubled += [name for name in set(names) if names.count(name) > 1]
    return sorted(set(doubled))


def _are_tools(values: Sequence[Any]) -> bool:
    return all(
        isinstance(value, BaseTool) or (isinstance(value, dict) and "function" in value)
        for value in values
    )


def _reachable(runnable: Any) -> Iterator[Any]:
    """Objects that a node's functions refer to, two levels deep."""
    seen: set[int] = set()
    level = [runnable]
    for _ in range(3):
        following: list[Any] = []
        for value in level:
            if id(value) in seen:
                continue
            seen.add(id(value))
            yield value
            following += _referred(value)
        level = following


def _referred(value: Any) -> list[Any]:
    if isinstance(value, RunnableBindingBase):
        return [value.bound]
    if isinstance(value, RunnableSequence):
        return list(value.steps)
    found: list[Any] = []
    for function in (getattr(value, "func", None), getattr(value, "afunc", None), value):
        found += _closure(function)
    return found


def _closure(function: Any) -> list[Any]:
    owner = getattr(function, "__self__", None)
    held = list(vars(owner).values()) if owner is not None and hasattr(owner, "__dict__") else []
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return [value for value in held if _interesting(value)]
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # a name that is not bound yet
            continue
    names = getattr(function, "__globals__", {})
    held += [names[name] for name in code.co_names if name in names]
    return [value for value in held if _interesting(value)]


def _interesting(value: Any) -> bool:
    return not isinstance(value, type) and (
        isinstance(value, Runnable | list | tuple) or callable(value)
    )
