"""Gemini CLI: the rules of `LoopDetectionService`, with their default thresholds.

Source: https://github.com/google-gemini/gemini-cli, `packages/core/src/services/
loopDetectionService.ts` (a cycle of 1 to 5 calls, 5 times in a row, as of July 2026, where it
was one call before; chunks of 50 characters, 10 times, on average at most 250 characters apart,
at most 5 different texts between them), read as facts; the code here is our own. A new prompt
of the user starts over.

Not run: its third check, which asks a model from the 30th turn on. Text is checked a message at
a time, because a recording doesn't hold the stream's chunks; messages with code fences are
skipped, as the source skips code.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import pairwise

from sentry_langgraph.bench.peers.events import Call, Event, Level, Turn, UserText

REPEATS = 5
LONGEST_CYCLE = 5
CHUNK = 50
SAME_CHUNKS = 10
APART = 5 * CHUNK
HISTORY = 5_000


class GeminiCli:
    """The turn is stopped and the loop reported."""

    def __init__(self) -> None:
        self._keys: deque[str] = deque(maxlen=REPEATS * LONGEST_CYCLE)
        self._detected = False

    def see(self, event: Event) -> Level | None:
        """Checked at each call and each text of the agent."""
        if isinstance(event, UserText):
            self._keys.clear()
            self._detected = False
        if not isinstance(event, Turn) or self._detected:
            return None
        looping = _chants(event.text)
        for call in event.calls:
            looping = self._repeats(call) or looping
        self._detected = looping
        return "stop" if looping else None

    def _repeats(self, call: Call) -> bool:
        # the source doesn't sort the arguments
        body = call.raw if call.args is None else json.dumps(call.args)
        self._keys.append(f"{call.name}:{body}")
        keys = list(self._keys)
        return any(
            len(keys) >= period * REPEATS and keys[-period:] * REPEATS == keys[-period * REPEATS :]
            for period in range(1, LONGEST_CYCLE + 1)
        )


def _chants(text: str) -> bool:
    text = text[-HISTORY:]
    windows = [text[start : start + CHUNK] for start in range(len(text) - CHUNK + 1)]
    if "```" in text or len(set(windows)) > len(windows) - SAME_CHUNKS + 1:
        return False
    places: dict[str, list[int]] = {}
    for place, chunk in enumerate(windows):
        found = places.setdefault(chunk, [])
        found.append(place)
        if len(found) >= SAME_CHUNKS and _is_loop(text, found[-SAME_CHUNKS:]):
            return True
    return False


def _is_loop(text: str, places: list[int]) -> bool:
    if (places[-1] - places[0]) / (SAME_CHUNKS - 1) > APART:
        return False
    between = {text[a:b] for a, b in pairwise(places)}
    return len(between) <= SAME_CHUNKS // 2
