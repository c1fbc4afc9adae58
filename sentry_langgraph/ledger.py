"""The ledger: append-only typed events, and their fold into the state of the task.

Events are plain dicts, because checkpointers in strict mode degrade classes they don't know
without a word. Ids are derived from message id, kind and failure key, so a node that runs
again after a resume writes nothing twice. Nothing but the events is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sentry_langgraph.records import (
    ActiveRepair,
    Event,
    Finding,
    Judgement,
    Lesson,
    PathStep,
    Task,
    TaskState,
)
from sentry_langgraph.taxonomy import Label, Strategy, Verdict, type_of

EMPTY = TaskState()

REMINDER = "reminder"
"""Key under which reminders of held actions are kept."""

JUDGE = "judge"
"""Key of the judge's diagnoses, and the pattern of what it finds."""

CEILING = "ceiling"
"""Outcome of a diagnosis that the budget of tokens did not allow."""


def append(ledger: Sequence[Event] | None, new: Sequence[Event] | None) -> list[Event]:
    """The reducer of the `sentry` channel: `ledger` and those of `new` whose id is new."""
    merged = list(ledger or ())
    if new:
        seen = {event["id"] for event in merged}
        for event in new:
            if event["id"] not in seen:
                seen.add(event["id"])
                merged.append(event)
    return merged


def failure(finding: Finding, task: Task, **context: Any) -> Event:
    """A failure was seen. `context` holds `checkpoint_id`, `checkpoint_ns`, `agent`, `at`."""
    return _event(
        "failure",
        task,
        finding.step,
        finding.key,
        label=finding.label.value,
        type=type_of(finding.label).value,
        pattern=finding.pattern,
        tool=finding.tool,
        argument=finding.argument,
        confidence=round(finding.confidence, 3),
        severity=finding.severity.value,
        origin=finding.origin.value,
        evidence=dict(finding.evidence),
        **context,
    )


def repair(
    finding: Finding,
    task: Task,
    strategy: Strategy,
    *,
    lessons: Sequence[str] = (),
    messages: Sequence[str] = (),
    removed: Sequence[str] = (),
    tokens: int = 0,
    seconds: float = 0.0,
    **context: Any,
) -> Event:
    """A repair was made.

    Args:
        finding: The failure it answers.
        task: The task.
        strategy: What was done.
        lessons: Ids of the lessons that were shown.
        messages: Ids of the guidance messages that were put into the context.
        removed: Ids of older guidance that was taken out.
        tokens: Approximate tokens of the text.
        seconds: Time it took.
        **context: Where it happened.
    """
    target = finding.suggestion or finding.tool
    return _event(
        "repair",
        task,
        finding.step,
        finding.key,
        failure=event_id("failure", finding.step, finding.key),
        label=finding.label.value,
        strategy=strategy.value,
        tool=target,
        argument=finding.argument,
        pattern=finding.pattern,
        related=list(finding.related),
        intention=target if finding.intention else None,
        plan=[step.to_dict() for step in finding.plan],
        lessons=list(lessons),
        messages=list(messages),
        removed=list(removed),
        tokens=tokens,
        seconds=round(seconds, 4),
        **context,
    )


def verdict(
    judgement: Judgement, task: Task, step: str, *, removed: Sequence[str] = (), **context: Any
) -> Event:
    """A repair was judged by the steps that followed it, or by the judge (`by`)."""
    made = judgement.repair
    return _event(
        "verdict",
        task,
        step,
        f"{made.key}|{made.step}",
        repair=made.id,
        failure_key=made.key,
        label=made.label.value,
        strategy=made.strategy.value,
        verdict=judgement.verdict.value,
        why=judgement.why,
        removed=list(removed),
        **context,
    )


def lesson(
    learned: Lesson, task: Task, step: str, *, stored: bool, repair_id: str, **context: Any
) -> Event:
    """A lesson was learned. With `stored` False the playbook could not take it yet."""
    return _event(
        "lesson",
        task,
        step,
        learned.id,
        lesson=learned.to_dict(),
        stored=stored,
        repair=repair_id,
        label=learned.label.value,
        **context,
    )


def diagnosis(
    task: Task,
    step: str,
    *,
    why: str,
    outcome: str,
    label: Label | None = None,
    cited: str | None = None,
    confidence: float | None = None,
    suspicions: Sequence[str] = (),
    usage: Mapping[str, Any],
    **context: Any,
) -> Event:
    """The judge was asked.

    Args:
        task: The task.
        step: The id of the newest message.
        why: `suspicion` or `interval`.
        outcome: What came of it, such as `failure` or `no_failure`.
        label: The failure that it named.
        cited: The id of the message that it cited.
        confidence: How sure it was, from 0 to 1.
        suspicions: Labels of what rules had seen.
        usage: What the answers cost: `judge_calls`, `judge_tokens`, `judge_estimated`,
            `judge_seconds`.
        **context: Where it happened.
    """
    return _event(
        "diagnosis",
        task,
        step,
        JUDGE,
        why=why,
        outcome=outcome,
        label=label.value if label is not None else None,
        cited=cited,
        confidence=None if confidence is None else round(confidence, 3),
        suspicions=list(suspicions),
        **usage,
        **context,
    )


def suppressed(finding: Finding, task: Task, reason: str, **context: Any) -> Event:
    """A finding that did not lead to a repair, and why."""
    return _event(
        "suppressed",
        task,
        finding.step,
        f"{finding.key}|{reason}",
        failure_key=finding.key,
        reason=reason,
        label=finding.label.value,
        type=type_of(finding.label).value,
        pattern=finding.pattern,
        tool=finding.tool,
        confidence=round(finding.confidence, 3),
        evidence=dict(finding.evidence),
        **context,
    )


def escalation(finding: Finding, task: Task, outcome: str, **context: Any) -> Event:
    """The ladder's end: `stopped`, or what the human decided."""
    return _event(
        "escalation",
        task,
        finding.step,
        finding.key,
        label=finding.label.value,
        tool=finding.tool,
        outcome=outcome,
        **context,
    )


def notice(what: str, task: Task, step: str, **context: Any) -> Event:
    """Something people should know: a fault of our own, a healed history, a reminder."""
    return _event("notice", task, step, what, what=what, **context)


def event_id(kind: str, step: str, key: str) -> str:
    """The id of an event: the same failure at the same message is the same event."""
    return f"{kind}:{step}:{key}"


def _event(kind: str, task: Task, step: str, key: str, **fields: Any) -> Event:
    return {
        "id": event_id(kind, step, key),
        "kind": kind,
        "task": task.id,
        "step": step,
        "key": key,
        **fields,
    }


def of_task(events: Sequence[Event], task_id: str) -> list[Event]:
    """The events of the newest task, read from the tail."""
    newest: list[Event] = []
    for event in reversed(events):
        if event["task"] != task_id:
            break
        newest.append(event)
    newest.reverse()
    return newest


def fold(  # noqa: PLR0912 (one branch for each kind of event)
    events: Iterable[Event], state: TaskState = EMPTY
) -> TaskState:
    """The state that the events of one task add up to."""
    active = {made.id: made for made in state.active}
    failed = dict(state.failed)
    guidance = {key: list(ids) for key, ids in state.guidance.items()}
    suppressed_keys = set(state.suppressed)
    soft, last = state.soft_repairs, state.last_soft_step
    hard_steps = set(state.hard_steps)
    tokens, seconds = state.tokens, state.seconds
    judged, streak, judge_tokens = state.judged_step, state.judge_streak, state.judge_tokens
    empty = True
    for event in events:
        empty = False
        kind = event["kind"]
        tokens += event.get("tokens", 0)
        seconds += event.get("seconds", 0.0)
        judge_tokens += event.get("judge_tokens", 0)
        for gone in event.get("removed", ()):
            for ids in guidance.values():
                if gone in ids:
                    ids.remove(gone)
        if messages := event.get("messages"):
            guidance.setdefault(str(event.get("failure_key") or event["key"]), []).extend(messages)
        if kind == "repair":
            made = _active(event)
            active = {id_: old for id_, old in active.items() if old.key != made.key}
            active[made.id] = made
            if made.hard:
                hard_steps.add(made.step)
            else:
                soft += 1
                last = made.step
            streak = 0
        elif kind == "verdict":
            active.pop(event["repair"], None)
            key = event["failure_key"]
            if event["verdict"] != Verdict.RECOVERED:
                failed[key] = failed.get(key, 0) + 1
            else:
                failed.pop(key, None)
        elif kind == "diagnosis":
            judged = event["step"]
            streak = 0 if event["outcome"] == "failure" else streak + 1
            if event["outcome"] == CEILING:
                suppressed_keys.add((JUDGE, CEILING))
        elif kind == "suppressed":
            suppressed_keys.add((event["failure_key"], event["reason"]))
        elif kind == "notice":
            suppressed_keys.add((event["key"], "notice"))
        elif kind == "escalation" and event["outcome"] == "continue":
            failed.pop(event["key"], None)
            hard_steps.clear()
    if empty:
        return state
    return TaskState(
        active=tuple(active.values()),
        soft_repairs=soft,
        failed=failed,
        hard_steps=frozenset(hard_steps),
        last_soft_step=last,
        suppressed=frozenset(suppressed_keys),
        tokens=tokens,
        seconds=seconds,
        guidance={key: tuple(ids) for key, ids in guidance.items() if ids},
        judged_step=judged,
        judge_streak=streak,
        judge_tokens=judge_tokens,
    )


def _active(event: Event) -> ActiveRepair:
    return ActiveRepair(
        id=event["id"],
        label=Label(event["label"]),
        key=event["key"],
        step=event["step"],
        strategy=Strategy(event["strategy"]),
        tool=event["tool"],
        argument=event["argument"],
        pattern=event["pattern"],
        related=tuple(event["related"]),
        lessons=tuple(event["lessons"]),
        owes=event["intention"],
        plan=tuple(map(PathStep.from_dict, event.get("plan", ()))),
    )
