"""browser-use: the nudges of `ActionLoopDetector`, with their default thresholds.

Source: https://github.com/browser-use/browser-use, `browser_use/agent/views.py` and
`service.py` (the last 20 actions; a nudge at 5, 8 and 12 similar ones, said again at each step
while it lasts; `wait`, `done` and `go_back` don't count), read as facts; the code here is our
own. It never stops an action. A search is compared by its words, a click by its index, other
actions by name and arguments without nulls.

Not run: the nudge after 5 steps on an unchanged page, because these runs have no page.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque

from sentry_langgraph.bench.peers.events import Call, Event, Level, Result, Turn

WINDOW = 20
NUDGE = 5
EXEMPT = frozenset({"wait", "done", "go_back"})


class BrowserUse:
    """A note to the model before its next step."""

    def __init__(self) -> None:
        self._recent: deque[str] = deque(maxlen=WINDOW)

    def see(self, event: Event) -> Level | None:
        """Recorded when the actions have run, said before the next step."""
        if isinstance(event, Turn):
            self._recent.extend(_key(call) for call in event.calls if call.name not in EXEMPT)
        if not isinstance(event, Result) or not event.last or not self._recent:
            return None
        most = max(Counter(self._recent).values())
        return "warning" if most >= NUDGE else None


def _key(call: Call) -> str:
    args = {name: value for name, value in (call.args or {}).items() if value is not None}
    match call.name:
        case "search":
            words = sorted(set(re.sub(r"[^\w\s]", " ", str(args.get("query", "")).lower()).split()))
            return f"search|{args.get('engine', 'google')}|{'|'.join(words)}"
        case "click":
            return f"click|{args.get('index')}"
        case "input":
            return f"input|{args.get('index')}|{str(args.get('text', '')).strip().lower()}"
        case "navigate":
            return f"navigate|{args.get('url', '')}"
        case "scroll":
            return f"scroll|{bool(args.get('down', True))}|{args.get('index')}"
    body = call.raw if call.args is None else json.dumps(args, sort_keys=True, default=str)
    return f"{call.name}|{body}"
