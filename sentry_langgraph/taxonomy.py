"""Names of failures, and what each one means.

Types and the seven soft labels are those of *Sentry: Learning to Recover from LLM Agent
Failures at Test Time* (Ji, Lu, Zhang, Olukotun, 2026). They are stable: they stand in YAML
files, in events and in stored lessons.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureType(StrEnum):
    """The coarse kind of a failure; it decides the family of repairs."""

    ACTION_VALIDITY = "action_validity_failure"
    PROGRESS = "progress_failure"
    REASONING_GROUNDING = "reasoning_grounding_failure"
    ENVIRONMENT = "environment_failure"
    SAFETY_STOP = "safety_stop"
    USER_AMBIGUITY = "user_ambiguity"


class Label(StrEnum):
    """The fine-grained failure: the key of lessons and of detector options."""

    UNKNOWN_TOOL = "unknown_tool"
    MALFORMED_ARGUMENTS = "malformed_arguments"
    INVALID_ARGUMENTS = "invalid_arguments"
    DUPLICATE_CALL_ID = "duplicate_call_id"
    UNANSWERED_CALL = "unanswered_call"
    UNAVAILABLE_TARGET = "unavailable_target"
    NO_OBSERVABLE_OUTPUT = "no_observable_output"
    MALFORMED_MODEL_OUTPUT = "malformed_model_output"
    STRUCTURED_OUTPUT_INVALID = "structured_output_invalid"
    REPETITION_OR_LOOPING = "repetition_or_looping"
    PLANNING_STALL = "planning_stall"
    OVER_EXPLORATION = "over_exploration"
    TERMINATION_MISCALIBRATION = "termination_miscalibration"
    HALLUCINATION = "hallucination"
    OBJECTIVE_DRIFT = "objective_drift"
    REASONING_ACTION_MISMATCH = "reasoning_action_mismatch"
    DEPENDENCY_OUTAGE = "dependency_outage"
    RATE_LIMITED = "rate_limited"
    AUTH_OR_CONFIG = "auth_or_config"
    TOOL_ERROR = "tool_error"
    IRREVERSIBLE_ACTION = "irreversible_action"
    SUSPECTED_INJECTION = "suspected_injection"
    BUDGET_EXHAUSTED = "budget_exhausted"
    USER_AMBIGUITY = "user_ambiguity"


class Severity(StrEnum):
    """How far a repair may go: record only, advise beside the action, or hold the action."""

    INFO = "info"
    ADVISE = "advise"
    HOLD = "hold"


class Strategy(StrEnum):
    """What was done about a finding."""

    HARD = "hard"
    ADVISE = "advise"
    HOLD = "hold"
    STOP = "stop"
    HUMAN = "human"
    HEAL = "heal"


class Verdict(StrEnum):
    """What the following steps say about a repair."""

    RECOVERED = "recovered"
    RELAPSED = "relapsed"
    EXPIRED = "expired"


class Origin(StrEnum):
    """Who caused the failure."""

    MODEL = "model"
    TOOL = "tool"
    SYSTEM = "system"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a label means and how its repair is judged.

    Attributes:
        type: The coarse kind.
        meaning: One sentence for people, without a full stop.
        resolved_when: The resolution criterion, in words; `verify` implements it.
        rerun_allowed: Whether running the same tool again is part of a sound repair.
    """

    type: FailureType
    meaning: str
    resolved_when: str
    rerun_allowed: bool


_VALIDITY = FailureType.ACTION_VALIDITY
_PROGRESS = FailureType.PROGRESS
_GROUNDING = FailureType.REASONING_GROUNDING
_ENVIRONMENT = FailureType.ENVIRONMENT

DEFINITIONS: dict[Label, Definition] = {
    Label.UNKNOWN_TOOL: Definition(
        _VALIDITY,
        "the agent called a tool that does not exist",
        "a call to an existing tool ran with success",
        True,
    ),
    Label.MALFORMED_ARGUMENTS: Definition(
        _VALIDITY,
        "the arguments of a call are not one JSON object",
        "the same tool ran with success",
        True,
    ),
    Label.INVALID_ARGUMENTS: Definition(
        _VALIDITY,
        "the arguments of a call break the schema of the tool",
        "the same tool ran with success",
        True,
    ),
    Label.DUPLICATE_CALL_ID: Definition(
        _VALIDITY,
        "two calls of one message have the same id",
        "a call with an id of its own ran with success",
        True,
    ),
    Label.UNANSWERED_CALL: Definition(
        _VALIDITY,
        "a call in the history has no result, or a result has no call",
        "the history is valid again",
        False,
    ),
    Label.UNAVAILABLE_TARGET: Definition(
        _VALIDITY,
        "a call was repeated on a target that the environment had refused as not there",
        "a call on another target ran with success",
        False,
    ),
    Label.NO_OBSERVABLE_OUTPUT: Definition(
        _VALIDITY,
        "a tool ran and no result of it came back",
        "a call returned a result",
        True,
    ),
    Label.MALFORMED_MODEL_OUTPUT: Definition(
        _VALIDITY,
        "the message of the model is not an action: a tool call written as text",
        "a tool call ran with success, or the agent answered in plain words",
        True,
    ),
    Label.STRUCTURED_OUTPUT_INVALID: Definition(
        _VALIDITY,
        "the structured answer breaks its schema and the run was about to end without one",
        "a structured answer was accepted",
        True,
    ),
    Label.REPETITION_OR_LOOPING: Definition(
        _PROGRESS,
        "the same calls come back with the same results",
        "a call outside the loop brought something new, or the agent answered",
        False,
    ),
    Label.PLANNING_STALL: Definition(
        _PROGRESS,
        "the agent announced an action and did not take it",
        "a tool ran with success, or the agent answered without announcing",
        True,
    ),
    Label.OVER_EXPLORATION: Definition(
        _PROGRESS,
        "the agent reads on and on without coming to the change or the answer",
        "a change was made, or the agent answered",
        False,
    ),
    Label.TERMINATION_MISCALIBRATION: Definition(
        _PROGRESS,
        "the agent stops too early or too late",
        "the open action ran with success, or the agent gave a real answer",
        True,
    ),
    Label.HALLUCINATION: Definition(
        _GROUNDING,
        "the agent used a value that nothing it was told or saw contains",
        "the same tool ran with values that are grounded",
        True,
    ),
    Label.OBJECTIVE_DRIFT: Definition(
        _GROUNDING,
        "the steps no longer serve the request",
        "a step serves the request again",
        False,
    ),
    Label.REASONING_ACTION_MISMATCH: Definition(
        _GROUNDING,
        "the text says one thing and the call does another",
        "the call that is meant ran with success, or the agent answered",
        True,
    ),
    Label.DEPENDENCY_OUTAGE: Definition(
        _ENVIRONMENT,
        "a service the tool needs is down",
        "a call ran with success, of this tool or another, or the agent answered",
        True,
    ),
    Label.RATE_LIMITED: Definition(
        _ENVIRONMENT,
        "the service refused for too many requests",
        "a call ran with success, of this tool or another, or the agent answered",
        True,
    ),
    Label.AUTH_OR_CONFIG: Definition(
        _ENVIRONMENT,
        "credentials or settings of a tool are wrong",
        "a call ran with success, of this tool or another, or the agent answered",
        False,
    ),
    Label.TOOL_ERROR: Definition(
        _ENVIRONMENT,
        "a tool failed, and the same call was made again",
        "a different call ran with success, or the agent answered",
        True,
    ),
    Label.IRREVERSIBLE_ACTION: Definition(
        FailureType.SAFETY_STOP,
        "the action can't be undone and was not approved",
        "the action was approved or given up",
        False,
    ),
    Label.SUSPECTED_INJECTION: Definition(
        FailureType.SAFETY_STOP,
        "a tool result reads like an instruction to the agent",
        "the next call ran without following it, or the agent answered",
        False,
    ),
    Label.BUDGET_EXHAUSTED: Definition(
        FailureType.SAFETY_STOP,
        "a budget of the run is used up",
        "the run ended with an honest answer",
        False,
    ),
    Label.USER_AMBIGUITY: Definition(
        FailureType.USER_AMBIGUITY,
        "the request leaves open what only the user can decide",
        "the user answered",
        False,
    ),
}


def type_of(label: Label) -> FailureType:
    """The coarse kind of a label."""
    return DEFINITIONS[label].type


def is_hard(label: Label) -> bool:
    """Whether the label is repaired by redoing the invalid action."""
    return DEFINITIONS[label].type is FailureType.ACTION_VALIDITY
