"""Whether a tool reads or changes, by its name: the last resort after options and MCP hints."""

from __future__ import annotations

import re

_READS = frozenset(
    "get list search find read fetch query lookup look check view show describe count browse "
    "retrieve inspect calculate compute compare validate verify select ls cat grep head status "
    "peek scan summarize forecast estimate preview explain think".split()
)
_CHANGES = frozenset(
    "create update delete remove set add send cancel book modify write edit insert put post "
    "patch move rename copy submit apply approve reject pay refund return exchange transfer "
    "enable disable start stop reset restart reboot deploy publish upload install uninstall "
    "assign schedule order buy purchase make close open_ticket grant revoke toggle refuel "
    "resume suspend replace commit push merge drop truncate save store register change renew "
    "extend postpone reschedule reserve".split()
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def reads_by_name(name: str) -> bool | None:
    """True for a look-up, False for a change, None where the name says neither.

    The first word that is a known verb decides, so `get_update` reads and `update_get` changes.
    """
    for word in _WORDS.findall(name):
        lower = word.lower()
        if lower in _READS:
            return True
        if lower in _CHANGES:
            return False
    return None
