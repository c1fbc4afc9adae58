"""Going on after the end: calls after the finishing one, and a change that is made twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sentry_langgraph.detect.naming import words_of
from sentry_langgraph.detect.unfinished import finding
from sentry_langgraph.provenance import leaves
from sentry_langgraph.records import Finding, ToolCall, ToolSpec, Trajectory
from sentry_langgraph.signature import call_key
from sentry_langgraph.taxonomy import Severity

_TURNS = frozenset(("toggle", "switch", "flip", "undo", "redo"))
"""What these do once, they undo the second time."""

_RECENT = 3
"""Steps back in which the end of the task is looked for."""

_TARGET_NAME = re.compile(r"(?:^|_)(?:ids?|numbers?|codes?|emails?|paths?|urls?|keys?|names?)$")
_TARGET_VALUE = re.compile(r"(?=.*\d)[A-Za-z#_-][\w#@./:-]{3,}|[^@\s]+@[^@\s]+|\d{5,}")


_SETS = frozenset(
    "enable disable set update modify change assign unassign close open start stop put resume "
    "suspend grant revoke activate deactivate lock unlock cancel delete remove rename move write "
    "save store mark reset replace edit archive unsubscribe block unblock approve reject".split()
)


def after_finish(trajectory: Trajectory) -> Finding | None:
    """The task was ended with success, and the agent makes further calls."""
    for step in reversed(trajectory.steps[-_RECENT:]):
        for call in step.calls:
            if not trajectory.catalog.spec(call.name).finish:
                continue
            seen = step.observation_of(call)
            if seen is None or not seen.worked:
                continue
            calls = trajectory.proposal.calls
            reads = all(trajectory.catalog.spec(made.name).read_only is True for made in calls)
            return finding(
                trajectory,
                "after_finish",
                f"`{call.name}` has ended the task, and the agent goes on",
                tool=calls[0].name,
                severity=Severity.ADVISE if reads else Severity.HOLD,
                calls=tuple(made.index for made in calls),
                evidence={"ended_by": call.name, "calls": len(calls)},
            )
    return None


def completed_again(trajectory: Trajectory, hold_at: int) -> Finding | None:
    """A change that has worked is made again with the same arguments.

    Only where the arguments name a target: pressing a key or going on one page twice is no
    repeat. A change of the same target in between may have undone the first.

    Args:
        trajectory: What the gate sees.
        hold_at: The time, the proposed one included, from which it is held. A change that can't
            be undone is held at the second time. One that by its name only sets a state, such
            as `enable_…`, does no harm twice, and is left to the counting of loops.
    """
    for call in trajectory.proposal.calls:
        spec = trajectory.catalog.spec(call.name)
        if spec.read_only is not False or spec.idempotent or spec.batch or spec.polling:
            continue
        if not call.args or not _names_a_target(call.args) or _turns(call.name):
            continue
        if _sets(call.name) and not spec.destructive:
            continue
        done = _done_before(call, spec, trajectory)
        if not done:
            continue
        hold = spec.destructive or len(done) + 1 >= hold_at
        return finding(
            trajectory,
            "completed_again",
            f"`{call.name}` has worked with the same arguments before, in this task",
            tool=call.name,
            severity=Severity.HOLD if hold else Severity.ADVISE,
            calls=(call.index,),
            related=(call_key(call, spec),),
            evidence={"steps": done, "count": len(done) + 1},
        )
    return None


def _done_before(call: ToolCall, spec: ToolSpec, trajectory: Trajectory) -> list[str]:
    """The ids of the steps that made the change, newest first, where it still holds."""
    key = call_key(call, spec)
    own = set(_values(call.args or {}))
    done: list[str] = []
    for step in reversed(trajectory.steps):
        for earlier in reversed(step.calls):
            seen = step.observation_of(earlier)
            if seen is None or seen.own or trajectory.catalog.spec(earlier.name).read_only is True:
                continue
            same = earlier.name == call.name and call_key(earlier, spec) == key
            if same and seen.status == "success":
                done.append(step.id)
            elif same or (
                seen.status == "success" and not own.isdisjoint(_values(earlier.args or {}))
            ):
                return done
    return done


def _sets(name: str) -> bool:
    """Whether a tool, by its name, brings about a state that a second call leaves as it is."""
    return not _SETS.isdisjoint(words_of(name))


def _turns(name: str) -> bool:
    return not _TURNS.isdisjoint(words_of(name))


def _names_a_target(args: Mapping[str, Any]) -> bool:
    return any(
        isinstance(value, str)
        and value
        and (_TARGET_NAME.search(name.lower()) or _TARGET_VALUE.fullmatch(value[:200]))
        for name, value in leaves(args)
    )


def _values(args: Mapping[str, Any]) -> Iterator[str]:
    return (str(value) for _, value in leaves(args) if isinstance(value, str | int))
