"""A quick yes to arguments that a JSON Schema allows.

Nearly every call is valid, and a complete validator takes tens of microseconds to say so. What
is built here knows the everyday keywords only: its yes is certain, its no means "ask the
validator". So it is never wrong, and never decides what is said of a bad call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Allows: TypeAlias = Callable[[Any], bool]
"""True where a value is certainly valid."""

_SAYS_NOTHING = frozenset(
    "title description default examples deprecated readOnly writeOnly format $schema $comment "
    "$defs definitions contentMediaType contentEncoding strict".split()
)
"""Keywords that allow every value. (`format` is an annotation in draft 2020-12.)"""

_DEPTH = 20


def quick_check(schema: Any) -> Allows:
    """A quick check of values against a valid schema of draft 2020-12."""
    if isinstance(schema, Mapping) and _moves_references(schema):
        return _ask
    return _Builder(schema).check(schema, 0)


def _ask(_: Any) -> bool:
    return False


def _any(_: Any) -> bool:
    return True


def _moves_references(value: Any) -> bool:
    """Whether a schema says anywhere that its references mean something else."""
    if isinstance(value, Mapping):
        moving = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef")
        if any(isinstance(value.get(key), str) for key in moving):
            return True
        return any(map(_moves_references, value.values()))
    return isinstance(value, list) and any(map(_moves_references, value))


class _Builder:
    """Builds the check of a schema; references look into its root."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[str, Allows] = {}

    def check(self, schema: Any, depth: int) -> Allows:
        """The check of one schema."""
        if schema is True or schema == {}:
            return _any
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return _ask
        parts: list[Allows] = []
        for keyword, value in schema.items():
            if keyword in _SAYS_NOTHING or keyword in ("properties", "required"):
                continue
            if keyword == "additionalProperties" and value is True:
                continue
            part = self._part(keyword, value, schema, depth)
            if part is _ask:
                return _ask
            if part is not _any:
                parts.append(part)
        if "properties" in schema or "required" in schema:
            parts.append(self._object(schema, depth))
        return _all(parts)

    def _part(self, keyword: str, value: Any, schema: Mapping[str, Any], depth: int) -> Allows:
        match keyword:
            case "type":
                return _type(value)
            case "enum" | "const":
                return _one_of(value if keyword == "enum" else [value])
            case "additionalProperties":
                closed = value is False and "patternProperties" not in schema
                return _no_other(schema.get("properties") or {}) if closed else _ask
            case "items":
                return _each(self.check(value, depth + 1))
            case "anyOf":
                return _some([self.check(one, depth + 1) for one in value])
            case "allOf":
                return _all([self.check(one, depth + 1) for one in value])
            case "$ref":
                return self._reference(value, depth)
            case _:
                bound = _BOUNDS.get(keyword)
                return _ask if bound is None else bound(value)

    def _reference(self, reference: Any, depth: int) -> Allows:
        parts = str(reference).split("/")
        if len(parts) != 3 or parts[0] != "#" or parts[1] not in ("$defs", "definitions"):
            return _ask
        if reference not in self._known:
            self._known[reference] = _ask  # what a schema says of itself is left to the validator
            target = (self._root.get(parts[1]) or {}).get(parts[2])
            self._known[reference] = self.check(target, depth + 1)
        return self._known[reference]

    def _object(self, schema: Mapping[str, Any], depth: int) -> Allows:
        required = tuple(schema.get("required") or ())
        checks = {
            name: self.check(one, depth + 1)
            for name, one in (schema.get("properties") or {}).items()
        }

        def allows(value: Any) -> bool:
            if type(value) is not dict:
                return not isinstance(value, Mapping)
            for name in required:
                if name not in value:
                    return False
            for name, inner in value.items():
                check = checks.get(name)
                if check is not None and not check(inner):
                    return False
            return True

        return allows


def _all(parts: list[Allows]) -> Allows:
    if _ask in parts:
        return _ask
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        first, second = parts
        return lambda value: first(value) and second(value)
    return lambda value: all(part(value) for part in parts)


def _some(parts: list[Allows]) -> Allows:
    return lambda value: any(part(value) for part in parts)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _type(wanted: Any) -> Allows:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or not all(name in _TYPES for name in names):
        return _ask
    exact = frozenset(kind for name in names for kind in _TYPES[name])
    return lambda value: type(value) in exact


def _one_of(values: Any) -> Allows:
    if not isinstance(values, list) or not all(type(value) is str for value in values):
        return _ask  # numbers and booleans have rules of their own
    known = frozenset(values)
    return lambda value: type(value) is str and value in known


def _no_other(properties: Mapping[str, Any]) -> Allows:
    known = properties.keys()
    return lambda value: type(value) is not dict or value.keys() <= known


def _each(check: Allows) -> Allows:
    if check is _any:
        return _any
    return lambda value: type(value) is not list or all(map(check, value))


def _size(kind: type[Any], limit: Any, *, least: bool) -> Allows:
    if type(limit) is not int:
        return _ask
    if least:
        return lambda value: type(value) is not kind or len(value) >= limit
    return lambda value: type(value) is not kind or len(value) <= limit


def _number(limit: Any, holds: Callable[[Any, Any], bool]) -> Allows:
    if type(limit) not in (int, float):
        return _ask
    return lambda value: type(value) not in (int, float) or holds(value, limit)


_BOUNDS: Mapping[str, Callable[[Any], Allows]] = {
    "minLength": lambda limit: _size(str, limit, least=True),
    "maxLength": lambda limit: _size(str, limit, least=False),
    "minItems": lambda limit: _size(list, limit, least=True),
    "maxItems": lambda limit: _size(list, limit, least=False),
    "minimum": lambda limit: _number(limit, lambda value, least: value >= least),
    "maximum": lambda limit: _number(limit, lambda value, most: value <= most),
    "exclusiveMinimum": lambda limit: _number(limit, lambda value, least: value > least),
    "exclusiveMaximum": lambda limit: _number(limit, lambda value, most: value < most),
}
