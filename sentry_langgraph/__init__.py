"""Failure management for LangGraph agents: detect, repair, verify, learn.

Not related to the error-tracking service of the same name.
"""

from __future__ import annotations

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
    from sentry_langgraph.graph.wrap import with_sentry
    from sentry_langgraph.playbook import Playbook

__version__ = "0.1.0"

_HOMES = {
    "ConfigError": "sentry_langgraph.errors",
    "Playbook": "sentry_langgraph.playbook",
    "PlaybookError": "sentry_langgraph.errors",
    "RepairBranch": "sentry_langgraph.graph.branches",
    "SentryCallback": "sentry_langgraph.graph.callback",
    "SentryConfig": "sentry_langgraph.config",
    "SentryError": "sentry_langgraph.errors",
    "WiringError": "sentry_langgraph.errors",
    "afork_before": "sentry_langgraph.graph.branches",
    "arepair_branches": "sentry_langgraph.graph.branches",
    "fork_before": "sentry_langgraph.graph.branches",
    "repair_branches": "sentry_langgraph.graph.branches",
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
    "WiringError",
    "__version__",
    "afork_before",
    "arepair_branches",
    "fork_before",
    "repair_branches",
    "with_sentry",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package is quick."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sentry_langgraph' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
