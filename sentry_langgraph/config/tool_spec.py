"""A tool's record from what its schema, its hints and the configuration say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sentry_langgraph.config.models import ToolOptions
from sentry_langgraph.detect.naming import reads_by_name
from sentry_langgraph.records import ArgumentCheck, ToolSpec, accept_any

_DESCRIPTION_KEPT = 500


def tool_spec(
    name: str,
    options: ToolOptions,
    *,
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    check: ArgumentCheck = accept_any,
    hints: Mapping[str, Any] | None = None,
) -> ToolSpec:
    """What is known of one tool.

    Args:
        name: The name the model calls.
        options: What the configuration says of it.
        description: What the model was shown.
        parameters: JSON Schema of its arguments.
        check: Says how arguments break its schema.
        hints: Its MCP annotations, such as `readOnlyHint`.
    """
    said = hints or {}
    read_only, known_by = _read_only(name, options, said)
    return ToolSpec(
        name=name,
        description=description[:_DESCRIPTION_KEPT],
        parameters=parameters or {},
        check=check,
        read_only=read_only,
        polling=options.polling,
        exempt=frozenset(options.exempt),
        ignore_args=frozenset(options.ignore_args),
        batch=options.batch,
        finish=options.finish,
        destructive=_said(said, "destructiveHint"),
        idempotent=_said(said, "idempotentHint"),
        free_args=frozenset(options.free_args),
        advise_at=options.advise_at,
        hold_at=options.hold_at,
        known_by=known_by,
    )


def _read_only(
    name: str, options: ToolOptions, hints: Mapping[str, Any]
) -> tuple[bool | None, Literal["configuration", "hint", "name", ""]]:
    """The configuration decides, then MCP hints, then the name."""
    if options.read_only is not None:
        return options.read_only, "configuration"
    if options.mutating is not None:
        return not options.mutating, "configuration"
    said = _said(hints, "readOnlyHint")
    if said is not None:
        return said, "hint"
    if _said(hints, "destructiveHint"):
        return False, "hint"
    by_name = reads_by_name(name)
    return by_name, "" if by_name is None else "name"


def _said(hints: Mapping[str, Any], name: str) -> bool | None:
    value = hints.get(name)
    return value if isinstance(value, bool) else None
