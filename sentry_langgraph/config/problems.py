"""From what pydantic says to what helps: the key, the value found and what would be right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sentry_langgraph.config.describe import entries, section
from sentry_langgraph.config.locate import Lines, Path, dotted, line_of
from sentry_langgraph.errors import ConfigError

ENV_NAME = "in capitals, such as MY_API_KEY; never the key itself"

_SECRET = re.compile(
    r"(key|token|secret|password|passwd|credential|authorization|bearer)s?\Z", re.I
)
_WORDS = frozenset({"on", "off", "yes", "no", "y", "n"})
_LONGEST = 60

_NUMBER = {"int_type", "int_parsing", "int_from_float", "int_parsing_size"}
_REAL = {"float_type", "float_parsing", "finite_number"}
_SECTION = {"model_type", "model_attributes_type", "dict_type", "mapping_type"}
_LIST = {"tuple_type", "list_type", "set_type", "frozen_set_type"}
_BOUND = {
    "greater_than": ("gt", "must be above {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be below {}"),
    "less_than_equal": ("le", "must be at most {}"),
}


@dataclass(frozen=True, slots=True)
class Places:
    """Where the settings stand, for errors to name.

    Attributes:
        file: The file, if they come from one.
        lines: The line of each setting.
    """

    file: str | None = None
    lines: Lines = field(default_factory=dict)

    def error(
        self, path: Path, message: str, *, value: Any = None, hint: str | None = None
    ) -> ConfigError:
        """A `ConfigError` at `path`."""
        return ConfigError(
            message,
            file=self.file,
            line=line_of(path, self.lines),
            key=dotted(path) or None,
            value=value,
            hint=hint,
        )


def translated(
    error: ValidationError, model: type[BaseModel], places: Places, at: Path = ()
) -> list[ConfigError]:
    """Every complaint of pydantic about `model`, whose settings stand at `at`."""
    details = error.errors(include_url=False)
    return [_translate(one, model, places, at) for one in details]


def shown(value: Any) -> str:
    """A value as it stands in a file, in one short line; a secret never goes in here."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return "a list"
    if isinstance(value, float) and not math.isfinite(value):
        return f".{value}".replace(".-", "-.")
    if isinstance(value, (str, bool, int, float)):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f"a {type(value).__name__}"


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be."""
    names = list(known)
    found = get_close_matches(name.lower(), names, n=1, cutoff=0.7)
    if not found and len(name) >= 4:
        found = [one for one in names if name.lower() in one]
    return found[0] if len(found) == 1 else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint: the nearest known name, or all of them."""
    names = list(known)
    close = near(name, names)
    return f"did you mean {close!r}?" if close else f"one of {', '.join(names)}"


def model_at(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The options model that a path leads to."""
    here: type[BaseModel] | None = model
    by_name: type[BaseModel] | None = None
    for part in path:
        if by_name is not None:
            here, by_name = by_name, None
        elif here is not None and part in here.model_fields:
            annotation = here.model_fields[str(part)].annotation
            here, by_name = section(annotation), entries(annotation)
        else:
            return None
    return here


def not_a_number(path: Path, value: Any, places: Places, *, whole: bool) -> ConfigError:
    """The error for a value that only looks like a number, or not even that."""
    kind = "a whole number" if whole else "a number"
    hint = None
    if isinstance(value, str):
        hint = "write it as a plain decimal number, without quotes, leading zeros or units"
    return places.error(path, f"must be {kind}, got {shown(value)}", value=value, hint=hint)


def not_a_switch(path: Path, value: Any, places: Places) -> ConfigError:
    """The error for a value that is neither true nor false."""
    word = isinstance(value, str) and value.lower() in _WORDS
    hint = "on, off, yes and no are text here: write true or false" if word else None
    return places.error(path, f"must be true or false, got {shown(value)}", value=value, hint=hint)


def _translate(
    detail: ErrorDetails, model: type[BaseModel], places: Places, at: Path
) -> ConfigError:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx") or {}
    inner = tuple(part for part in detail["loc"] if part != "[key]")
    path = (*at, *inner)
    name = str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        return _unknown(inner, value, model, places, at)
    if name.endswith("_env") or "headers" in path:
        # a key that was put where its name belongs must not reach a log
        return places.error(path, "must be the name of an environment variable", hint=ENV_NAME)
    if value is None and kind != "missing":
        return _empty(path, inner, model, places)
    if kind in _NUMBER or kind in _REAL:
        return not_a_number(path, value, places, whole=kind in _NUMBER)
    if kind in {"bool_type", "bool_parsing"}:
        return not_a_switch(path, value, places)
    message, hint = _told(kind, value, context, detail["msg"])
    if kind not in {"missing", "value_error"}:
        message += f", got {shown(value)}"
    return places.error(path, message, value=value, hint=hint)


def _told(
    kind: str, value: Any, context: Mapping[str, Any], otherwise: str
) -> tuple[str, str | None]:
    """Message and hint for a kind of complaint."""
    if kind in _BOUND:
        bound, text = _BOUND[kind]
        return text.format(f"{context[bound]:g}"), None
    if kind in {"literal_error", "enum"}:
        choices = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        hint = suggestion(value if isinstance(value, str) else "", choices)
        return "is not one of the choices", hint
    if kind == "string_type":
        scalar = isinstance(value, (bool, int, float))
        return "must be text", f'quote it: "{shown(value)}"' if scalar else None
    if kind in _LIST:
        return "must be a list", f"[{shown(value)}]" if isinstance(value, str) else None
    fixed = {
        "string_pattern_mismatch": f"must match {context.get('pattern')}",
        "missing": "is missing",
        "value_error": str(context.get("error")),
        **dict.fromkeys(_SECTION, "must be a mapping of keys"),
    }
    return fixed.get(kind, otherwise[:1].lower() + otherwise[1:]), None


def _unknown(
    inner: Path, value: Any, model: type[BaseModel], places: Places, at: Path
) -> ConfigError:
    name = str(inner[-1])
    around = model_at(model, inner[:-1])
    known = list(around.model_fields) if around is not None else []
    hint = suggestion(name, known) if known else None
    homes = [
        f"{part}.{name}"
        for part, info in model.model_fields.items()
        if (inside := section(info.annotation)) is not None and name in inside.model_fields
    ]
    if homes and not near(name, known):
        hint = f"did you mean {' or '.join(repr(home) for home in homes)}?"
    if _SECRET.search(name):
        value = None
    return places.error((*at, *inner), f"unknown key {shown(name)}", value=value, hint=hint)


def _empty(path: Path, inner: Path, model: type[BaseModel], places: Places) -> ConfigError:
    around = model_at(model, inner[:-1])
    field_info = around.model_fields.get(str(inner[-1])) if around is not None and inner else None
    hint = None
    if field_info is not None and not field_info.is_required():
        default = field_info.get_default(call_default_factory=False)
        hint = "leave the key out for the default"
        if isinstance(default, (str, int, float)):
            hint += f", {shown(default)}"
    return places.error(path, "has no value, got nothing", hint=hint)
