"""What the gate sends to Sentry's nodes: payloads that are complete but for I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Send

from sentry_langgraph import ledger
from sentry_langgraph.decisions import Diagnose, HardRepair
from sentry_langgraph.graph.messages import MARK, calls_of, steps_before
from sentry_langgraph.graph.rewrite import needs_rewrite, normalised, rewrite
from sentry_langgraph.graph.scene import DIAGNOSE, ESCALATE, HARD, SOFT, VERIFY, Guard, Scene
from sentry_langgraph.learn import Provenance, learn
from sentry_langgraph.records import ActiveRepair, Event, Finding, Judgement, Task, ToolCall
from sentry_langgraph.repair import compose, partial_answer, remind
from sentry_langgraph.repair.templates import NOT_RUN_STOPPED, NOT_RUN_WHOLE_BATCH
from sentry_langgraph.signature import digest
from sentry_langgraph.taxonomy import Strategy, Verdict

_WHOLE_TASK = 10_000


def verdicts(
    guard: Guard, scene: Scene, judgements: Sequence[Judgement], recorded: Sequence[Event]
) -> Send:
    """Verdicts to write down and lessons to learn, with what else has to be recorded."""
    events: list[Event] = []
    lessons: list[dict[str, Any]] = []
    outcomes: list[dict[str, Any]] = []
    removed: list[str] = []
    reviews: list[dict[str, Any]] = []
    owed = {repair.id for repair in scene.trajectory.state.owed}
    for judgement in judgements:
        repair = judgement.repair
        owed.discard(repair.id)
        gone = _guidance_done_with(guard, scene, judgement, still_owed=bool(owed))
        event = ledger.verdict(judgement, scene.task, scene.step, removed=gone, **scene.context)
        removed += gone
        if guard.pipeline.verify.judge and judgement.undecided and not repair.hard:
            reviews.append({"event": event})
            continue
        events.append(event)
        if repair.lessons:
            outcomes.append({"ids": list(repair.lessons), "verdict": judgement.verdict.value})
        if guard.pipeline.learn.enabled:
            learned = learn(judgement, guard.catalog, _provenance(guard, scene, repair))
            if learned is not None:
                lessons.append({"lesson": learned.to_dict(), "repair": repair.id})
    payload = {
        "events": [*events, *recorded],
        "lessons": lessons,
        "outcomes": outcomes,
        "removed": removed,
        "reviews": reviews,
        "spent": scene.trajectory.state.judge_tokens,
        "loop": guard.loop.router,
        "task": _plain(scene.task),
        "step": scene.step,
        "context": scene.context,
    }
    return Send(VERIFY, payload)


def diagnose(guard: Guard, scene: Scene, decision: Diagnose, *, resume: Sequence[Any]) -> Send:
    """What the judge is asked for. What it is shown is read again in the node.

    Args:
        guard: The guarded loop.
        scene: The scene.
        decision: Why it is asked.
        resume: Where the run goes on where nothing holds it: nowhere, beside the tools.
    """
    payload = {
        "loop": guard.loop.router,
        "task": _plain(scene.task),
        "step": scene.step,
        "finish": scene.trajectory.proposal.finish,
        "why": decision.why,
        "suspicions": [finding.to_dict() for finding in decision.suspicions],
        "model": _model_name(scene.message),
        "context": scene.context,
        "back": _back(guard),
        "resume": list(resume),
    }
    return Send(DIAGNOSE, payload)


def _guidance_done_with(
    guard: Guard, scene: Scene, judgement: Judgement, *, still_owed: bool
) -> list[str]:
    cleans = guard.replaces and guard.pipeline.repair.cleanup == "after_recovery"
    if not cleans or judgement.verdict is Verdict.RELAPSED:
        return []
    shown = scene.trajectory.state.guidance
    reminders = () if still_owed else shown.get(ledger.REMINDER, ())
    return [*shown.get(judgement.repair.key, ()), *reminders]


def _provenance(guard: Guard, scene: Scene, repair: ActiveRepair) -> Provenance:
    made: Event = next((event for event in scene.events if event["id"] == repair.id), {})
    return Provenance(
        at=scene.context["at"],
        agent=guard.loop.router,
        thread_id=scene.context["thread_id"],
        checkpoint_id=made.get("checkpoint_id"),
        checkpoint_ns=made.get("checkpoint_ns"),
        model=_model_name(scene.message),
        owner=guard.owner,
    )


def hard(guard: Guard, scene: Scene, repair: HardRepair, held: frozenset[int]) -> Send:
    """Error results for the calls that don't run, or guidance for a message without calls."""
    fixed, messages = _repaired_message(guard, scene)
    by_call = {index: finding for finding in repair.findings for index in finding.calls}
    answered = [call for call in fixed if call.index in held]
    texts: list[str] = []
    for call in answered:
        finding = by_call.get(call.index)
        text = NOT_RUN_WHOLE_BATCH
        if finding is not None:
            text = _plan(guard, scene, finding, with_request=call is answered[-1])
        texts.append(text)
        messages.append(refusal(call.id, call.name, scene.step, text, finding))
    if not answered:
        texts.append(_plan(guard, scene, repair.findings[0]))
        messages.append(guidance(repair.findings[0], scene.step, texts[0]))
    tokens = sum(len(text) // 4 for text in texts)
    events: list[Event] = []
    for finding in repair.findings:
        events.append(ledger.failure(finding, scene.task, **scene.context))
        events.append(
            ledger.repair(finding, scene.task, Strategy.HARD, tokens=tokens, **scene.context)
        )
        tokens = 0
    return Send(HARD, {"messages": messages, "events": events, "goto": _back(guard)})


def _plan(guard: Guard, scene: Scene, finding: Finding, *, with_request: bool = True) -> str:
    options = guard.pipeline.repair
    attempt = scene.trajectory.attempt_at(finding.tool)
    return compose(
        finding,
        guard.catalog,
        scene.task,
        attempt=attempt,
        last_attempt=attempt > options.max_hard_attempts,
        max_chars=options.max_chars,
        with_request=with_request,
    )


def _repaired_message(guard: Guard, scene: Scene) -> tuple[tuple[ToolCall, ...], list[AnyMessage]]:
    """The open calls as they stand in the history from now on, and the message if it changes."""
    fixed = normalised(scene.calls, scene.step)
    if not (guard.replaces and scene.message.id and needs_rewrite(scene.calls, fixed)):
        return scene.calls, []
    changed = {call.index: call for call in fixed}
    everything = [changed.get(call.index, call) for call in calls_of(scene.message)]
    return fixed, [rewrite(scene.message, everything)]


def soft(guard: Guard, scene: Scene, finding: Finding, *, hold: bool, held: frozenset[int]) -> Send:
    """Guidance to be worded with the lessons that match."""
    payload = soft_payload(
        finding,
        scene.task,
        loop=guard.loop.router,
        model=_model_name(scene.message),
        answers=[{"id": call.id, "name": call.name} for call in scene.calls if call.index in held],
        removed=_shown_before(guard, scene, finding.key),
        context=scene.context,
        hold=hold,
        back=_back(guard),
    )
    return Send(SOFT, payload)


def soft_payload(
    finding: Finding,
    task: Task,
    *,
    loop: str,
    model: str | None,
    removed: Sequence[str],
    context: Mapping[str, Any],
    hold: bool,
    back: str,
    answers: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """What the node of soft repairs takes.

    Args:
        finding: The failure.
        task: The task.
        loop: The router of the guarded loop.
        model: The chat model's name.
        removed: Older guidance that the new one replaces.
        context: Where it happened.
        hold: Whether the calls, or the wish to finish, don't go through.
        back: Where a hold goes.
        answers: The held calls.
    """
    return {
        "finding": finding.to_dict(),
        "loop": loop,
        "task": _plain(task),
        "model": model,
        "hold": hold,
        "answers": list(answers),
        "events": [ledger.failure(finding, task, **context)],
        "removed": list(removed),
        "context": context,
        "goto": back if hold else None,
    }


def reminder(guard: Guard, scene: Scene, owed: Sequence[ActiveRepair]) -> Send:
    """The rest of the plan beside the tool results; it replaces the one before."""
    text = remind(owed, guard.catalog, scene.task)
    message = HumanMessage(
        text,
        name=MARK,
        id=f"sentry-reminder-{digest(scene.step)}",
        additional_kwargs={MARK: {"kind": ledger.REMINDER}},
    )
    old = _shown_before(guard, scene, ledger.REMINDER)
    event = ledger.notice(
        ledger.REMINDER,
        scene.task,
        scene.step,
        failure_key=ledger.REMINDER,
        owed=[repair.owes or repair.tool for repair in owed],
        messages=[message.id],
        removed=old,
        tokens=len(text) // 4,
        **scene.context,
    )
    return Send(SOFT, {"messages": [message], "events": [event], "removed": old, "goto": None})


def escalate(
    guard: Guard, scene: Scene, finding: Finding, *, human: bool, resume: Sequence[Any]
) -> Send:
    """The end of the ladder: an honest partial answer, or a question to a human first."""
    fixed, messages = _repaired_message(guard, scene)
    not_run = NOT_RUN_STOPPED.format(label=finding.label.value)
    messages += [refusal(call.id, call.name, scene.step, not_run, finding) for call in fixed]
    _, steps = steps_before(scene.messages, scene.position, _WHOLE_TASK)
    # an empty message of the agent is replaced: two assistant messages in a row are refused
    empty = not scene.calls and not scene.message.content and guard.replaces
    messages.append(
        AIMessage(
            partial_answer(finding, steps, scene.task),
            id=scene.message.id if empty else f"sentry-stop-{digest(scene.step)}",
            additional_kwargs={
                MARK: {"stop_reason": finding.label.value, "outcome": "stopped", "finished": False}
            },
        )
    )
    payload = {
        "finding": finding.to_dict(),
        "task": _plain(scene.task),
        "context": scene.context,
        "events": [ledger.failure(finding, scene.task, **scene.context)],
        "messages": messages,
        "human": human,
        "question": {
            "label": finding.label.value,
            "detail": finding.detail,
            "tool": finding.tool,
            "options": ["continue", "stop"],
        },
        "resume": list(resume),
        "answers": [{"id": call.id, "name": call.name} for call in fixed],
        "entry": guard.loop.entry,
        "goto": _exit(guard),
    }
    return Send(ESCALATE, payload)


def _back(guard: Guard) -> str:
    """Where a repair goes: to the agent, past the healing node where others run beside it."""
    return guard.heal if guard.loop.parallel else guard.loop.entry


def _exit(guard: Guard) -> str:
    """Where a stopped run goes: through the hooks that run once at the end, or out."""
    hooks = [name for name in guard.loop.exits if name.endswith(".after_agent")]
    return hooks[0] if len(hooks) == 1 else END


def _shown_before(guard: Guard, scene: Scene, key: str) -> list[str]:
    """Older guidance on the same failure, which the new one replaces."""
    return list(scene.trajectory.state.guidance.get(key, ())) if guard.replaces else []


def refusal(call_id: str, name: str, step: str, text: str, finding: Finding | None) -> ToolMessage:
    """The answer to a call that did not run, with an id that replays keep."""
    return ToolMessage(
        text,
        tool_call_id=call_id,
        name=name,
        status="error",
        id=f"sentry-{digest(f'answer:{step}:{call_id}')}",
        additional_kwargs={
            MARK: {"kind": "refusal", "label": finding.label.value if finding else None}
        },
    )


def guidance(finding: Finding, step: str, text: str) -> HumanMessage:
    """Guidance as a message of its own, after all tool results, with an id that replays keep."""
    return HumanMessage(
        text,
        name=MARK,
        id=f"sentry-{digest(ledger.event_id('repair', step, finding.key))}",
        additional_kwargs={
            MARK: {"kind": "guidance", "label": finding.label.value, "pattern": finding.pattern}
        },
    )


def _plain(task: Task) -> dict[str, str]:
    return {"id": task.id, "objective": task.objective}


def _model_name(message: AIMessage) -> str | None:
    name = message.response_metadata.get("model_name") or message.response_metadata.get("model")
    return str(name) if name else None
