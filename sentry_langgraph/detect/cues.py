"""Words that have to be there before a pattern is worth a look."""

from __future__ import annotations

from collections.abc import Iterable


def has_any(cues: Iterable[str], text: str) -> bool:
    """Whether one of `cues` stands in `text`."""
    for cue in cues:  # noqa: SIM110 - a generator takes three times as long
        if cue in text:
            return True
    return False
