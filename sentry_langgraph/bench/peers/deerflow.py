"""DeerFlow: `LoopDetectionMiddleware`, with its default thresholds.

Source: https://github.com/bytedance/deer-flow, `backend/packages/harness/deerflow/agents/
middlewares/loop_detection_middleware.py` (the same set of calls 3 times in the last 20 messages
with calls: a warning, once for each set; 5 times: the calls are stripped; one tool 30 and 50
times), read as facts; the code here is our own. Where a call has an argument such as `path`,
`url`, `query` or `command`, only those are compared. Results are not looked at, and a new text
of the user resets nothing. The special treatment of its own file tools is left out.
"""

from __future__ import annotations

import json
from collections import Counter, deque

from sentry_langgraph.bench.peers.events import Call, Event, Level, Turn

WINDOW = 20
WARN = 3
STOP = 5
TOOL_WARN = 30
TOOL_STOP = 50
SALIENT = ("path", "url", "query", "command", "pattern", "glob", "cmd")


class DeerFlow:
    """First a warning, then the calls are stripped from the message."""

    def __init__(self) -> None:
        self._sets: deque[tuple[str, ...]] = deque(maxlen=WINDOW)
        self._tools: Counter[str] = Counter()
        self._warned: set[object] = set()

    def see(self, event: Event) -> Level | None:
        """Checked after the model has answered, before the calls run."""
        if not isinstance(event, Turn) or not event.calls:
            return None
        calls = tuple(sorted(map(_key, event.calls)))
        self._sets.append(calls)
        self._tools.update(call.name for call in event.calls)
        most = max(event.calls, key=lambda call: self._tools[call.name]).name
        count, used = self._sets.count(calls), self._tools[most]
        if count >= STOP or used >= TOOL_STOP:
            return "stop"
        if count >= WARN and calls not in self._warned:
            self._warned.add(calls)
            return "warning"
        if used >= TOOL_WARN and most not in self._warned:
            self._warned.add(most)
            return "warning"
        return None


def _key(call: Call) -> str:
    args = call.args or {}
    salient = {name: args[name] for name in SALIENT if args.get(name) is not None}
    if not salient:
        return call.canonical
    return f"{call.name}:{json.dumps(salient, sort_keys=True, default=str)}"
