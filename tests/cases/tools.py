"""Tools from the specifications of a case."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from pydantic import BaseModel, ConfigDict, Field, create_model

from cases.loader import CaseError
from cases.words import NEEDS_APPROVAL, Outcome, Situation, behaviour, ids_in, plain


@dataclass(slots=True)
class Workshop:
    """The tools of one run, and what they did.

    Attributes:
        runs: Each execution in order: the tool and the arguments that it got.
        ids: The ids that the tools gave out.
    """

    runs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, args: Mapping[str, Any]) -> int:
        """Write an execution down; which one of this tool it is."""
        with self.lock:
            self.runs.append((name, dict(args)))
            return sum(1 for tool, _ in self.runs if tool == name)

    def tools(self, specs: Sequence[Mapping[str, Any]]) -> list[BaseTool]:
        """Every tool of `specs`, in order; two may share a name."""
        return [self.tool(spec) for spec in specs]

    def tool(self, spec: Mapping[str, Any]) -> BaseTool:
        """One tool.

        Raises:
            CaseError: The specification can't be read.
        """
        name = spec["name"]
        words = spec.get("behaviour")
        if words is None or NEEDS_APPROVAL.search(words):
            act: Outcome = plain(spec.get("returns", "ok"))
        else:
            act = behaviour(words)
        schema = schema_of(spec)
        optional = _optional(spec)

        def run(**given: Any) -> Any:
            call_id = given.pop("sentry_case_call_id", None)
            args = {k: v for k, v in given.items() if v is not None or k not in optional}
            number = self.count(name, args)
            result = act(Situation(args, call_id, number, self.ids))
            self.ids.extend(ids_in(result))
            return result

        async def arun(**given: Any) -> Any:
            return run(**given)

        return StructuredTool(
            name=name,
            description=spec.get("description") or f"The tool {name}.",
            args_schema=schema,
            func=None if spec.get("async_only") else run,
            coroutine=arun,
            handle_tool_error=True,
        )


def schema_of(spec: Mapping[str, Any]) -> Any:
    """The `args_schema` of a tool: a pydantic model, or the JSON schema as it is."""
    kind = spec.get("schema_kind", "pydantic")
    parameters = spec.get("parameters", {"type": "object", "properties": {}})
    if kind in ("json_schema", "dict", "mcp"):
        return dict(parameters)
    if kind != "pydantic":
        raise CaseError(f"schema_kind {kind!r} is not known")
    injected = "Command" in str(spec.get("behaviour", "")) or "ToolMessage(" in str(
        spec.get("behaviour", "")
    )
    return model_of(spec["name"], parameters, injected=injected, extra=spec.get("extra"))


def model_of(
    name: str, schema: Mapping[str, Any], *, injected: bool = False, extra: str | None = None
) -> type[BaseModel]:
    """A pydantic model of an object schema."""
    required = set(schema.get("required", ()))
    fields: dict[str, Any] = {}
    for key, inner in schema.get("properties", {}).items():
        kind = _type(f"{name}_{key}", inner)
        limits = _limits(inner) if isinstance(inner, Mapping) else {}
        annotated = Annotated[kind, Field(**limits)] if limits else kind
        if key in required:
            fields[key] = (annotated, ...)
        elif isinstance(inner, Mapping) and "default" in inner:
            fields[key] = (annotated, inner["default"])
        else:
            fields[key] = (annotated | None if not limits else annotated, None)
    if injected:
        fields["sentry_case_call_id"] = (Annotated[str, InjectedToolCallId], ...)
    if extra is None and schema.get("additionalProperties") is False:
        extra = "forbid"
    config: Any = ConfigDict(extra=extra) if extra else None
    return create_model(f"{name}_args", __config__=config, **fields)


_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": None,
    "object": dict[str, Any],
    "array": list[Any],
}


def _type(name: str, schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return Any
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "const" in schema:
        return Literal[schema["const"]]
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _union([_type(name, one) for one in options])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([_type(name, {**schema, "type": one}) for one in kind])
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return list[_type(f"{name}_item", schema["items"])]  # type: ignore[misc]
    if kind == "object" and schema.get("properties"):
        return model_of(name, schema)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return dict[str, _type(f"{name}_value", schema["additionalProperties"])]  # type: ignore[misc]
    if kind is None:
        return Any
    if kind not in _TYPES:
        raise CaseError(f"the type {kind!r} of {name} is not known")
    return _TYPES[kind]


def _union(kinds: Sequence[Any]) -> Any:
    made = kinds[0]
    for kind in kinds[1:]:
        made = made | kind if made is not None or kind is not None else None
    return made


_LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "pattern": "pattern",
    "multipleOf": "multiple_of",
}


def _limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {ours: schema[theirs] for theirs, ours in _LIMITS.items() if theirs in schema}


def _optional(spec: Mapping[str, Any]) -> frozenset[str]:
    parameters = spec.get("parameters", {})
    if not isinstance(parameters, Mapping):
        return frozenset()
    return frozenset(parameters.get("properties", ())) - set(parameters.get("required", ()))
