"""Whether a text says why something was not done."""

from __future__ import annotations

import re

_IMPOSSIBLE = re.compile(
    r"\b(?:cannot|can't|can’t|could(?: not|n't|n’t)|unable|not able|not possible|impossible|"
    r"no longer|not (?:available|allowed|permitted|found|eligible|supported)|"
    r"do(?:es)?(?: not|n't|n’t) (?:exist|have|allow|support)|"
    r"there (?:is|are|was|were) no|no such|failed|denied|declined|refused|sorry|unfortunately)\b",
    re.IGNORECASE,
)

_QUESTIONS = re.compile(r"[^.!?\n]*\?")
_COURTESY = re.compile(
    r"\b(?:anything else|something else|any other|help you|be of help|further assist\w*)\b",
    re.IGNORECASE,
)


def gives_reason(text: str) -> bool:
    """Whether a final message says why something was not done, or asks the user."""
    end = text[-1000:]
    asks = "?" in end and any(
        not _COURTESY.search(question) for question in _QUESTIONS.findall(text[-1000:])
    )
    return asks or bool(_IMPOSSIBLE.search(text[-4_000:]))
