"""Which detectors there are, and how a user adds one.

A kind is a built-in name, a name that an installed package registers in the entry-point group
`sentry_langgraph.detectors`, or an import path `package.module:Class`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, ClassVar, cast

from pydantic import ValidationError

from sentry_langgraph.detect.action_validity import ActionValidity
from sentry_langgraph.detect.base import Detector, DetectorOptions
from sentry_langgraph.detect.hallucination import Hallucination
from sentry_langgraph.detect.planning_stall import PlanningStall
from sentry_langgraph.detect.repetition import Repetition
from sentry_langgraph.detect.termination import Termination
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.records import Finding, Trajectory

ENTRY_POINTS = "sentry_langgraph.detectors"

BUILT_IN: Mapping[str, Callable[[Any], Detector]] = {
    "action_validity": ActionValidity,
    "repetition_or_looping": Repetition,
    "planning_stall": PlanningStall,
    "termination_miscalibration": Termination,
    "hallucination": Hallucination,
}
"""The detectors that run by default, in this order."""


def build_detectors(entries: Sequence[Mapping[str, Any]] = ()) -> tuple[tuple[str, Detector], ...]:
    """The default detectors, with `entries` applied: an entry changes or adds a detector.

    Args:
        entries: Mappings with `kind` and the detector's options.

    Returns:
        Pairs of kind and detector, those with `enabled: false` left out.

    Raises:
        ConfigError: A kind is unknown or can't be imported, or an option is wrong. `key` says
            which, as in `detectors[1].hold_at`.
    """
    wanted: dict[str, tuple[int | None, dict[str, Any]]] = dict.fromkeys(BUILT_IN, (None, {}))
    for position, entry in enumerate(entries):
        options = dict(entry)
        kind = options.pop("kind", None)
        if not isinstance(kind, str):
            raise ConfigError(
                "a detector needs a kind",
                key=f"detectors[{position}].kind",
                value=kind,
                hint=f"one of {', '.join(BUILT_IN)}, or package.module:Class",
            )
        if (wanted.get(kind) or (None,))[0] is not None:
            raise ConfigError(
                "the detector is listed twice", key=f"detectors[{position}].kind", value=kind
            )
        wanted[kind] = (position, options)
    built = []
    for kind, (place, options) in wanted.items():
        detector = _build(kind, options, place)
        if detector is not None:
            built.append((kind, detector))
    return tuple(built)


def detector_class(kind: str) -> Callable[[Any], Detector]:
    """The class behind a kind.

    Raises:
        LookupError: There is none; the message says what was tried.
    """
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    registered = _registered()
    if kind in registered:
        try:
            loaded = registered[kind].load()
        except Exception as error:
            raise LookupError(f"the entry point {kind!r} can't be loaded: {error}") from error
        return _as_detector(loaded, kind)
    if ":" in kind:
        return _as_detector(_imported(kind), kind)
    known = [*BUILT_IN, *registered]
    raise LookupError(f"no detector is named {kind!r}; known: {', '.join(known)}")


@cache
def _registered() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(f"{path!r} can't be imported: {error}") from error


def _as_detector(found: Any, kind: str) -> Callable[[Any], Detector]:
    if inspect.isclass(found) and callable(getattr(found, "detect", None)):
        return cast("Callable[[Any], Detector]", found)
    if inspect.iscoroutinefunction(found):
        raise LookupError(f"{kind!r} is async; a detector does no I/O and is a plain function")
    if inspect.isfunction(found):
        return _function_detector(found)
    raise LookupError(f"{kind!r} is neither a class with a detect method nor a function")


def _function_detector(
    function: Callable[[Trajectory], Iterable[Finding]],
) -> Callable[[Any], Detector]:
    class FunctionDetector:
        Options: ClassVar[type[DetectorOptions]] = DetectorOptions

        def __init__(self, options: DetectorOptions) -> None:
            pass

        def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
            return function(trajectory)

    return FunctionDetector


def _build(kind: str, options: dict[str, Any], position: int | None) -> Detector | None:
    place = f"detectors[{position}]" if position is not None else f"detectors.{kind}"
    try:
        made = detector_class(kind)
    except LookupError as error:
        raise ConfigError(str(error), key=f"{place}.kind", value=kind) from error
    model: type[DetectorOptions] = getattr(made, "Options", DetectorOptions)
    try:
        checked = model.model_validate(options)
    except ValidationError as error:
        raise options_error(error, place) from error
    if not checked.enabled:
        return None
    try:
        return made(checked)
    except TypeError as error:
        raise ConfigError(
            f"the detector can't be built from its options: {error}",
            key=f"{place}.kind",
            value=kind,
            hint="its __init__ takes one argument, the options",
        ) from error


def options_error(error: ValidationError, place: str) -> ConfigError:
    """The first complaint of pydantic as a `ConfigError` with a dotted key."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return ConfigError(
        str(first["msg"]),
        key=f"{place}.{path}" if path else place,
        value=first.get("input"),
    )
