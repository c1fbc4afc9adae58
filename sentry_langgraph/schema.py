"""Arguments against the JSON Schema of a tool, such as MCP servers give.

References are resolved inside the schema only; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry

from sentry_langgraph.quick_schema import quick_check
from sentry_langgraph.records import ArgumentCheck, Violation, accept_any

_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """The JSON Schema type of a value."""
    return _KINDS.get(type(value), type(value).__name__)


def schema_check(schema: Mapping[str, Any]) -> ArgumentCheck:
    """A check built once from a JSON Schema.

    A schema that is itself broken checks nothing: the tool decides, as it would without us.
    """
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return accept_any
    validator = Draft202012Validator(schema, registry=Registry())
    allows = quick_check(schema)

    def check(args: Mapping[str, Any]) -> tuple[Violation, ...]:
        if allows(args):
            return ()
        try:
            errors = sorted(validator.iter_errors(dict(args)), key=lambda e: list(map(str, e.path)))
        except Exception:  # an unresolvable reference: the tool decides
            return ()
        found = [violation for error in errors for violation in _violations(error)]
        if any(violation.problem == "missing" for violation in found):
            # a wrong name is often what is missing under the right one
            known = schema.get("properties") or {}
            found += [Violation(str(name), "unexpected") for name in args if name not in known]
        return tuple(dict.fromkeys(found))

    return check


def _violations(error: Any) -> list[Violation]:
    path = dotted(error.absolute_path)
    if error.validator == "required":
        present = error.instance if isinstance(error.instance, Mapping) else {}
        missing = [name for name in error.validator_value if name not in present]
        # jsonschema reports each missing name on its own: take the one this error names
        named = [name for name in missing if error.message.startswith(repr(name))]
        return [Violation(join(path, name), "missing") for name in named or missing]
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        properties = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        unexpected = [name for name in error.instance if name not in properties]
        return [Violation(join(path, name), "unexpected") for name in unexpected]
    if error.validator == "type":
        wanted = error.validator_value
        expected = " or ".join(wanted) if isinstance(wanted, list) else str(wanted)
        return [Violation(path, "type", expected, kind_of(error.instance))]
    return [Violation(path, "value", _wanted(error), kind_of(error.instance))]


def _wanted(error: Any) -> str:
    value = error.validator_value
    if error.validator == "enum":
        return "one of " + ", ".join(str(item) for item in value[:8])
    if error.validator in ("anyOf", "oneOf"):
        kinds = [str(option.get("type")) for option in value if isinstance(option, Mapping)]
        return " or ".join(kind for kind in kinds if kind != "None") or "another form"
    return f"{error.validator} {value}" if isinstance(value, str | int | float) else "another form"


def dotted(path: Any) -> str:
    """`("root", "kids", 0, "v")` as `root.kids[0].v`."""
    text = ""
    for part in path:
        text = join(text, part)
    return text


def join(path: str, part: str | int) -> str:
    """One more part at the end of a dotted path."""
    if isinstance(part, int):
        return f"{path}[{part}]"
    return f"{path}.{part}" if path else str(part)
