"""Whether a call reads or changes, and how that is known."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from sentry_langgraph.detect.commands import reads_by_command, reads_by_sql
from sentry_langgraph.records import ToolCall, ToolSpec

KnownBy: TypeAlias = Literal["configuration", "hint", "name", "command", ""]

COMMANDS = frozenset({"command", "cmd", "commands", "shell", "sql", "statement"})
"""Arguments that hold a command, which says more than the tool's name does."""


class Access(NamedTuple):
    """What a call does.

    Attributes:
        reads: True for a look-up, False for a change, None where nothing says so.
        by: How that is known: the `configuration`, an MCP `hint`, the tool's `name`, the
            `command` that it was given, or empty.
    """

    reads: bool | None
    by: KnownBy


def access_of(call: ToolCall, spec: ToolSpec) -> Access:
    """What `call` does, by the first of: configuration, hint, its command, the tool's name."""
    if spec.read_only is not None and spec.known_by != "name":
        return Access(spec.read_only, spec.known_by or "configuration")
    said = _by_command(call, spec)
    if said is not None:
        return Access(said, "command")
    return Access(spec.read_only, "name" if spec.read_only is not None else "")


def _by_command(call: ToolCall, spec: ToolSpec) -> bool | None:
    args = call.args
    if not args:
        return None
    if not COMMANDS.isdisjoint(map(str.lower, args)):
        for name, value in args.items():
            if isinstance(value, str) and name.lower() in COMMANDS:
                return reads_by_command(value)
    if spec.read_only is None and len(args) == 1:
        value = next(iter(args.values()))
        if isinstance(value, str):
            return reads_by_sql(value)
    return None
