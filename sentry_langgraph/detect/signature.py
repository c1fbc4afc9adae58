"""When two calls are the same call."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from hashlib import blake2b

from sentry_langgraph.records import ToolCall

VOLATILE = frozenset(
    {
        "request_id",
        "requestid",
        "trace_id",
        "traceid",
        "span_id",
        "correlation_id",
        "idempotency_key",
        "nonce",
        "timestamp",
        "ts",
        "tool_call_id",
        "toolcallid",
    }
)
"""Arguments that differ from call to call without meaning a different call."""


def digest(text: str) -> str:
    """A short digest of a text, the same in every process. Lone surrogates are allowed."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def call_key(call: ToolCall, ignore: AbstractSet[str] = frozenset()) -> str:
    """Names a call by tool and arguments; order of keys and volatile arguments don't count."""
    known = call.keys.get(ignore)
    if known is not None:
        return known
    if call.args is None:
        body = call.raw
    else:
        kept = {
            name: value
            for name, value in call.args.items()
            if name not in ignore and str(name).lower() not in VOLATILE
        }
        body = json.dumps(kept, sort_keys=True, default=str, ensure_ascii=False)
    key = f"{call.name}#{digest(body)}"
    call.keys[ignore] = key
    return key
