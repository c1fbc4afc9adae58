"""Detectors with one threshold changed: what each default costs and brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.registry import BUILT_IN, detector_class
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import Catalog

_LARGE = 100
"""Whole numbers from here on are bounds of what is looked at (characters), and vary by halves."""


_INSTEAD = 3
"""Values are tried around it where an option may be a number and is left out by default."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A detector alone, with one option at one value.

    Attributes:
        kind: The detector.
        option: The option; empty where the detector is as it is configured.
        value: Its value.
        default: Whether the option has it by default.
    """

    kind: str
    option: str = ""
    value: float = 0
    default: bool = False

    @property
    def name(self) -> str:
        """Detector and option, as in YAML."""
        return f"{self.kind}.{self.option}" if self.option else self.kind

    def pipeline(self, config: SentryConfig, catalog: Catalog) -> Pipeline:
        """The stages with this detector alone, for an agent with these tools."""
        changed = config
        if self.option:
            entry = {"kind": self.kind, **_given(config, self.kind), self.option: self.value}
            others = [one for one in config.detectors if one.get("kind") != self.kind]
            changed = config.model_copy(update={"detectors": (*others, entry)})
        built = stages(changed, catalog)
        alone = tuple(pair for pair in built.detectors if pair[0] == self.kind)
        return replace(built, detectors=alone)


def stages(config: SentryConfig, catalog: Catalog) -> Pipeline:
    """The stages of `config` for an agent with these tools."""
    return config.pipeline(catalog)


def variants(config: SentryConfig) -> Iterator[Variant]:
    """Every detector as it is, and with every numeric option at values around its default.

    Detectors of the user's own are varied too. Values that the options forbid are left out, as
    are detectors that are switched off.
    """
    for kind in dict.fromkeys((*BUILT_IN, *(str(one["kind"]) for one in config.detectors))):
        model: type[DetectorOptions] = getattr(detector_class(kind), "Options", DetectorOptions)
        given = _given(config, kind)
        if not model.model_validate(given).enabled:
            continue
        yield Variant(kind)
        default = model()
        for option in model.model_fields:
            value = getattr(default, option)
            if value is None and _allowed(model, {**given, option: _INSTEAD}):
                value = _INSTEAD
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            for changed in around(value):
                if _allowed(model, {**given, option: changed}):
                    yield Variant(
                        kind, option, changed, default=changed == getattr(default, option)
                    )


def around(value: float) -> list[float]:
    """Values to try around one that is set, itself included, in order."""
    if isinstance(value, float):
        steps = (-0.2, -0.1, 0.0, 0.1, 0.2) if value <= 1 else (0.0,)
        factors = () if value <= 1 else (0.5, 2.0)
        found = {round(value + step, 3) for step in steps}
        return sorted(found | {value, *(value * factor for factor in factors)})
    if value >= _LARGE:
        return sorted({value // 2, value, value * 2})
    return sorted({*range(max(0, value - 2), value + 3), 2 * value})


def _given(config: SentryConfig, kind: str) -> dict[str, Any]:
    """What the configuration sets of a detector."""
    entry = next((one for one in config.detectors if one.get("kind") == kind), {})
    return {name: value for name, value in entry.items() if name != "kind"}


def _allowed(model: type[DetectorOptions], options: Mapping[str, Any]) -> bool:
    try:
        model.model_validate(options)
    except ValidationError:
        return False
    return True
