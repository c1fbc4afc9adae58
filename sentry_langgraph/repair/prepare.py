"""What a finding leaves to be done: its plan, its next call in words, and whether it stays owed.

Detectors say what is wrong. Here it is said what to do about it, from where values come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sentry_langgraph.provenance import Provenance
from sentry_langgraph.reasons import gives_reason
from sentry_langgraph.records import (
    Catalog,
    Finding,
    PathStep,
    ScoredLesson,
    ToolSpec,
    Trajectory,
)
from sentry_langgraph.repair.answered import outright_answer, quoting, with_answer
from sentry_langgraph.repair.steps import known, next_call, open_ends
from sentry_langgraph.repair.templates import (
    ANSWER_AT,
    ANSWERED_ABOVE,
    CHOOSE,
    DEAD_END,
    GO_ON_WITH,
    NOT_AGAIN,
    NOT_DONE_YET,
    NOTHING_THERE,
    ONLY_THIS,
    OR_GIVE_UP,
    REFUSED,
    SAY_WHY,
    STILL_NOT_DONE,
    WITH_WHAT_YOU_HAVE,
)
from sentry_langgraph.repair.ways import (
    dead_end,
    first_look_up,
    gave_none,
    named_safely,
    way_to_value,
)
from sentry_langgraph.slots import slot_of
from sentry_langgraph.taxonomy import Label, Severity
from sentry_langgraph.wants import wants_change

_PLANNED = frozenset(
    {
        Label.HALLUCINATION,
        Label.INVALID_ARGUMENTS,
        Label.MALFORMED_ARGUMENTS,
        Label.UNAVAILABLE_TARGET,
    }
)
"""Labels whose repair may need a value that another call yields."""

_READS_ON = frozenset({Label.REPETITION_OR_LOOPING, Label.OVER_EXPLORATION})
"""Labels of an agent that reads on: a question may have its answer by then."""

_STEM = 5


def prepared(finding: Finding, trajectory: Trajectory) -> Finding:
    """The finding with its plan and the next call in words.

    A detector's own advice stays. A change that a plain question does not ask for is never owed.
    """
    question = not wants_change(trajectory.task.objective)
    if finding.label in _READS_ON:
        return _read_on(finding, trajectory, question=question)
    if finding.severity is not Severity.HOLD:
        return _right_kind(finding, trajectory) if finding.pattern == "other_kind" else finding
    if finding.label is Label.UNKNOWN_TOOL and not finding.suggestion and not finding.advice:
        said = gives_reason(trajectory.proposal.text)
        return replace(finding, advice=SAY_WHY) if said else _no_such_tool(finding, trajectory)
    if finding.label is Label.TERMINATION_MISCALIBRATION:
        return _of_repair(finding, trajectory)
    spec = trajectory.catalog.tools.get(finding.suggestion or finding.tool or "")
    if spec is None:
        return finding
    if question and spec.read_only is not True:
        finding = replace(finding, intention=False)
        if finding.label is Label.HALLUCINATION and spec.read_only is False:
            return with_answer(replace(finding, plan=(), advice=""), trajectory)
    elif finding.label is Label.HALLUCINATION and spec.read_only is None:
        finding = replace(finding, intention=_named(spec, trajectory.task.objective))
    if finding.label not in _PLANNED:
        return finding
    plan = named_safely(finding.plan or way_to_value(finding, spec, trajectory))
    if finding.advice:
        return replace(finding, plan=plan)
    gone = finding.tool if finding.pattern == "guessed_again" else None
    gone = gone or dead_end(finding, plan, trajectory)
    if gone:
        return replace(finding, plan=(), advice=DEAD_END.format(tool=gone))
    if plan and gave_none(plan[-1].tool, trajectory):
        return _without(finding, plan[-1].tool, trajectory, question=question)
    return _worded(finding, plan, spec, trajectory)


def _no_such_tool(finding: Finding, trajectory: Trajectory) -> Finding:
    """A call to no tool: the way to the identifier that it lacks, as far as its arguments say it.

    What such a call would do nobody knows, so nothing of it is planned or owed.
    """
    first = first_look_up(finding, trajectory)
    if first is None:
        return finding
    catalog, provenance = trajectory.catalog, trajectory.provenance
    step, words = first
    advice = f"{next_call(step.tool, step.gives, catalog, provenance, words)}."
    detail = finding.detail
    if trajectory.attempt_at(finding.tool) > 1:
        detail += NOT_AGAIN
    return replace(finding, detail=detail, advice=advice)


def _worded(
    finding: Finding, plan: tuple[PathStep, ...], spec: ToolSpec, trajectory: Trajectory
) -> Finding:
    """The finding with its plan and the next call."""
    have = _possible(finding, plan, spec, trajectory)
    advice = _advice(finding, plan, spec, trajectory)
    place = outright_answer(trajectory) if advice and spec.read_only is not False else None
    if have and advice:
        # another look-up may be what is wanted: the way to this one is only a second choice
        advice = WITH_WHAT_YOU_HAVE.format(have=have, call=advice.removesuffix("."))
        plan = ()
    elif plan and plan[0].tool != finding.tool and _again(finding, trajectory):
        # the way beyond it only draws the agent to the call that can't run yet
        advice = ONLY_THIS.format(call=advice.removesuffix("."), tool=finding.tool)
        plan = ()
    if place is not None and _again(finding, trajectory):
        return replace(finding, plan=(), advice=quoting(ANSWER_AT, place))
    if place is not None:
        advice = quoting(ANSWERED_ABOVE, place, call=advice)
    return replace(finding, plan=plan, advice=advice)


def _again(finding: Finding, trajectory: Trajectory) -> bool:
    """Whether a repair of the same failure is open or has failed."""
    state = trajectory.state
    return bool(state.failed.get(finding.key)) or any(
        one.key == finding.key for one in state.active
    )


def _given(finding: Finding, trajectory: Trajectory) -> Mapping[str, Any]:
    """Values of the refused call that were told or seen: another tool may take them as they are."""
    return {
        name: value
        for call in trajectory.proposal.calls
        if call.index in finding.calls
        for name, value in (call.args or {}).items()
        if isinstance(value, str) and value and trajectory.provenance.grounded(value)
    }


def _without(finding: Finding, tool: str, trajectory: Trajectory, *, question: bool) -> Finding:
    """A finding about a value that there is none of: nothing is owed but an answer."""
    advice = NOTHING_THERE.format(tool=tool)
    finding = replace(finding, plan=(), advice="", intention=False)
    if question:
        return with_answer(finding, trajectory, advice)
    return replace(finding, advice=advice)


def _right_kind(finding: Finding, trajectory: Trajectory) -> Finding:
    """A refused identifier of another kind, with the way to one of the right kind."""
    plan = named_safely(finding.plan)
    kept = slot_of(str(finding.evidence.get("kept_as"))).nouns[-1:]
    for tool, name, value in open_ends(trajectory):
        if slot_of(name).nouns[-1:] == kept and tool != plan[0].tool:
            # what the value is for may be what is wanted
            return replace(finding, plan=(), advice=f"call `{tool}` with {name} '{value}'.")
    first = next_call(plan[0].tool, plan[0].gives, trajectory.catalog, trajectory.provenance)
    return replace(finding, plan=plan, advice=f"{first}.")


def _read_on(finding: Finding, trajectory: Trajectory, *, question: bool) -> Finding:
    """A finding about too many look-ups, with the one place to look at instead."""
    if question:
        finding = with_answer(finding, trajectory)
    else:
        tools = trajectory.catalog.tools.items()
        change = trajectory.last_run({name for name, spec in tools if spec.read_only is False})
        if change is not None and change[1].status == "error":
            return replace(finding, advice=REFUSED.format(tool=change[0].name))
    if finding.advice or finding.label is not Label.REPETITION_OR_LOOPING:
        return finding
    have = _in_words(open_ends(trajectory))
    return replace(finding, advice=GO_ON_WITH.format(have=have)) if have else finding


def _in_words(ends: Iterable[tuple[str, str, str]]) -> str:
    return " or ".join(f"`{tool}` with {name} '{value}'" for tool, name, value in ends)


def remembered(finding: Finding, lessons: Sequence[ScoredLesson], catalog: Catalog) -> Finding:
    """The finding with the path of a lesson as its plan, where nothing better is known.

    A path counts that led to the call in question before.
    """
    held = finding.suggestion or finding.tool
    if finding.label not in _PLANNED or finding.plan or finding.advice:
        return finding
    for scored in lessons:
        path = scored.lesson.path
        known_tools = all(step.tool in catalog.tools for step in path)
        if len(path) > 1 and path[-1].tool == held and known_tools:
            first = path[0]
            text = next_call(first.tool, first.gives, catalog, Provenance())
            return replace(finding, plan=path[:-1], advice=f"{text}.")
    return finding


def _named(spec: ToolSpec, request: str) -> bool:
    """Whether the request has a word of the tool's name."""
    said = {word[:_STEM] for word in re.findall(r"[a-z]{4,}", request[-4_000:].lower())}
    return not said.isdisjoint(
        word[:_STEM].lower() for word in re.findall(r"[A-Za-z]{4,}", spec.name)
    )


def _advice(
    finding: Finding, plan: tuple[PathStep, ...], spec: ToolSpec, trajectory: Trajectory
) -> str:
    """The next call in words; empty where the label's own words are better."""
    catalog, provenance = trajectory.catalog, trajectory.provenance
    if plan:
        given = _given(finding, trajectory)
        text = next_call(plan[0].tool, plan[0].gives, catalog, provenance, given)
    elif finding.label is Label.UNAVAILABLE_TARGET:
        return ""
    else:
        values = known(spec, catalog, provenance)
        if finding.label is Label.HALLUCINATION and finding.argument not in values:
            return ""
        text = next_call(spec.name, "", catalog, provenance)
        several = finding.argument in values and len(values[finding.argument].values) > 1
        if several and spec.read_only is not True:
            text += CHOOSE
    return f"{text}."


def _possible(
    finding: Finding, plan: tuple[PathStep, ...], spec: ToolSpec, trajectory: Trajectory
) -> str:
    """Look-ups that known values allow, in words, other than those that the plan begins with."""
    if finding.label is not Label.HALLUCINATION or spec.read_only is False:
        return ""
    first = plan[0].tool if plan else spec.name
    return _in_words(end for end in open_ends(trajectory) if end[0] != first)


def _of_repair(finding: Finding, trajectory: Trajectory) -> Finding:
    """A premature end: the rest of the plan that leads on."""
    if finding.pattern not in ("open_action", "untried") or finding.advice or not finding.tool:
        return finding
    rest, detail, owed = finding.plan, finding.detail, finding.pattern == "open_action"
    for made in reversed(trajectory.state.active):
        if finding.tool in (made.owes, made.tool) and not rest:
            rest = made.rest(trajectory.done_since(made.step))
    if owed:
        again = STILL_NOT_DONE if _again(finding, trajectory) else NOT_DONE_YET
        detail = again.format(tool=finding.tool)
    tool, gives = (rest[0].tool, rest[0].gives) if rest else (finding.tool, "")
    advice = next_call(tool, gives, trajectory.catalog, trajectory.provenance)
    if owed:
        return replace(finding, detail=detail, plan=rest, advice=advice + OR_GIVE_UP)
    have = _in_words(end for end in open_ends(trajectory) if end[0] != tool)
    if have:
        return replace(finding, advice=WITH_WHAT_YOU_HAVE.format(have=have, call=advice))
    return replace(finding, plan=rest, advice=f"{advice}.")
