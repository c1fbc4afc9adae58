"""A batch of calls in which some may not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import Send

from sentry_langgraph.graph.scene import Destination, Guard, Scene


def split(
    guard: Guard, scene: Scene, bad: Sequence[int]
) -> tuple[frozenset[int], list[Destination]]:
    """The calls that don't run, and the destinations that are left.

    The router's own `Send`s to a tool node pass through unread but for the call id. Where the
    batch can't be split, none of it runs.

    Args:
        guard: The guarded loop.
        scene: The scene.
        bad: Positions of the calls that must not run; none means all.
    """
    calls, loop = scene.calls, guard.loop
    everything = frozenset(call.index for call in calls)
    held = frozenset(bad) or everything
    good = [call for call in calls if call.index not in held]
    tools = [one for one in scene.destinations if scene.target(one) in loop.tools]
    leads_on = loop.exits | {loop.entry, *loop.tools}
    others = [one for one in scene.destinations if scene.target(one) not in leads_on]
    ids = [call.id for call in calls]
    distinct = len(set(ids)) == len(ids) and "" not in ids
    if not good or not distinct or not all(_divisible(guard, scene, one) for one in tools):
        return everything, others
    keep = {call.id for call in good}
    kept: list[Destination] = []
    for one in tools:
        if isinstance(one, Send):
            if _call_id(one.arg) in keep:
                kept.append(one)
            continue
        batch = [{**c, "type": "tool_call"} for c in scene.message.tool_calls if c["id"] in keep]
        kept.append(Send(scene.target(one), batch))
    return held, [*others, *kept]


def _divisible(guard: Guard, scene: Scene, one: Destination) -> bool:
    if isinstance(one, Send):
        return _call_id(one.arg) is not None
    return scene.target(one) in guard.splittable


def _call_id(payload: Any) -> str | None:
    """The call id in a payload to a tool node, in the forms that LangGraph 1.x sends."""
    call: Any = None
    if isinstance(payload, Mapping):
        call = payload.get("tool_call")
    elif isinstance(payload, list) and len(payload) == 1:
        call = payload[0]
    return str(call["id"]) if isinstance(call, Mapping) and call.get("id") else None
