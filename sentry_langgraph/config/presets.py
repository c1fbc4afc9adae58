"""Presets: settings of the detectors for a kind of environment.

Each stands in a YAML file beside this module and is itself a valid file of settings. What the
user says of a detector wins over the preset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

PresetName: TypeAlias = Literal["chat", "api", "shell", "search"]

PRESETS: tuple[PresetName, ...] = get_args(PresetName)

Entries: TypeAlias = Sequence[Mapping[str, Any]]

_ADVISE, _HOLD, _READS = "advise_at", "hold_at", "advise_reads_at"


def preset_text(name: PresetName) -> str:
    """The YAML of a preset, as the package ships it."""
    return files("sentry_langgraph.config").joinpath("presets", f"{name}.yaml").read_text("utf-8")


@cache
def preset_detectors(name: PresetName) -> tuple[Mapping[str, Any], ...]:
    """The entries of `detectors` that a preset sets."""
    from sentry_langgraph.config.strict_yaml import read_yaml  # noqa: PLC0415 - slow to import

    return tuple(read_yaml(preset_text(name), f"{name}.yaml").data["detectors"])


def with_preset(own: Entries, preset: Entries) -> tuple[dict[str, Any], ...]:
    """The user's entries, filled up with what the preset says.

    Where the user sets `advise_at`, what the preset adds to it falls away, and advice still
    comes before a hold.
    """
    left = {entry["kind"]: dict(entry) for entry in preset}
    merged = [{**_beneath(left.pop(entry["kind"], {}), entry), **entry} for entry in own]
    return (*merged, *left.values())


def _beneath(preset: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    if _ADVISE in own and _ADVISE in preset:
        preset.pop(_READS, None)
        preset[_HOLD] = max(preset[_HOLD], own[_ADVISE] + 1)
    return preset
