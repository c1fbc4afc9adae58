"""Tools with their parameters, as a repair shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sentry_langgraph.records import Catalog, ToolSpec
from sentry_langgraph.schema import kind_of

_ARGUMENTS_SHOWN = 10


def signature(spec: ToolSpec, notes: Mapping[str, str] | None = None) -> str:
    """A tool with its parameters: name, type, whether it is required, allowed values.

    Args:
        spec: The tool.
        notes: What else is known of a parameter, such as where its value stands.
    """
    required = set(spec.required)
    order = sorted(spec.arguments, key=lambda name: name not in required)
    parts = []
    for name in order[:_ARGUMENTS_SHOWN]:
        words = [_type(spec.arguments[name]), "required" if name in required else "optional"]
        said = ", ".join(word for word in words if word)
        note = notes.get(name) if notes else None
        parts.append(f"{name} ({said}: {note})" if note else f"{name} ({said})")
    if not parts:
        return f"`{spec.name}` without arguments"
    return f"`{spec.name}` with {', '.join(parts)}"


def form(spec: ToolSpec) -> str:
    """The required arguments of a tool as a JSON object to be filled in."""
    names = spec.required[:_ARGUMENTS_SHOWN]
    return json.dumps({name: _blank(spec.arguments.get(name)) for name in names})


def _blank(schema: object) -> object:
    if not isinstance(schema, dict):
        return "..."
    if isinstance(values := schema.get("enum"), list) and values:
        return values[0]
    kind = schema.get("type")
    if kind == "array":
        return [_blank(schema.get("items"))]
    blanks: Mapping[object, object] = {"integer": 0, "number": 0, "boolean": True, "object": {}}
    return blanks.get(kind, "...") if isinstance(kind, str) else "..."


def call_of(name: str, catalog: Catalog) -> str:
    """The signature of a tool by its name; the name alone where it is not known."""
    spec = catalog.tools.get(name)
    return signature(spec) if spec is not None else f"`{name}`"


def _type(schema: object) -> str:
    if not isinstance(schema, dict):
        return ""
    if isinstance(values := schema.get("enum"), list):
        return "one of " + ", ".join(str(value) for value in values[:6])
    if "const" in schema:
        return f"{kind_of(schema['const'])} {schema['const']}"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(str(one) for one in kind)
    if kind == "array":
        inner = _type(schema.get("items"))
        return f"array of {inner}" if inner else "array"
    if isinstance(kind, str):
        return kind
    options = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(options, list):
        return ""
    return " or ".join(dict.fromkeys(text for option in options if (text := _type(option))))
