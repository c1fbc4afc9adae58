"""Why a text is not one JSON object: a reason that the model can act on.

Nothing is repaired here. A guess at broken JSON runs a tool with arguments that nobody wrote.
"""

from __future__ import annotations

import json
import re

_KINDS = {list: "list", bool: "boolean", int: "number", float: "number", type(None): "null"}
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_TRAILING_COMMA = re.compile(r",\s*[}\]]")
_PYTHON = re.compile(r"\b(?:None|True|False)\b")
_SINGLE_QUOTED = re.compile(r"^\s*\{\s*'")


def explain(raw: str) -> str:
    """One clause that says what is wrong with `raw`, read as the arguments of a call."""
    text = raw.strip()
    if not text:
        return "the arguments are empty; an object is expected, `{}` for none"
    if text.startswith("```"):
        return "the arguments stand in a Markdown code fence; write the bare JSON object"
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return "the arguments are nested too deeply"
    except ValueError as error:
        return _reason(text, error)
    if isinstance(value, dict):
        return "the arguments could not be read as one JSON object"
    if isinstance(value, str):
        return "the arguments are a JSON string that contains JSON; write the object itself"
    return f"the arguments are a JSON {_KINDS[type(value)]}; one JSON object is expected"


def _reason(text: str, error: ValueError) -> str:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    else:
        if _CONTROL.search(text):
            return (
                "a string holds unescaped control characters (a raw line break or tab); "
                "write \\n or \\t"
            )
        return "NaN and Infinity are not JSON"
    if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
        return "there is text after the JSON object; write one JSON object and nothing else"
    bare = _STRINGS.sub('""', text)
    if _SINGLE_QUOTED.match(bare):
        return "single quotes are not JSON; write double quotes"
    if not text.startswith("{"):
        return "the arguments are not JSON; one JSON object is expected"
    if _unclosed(text):
        return "the JSON object is cut off before its end"
    if _TRAILING_COMMA.search(bare):
        return "there is a comma before a closing bracket, which JSON does not allow"
    if _PYTHON.search(bare):
        return "None, True and False are not JSON; write null, true and false"
    return "the arguments are not valid JSON"


def _unclosed(text: str) -> bool:
    depth, inside, escaped = 0, False, False
    for char in text:
        if inside:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                inside = False
        elif char == '"':
            inside = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
    return depth > 0 or inside


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
