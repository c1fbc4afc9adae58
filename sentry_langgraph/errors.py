"""Errors of sentry_langgraph.

`ConfigError` and `WiringError` are the user's to fix and say how. Nothing here is raised
during a run: a fault of our own is logged and recorded, and the agent goes on.
"""

from __future__ import annotations

from typing import Any


class SentryError(Exception):
    """Base of every error that sentry_langgraph raises."""


class ConfigError(SentryError, ValueError):
    """A setting is wrong. Says where it stands, what was found and what would be right.

    Args:
        message: What is wrong.
        file: The file that holds the setting, if it came from one.
        line: Line in `file`, from 1.
        key: Dotted path of the setting, such as `verify.horizon`.
        value: The value that was found.
        hint: What would be right.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        value: Any = None,
        hint: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.key = key
        self.value = value
        self.hint = hint
        super().__init__(self._text())

    def _text(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where = f"{where or '<config>'}:{self.line}"
        parts = [part for part in (where, self.key) if part]
        text = f"{': '.join(parts)}: {self.message}" if parts else self.message
        return f"{text} ({self.hint})" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {
            "file": self.file,
            "line": self.line,
            "key": self.key,
            "value": self.value,
            "hint": self.hint,
        }
        return (_rebuild_config_error, (self.message, fields))


def _rebuild_config_error(message: str, fields: dict[str, Any]) -> ConfigError:
    return ConfigError(message, **fields)


class WiringError(SentryError, ValueError):
    """A graph can't be wired. Names the nodes that were seen and the argument to pass.

    Args:
        message: What is missing or ambiguous, and what to pass.
        nodes: The node names of the graph.
    """

    def __init__(self, message: str, *, nodes: tuple[str, ...] = ()) -> None:
        self.message = message
        self.nodes = nodes
        seen = f" Nodes of the graph: {', '.join(nodes)}." if nodes else ""
        super().__init__(message + seen)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild_wiring_error, (self.message, self.nodes))


def _rebuild_wiring_error(message: str, nodes: tuple[str, ...]) -> WiringError:
    return WiringError(message, nodes=nodes)


class PlaybookError(SentryError):
    """The playbook can't be read or written; the run goes on without lessons."""
