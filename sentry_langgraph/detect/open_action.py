"""Ends that come before what a repair asked for: an owed action, or a way that was not tried."""

from __future__ import annotations

from sentry_langgraph.detect.choice import bare_list
from sentry_langgraph.detect.conversation import only_request
from sentry_langgraph.detect.flaws import shown
from sentry_langgraph.detect.other_kind import kept_as
from sentry_langgraph.detect.unfinished import finding
from sentry_langgraph.plans import plan_to
from sentry_langgraph.producers import known_values
from sentry_langgraph.reasons import gives_reason
from sentry_langgraph.records import Finding, PathStep, ToolSpec, Trajectory
from sentry_langgraph.slots import identifies
from sentry_langgraph.taxonomy import Label
from sentry_langgraph.values import sought

OR_SAY_WHY = ", and the others after it. If none of them will do, say so."
_RESULTS_READ = 20
_CANDIDATES = 20
"""Items of a list that can be looked at one by one."""


def open_action(trajectory: Trajectory, *, reason: bool) -> Finding | None:
    """A finish while a held action is owed, or before anything was tried after a hold.

    A held look-up may have become needless: an answer passes where something was seen.

    Args:
        trajectory: The newest message wants to finish.
        reason: Whether it says why something was not done, or asks the user.
    """
    alone = bool(trajectory.state.active) and only_request(trajectory)
    for repair in trajectory.state.active:
        held = repair.plan or (repair.label is Label.HALLUCINATION and repair.argument)
        # in a conversation the answer may come from the user instead
        untried = bool(held) and alone and not _tried(repair.step, trajectory)
        ran = trajectory.last_run({repair.owes}, since=repair.step) if repair.owes else None
        if not reason and ran is not None and ran[1].status == "error":
            detail = f"`{repair.owes}` ran and ended in an error, and the answer does not say so"
            return finding(trajectory, "unacknowledged_error", detail, tool=repair.owes)
        if repair.owes and (not reason or untried):
            detail = f"`{repair.owes}` was not executed, and is neither done nor given up"
            return finding(trajectory, "open_action", detail, tool=repair.owes)
        if untried and repair.tool and (reason or not _saw_anything(trajectory)):
            detail = "nothing was looked up, and the way to what is missing was not tried"
            return finding(trajectory, "untried", detail, tool=repair.tool)
    return None


def gave_up(trajectory: Trajectory, *, reason: bool) -> Finding | None:
    """An end after "not found", where the identifier was no identifier and a tool yields one.

    In a conversation the user may know what is meant: asking is no giving up there.

    Args:
        trajectory: The newest message wants to finish.
        reason: Whether it says why something was not done, or asks the user.
    """
    last = trajectory.steps[-1] if trajectory.steps else None
    if not reason or last is None or all(seen.status != "error" for seen in last.observations):
        return None
    if not only_request(trajectory):
        return None
    for call in last.calls:
        seen, spec = last.observation_of(call), trajectory.catalog.tools.get(call.name)
        if seen is None or spec is None or not seen.found_nothing:
            continue
        for slot in spec.required:
            plan = _way_to(slot, (call.args or {}).get(slot), spec, trajectory)
            if plan is not None:
                detail = f"`{slot}` of `{call.name}` was no known one, and a tool yields it"
                return finding(trajectory, "untried", detail, tool=call.name, plan=plan)
    return None


def left_unseen(trajectory: Trajectory) -> Finding | None:
    """An end that gives a reason while other candidates of a list were not looked at.

    Args:
        trajectory: The newest message wants to finish, after a step, and no user has said more
            than the request.
    """
    last = trajectory.steps[-1]
    for call in last.calls:
        seen = last.observation_of(call)
        if seen is None or not seen.worked or trajectory.catalog.spec(call.name).read_only is False:
            continue
        for name, value in (call.args or {}).items():
            if not identifies(name) or not isinstance(value, str | int):
                continue
            items, unseen = _siblings(value, trajectory)
            if not unseen or not gives_reason(trajectory.proposal.text):
                continue
            detail = f"{len(unseen)} of {items} candidates for `{name}` were not looked at"
            advice = f"call `{call.name}` with {name} '{shown(unseen[0])}'{OR_SAY_WHY}"
            return finding(trajectory, "untried", detail, tool=call.name, advice=advice)
    return None


def _siblings(value: str | int, trajectory: Trajectory) -> tuple[int, list[str]]:
    """How many items the list of a value has, and those of them that no call was given."""
    wanted = sought(value)
    for passage in trajectory.provenance.results(_RESULTS_READ):
        items = bare_list(passage, wanted) if passage.holds(wanted) else None
        if items is None or not 1 < len(items) <= _CANDIDATES:
            continue
        given = trajectory.given_values
        return len(items), [str(item) for item in items if str(item) not in given]
    return 0, []


def _way_to(
    slot: str, value: object, spec: ToolSpec, trajectory: Trajectory
) -> tuple[PathStep, ...] | None:
    """The calls that yield an identifier in place of `value`; None where `value` may be one."""
    if not identifies(slot) or not isinstance(value, str | int):
        return None
    catalog, provenance = trajectory.catalog, trajectory.provenance
    known = any(map(str.isdigit, str(value))) and provenance.grounded(value)
    if known and not kept_as(slot, value, spec.name, provenance):
        return None
    if known_values(slot, catalog, provenance, consumer=spec.name, limit=1):
        return ()
    return plan_to(slot, catalog, provenance, consumer=spec.name) or None


def _saw_anything(trajectory: Trajectory) -> bool:
    """Whether any tool has given a result in this task: without one an answer is made up."""
    return any(seen.worked for step in trajectory.steps for seen in step.observations)


def _tried(step: str, trajectory: Trajectory) -> bool:
    """Whether any call reached a tool after the message `step`."""
    for one in reversed(trajectory.steps):
        if one.id == step:
            return False
        if any(not seen.own for seen in one.observations):
            return True
    return True
