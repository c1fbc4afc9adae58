"""What a judge may answer, and how an answer is read. Nothing of it is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

NONE = "none"
"""The label of an answer that names no failure."""

Short = Annotated[
    str,
    StringConstraints(max_length=2_000),
    BeforeValidator(lambda value: "" if value is None else value),
]
"""A text, empty where a model says null."""

A = TypeVar("A", bound=BaseModel)

_LONGEST = 20_000


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class DiagnosisAnswer(_Answer):
    """The answer to: is something wrong?

    Attributes:
        reason: Why, in the judge's words. Read by nobody: it is there to think before the label.
        label: The failure, or `none`.
        step: The step that shows it, by the name it has in the prompt.
        quote: Words of the agent in that step.
        confidence: From 0 to 1.
        next_tool: A tool that would help, or empty.
    """

    reason: Short = ""
    label: Short
    step: Short = ""
    quote: Short = ""
    confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
    next_tool: Short = ""


class VerdictAnswer(_Answer):
    """The answer to: has the agent recovered?

    Attributes:
        reason: As in a diagnosis.
        recovered: Whether the criterion holds.
        step: The step that shows it.
        quote: Words of the agent in that step.
        confidence: From 0 to 1.
    """

    reason: Short = ""
    recovered: bool
    step: Short = ""
    quote: Short = ""
    confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class WordingAnswer(_Answer):
    """A lesson in one sentence."""

    sentence: Short


def diagnosis_schema(labels: Sequence[str], tools: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of a diagnosis, in the strict form that providers ask for."""
    return _strict(
        "Diagnosis",
        "Whether something is wrong in the recorded run.",
        reason={"type": "string", "description": "One short sentence."},
        label={"type": "string", "enum": [*labels, NONE]},
        step={"type": "string", "description": "The step that shows it, such as s3, or empty."},
        quote={"type": "string", "description": "Exact words of the agent in that step."},
        confidence={"type": "number", "description": "From 0 to 1."},
        next_tool={"type": "string", "enum": ["", *tools]},
    )


def _strict(title: str, description: str, **properties: Any) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


VERDICT_SCHEMA = _strict(
    "RecoveryVerdict",
    "Whether the agent has recovered.",
    reason={"type": "string", "description": "One short sentence."},
    recovered={"type": "boolean"},
    step={"type": "string", "description": "The step that shows it, such as s3, or empty."},
    quote={"type": "string", "description": "Exact words of the agent in that step."},
    confidence={"type": "number", "description": "From 0 to 1."},
)

WORDING_SCHEMA = _strict("LessonWording", "A lesson in one sentence.", sentence={"type": "string"})


def read_answer(form: type[A], raw: object) -> A | None:
    """An answer from what a model gave: a tool call's arguments, or JSON somewhere in a text.

    Where a text holds several objects that fit, the last one counts: models think first.
    """
    found: A | None = None
    for candidate in _candidates(raw):
        try:
            found = form.model_validate(candidate)
        except ValidationError:
            continue
    return found


def _candidates(raw: object) -> Iterator[Any]:
    if isinstance(raw, Mapping):
        yield dict(raw)
    elif isinstance(raw, BaseModel):
        yield raw.model_dump()
    elif isinstance(raw, str):
        yield from _objects(raw[-_LONGEST:])


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects that stand in a text, in order, each read once."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < 200:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)
