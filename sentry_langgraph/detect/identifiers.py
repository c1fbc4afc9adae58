"""Which values of a call are identifiers: names of things that exist outside of the message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from sentry_langgraph.records import ToolSpec
from sentry_langgraph.signature import VOLATILE
from sentry_langgraph.slots import Leaf, chosen_by_agent, options_of, slot_of

Identifier: TypeAlias = Literal["id", "email", "phone", "url", "path", "shape"]

LONGEST = 120
"""Characters of the longest identifier; what is longer is a text."""

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")
_MIXED = re.compile(r"#?(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[\w-]{5,64}")
_WORDS = re.compile(r"[^\W\d][^\d]{0,120}")
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,12}://\S+", re.IGNORECASE)
_SHAPE = re.compile(r"#?(?=[\w-]*[A-Za-z])(?=(?:[\w-]*\d){3})[A-Za-z0-9][A-Za-z0-9_-]{4,63}")
_NOT_SHAPE = re.compile(
    r"(?:\d+(?:st|nd|rd|th|px|pt|em|kb|mb|gb|tb|ms|s|m|h|d|k|x\d+|usd|eur)"
    r"|v\d.*|.*\d{4}-\d{2}(?:-\d{2}.*)?|\d{1,2}(?:am|pm)|(?:sha|md|utf|h|mp|iso|rfc|cp|latin)-?\d+"
    r"|(?:gpt|claude|llama|gemini|mistral|qwen|o\d)\b.*)",
    re.IGNORECASE,
)
_GENERIC = frozenset(
    "me self my all any none null default current latest new root true false auto primary "
    "main public private global local system admin test *".split()
)
_HAS_TO_NAME = frozenset({"id", "email", "phone"})
_FORMATS: Mapping[str, Identifier] = {"uuid": "id", "email": "email", "uri": "url"}


def no_code(text: str) -> bool:
    """Whether a text is words: no digit, and no code in capitals."""
    return not text.isupper() and _WORDS.fullmatch(text) is not None


def identifier(leaf: Leaf) -> Identifier | None:
    """What kind of identifier a value of a call is, or None where it is none.

    The name of the slot decides, then the format in its schema, then the shape of the value.
    Free text, counts, amounts and common knowledge such as country codes are none.
    """
    value = leaf.value
    kind = slot_of(leaf.name).kind
    if isinstance(value, str):
        return None if kind == "text" else _of_text(kind, value, leaf.schema)
    return "id" if kind == "id" and isinstance(value, int) else None


def left_empty(leaf: Leaf, spec: ToolSpec | None) -> bool:
    """Whether a value that has to identify something is empty, where the schema demands one."""
    value = leaf.value
    if not isinstance(value, str) or value.strip() or spec is None:
        return False
    named = slot_of(leaf.name).kind in _HAS_TO_NAME
    return named and leaf.top in spec.required and leaf.top not in spec.free_args


def _of_text(slot: str, value: str, schema: Mapping[str, Any]) -> Identifier | None:
    text = value.strip()
    if not 0 < len(text) <= LONGEST or "\n" in text or text.lower() in _GENERIC:
        return None
    kind: Identifier | None = None
    if slot == "id":
        # a sentence in an id slot is the schema's to judge
        kind = "id" if text.count(" ") <= 3 and "{" not in text else None
    elif slot == "number":
        named = sum(map(str.isdigit, text)) >= 3 or no_code(text) or _MIXED.fullmatch(text)
        kind = "id" if named and text.count(" ") <= 3 else None
    elif _EMAIL.fullmatch(text):
        kind = "email"
    elif slot == "phone":
        kind = "phone" if sum(map(str.isdigit, text)) >= 7 else None
    elif slot == "url" or (slot != "text" and _URL.fullmatch(text)):
        kind = "url" if _URL.fullmatch(text) else None
    elif slot == "path":
        kind = "path"
    elif "format" in schema:
        kind = _FORMATS.get(str(schema["format"]))
    elif slot == "other" and "enum" not in schema:
        kind = "shape" if _SHAPE.fullmatch(text) and not _NOT_SHAPE.fullmatch(text) else None
    return kind


def allowed(leaf: Leaf, tool: str, spec: ToolSpec | None) -> bool:
    """Whether the agent may write a value of its own accord.

    It may where the value is enumerated or a default, where the call itself gives a name to
    something new, and where the configuration says so.
    """
    if leaf.name.lower() in VOLATILE or chosen_by_agent(tool, leaf.name):
        return True
    if spec is None:
        return False
    if leaf.top in spec.free_args or leaf.name in spec.free_args:
        return True
    for option in options_of(leaf.schema, spec.parameters) if leaf.schema else ():
        values = option.get("enum")
        if isinstance(values, list | tuple) and leaf.value in values:
            return True
        if leaf.value in (option.get("default"), option.get("const")):
            return True
    return False
