"""Ends that come too early: open todos, an error that nobody speaks of, a tool never called.

Each rule looks at a wish to finish. A final message that gives a reason or asks the user has
said what is open, and is no such end.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sentry_langgraph.answers import answers
from sentry_langgraph.detect.todos import todos_of
from sentry_langgraph.records import Finding, Observation, Step, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Severity
from sentry_langgraph.values import sought
from sentry_langgraph.wants import wants_change

_SHOWN = 3
_CLIP = 80
_LOOKED_AT = 4_000
_FAULT = re.compile(
    r"\b(?:errors?|issues?|problems?|trouble|did(?: not|n't|n’t) work|(?:is|was)n['’]t|not|"
    r"only|instead|already|invalid|incorrect|wrong|missing|retry|try again|however|but|although|"
    r"transfer\w*|escalat\w*|human|specialist|refus\w*|reject\w*|exceed\w*|require\w*)\b",
    re.IGNORECASE,
)
"""Words of somebody who speaks of what went wrong, or of what was done in its place."""


_ASKS = re.compile(
    r"\b(?:please|let me know|tell me|share|once you|after you|when you|could you|can you|"
    r"would you|do you|provide|confirm|feel free to (?:send|give|share))\b",
    re.IGNORECASE,
)
"""Words of somebody who waits for the user."""


_CLAIMS = re.compile(
    r"\b(?:done|successful(?:ly)?|completed?|finished|all set|fixed|passed|"
    r"(?:has|have|was|were|is|are) (?:now |been )*\w+ed|i(?:'ve|’ve| have) (?:now )?\w+ed)\b",
    re.IGNORECASE,
)
"""Words of somebody who claims that something was done."""


def open_todos(trajectory: Trajectory) -> Finding | None:
    """The agent's own list of todos still has open items."""
    todos = todos_of(trajectory)
    if todos is None or not todos.open:
        return None
    shown = "; ".join(f'"{_clip(text)}"' for text in todos.open[:_SHOWN])
    more = f" and {len(todos.open) - _SHOWN} more" if len(todos.open) > _SHOWN else ""
    return finding(
        trajectory,
        "open_todos",
        f"{len(todos.open)} of {todos.total} todos are open: {shown}{more}",
        tool=todos.tool,
        evidence={"open": len(todos.open), "total": todos.total},
    )


def unacknowledged_error(trajectory: Trajectory) -> Finding | None:
    """The last thing that happened was an error, and the answer goes past it.

    Where it was no change, only a claim that something was done shows that it matters: an answer
    may have come from elsewhere.
    """
    last = next((step for step in reversed(trajectory.steps) if step.calls), None)
    if last is None or not last.observations:
        return None
    for seen in last.observations:
        if seen.own or seen.status != "error":
            return None
    call = _fatal(last, trajectory)
    text = trajectory.proposal.text[-_LOOKED_AT:]
    if call is None or _FAULT.search(text) or _ASKS.search(text):
        return None
    if trajectory.catalog.spec(call.name).read_only is not False and not _CLAIMS.search(text):
        return None
    return finding(
        trajectory,
        "unacknowledged_error",
        f"the last call, `{call.name}`, ended in an error, and the answer does not say so",
        tool=call.name,
    )


def _fatal(last: Step, trajectory: Trajectory) -> ToolCall | None:
    """A failed call that nothing has made good: the tool has not worked in this task."""
    worked = {
        call.name
        for step in trajectory.steps
        for call in step.calls
        if _worked(step.observation_of(call))
    }
    return next((call for call in last.calls if call.name not in worked), None)


def never_called(
    trajectory: Trajectory, required: Collection[str], *, finish_tool: bool = True
) -> Finding | None:
    """A required tool, or the tool that ends the task, has never run with success.

    A tool that ran in an earlier task of the thread is not asked for again by a task without
    any call, such as a word of thanks.
    """
    tools = trajectory.catalog.tools
    wanted = tuple(name for name in required if name in tools)
    finishes = trajectory.catalog.finishing if finish_tool else ()
    if not wanted and not finishes:
        return None
    done = {
        call.name
        for step in trajectory.steps
        for call in step.calls
        if _worked(step.observation_of(call))
    }
    if not any(step.calls for step in trajectory.steps):
        done |= {
            passage.tool
            for passage in trajectory.provenance.passages()
            if passage.kind == "result" and not passage.failed
        }
    missing = tuple(name for name in wanted if name not in done)
    if not missing and finishes and done.isdisjoint(finishes):
        missing = finishes[:1]
    if not missing:
        return None
    return finding(
        trajectory,
        "required_tool",
        f"`{missing[0]}` has to run before the end, and has not",
        tool=missing[0],
        evidence={"missing": list(missing)},
    )


def unanswered(trajectory: Trajectory) -> Finding | None:
    """A question asks for a field by its name, results have it, and the answer does not say it.

    Silent where results have several values of it: which one is meant is then not to be seen.

    Args:
        trajectory: The newest message wants to finish, and no user has said more than the request.
    """
    if wants_change(trajectory.task.objective):
        return None
    request = trajectory.task.objective
    found = {
        (one.field, str(one.value)): one
        for one in answers(request, trajectory.steps)
        if one.value and isinstance(one.value, str | int | float) and one.wanted_by(request)
    }
    if len(found) != 1:
        return None
    (answer,) = found.values()
    if answer.value is True or sought(answer.value).stands_in(trajectory.proposal.text):
        return None
    return finding(
        trajectory,
        "unanswered",
        f"the request asks for `{answer.field}`, and the answer does not say it: the result of "
        f"`{answer.tool}` has {answer.shown}",
        tool=answer.tool,
        severity=Severity.HOLD,
    )


def _worked(seen: Observation | None) -> bool:
    return seen is not None and seen.worked


def finding(
    trajectory: Trajectory,
    pattern: str,
    detail: str,
    *,
    tool: str | None = None,
    **fields: object,
) -> Finding:
    """A finding of `termination_miscalibration`."""
    label = Label.TERMINATION_MISCALIBRATION
    return Finding(
        label,
        trajectory.proposal.id,
        key=f"{label}:{pattern}" + (f":{tool}" if tool else ""),
        confidence=0.8,
        detail=detail,
        tool=tool,
        pattern=pattern,
        **fields,  # type: ignore[arg-type]
    )


def _clip(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _CLIP else flat[: _CLIP - 1].rstrip() + "…"
