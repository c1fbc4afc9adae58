"""One step of a loop, as the loop knows it: what the agent wrote and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sentry_langgraph.provenance import Passage
from sentry_langgraph.records import Observation, Proposal, Step, ToolCall, reads_as_error
from sentry_langgraph.signature import digest

_TEXT_KEPT = 20_000
_RAW_KEPT = 4_000


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One step that has run. `agent_step_from_parts` builds it.

    Attributes:
        id: Names the step within its task.
        reasoning: What the agent said besides its action.
        raw_action: The action as the agent wrote it.
        tool_name: The tool it calls, or None where it calls none.
        tool_args: The arguments, or None where they are not one object.
        observation: What the environment answered, as text, or None where nothing came back.
        parsed_ok: Whether the action could be read.
        schema_valid: Whether the arguments keep the schema; None leaves it to Sentry.
        accepted_by_environment: Whether the environment took the action; None if not known.
        stop_reason: What the provider says about why the model stopped, or empty.
    """

    id: str
    reasoning: str = ""
    raw_action: str = ""
    tool_name: str | None = None
    tool_args: Mapping[str, Any] | None = None
    observation: str | None = None
    parsed_ok: bool = True
    schema_valid: bool | None = None
    accepted_by_environment: bool | None = None
    stop_reason: str = ""

    @property
    def status(self) -> Literal["success", "error"]:
        """Whether the action worked, as far as the environment and its answer say."""
        refused = self.accepted_by_environment is False or not self.parsed_ok
        if refused or self.schema_valid is False or self.observation is None:
            return "error"
        unsaid = self.accepted_by_environment is None
        return "error" if unsaid and reads_as_error(self.observation) else "success"


def agent_step_from_parts(  # noqa: PLR0917 (the parts in the order of the paper's loop)
    step_id: str | int,
    reasoning: str | None = "",
    raw_action: str | None = "",
    tool_name: str | None = None,
    tool_args: Mapping[str, Any] | str | None = None,
    observation: Any = None,
    parsed_ok: bool = True,
    schema_valid: bool | None = None,
    accepted_by_environment: bool | None = None,
    *,
    stop_reason: str = "",
) -> AgentStep:
    """A step from what a loop has at hand after it ran the action.

    Args:
        step_id: Names the step within its task.
        reasoning: What the agent said besides its action: its thought, or its final answer.
        raw_action: The action as the agent wrote it. It is quoted where it can't be read.
        tool_name: The tool, where the action is a call.
        tool_args: Its arguments; text is read as JSON, and what is not an object counts as
            unreadable. None stands for no arguments where `parsed_ok` is true.
        observation: What came back. Anything but text is written as JSON. None: nothing.
        parsed_ok: Whether the action could be read.
        schema_valid: Whether the arguments keep the tool's schema. None leaves the check to
            the `action_schema` of the task.
        accepted_by_environment: Whether the environment took the action. None where the
            environment does not say; then the text of the observation decides.
        stop_reason: What the provider says about why the model stopped, such as `length`.

    Returns:
        The step.
    """
    args: Mapping[str, Any] | None = None
    raw = raw_action or ""
    readable = parsed_ok
    if isinstance(tool_args, Mapping):
        args = dict(tool_args)
    elif isinstance(tool_args, str):
        args = _object(tool_args)
        readable = parsed_ok and args is not None
        raw = raw or tool_args
    elif tool_args is not None:
        readable, raw = False, raw or str(tool_args)
    elif parsed_ok and tool_name:
        args = {}
    return AgentStep(
        id=str(step_id),
        reasoning=reasoning or "",
        raw_action=raw,
        tool_name=tool_name or None,
        tool_args=args,
        observation=_text(observation),
        parsed_ok=readable,
        schema_valid=schema_valid,
        accepted_by_environment=accepted_by_environment,
        stop_reason=stop_reason.lower(),
    )


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(observation: Any) -> str | None:
    if observation is None or isinstance(observation, str):
        return observation
    try:
        return json.dumps(observation, sort_keys=True, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(observation)


def call_of(step: AgentStep, id_: str) -> ToolCall | None:
    """The call of a step, or None where it calls no tool."""
    if step.tool_name is None:
        return None
    return ToolCall(
        id=f"{id_}:call",
        name=step.tool_name,
        args=step.tool_args if step.parsed_ok else None,
        raw="" if step.parsed_ok else step.raw_action[:_RAW_KEPT],
    )


def executed(step: AgentStep, id_: str) -> Step:
    """The step as the stages read steps that have run."""
    call = call_of(step, id_)
    if call is None:
        return Step(id_, step.reasoning, (), ())
    return Step(id_, step.reasoning, (call,), _observations(step, call))


def proposed(step: AgentStep, id_: str, *, finish: bool) -> Proposal:
    """The step as the stages read the newest message."""
    call = call_of(step, id_)
    return Proposal(
        id=id_,
        text=step.reasoning or ("" if call is not None else step.raw_action),
        calls=() if call is None else (call,),
        finish=finish,
        stop_reason=step.stop_reason,
    )


def ending(step: AgentStep, id_: str) -> Proposal:
    """The end of a task whose last step was a call that has run: only what is owed is open."""
    call = call_of(step, id_)
    answered = () if call is None else _observations(step, call)
    return Proposal(id=id_, text="", finish=True, answered=answered)


def passages_of(step: Step) -> list[Passage]:
    """What the agent gave and saw in a step that has run, in order."""
    passages: list[Passage] = []
    for call in step.calls:
        seen = step.observation_of(call)
        if seen is None or seen.own:
            continue
        failed = seen.status == "error"
        given = json.dumps(call.args or {}, default=str, ensure_ascii=False)
        if failed:
            passages.append(Passage("result", seen.text, call.name, True, step.id, asked=given))
            continue
        if call.args:
            passages.append(Passage("given", given, call.name, False, step.id))
        passages.append(Passage("result", seen.text, call.name, False, step.id))
    return passages


def slim(step: Step) -> Step:
    """A step without its texts: what is left to say of a step that no stage looks at."""
    return Step(
        step.id,
        "",
        tuple(ToolCall(call.id, call.name, {}, call.index) for call in step.calls),
        tuple(
            Observation(seen.call_id, seen.name, "", seen.status, seen.digest, seen.own)
            for seen in step.observations
        ),
    )


def _observations(step: AgentStep, call: ToolCall) -> tuple[Observation, ...]:
    if step.observation is None:
        return ()
    return (
        Observation(
            call_id=call.id,
            name=call.name,
            text=step.observation[:_TEXT_KEPT],
            status=step.status,
            digest=digest(step.observation),
        ),
    )
