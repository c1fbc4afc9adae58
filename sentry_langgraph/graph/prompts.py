"""System prompts that stand outside of the messages.

`create_agent(system_prompt=…)`, `create_react_agent(prompt=…)` and agents written by hand give
the model texts that the state never holds. What a prompt names is not made up, so the texts that
an agent node's functions refer to are collected once, when a graph is wrapped. They only ground
values; nothing else reads them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tools import BaseTool

from sentry_langgraph.graph.messages import text_of

logger = logging.getLogger("sentry_langgraph")

DEPTH = 9
"""References that are followed from the node."""

TEXTS = 64
"""Texts at most."""

CHARACTERS = 200_000
"""Characters of all texts together."""

_OBJECTS = 4_000
_SHORTEST = 12
_INSIDE = (
    "bound",
    "runnable",
    "steps",
    "steps__",
    "func",
    "afunc",
    "prompt",
    "template",
    "messages",
    "middle",
    "first",
    "last",
    "_sync_path",
    "_async_path",
    "__wrapped__",
    "partial_variables",
    "system_prompt",
    "system_message",
    "args",
    "keywords",
)
"""Attributes of runnables, prompt templates and partial functions that hold others."""


def instructions_of(runnable: Any) -> tuple[str, ...]:
    """The texts that the functions of a node refer to, longest first; never raises.

    Looks at closures, defaults, global names and constants of functions, at the parts of
    runnables and prompt templates, and at the attributes of objects whose methods they are.

    Args:
        runnable: What the node runs.
    """
    try:
        found = sorted(dict.fromkeys(_texts(runnable)), key=len, reverse=True)
    except Exception:  # whatever a user's object does when it is looked at
        logger.debug("the prompts of a node could not be read", exc_info=True)
        return ()
    kept: list[str] = []
    left = CHARACTERS
    for text in found[:TEXTS]:
        if len(text) > left:
            break
        kept.append(text)
        left -= len(text)
    return tuple(kept)


def _texts(start: Any) -> Iterator[str]:
    seen: set[int] = set()
    level = [start]
    for _ in range(DEPTH):
        following: list[Any] = []
        for value in level:
            if id(value) in seen:
                continue
            seen.add(id(value))
            if len(seen) > _OBJECTS:
                return
            if isinstance(value, str):
                if len(value) >= _SHORTEST:
                    yield value
            elif isinstance(value, BaseMessage):
                if isinstance(value, SystemMessage):
                    yield text_of(value)
            else:
                following += _referred(value)
        level = following


def _referred(value: Any) -> list[Any]:
    if isinstance(value, CodeType):
        return [one for one in value.co_consts if isinstance(one, str | tuple | CodeType)]
    if isinstance(value, BaseTool | BaseLanguageModel):
        # the examples in a tool's description are no facts
        return []
    if isinstance(value, Mapping):
        return list(value.values())[:TEXTS]
    if isinstance(value, list | tuple):
        return list(value)[:TEXTS]
    if isinstance(value, type) or type(value).__module__ == "builtins":
        return _of_function(value) if callable(value) else []
    held = [getattr(value, name, None) for name in _INSIDE]
    return [one for one in held if one is not None] + _of_function(value)


def _of_function(value: Any) -> list[Any]:
    """What a function or method refers to; a docstring and nested code are constants too."""
    held: list[Any] = []
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        held += list(getattr(owner, "__dict__", {}).values())[:TEXTS]
    function = getattr(value, "__func__", value)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        # an object that is called
        call = vars(type(value)).get("__call__")
        return [*held, *getattr(value, "__dict__", {}).values()] if _own_call(call) else held
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # a name that is not bound yet
            continue
    if _library(getattr(function, "__module__", "")):
        return held
    held += [code, *(getattr(function, "__defaults__", None) or ())]
    held += list((getattr(function, "__kwdefaults__", None) or {}).values())
    names = getattr(function, "__globals__", {})
    return [*held, *(names[name] for name in _names(code) if name in names)]


def _own_call(call: Any) -> bool:
    """Whether a class of the user's defines what calling its objects does."""
    code = getattr(call, "__code__", None)
    return code is not None and not _library(getattr(call, "__module__", ""))


def _library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("langchain_core", "langgraph", "langchain")


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from inner.co_names
