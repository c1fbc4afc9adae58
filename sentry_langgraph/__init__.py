"""Failure management for LangGraph agents: detect, repair, verify, learn.

Not related to the error-tracking service of the same name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentry_langgraph.config import SentryConfig
    from sentry_langgraph.errors import ConfigError, PlaybookError, SentryError, WiringError
    from sentry_langgraph.graph.branches import (
        RepairBranch,
        afork_before,
        arepair_branches,
        fork_before,
        repair_branches,
    )
    from sentry_langgraph.graph.callback import SentryCallback
    from sentry_langgraph.graph.report import SentryReport, sentry_report
    from sentry_langgraph.graph.wrap import with_sentry
    from sentry_langgraph.playbook import Playbook
    from sentry_langgraph.runner import SentryRunner, agent_step_from_parts

__version__ = "0.1.0"

_HOMES = {
    "ConfigError": "sentry_langgraph.errors",
    "Playbook": "sentry_langgraph.playbook",
    "PlaybookError": "sentry_langgraph.errors",
    "RepairBranch": "sentry_langgraph.graph.branches",
    "SentryCallback": "sentry_langgraph.graph.callback",
    "SentryConfig": "sentry_langgraph.config",
    "SentryError": "sentry_langgraph.errors",
    "SentryReport": "sentry_langgraph.graph.report",
    "SentryRunner": "sentry_langgraph.runner",
    "WiringError": "sentry_langgraph.errors",
    "afork_before": "sentry_langgraph.graph.branches",
    "agent_step_from_parts": "sentry_langgraph.runner",
    "arepair_branches": "sentry_langgraph.graph.branches",
    "fork_before": "sentry_langgraph.graph.branches",
    "repair_branches": "sentry_langgraph.graph.branches",
    "sentry_report": "sentry_langgraph.graph.report",
    "with_sentry": "sentry_langgraph.graph.wrap",
}

__all__ = [
    "ConfigError",
    "Playbook",
    "PlaybookError",
    "RepairBranch",
    "SentryCallback",
    "SentryConfig",
    "SentryError",
    "SentryReport",
    "SentryRunner",
    "WiringError",
    "__version__",
    "afork_before",
    "agent_step_from_parts",
    "arepair_branches",
    "fork_before",
    "repair_branches",
    "sentry_report",
    "with_sentry",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package is quick."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sentry_langgraph' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
