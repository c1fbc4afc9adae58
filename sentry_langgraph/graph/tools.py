"""LangChain tools to the catalog that the stages read."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ValidationError
from pydantic.v1 import BaseModel as BaseModelV1
from pydantic.v1 import ValidationError as ValidationErrorV1

from sentry_langgraph.config.models import ToolOptions
from sentry_langgraph.config.tool_spec import tool_spec
from sentry_langgraph.records import (
    ArgumentCheck,
    Catalog,
    ToolSpec,
    Violation,
    accept_any,
)
from sentry_langgraph.schema import dotted, kind_of, schema_check

logger = logging.getLogger("sentry_langgraph")


def catalog_of(
    tool_nodes: Iterable[Any],
    extra: Sequence[Any],
    options: Mapping[str, ToolOptions],
    *,
    declared: Iterable[str] = (),
) -> Catalog:
    """What an agent's tool nodes serve.

    Args:
        tool_nodes: Runnables of tool nodes; those without `tools_by_name` serve unknown tools.
        extra: Further tools: `BaseTool`s, functions, dict schemas, pydantic classes or names.
        options: What the configuration says of tools, by name.
        declared: Names that are served outside the tool nodes.
    """
    tools: dict[str, ToolSpec] = {}
    complete = True
    for node in tool_nodes:
        served = getattr(node, "tools_by_name", None)
        if served is None:
            complete = complete and bool(extra)
            continue
        for name, tool in served.items():
            tools[name] = spec_of(name, tool, options.get(name, ToolOptions()))
    names = set(declared)
    for tool in extra:
        name = name_of(tool)
        if isinstance(tool, str):
            names.add(name)
        elif name not in tools:
            tools[name] = spec_of(name, tool, options.get(name, ToolOptions()))
    names |= {name for name in options if name not in tools}
    return Catalog(tools, frozenset(names - set(tools)), complete)


def name_of(tool: Any) -> str:
    """The name by which a model calls a tool in any of its forms."""
    if isinstance(tool, str):
        return tool
    if isinstance(tool, BaseTool):
        return tool.name
    if isinstance(tool, Mapping):
        function = tool.get("function")
        named = function if isinstance(function, Mapping) else tool
        return str(named.get("name") or named.get("title") or named.get("type") or "?")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", "?"))


def spec_of(name: str, tool: Any, options: ToolOptions) -> ToolSpec:
    """What is known of one tool; never raises, whatever its schema looks like."""
    parameters: Mapping[str, Any] = {}
    check: ArgumentCheck = accept_any
    description = ""
    try:
        description = str(getattr(tool, "description", "") or "")
        parameters = _parameters(tool)
        check = check_of(tool)
    except Exception:  # a schema that can't be read is the tool's to judge
        logger.warning(
            "the arguments of the tool %r can't be checked: its schema can't be read", name
        )
    return tool_spec(
        name,
        options,
        description=description,
        parameters=parameters,
        check=check,
        hints=_hints(tool),
    )


def _hints(tool: Any) -> Mapping[str, Any]:
    """MCP annotations, as the MCP adapters put them into a tool's metadata."""
    metadata = getattr(tool, "metadata", None)
    if not isinstance(metadata, Mapping):
        return {}
    hints = metadata.get("annotations", metadata)
    return hints if isinstance(hints, Mapping) else {}


def _parameters(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, BaseTool):
        shown = tool.tool_call_schema
        if isinstance(shown, dict):
            return shown
        if issubclass(shown, BaseModelV1):
            return cast("Mapping[str, Any]", shown.schema())
        return cast("Mapping[str, Any]", shown.model_json_schema())
    function = convert_to_openai_tool(tool)["function"]
    return cast("Mapping[str, Any]", function.get("parameters") or {})


def check_of(tool: Any) -> ArgumentCheck:
    """The check that says the same as the tool itself would: pydantic's rules for a model,
    JSON Schema's for a dict."""
    schema = getattr(tool, "args_schema", None) if isinstance(tool, BaseTool) else tool
    if isinstance(schema, Mapping):
        body = schema if isinstance(tool, BaseTool) else _parameters(tool)
        return schema_check(body)
    if not isinstance(schema, type):
        return accept_any if isinstance(tool, BaseTool) else schema_check(_parameters(tool))
    if issubclass(schema, BaseModelV1):
        return _v1_check(schema)
    if issubclass(schema, BaseModel):
        return _pydantic_check(schema, _injected(tool, schema))
    return accept_any


def _injected(tool: Any, schema: type[BaseModel]) -> frozenset[str]:
    """Arguments that the framework fills in, which the model was never shown."""
    if not isinstance(tool, BaseTool):
        return frozenset()
    shown = tool.tool_call_schema
    if not (isinstance(shown, type) and issubclass(shown, BaseModel)):
        return frozenset()
    return frozenset(schema.model_fields) - frozenset(shown.model_fields)


def _pydantic_check(schema: type[BaseModel], injected: frozenset[str]) -> ArgumentCheck:
    names = frozenset(
        part
        for name, field in schema.model_fields.items()
        for part in (name, field.alias)
        if part is not None
    )

    def check(args: Mapping[str, Any]) -> tuple[Violation, ...]:
        try:
            schema.model_validate(dict(args))
        except ValidationError as error:
            found = [
                violation
                for one in error.errors(include_url=False, include_context=False)
                if (violation := _violation(dict(one), injected)) is not None
            ]
        except Exception:  # a validator that itself fails: the tool decides
            return ()
        else:
            return ()
        if any(violation.problem == "missing" for violation in found):
            # a wrong name is often what is missing under the right one
            found += [Violation(str(n), "unexpected") for n in args if n not in names]
        return tuple(dict.fromkeys(found))

    return check


def _violation(error: Mapping[str, Any], injected: frozenset[str]) -> Violation | None:
    location = error["loc"]
    if (location and location[0] in injected) or (not location and injected):
        # not the model's to give, or a rule over the whole that the injected part decides
        return None
    path = dotted(part for part in location if not _is_branch(part))
    kind = error["type"]
    if kind == "missing":
        return Violation(path, "missing")
    if kind == "extra_forbidden":
        return Violation(path, "unexpected")
    message = str(error["msg"])
    expected = message.removeprefix("Input should be ").removeprefix("a valid ")
    found = kind_of(error.get("input"))
    if kind.endswith(_TYPE_ERRORS):
        return Violation(path, "type", expected.partition(",")[0], found)
    if kind in _VALUE_ERRORS:
        return Violation(path, "value", expected, found)
    return Violation(path, "value", kind, found, note=message)


_TYPE_ERRORS = ("_type", "_parsing", "_from_float")
_VALUE_ERRORS = frozenset(
    "literal_error enum greater_than greater_than_equal less_than less_than_equal multiple_of "
    "string_too_short string_too_long string_pattern_mismatch too_short too_long "
    "finite_number".split()
)
"""Errors of pydantic whose message says what is wanted and quotes nothing of the input."""


def _is_branch(part: Any) -> bool:
    """Whether a part of the location names a branch of a union, not a field."""
    return isinstance(part, str) and ("[" in part or "(" in part)


def _v1_check(schema: type[BaseModelV1]) -> ArgumentCheck:
    def check(args: Mapping[str, Any]) -> tuple[Violation, ...]:
        try:
            schema.parse_obj(dict(args))
        except ValidationErrorV1 as error:
            return tuple(_v1_violation(one, args) for one in error.errors())
        except Exception:
            return ()
        return ()

    return check


def _v1_violation(error: Mapping[str, Any], args: Mapping[str, Any]) -> Violation:
    path = dotted(error["loc"])
    if error["type"] == "value_error.missing":
        return Violation(path, "missing")
    if error["type"] == "value_error.extra":
        return Violation(path, "unexpected")
    found = kind_of(args.get(str(error["loc"][0])))
    return Violation(path, "type", str(error["type"]), found, note=str(error["msg"]))
