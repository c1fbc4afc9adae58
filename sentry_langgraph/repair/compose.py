"""From a finding to the text that the model reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sentry_langgraph.answers import answers
from sentry_langgraph.ledger import JUDGE
from sentry_langgraph.records import (
    ActiveRepair,
    Catalog,
    Finding,
    ScoredLesson,
    Step,
    Task,
)
from sentry_langgraph.repair.signatures import call_of, form, signature
from sentry_langgraph.repair.steps import follow
from sentry_langgraph.repair.templates import (
    AS_JSON,
    ENDS,
    FOUND,
    LAST_ATTEMPT,
    LESSONS,
    LOOK_UP,
    PATTERNS,
    QUESTION,
    REMINDER,
    REMINDER_OF_PLAN,
    REPEATED_ERROR,
    REQUEST,
    REVIEWED,
    STOPPED,
    TEMPLATES,
    Template,
)
from sentry_langgraph.taxonomy import DEFINITIONS, Label
from sentry_langgraph.wants import wants_change

_CALL_AGAIN = frozenset(
    {
        Label.UNKNOWN_TOOL,
        Label.MALFORMED_ARGUMENTS,
        Label.INVALID_ARGUMENTS,
        Label.MALFORMED_MODEL_OUTPUT,
    }
)
"""Labels whose next call is the same tool, or the suggested one, with its parameters."""

_CALLED = re.compile(r"\bcall `([^`]+)`")
_REQUEST_SHARE = 0.4
_TOOLS_SHOWN = 24


def compose(
    finding: Finding,
    catalog: Catalog,
    task: Task,
    *,
    lessons: Sequence[ScoredLesson] = (),
    attempt: int = 1,
    last_attempt: bool = False,
    max_chars: int = 1_200,
    with_request: bool = True,
) -> str:
    """The plan for one finding.

    Args:
        finding: What went wrong.
        catalog: The tools, for names and parameters.
        task: The task, whose request stands last.
        lessons: What helped before, best first.
        attempt: Which attempt in a row this is.
        last_attempt: Whether it has to be said differently now.
        max_chars: Longest text.
        with_request: Whether to end on the request; the last of several texts does.

    Returns:
        At most `max_chars` characters. The fault and the next call are kept longest.
    """
    template = _template(finding, catalog, task)
    lines = [_fill(template.fault, finding, catalog)]
    if last_attempt:
        lines.append("Next: " + LAST_ATTEMPT.format(count=attempt))
    else:
        step = _next(template, finding, catalog)
        if attempt > 1 and finding.label in _CALL_AGAIN:
            step += _form_of(step, catalog)
        lines.append("Next: " + step)
        lines.append("Then: " + _then(template, finding, catalog, task))
    if lessons:
        lines.append(LESSONS)
        lines += [f"- {scored.lesson.text}" for scored in lessons]
    request = _request(task, max_chars) if with_request else ""
    return _fit(lines, request, max_chars)


def remind(
    waiting: Iterable[ActiveRepair], catalog: Catalog, task: Task, *, max_chars: int = 600
) -> str:
    """The rest of the plan, while held actions are owed.

    Args:
        waiting: The repairs that are open, each with what is left of its plan.
        catalog: The tools.
        task: The task, whose request stands last.
        max_chars: Longest text.
    """
    open_: dict[str, ActiveRepair] = {}
    for repair in waiting:
        held = repair.owes or repair.tool or ""
        before = open_.get(held)
        if before is None or (repair.plan and not before.plan):
            open_[held] = repair if before is None else replace(repair, owes=before.owes)
    lines = [
        REMINDER_OF_PLAN.format(
            plan=follow(one.plan, held, catalog, change=_changes(held, catalog, task))
        )
        for held, one in open_.items()
        if one.plan or not one.owes
    ]
    bare = [call_of(held, catalog) for held, one in open_.items() if one.owes and not one.plan]
    if bare:
        lines.append(REMINDER.format(calls=", ".join(bare)))
    return _fit(lines, _request(task, max_chars), max_chars)


def partial_answer(finding: Finding, steps: Sequence[Step], task: Task) -> str:
    """What Sentry says when it ends a run: the reason, what was done, what is open."""
    counts: dict[str, int] = {}
    for step in steps:
        for call in step.calls:
            result = step.observation_of(call)
            if result is not None and result.worked:
                counts[call.name] = counts.get(call.name, 0) + 1
    done = ", ".join(
        f"`{name}`" + (f" {count} times" if count > 1 else "") for name, count in counts.items()
    )
    if not wants_change(task.objective):
        seen = next((one for one in answers(task.objective, steps) if one.outright), None)
        done += FOUND.format(field=seen.field, value=seen.shown, tool=seen.tool) if seen else ""
    return STOPPED.format(
        reason=DEFINITIONS[finding.label].meaning if finding.hard else finding.detail,
        label=finding.label.value,
        done=done or "nothing ran with success",
        request=_clip(task.objective, 300) or "it is not known",
    )


def _template(finding: Finding, catalog: Catalog, task: Task) -> Template:
    if finding.pattern == JUDGE:
        return replace(TEMPLATES[finding.label], fault=REVIEWED)
    if (known := PATTERNS.get((finding.label, finding.pattern or ""))) is not None:
        return known
    if finding.label is Label.REPETITION_OR_LOOPING and finding.evidence.get("failing"):
        return REPEATED_ERROR
    spec = catalog.tools.get(finding.tool or "")
    changes = spec is not None and spec.read_only is False and not finding.plan
    if finding.label is Label.HALLUCINATION and changes and not wants_change(task.objective):
        return QUESTION
    return TEMPLATES[finding.label]


def _next(template: Template, finding: Finding, catalog: Catalog) -> str:
    if finding.advice:
        return finding.advice
    target = finding.suggestion or finding.tool
    spec = catalog.tools.get(target) if target else None
    if finding.pattern == JUDGE and finding.suggestion and spec is not None:
        otherwise = _fill(template.next, finding, catalog)
        return LOOK_UP.format(signature=signature(spec), next=otherwise)
    if finding.label in _CALL_AGAIN and spec is not None:
        call = f"call {signature(spec)}."
        if finding.suggestion and finding.suggestion != finding.tool:
            call = f"call {signature(spec)} — the nearest name. All tools: {_tools(catalog)}."
        return call
    return _fill(template.next, finding, catalog)


def _form_of(step: str, catalog: Catalog) -> str:
    """The arguments of the tool that a next step calls, to be filled in: said differently."""
    named = _CALLED.search(step)
    spec = catalog.tools.get(named[1]) if named else None
    return AS_JSON.format(form=form(spec)) if spec is not None and spec.required else ""


def _then(template: Template, finding: Finding, catalog: Catalog, task: Task) -> str:
    """What follows the next call: the rest of the plan where there is one."""
    held = finding.suggestion or finding.tool or ""
    if finding.advice.startswith(ENDS):
        return "end there."
    if not finding.plan:
        return template.then
    return follow(finding.plan[1:], held, catalog, change=_changes(held, catalog, task))


def _changes(held: str, catalog: Catalog, task: Task) -> bool:
    """Whether a held call is part of a change, as far as its tool or the request says it."""
    spec = catalog.tools.get(held)
    return spec is None or spec.read_only is False or wants_change(task.objective)


def _fill(text: str, finding: Finding, catalog: Catalog) -> str:
    return text.format(
        tool=finding.tool or "the call",
        detail=finding.detail or finding.label.value,
        tools=_tools(catalog),
        signature=call_of(finding.tool or "", catalog),
    )


def _tools(catalog: Catalog) -> str:
    names = list(catalog.tools)
    shown = ", ".join(f"`{name}`" for name in names[:_TOOLS_SHOWN])
    more = f" and {len(names) - _TOOLS_SHOWN} more" if len(names) > _TOOLS_SHOWN else ""
    return (shown + more) or "none"


def _request(task: Task, max_chars: int) -> str:
    text = _clip(task.objective, int(max_chars * _REQUEST_SHARE))
    return REQUEST.format(request=text) if text else ""


def _clip(text: str, length: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: max(length - 1, 0)].rstrip() + "…"


def _fit(lines: list[str], request: str, max_chars: int) -> str:
    """Drop lines from the end, lessons first, until the text fits; the request stays."""
    room = max_chars - (len(request) + 1 if request else 0)
    kept = list(lines)
    while len(kept) > 1 and len("\n".join(kept)) > room:
        kept.pop()
    if kept and kept[-1] == LESSONS:
        kept.pop()
    body = "\n".join(kept)
    if len(body) > room:
        body = body[: max(room - 1, 0)].rstrip() + "…"
    return f"{body}\n{request}" if request else body
