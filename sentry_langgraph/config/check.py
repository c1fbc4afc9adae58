"""From plain data to a `SentryConfig`, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from sentry_langgraph.config.describe import entries, section
from sentry_langgraph.config.locate import Path, line_of, parsed
from sentry_langgraph.config.models import SentryConfig
from sentry_langgraph.config.problems import (
    Places,
    near,
    not_a_number,
    not_a_switch,
    shown,
    suggestion,
    translated,
)
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.registry import BUILT_IN, ON_REQUEST, detector_class
from sentry_langgraph.errors import ConfigError


def check(
    data: Mapping[str, Any], places: Places, shared: frozenset[str] = frozenset()
) -> tuple[SentryConfig | None, list[ConfigError]]:
    """Validate settings.

    Keys at the root that start with `x-` are passed over, and so are those in `shared` that
    are not settings: both hold templates.

    Args:
        data: The settings, as plain data.
        places: Where they stand.
        shared: Keys at the root whose value is used elsewhere by an alias.

    Returns:
        The config, or None with all problems in the order of their lines.
    """
    known = SentryConfig.model_fields
    kept = {name: value for name, value in data.items() if not _is_template(name, shared, known)}
    filled = _without_empty(kept, SentryConfig)
    problems = _check_detectors(filled.get("detectors"), places)
    if problems:
        filled.pop("detectors")
    config: SentryConfig | None = None
    try:
        config = SentryConfig.model_validate(filled)
    except ValidationError as error:
        problems += _of_config(error, places)
    else:
        problems += _coerced(filled, config, places)
    problems.sort(key=lambda problem: problem.line or 0)
    return (None if problems else config), problems


def _is_template(name: Any, shared: frozenset[str], known: Mapping[str, Any]) -> bool:
    if not isinstance(name, str) or name in known:
        return False
    return name.startswith("x-") or (name in shared and near(name, known) is None)


def _of_config(error: ValidationError, places: Places) -> list[ConfigError]:
    inner = [one.get("ctx", {}).get("error") for one in error.errors(include_url=False)]
    found = translated(error, SentryConfig, places)
    # a detector's own complaint already names its key
    return [
        places.error(
            parsed(cause.key or "detectors"), cause.message, value=cause.value, hint=cause.hint
        )
        if isinstance(cause, ConfigError)
        else one
        for cause, one in zip(inner, found, strict=True)
    ]


def _without_empty(data: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """A section or list of which every line is commented out counts as left out."""
    kept: dict[str, Any] = {}
    for name, value in data.items():
        info = model.model_fields.get(name) if isinstance(name, str) else None
        inside = section(info.annotation) if info is not None else None
        by_name = entries(info.annotation) if info is not None else None
        if info is not None and value is None:
            default = info.get_default(call_default_factory=True)
            if isinstance(default, (BaseModel, Mapping, tuple)):
                continue
        if inside is not None and isinstance(value, Mapping):
            kept[name] = _without_empty(value, inside)
        elif by_name is not None and isinstance(value, Mapping):
            kept[name] = {
                key: _without_empty(item or {}, by_name)
                if item is None or isinstance(item, Mapping)
                else item
                for key, item in value.items()
            }
        else:
            kept[name] = value
    return kept


def _check_detectors(found: Any, places: Places) -> list[ConfigError]:
    if not isinstance(found, Sequence) or isinstance(found, (str, bytes)):
        return []  # pydantic says it
    problems: list[ConfigError] = []
    first: dict[str, Path] = {}
    for position, entry in enumerate(found):
        path: Path = ("detectors", position)
        if not isinstance(entry, Mapping):
            problems.append(
                places.error(
                    path,
                    f"must be a mapping with a kind, got {shown(entry)}",
                    value=entry,
                    hint=f"kind: {entry}" if isinstance(entry, str) else None,
                )
            )
            continue
        kind = entry.get("kind")
        if isinstance(kind, str) and kind in first:
            lines = [line_of(one, places.lines) for one in (first[kind], path)]
            where = f", in lines {lines[0]} and {lines[1]}" if None not in lines else ""
            problems.append(
                places.error(
                    (*path, "kind"),
                    f"the detector {shown(kind)} is listed twice{where}",
                    value=kind,
                )
            )
            continue
        if isinstance(kind, str):
            first[kind] = path
        problems += _check_detector(dict(entry), path, places)
    return problems


def _check_detector(entry: dict[str, Any], path: Path, places: Places) -> list[ConfigError]:
    kind = entry.pop("kind", None)
    if not isinstance(kind, str):
        return [
            places.error(
                (*path, "kind"),
                f"a detector needs a kind, got {shown(kind)}",
                value=kind,
                hint=f"one of {', '.join((*BUILT_IN, *ON_REQUEST))}, or package.module:Class",
            )
        ]
    try:
        made = detector_class(kind)
        model: type[DetectorOptions] = getattr(made, "Options", DetectorOptions)
        options = model.model_validate(entry)
        if options.enabled:
            made(options)
    except ValidationError as error:
        return translated(error, model, places, path)
    except LookupError as error:
        message, hint = str(error), "package.module:Class of an installed module"
        if ":" not in kind:
            message = f"no detector is named {shown(kind)}"
            known = (*BUILT_IN, *ON_REQUEST)
            hint = f"{suggestion(kind, known)}; or package.module:Class"
        return [places.error((*path, "kind"), message, value=kind, hint=hint)]
    except Exception as error:  # a detector may be the user's, and its module too
        message = f"the detector {shown(kind)} can't be built: {type(error).__name__}: {error}"
        return [places.error((*path, "kind"), message, value=kind)]
    return _coerced(entry, options, places, path)


def _coerced(
    raw: Mapping[str, Any], valid: BaseModel, places: Places, at: Path = ()
) -> list[ConfigError]:
    """Values that pydantic turned into another kind of number without a word."""
    problems: list[ConfigError] = []
    for name in type(valid).model_fields:
        if name not in raw:
            continue
        given, became, path = raw[name], getattr(valid, name), (*at, name)
        if isinstance(became, BaseModel) and isinstance(given, Mapping):
            problems += _coerced(given, became, places, path)
        elif isinstance(became, Mapping) and isinstance(given, Mapping):
            for key, item in became.items():
                if isinstance(item, BaseModel) and isinstance(given.get(key), Mapping):
                    problems += _coerced(given[key], item, places, (*path, key))
        elif isinstance(became, bool):
            if not isinstance(given, bool):
                problems.append(not_a_switch(path, given, places))
        elif isinstance(became, (int, float)) and (
            isinstance(given, (bool, str, bytes))
            or (isinstance(became, int) and not isinstance(given, int))
        ):
            whole = isinstance(became, int)
            problems.append(not_a_number(path, given, places, whole=whole))
    return problems
