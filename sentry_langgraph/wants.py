"""Whether a request asks for a change at all, as far as its words say it.

Only a request that is plainly a question or a look-up counts as one that asks for none. In doubt
it may ask for a change: nothing is kept from being done by this alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

_READ = 4_000
"""Characters of a request that are read, from its end: what is asked for stands late."""

_VERBS = (
    "accept activat add adjust allocat apply appli approv archiv arrang assign attach block buy "
    "cancel chang clear clos confirm connect convert correct creat deactivat delay delet deploy "
    "disabl discard downgrad drop edit enabl exchang execut extend fix giv grant hold increas "
    "insert install invit keep lower mak mark merg mov modify modifi notify notifi paus pay "
    "postpon prolong publish purchas push put rais rebook reschedul reactivat reduc refund refuel "
    "register reject releas remov renam renew replac reserv reset resolv restart restor resum "
    "return revok run sav schedul send set ship start stop submit subscrib suspend switch tak "
    "terminat transfer turn uninstall unlock unsubscrib updat upgrad upload want need wish "
    "withdraw writ"
)
_CHANGES = re.compile(
    rf"\b(?:(?:{'|'.join(_VERBS.split())})(?:e|es|ed|ing|s|d|t?ting|ing)?"
    r"|open (?:an?|up)|book (?:an?|me|us)|order (?:an?|me|us|some)|would like|note that"
    r"|let \w+ have)\b",
    re.IGNORECASE,
)
_LOOKS_UP = re.compile(
    r"\?|(?:^|[.!\n]\s*)(?:please\s+)?(?:tell|show|list|find|look up|check|count|name|say|give me|"
    r"what|which|who|whose|when|where|why|how|is|are|was|were|does|do|did|has|have|can you tell)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def wants_change(request: str) -> bool:
    """Whether a request may ask for a change; False where it plainly only asks to know."""
    text = request[-_READ:]
    return bool(_CHANGES.search(text)) or not _LOOKS_UP.search(text)
