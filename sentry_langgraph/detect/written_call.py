"""A tool call that a model wrote into its text instead of making it.

Only read, never run: the model is asked to make the call.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sentry_langgraph.records import Catalog

_LONGEST = 8_000
_XML_NAME = re.compile(
    r"<(?:function|invoke|tool)(?:=|\s+name=[\"'])\s*([\w.:/-]{1,128})", re.IGNORECASE
)
_XML_JSON = re.compile(
    r"<(?:tool_call|function_call|tool)>\s*(\{.*?\})\s*</(?:tool_call|function_call|tool)>",
    re.IGNORECASE | re.DOTALL,
)
_ENDS_IN_CALL = re.compile(
    r"</(?:tool_call|function_call|function|invoke|tool)>\s*\Z", re.IGNORECASE
)
_FENCE = re.compile(r"\A```[\w-]*\s*\n(.*?)\n?```\Z", re.DOTALL)
_FENCE_AT_END = re.compile(r"```(?:json|tool_call|tool)\s*\n(\{.*?\})\s*\n?```\Z", re.DOTALL)
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "input", "action_input", "tool_input")


def written_call(text: str, catalog: Catalog) -> str | None:
    """The name of the registered tool that `text` calls in writing, or None.

    The call has to be all of the message or its end: an example within an explanation is not
    a call, and neither is JSON that names no tool of the agent.
    """
    body = text.strip()
    if len(body) > _LONGEST or not ("{" in body or "<" in body):
        return None
    for name in _candidates(body):
        if name in catalog.tools:
            return name
    return None


def _candidates(body: str) -> list[str]:
    found: list[str] = []
    fenced = _FENCE.match(body)
    whole = fenced.group(1).lstrip() if fenced else body
    if whole.startswith(("{", "[")):
        found += _names_in(_load(whole))
    if _ENDS_IN_CALL.search(body):
        found += _XML_NAME.findall(body)
        for block in _XML_JSON.findall(body):
            found += _names_in(_load(block))
    if at_end := _FENCE_AT_END.search(body):
        found += _names_in(_load(at_end.group(1)))
    return found


def _load(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _names_in(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [name for item in items if (name := _name_of(item))]


def _name_of(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("function"), dict):
        return _name_of(item["function"])
    name = next((item[key] for key in _NAMES if isinstance(item.get(key), str)), None)
    arguments = next((item[key] for key in _ARGUMENTS if key in item), None)
    if isinstance(arguments, str):
        arguments = _load(arguments)
    return name if isinstance(arguments, dict) else None
