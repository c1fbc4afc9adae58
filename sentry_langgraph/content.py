"""What the contents of messages say: texts, results, digests and unparsable arguments.

Contents are plain data, a text or a list of blocks, in LangChain's and in OpenAI's form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sentry_langgraph.records import Status, reads_as_error
from sentry_langgraph.signature import digest

MARK = "sentry"
"""The name of our human messages, and the key in `additional_kwargs` of everything we write."""

_STOP_KEYS = ("finish_reason", "stop_reason", "done_reason")
_RAW_KEPT = 4_000
_TEXT_KEPT = 4_000


def content_text(content: Any) -> str:
    """The text blocks, without reasoning, calls and images."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content or ():
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and block.get("type") in ("text", "output_text"):
            parts.append(str(block.get("text", "")))
    return "\n".join(part for part in parts if part)


def result_text(content: Any) -> str:
    """A result as its observation keeps it; images and other blocks stand as a digest."""
    if isinstance(content, str):
        return content[:_TEXT_KEPT]
    parts = []
    for block in content or ():
        if isinstance(block, str):
            parts.append(block)
        elif block.get("type") == "text":
            parts.append(str(block.get("text", "")))
        else:
            parts.append(f"[{block.get('type', 'block')} {digest(_canonical(block))}]")
    return "\n".join(parts)[:_TEXT_KEPT]


def result_digest(content: Any) -> str:
    """A digest of the complete result, the same whatever ids its blocks carry."""
    if isinstance(content, str):
        return digest(content)
    return digest("\n".join(_canonical(block) for block in content or ()))


def result_status(said: Any, text: str) -> Status:
    """Whether a call worked: its status, or a text that begins as an error does."""
    return "error" if said == "error" or reads_as_error(text) else "success"


def stop_reason(additional: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """What the provider says about why it stopped, lower case; empty where it says nothing."""
    if additional.get("refusal"):
        return "refusal"
    for key in _STOP_KEYS:
        if value := metadata.get(key):
            return str(value).lower()
    return ""


def raw_arguments(args: Any) -> str:
    """Arguments that are not one JSON object, as the model wrote them."""
    text = args if isinstance(args, str) else json.dumps(args, default=str)
    # a string that is itself a JSON value was parsed once already: show it as it was written
    if isinstance(args, str) and args.lstrip().startswith("{"):
        try:
            json.loads(args)
        except (ValueError, RecursionError):
            pass
        else:
            text = json.dumps(args)
    return text[:_RAW_KEPT]


def _canonical(block: Any) -> str:
    """A content block without the ids that differ from run to run."""
    if not isinstance(block, dict):
        return str(block)
    kept = {name: value for name, value in block.items() if name not in ("id", "index")}
    return json.dumps(kept, sort_keys=True, default=str)
