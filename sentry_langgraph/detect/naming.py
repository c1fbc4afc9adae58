"""Whether a tool reads or changes, by its name: the last resort after options and MCP hints."""

from __future__ import annotations

import re

from sentry_langgraph.slots import NAME_WORDS

_READS = frozenset(
    "get list search find read fetch query lookup look check view show describe count browse "
    "retrieve inspect calculate compute compare validate verify select ls cat grep head tail "
    "status peek scan summarize summarise forecast estimate preview explain think has exists "
    "download watch monitor poll analyze analyse extract parse translate measure detect "
    "diff stat locate recall".split()
)
_CHANGES = frozenset(
    "create update delete remove set add send cancel book modify write edit insert put post "
    "patch move rename copy submit apply approve reject pay refund return exchange transfer "
    "enable disable start stop reset restart reboot deploy publish upload install uninstall "
    "assign schedule order buy purchase make close open_ticket grant revoke toggle refuel "
    "resume suspend replace commit push merge drop truncate save store register change "
    "append archive restore notify reply share invite subscribe unsubscribe lock unlock "
    "activate deactivate confirm accept decline terminate kill destroy clear purge erase "
    "upgrade downgrade renew redeem charge withdraw deposit ship void rollback revert undo "
    "link unlink attach detach import sync swap rebook configure mark escalate "
    "extend postpone reschedule reserve hold place allocate unassign pause block unblock lend "
    "borrow rent".split()
)
_NAMESPACES = re.compile(r"__|[./:]")


def words_of(name: str) -> list[str]:
    """The words of a tool's name, in lower case."""
    return [word.lower() for word in NAME_WORDS.findall(name)]


def reads_by_name(name: str) -> bool | None:
    """True for a look-up, False for a change, None where the name says neither.

    The first word that is a known verb decides, so `get_update` reads and `update_get` changes.
    Of a name with namespaces, as in `store.search` or `github__create_issue`, the last part that
    says something counts.
    """
    for part in reversed(_NAMESPACES.split(name)):
        for lower in words_of(part):
            if lower in _READS:
                return True
            if lower in _CHANGES:
                return False
    return None
