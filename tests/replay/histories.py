"""Small recordings for the tests of this directory, in the common trace format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
            },
        },
    }
    for name in ("get_order", "find_customer")
]


def run_of(
    pattern: str, id: str = "r", *, success: bool | None = None, error: str = ""
) -> dict[str, Any]:
    """A run that calls one tool for each character; equal characters are equal calls.

    Args:
        pattern: The calls: small letters are `get_order`, capitals `find_customer`; `.` is a
            message without a call, and `!` a call that lacks its argument.
        id: The run's id.
        success: What the source says.
        error: What each call fails with, where it fails.
    """
    named = ", ".join(sorted(set(pattern) - set(".!")))
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Look at my orders {named}, please."}
    ]
    for place, letter in enumerate(pattern):
        if letter == ".":
            messages.append({"role": "assistant", "content": "Hm."})
            continue
        name = "find_customer" if letter.isupper() else "get_order"
        arguments = json.dumps({} if letter == "!" else {"id": letter})
        call = {"id": f"c{place}", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        result = {"role": "tool", "tool_call_id": f"c{place}", "content": error or f"{letter}: ok"}
        messages.append({**result, "error": True} if error else result)
    messages.append({"role": "assistant", "content": "Your orders are on their way."})
    outcome = {} if success is None else {"success": success}
    return {"id": id, "source": "s", "tools": TOOLS, "messages": messages, "outcome": outcome}


def write(path: Path, runs: Sequence[Any]) -> Path:
    """The runs as JSON lines; a text stands as it is."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in runs]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
