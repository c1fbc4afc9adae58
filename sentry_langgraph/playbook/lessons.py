"""Lessons as data: strict reading, plain writing, merging and matching.

What a store returns is shown to a model, and anyone may have written to a shared store or to
a file of lessons. So whatever enters is checked field by field, and so is whatever is read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.records import Lesson
from sentry_langgraph.taxonomy import Label

MAX_TEXT = 500
"""Characters of a lesson's sentence."""
MAX_NAME = 200
"""Characters of a name or an id."""
MAX_RECORD = 16_384
"""Characters of a lesson as JSON."""
MAX_DEPTH = 16
"""Levels of nesting in `extra`."""

_FIELDS = frozenset(field.name for field in fields(Lesson)) | {"type"}


def _iso_8601(text: str) -> str:
    if text:
        datetime.fromisoformat(text)
    return text


_Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
_Counted = Annotated[int, Field(ge=0, le=1_000_000_000)]
_Time = Annotated[str, StringConstraints(max_length=64), AfterValidator(_iso_8601)]


class _PathStepModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    tool: _Name
    arguments: Annotated[list[_Name], Field(max_length=50)] = []


class _LessonModel(BaseModel):
    """The shape of a stored lesson; mirrors `Lesson.to_dict`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: _Name
    label: Annotated[Label, Field(strict=False)]
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT)]
    tool: _Name | None = None
    argument: _Name | None = None
    pattern: _Name | None = None
    agent: _Name | None = None
    path: Annotated[list[_PathStepModel], Field(max_length=50)] = []
    uses: _Counted = 0
    recoveries: _Counted = 0
    relapses: _Counted = 0
    status: Literal["active", "quarantined"] = "active"
    created: _Time = ""
    last_used: _Time = ""
    thread_id: _Name | None = None
    checkpoint_id: _Name | None = None
    checkpoint_ns: Annotated[str, StringConstraints(max_length=MAX_TEXT)] | None = None
    model: _Name | None = None
    tool_fingerprint: _Name | None = None
    owner: _Name | None = None
    extra: dict[str, JsonValue] = {}


def parse_lesson(data: object) -> Lesson:
    """Read a lesson from plain JSON, such as `Lesson.to_dict` gives.

    Raises:
        PlaybookError: A field is unknown, missing, of another type or too long; the message
            names the fields and never repeats what stood there.
    """
    if not isinstance(data, Mapping):
        raise PlaybookError(f"A lesson has to be a JSON object, not {type(data).__name__}.")
    try:
        _LessonModel.model_validate(dict(data))
        return Lesson.from_dict(data)
    except ValidationError as error:
        raise PlaybookError(f"The lesson is not valid: {_reasons(error)}.") from None
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise PlaybookError(f"The lesson is not valid ({type(error).__name__}).") from None


def encode(lesson: Lesson) -> str:
    """The lesson as JSON text that `decode` reads back exactly.

    Times in `extra` become ISO 8601 text and tuples become lists.

    Raises:
        PlaybookError: The lesson holds what JSON can't, or is too large.
    """
    try:
        data = _plain(lesson.to_dict(), "lesson")
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except PlaybookError:
        raise
    except Exception as error:
        raise PlaybookError(f"The lesson can't be written as JSON: {error}") from error
    if len(text) > MAX_RECORD:
        raise PlaybookError(
            f"The lesson has {len(text)} characters as JSON; at most {MAX_RECORD} are stored. "
            "Shorten `extra`."
        )
    parse_lesson(data)
    return text


def decode(text: object) -> Lesson:
    """The inverse of `encode`.

    Raises:
        PlaybookError: The text is not a valid lesson.
    """
    if not isinstance(text, str) or len(text) > MAX_RECORD:
        raise PlaybookError("The record is not a lesson.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise PlaybookError("The record is not JSON.") from None
    return parse_lesson(data)


def merge(stored: Lesson, new: Lesson) -> Lesson:
    """One lesson out of two with the same id: counts add up, provenance keeps its origin.

    Model and fingerprint are those of the newer one, for it has just been shown to work there.
    """
    return replace(
        stored.counted(uses=new.uses, recoveries=new.recoveries, relapses=new.relapses),
        created=min(filter(None, (stored.created, new.created)), default=""),
        last_used=max(stored.last_used, new.last_used),
        status="quarantined" if "quarantined" in (stored.status, new.status) else "active",
        thread_id=stored.thread_id or new.thread_id,
        checkpoint_id=stored.checkpoint_id or new.checkpoint_id,
        checkpoint_ns=stored.checkpoint_ns or new.checkpoint_ns,
        model=new.model or stored.model,
        tool_fingerprint=new.tool_fingerprint or stored.tool_fingerprint,
        extra={**stored.extra, **new.extra},
    )


def matches(lesson: Lesson, where: Mapping[str, Any]) -> bool:
    """Whether every condition holds: a value is equal, or lies within `gte` and `lte`.

    A key is a field of the lesson, `type`, or a key of `extra` (`extra.KEY` where a field has
    that name). True is not 1.
    """
    return all(_holds(lesson, key, wanted) for key, wanted in where.items())


def trigger(lesson: Lesson) -> str:
    """The text that is compared with what happened."""
    names = (lesson.tool, lesson.argument, lesson.pattern)
    return " ".join([*(name for name in names if name), lesson.text])


def _holds(lesson: Lesson, key: str, wanted: Any) -> bool:
    if key in _FIELDS:
        found = getattr(lesson, key)
        if key == "path":
            found = lesson.to_dict()["path"]
    else:
        name = key.removeprefix("extra.")
        if name not in lesson.extra:
            return False
        found = lesson.extra[name]
    if isinstance(wanted, Mapping) and wanted and wanted.keys() <= {"gte", "lte"}:
        return _within(found, wanted)
    return _equal(found, _plain(wanted, key))


def _within(found: Any, bounds: Mapping[str, Any]) -> bool:
    low, high = bounds.get("gte"), bounds.get("lte")
    return (low is None or _at_most(low, found)) and (high is None or _at_most(found, high))


def _at_most(a: Any, b: Any) -> bool:
    a, b = _plain(a, "bound"), _plain(b, "bound")
    numbers = (int, float)
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    if isinstance(a, numbers) and isinstance(b, numbers):
        return a <= b
    return isinstance(a, str) and isinstance(b, str) and a <= b


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)


def _plain(value: Any, where: str, depth: int = 0) -> Any:
    """`value` as plain JSON."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise PlaybookError(f"`{where}` holds a number that JSON can't: {value}.")
        return value
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if depth >= MAX_DEPTH:
        raise PlaybookError(f"`{where}` is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise PlaybookError(f"`{where}` has keys that are not text.")
        return {str(k): _plain(item, f"{where}.{k}", depth + 1) for k, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, where, depth + 1) for item in value]
    raise PlaybookError(
        f"`{where}` holds a {type(value).__name__}; a lesson holds text, numbers, booleans, "
        "times, lists and mappings."
    )


def _reasons(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    parts = [f"{'.'.join(map(str, item['loc']))[:MAX_NAME]}: {item['msg']}" for item in found[:5]]
    return "; ".join(parts) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
