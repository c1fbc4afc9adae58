"""Thresholds that a case assumes, as settings of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cases.loader import CaseError

_DETECTOR = {
    "loop_repeat": ("repetition_or_looping", "advise_at"),
    "loop_hold": ("repetition_or_looping", "hold_at"),
    "max_period": ("repetition_or_looping", "max_period"),
    "same_error": ("repetition_or_looping", "same_error_at"),
    "over_exploration_after": ("over_exploration", "reads_at"),
    "thinking_steps": ("planning_stall", "thinking_steps"),
}
_SECTION = {
    "max_soft_interventions": (("repair", "max_soft_repairs"),),
    "max_repairs": (("repair", "max_soft_repairs"),),
    "max_hard_repairs": (("repair", "max_hard_attempts"),),
    "max_hard_attempts": (("repair", "max_hard_attempts"),),
    "max_failed_repairs": (("repair", "max_failed_repairs"),),
    "cooldown": (("repair", "cooldown_steps"),),
    "cooldown_steps": (("repair", "cooldown_steps"),),
    "verify_horizon_H": (("verify", "horizon"),),
    "verify_horizon": (("verify", "horizon"),),
    "horizon": (("verify", "horizon"),),
    "window": ((None, "window"),),
}


def settings(assume: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """A configuration with the assumed thresholds; lessons stay in memory.

    Args:
        assume: What the case assumes, by the names that the cases use.
        sections: Further sections of the configuration.

    Raises:
        CaseError: A threshold is not known.
    """
    made: dict[str, Any] = {"playbook": {"kind": "memory", "embeddings": "hashed"}}
    detectors: dict[str, dict[str, Any]] = {}
    for name, value in (assume or {}).items():
        if name in _DETECTOR:
            kind, option = _DETECTOR[name]
            detectors.setdefault(kind, {"kind": kind})[option] = value
        elif name in _SECTION:
            for section, option in _SECTION[name]:
                target = made if section is None else made.setdefault(section, {})
                target[option] = value
        else:
            raise CaseError(f"the assumption {name!r} stands for no setting; see cases/assume.py")
    if detectors:
        made["detectors"] = list(detectors.values())
    for name, value in sections.items():
        made[name] = {**made.get(name, {}), **value} if isinstance(value, dict) else value
    return made
