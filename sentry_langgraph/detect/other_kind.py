"""An identifier of one kind in the place of another, after the tool has not found it.

A `title_no` out of a catalogue is no `copy_code`, however real it is. Nothing is held: the tool
has refused it already, and what helps is the way to the right one.
"""

from __future__ import annotations

from itertools import islice

from sentry_langgraph.detect.flaws import shown
from sentry_langgraph.plans import plan_to
from sentry_langgraph.provenance import Provenance
from sentry_langgraph.records import Finding, ToolCall, Trajectory
from sentry_langgraph.slots import identifies, leaves_of, nouns_of, plain_name, slot_of
from sentry_langgraph.taxonomy import Label, Severity

_SOURCES = 40


def other_kind(trajectory: Trajectory) -> Finding | None:
    """The finding of a refused identifier that results know only as another kind of thing.

    Silent where the agent already goes the way that leads to the right one, and where no way
    is known.
    """
    last = trajectory.steps[-1] if trajectory.steps else None
    if last is None:
        return None
    for call in last.calls:
        seen = last.observation_of(call)
        if seen is not None and seen.found_nothing:
            found = _of_call(call, trajectory)
            if found is not None:
                return found
    return None


def _of_call(call: ToolCall, trajectory: Trajectory) -> Finding | None:
    catalog, provenance = trajectory.catalog, trajectory.provenance
    spec = catalog.tools.get(call.name)
    for leaf in leaves_of(call.args or {}, spec):
        kept = kept_as(leaf.name, leaf.value, call.name, provenance)
        if not kept:
            continue
        plan = plan_to(leaf.name, catalog, provenance, consumer=call.name)
        if not plan or any(plan[0].tool == made.name for made in trajectory.proposal.calls):
            continue
        return Finding(
            Label.HALLUCINATION,
            trajectory.proposal.id,
            key=f"{Label.HALLUCINATION}:other_kind:{call.name}:{leaf.name}",
            confidence=0.8,
            severity=Severity.ADVISE,
            detail=f"'{shown(leaf.value)}' is a `{kept}` and no `{leaf.name}`, so `{call.name}` "
            "did not find it",
            evidence={"slot": leaf.name, "kept_as": kept, "plan": len(plan)},
            tool=call.name,
            argument=leaf.name,
            pattern="other_kind",
            plan=plan,
        )
    return None


def kept_as(name: str, value: object, tool: str, provenance: Provenance) -> str:
    """The field in which results have a value, where all of them say another kind of thing.

    Args:
        name: The argument that the value was given for.
        value: The value.
        tool: The tool that takes it.
        provenance: What was told and seen.

    Returns:
        The name of a field; empty where the value may be of the right kind, or names nothing.
    """
    if not identifies(name):
        return ""
    wanted = nouns_of(slot_of(name), tool)[-1:]
    kept = ""
    for source in islice(provenance.sources(value), _SOURCES):
        if not source.keys or source.passage.kind == "told":
            return ""
        for key in source.keys:
            nouns = nouns_of(slot_of(key), source.passage.tool)[-1:]
            if not identifies(key) or not nouns or nouns == wanted or not plain_name(key):
                return ""
            kept = kept or key
    return kept
