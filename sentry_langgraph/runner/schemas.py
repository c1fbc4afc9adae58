"""The actions that a task allows, as the catalog that the stages read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sentry_langgraph.config.models import ToolOptions
from sentry_langgraph.config.tool_spec import tool_spec
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.records import Catalog, ToolSpec, accept_any
from sentry_langgraph.schema import schema_check

ActionSchema: TypeAlias = Iterable[Any] | Mapping[str, Any] | None
"""Tool schemas in a list, or a mapping from names to JSON Schemas of their arguments."""


def catalog_of(schema: ActionSchema, options: Mapping[str, ToolOptions]) -> Catalog:
    """What an agent may do.

    Args:
        schema: A list of tools, each in the function form of OpenAI (with or without
            `{"type": "function", "function": …}`), with `input_schema` (Anthropic) or
            `inputSchema` (MCP), or a bare name; or a mapping from names to JSON Schemas, where
            None stands for any arguments. None: nothing is known, and no name is unknown.
        options: What the configuration says of tools, by name.

    Raises:
        ConfigError: An entry has no name, or a name comes twice.
    """
    if schema is None:
        return Catalog({}, frozenset(options), complete=False)
    tools: dict[str, ToolSpec] = {}
    for place, (name, description, parameters, hints) in enumerate(_entries(schema)):
        if name in tools:
            raise ConfigError("the tool is listed twice", key=f"action_schema[{place}]", value=name)
        tools[name] = tool_spec(
            name,
            options.get(name, ToolOptions()),
            description=description,
            parameters=parameters,
            check=accept_any if parameters is None else schema_check(parameters),
            hints=hints,
        )
    return Catalog(tools, frozenset(name for name in options if name not in tools), complete=True)


_Entry: TypeAlias = tuple[str, str, Mapping[str, Any] | None, Mapping[str, Any]]


def _entries(schema: Iterable[Any] | Mapping[str, Any]) -> Iterable[_Entry]:
    if isinstance(schema, str):
        raise ConfigError(
            "a list of tools or a mapping is wanted, got text", key="action_schema", value=schema
        )
    if isinstance(schema, Mapping) and not _is_tool(schema):
        for name, body in schema.items():
            if isinstance(body, Mapping) and _is_tool(body):
                yield _entry({**_inner(body), "name": str(name)}, str(name))
            elif body is None or isinstance(body, Mapping):
                description = str(body.get("description", "")) if body else ""
                yield str(name), description, body, {}
            else:
                raise ConfigError(
                    "a JSON Schema is wanted", key=f"action_schema.{name}", value=body
                )
        return
    for place, tool in enumerate([schema] if isinstance(schema, Mapping) else schema):
        if isinstance(tool, str):
            yield tool, "", None, {}
        elif isinstance(tool, Mapping):
            yield _entry(_inner(tool), f"[{place}]")
        else:
            raise ConfigError(
                f"a tool schema is a mapping or a name, not a {type(tool).__name__}",
                key=f"action_schema[{place}]",
                hint="give the JSON form, such as convert_to_openai_tool makes",
            )


def _is_tool(body: Mapping[str, Any]) -> bool:
    """Whether a mapping is one tool, and not a schema or a mapping from names."""
    inner = _inner(body)
    return isinstance(inner.get("name"), str) and not isinstance(body.get("properties"), Mapping)


def _inner(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return function if isinstance(function, Mapping) else tool


def _entry(tool: Mapping[str, Any], place: str) -> _Entry:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigError("a tool needs a name", key=f"action_schema{place}.name", value=name)
    parameters = next(
        (tool[key] for key in ("parameters", "input_schema", "inputSchema") if key in tool), None
    )
    hints = tool.get("annotations")
    return (
        name,
        str(tool.get("description") or ""),
        parameters if isinstance(parameters, Mapping) else None,
        hints if isinstance(hints, Mapping) else {},
    )
