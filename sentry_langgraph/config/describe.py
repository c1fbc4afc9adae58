"""What each setting means, read from the docstrings of the options models."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

_ATTRIBUTE = re.compile(r"    (\w+): (.*)")


@cache
def meanings(model: type[BaseModel]) -> Mapping[str, str]:
    """The description of each field: the `Attributes` section of the docstring, base first."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= _attributes(one.__dict__.get("__doc__") or "")
    return MappingProxyType(found)


def summary(model: type) -> str:
    """The first paragraph of a docstring, in one line."""
    text = inspect.cleandoc(model.__dict__.get("__doc__") or "")
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def section(annotation: Any) -> type[BaseModel] | None:
    """The options model behind a field, or None for a plain value."""
    for one in _alternatives(annotation):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return None


def entries(annotation: Any) -> type[BaseModel] | None:
    """The options model of each value of a field that is a mapping by name, or None."""
    for one in _alternatives(annotation):
        origin = get_origin(one)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return section(get_args(one)[1])
    return None


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return tuple(part for one in get_args(annotation) for part in _alternatives(one))
    return (annotation,)


def _attributes(docstring: str) -> dict[str, str]:
    _, _, after = inspect.cleandoc(docstring).partition("\nAttributes:\n")
    found: dict[str, str] = {}
    name = ""
    for line in after.splitlines():
        if line and not line.startswith("    "):
            break
        if match := _ATTRIBUTE.fullmatch(line):
            name, text = match.groups()
            found[name] = text
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found
