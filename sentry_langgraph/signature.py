"""When two calls are the same call."""

from __future__ import annotations

import json
from hashlib import blake2b

from sentry_langgraph.records import ToolCall, ToolSpec

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


def call_key(call: ToolCall, spec: ToolSpec) -> str:
    """Names a call by tool and arguments; order of keys and volatile arguments don't count.

    What the tool's schema requires is never volatile, and neither is the only argument: there
    it names the target.
    """
    ignored = spec.ignore_args
    known = call.keys.get(ignored)
    if known is not None:
        return known
    if call.args is None:
        body = call.raw
    else:
        given = {name: value for name, value in call.args.items() if name not in ignored}
        required = spec.required
        kept = {
            name: value
            for name, value in given.items()
            if name in required or str(name).lower() not in VOLATILE
        }
        body = json.dumps(kept or given, sort_keys=True, default=str, ensure_ascii=False)
    key = f"{call.name}#{digest(body)}"
    call.keys[ignored] = key
    return key
