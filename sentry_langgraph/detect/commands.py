"""Whether a command reads or changes: a small classification of SQL and shell.

It says nothing where it isn't sure. Quoted text is left out, so a pattern that names a command
decides nothing.
"""

from __future__ import annotations

import re

_LONGEST = 2_000

_SQL_READ = re.compile(
    r"select\b.*\bfrom\b|select\s+\S+\Z|with\b.*\bselect\b|values\s*\(|"
    r"show\s+(?:full\s+)?(?:tables|databases|schemas|columns|fields|index|indexes|create|grants|"
    r"variables|status|warnings|triggers|views)\b|desc(?:ribe)?\s+\S+\Z|explain\s+(?:select|with)\b",
    re.DOTALL,
)
_SQL_CHANGE = re.compile(
    r"(?:insert\s+(?:or\s+\w+\s+)?|replace\s+|merge\s+)into\b|delete\s+from\b|"
    r"update\b.*\bset\b|(?:drop|alter|create|truncate)\s+(?:or\s+replace\s+)?"
    r"(?:temp\s+|temporary\s+|unique\s+)?(?:table|view|index|database|schema|trigger|function|"
    r"procedure|sequence|user|role)\b|(?:grant|revoke)\b.*\b(?:to|from)\b",
    re.DOTALL,
)
_SQL_DOUBT = re.compile(r"\b(?:insert|update|delete|drop|alter|create|merge|into|analyze)\b")

_READS = frozenset(
    "ls cat grep egrep fgrep zgrep rg ag head tail find fd wc pwd echo printf sort uniq cut awk "
    "diff cmp comm stat file du df tree which whereis type whoami id who date cal env printenv ps "
    "pgrep history man less more tr nl od xxd hexdump strings md5sum sha1sum sha256sum basename "
    "dirname realpath readlink uname hostname free uptime lsof ss netstat dig host nslookup ping "
    "locate jq yq column paste join expr seq test true false cd export set unset sed tac rev fold "
    "bind".split()
)
_CHANGES = frozenset(
    "rm mv cp mkdir rmdir touch chmod chown chgrp ln tee dd install apt apt-get yum dnf apk brew "
    "pip pip3 npm yarn make kill pkill killall truncate shred tar unzip gunzip gzip zip mkfifo "
    "useradd usermod passwd mount umount patch split reboot shutdown systemctl service".split()
)
_PREFIXES = frozenset("sudo time nohup env xargs exec command then do else ! ( {".split())
_GIT_READS = frozenset("status log diff show blame grep ls-files ls-tree rev-parse".split())
_GIT_CHANGES = frozenset(
    "add commit push pull checkout switch reset restore rm mv merge rebase clone init stash tag "
    "cherry-pick revert clean apply".split()
)

_FENCE = re.compile(r"\A\s*(?:```\w*\s|`|\$ |\w+\[(?=[a-zA-Z]))")
_COMMENT = re.compile(r"--[^\n]*|/\*[^*]*\*/")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_HARMLESS = re.compile(r"\d?>&\d|[\d&]?>\s*/dev/null")
_PARTS = re.compile(r"\|\||&&|[|;\n&]|\$\(|<\(|[`)\]]")
_ASSIGNED = re.compile(r"\A\w+=\S*\Z")


def reads_by_command(text: str) -> bool | None:
    """True for a command that only reads, False for one that changes, None where unclear."""
    if len(text) > _LONGEST:
        return None
    text = _FENCE.sub("", text)
    said = reads_by_sql(text)
    return _shell(text) if said is None else said


def reads_by_sql(text: str) -> bool | None:
    """As `reads_by_command`, for statements of SQL only."""
    if len(text) > _LONGEST:
        return None
    bare = _QUOTED.sub("''", _COMMENT.sub(" ", text)).lower()
    verdicts = [_statement(part) for part in bare.split(";") if part.strip(" \n\t\r`)]")]
    return _together(verdicts)


def _statement(text: str) -> bool | None:
    statement = text.strip(" \n\t\r`(])")
    if _SQL_READ.match(statement):
        return None if _SQL_DOUBT.search(statement) else True
    return False if _SQL_CHANGE.match(statement) else None


def _shell(text: str) -> bool | None:
    bare = _HARMLESS.sub("", _QUOTED.sub("''", text))
    if ">" in bare.replace("->", "").replace("=>", ""):
        return False
    verdicts = [_command(part.split()) for part in _PARTS.split(bare) if part.strip()]
    return _together(verdicts)


def _command(words: list[str]) -> bool | None:
    while words and (words[0] in _PREFIXES or _ASSIGNED.match(words[0])):
        words = words[1:]
    if not words:
        return True
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "git":
        verb = next((word for word in rest if not word.startswith("-")), "")
        return True if verb in _GIT_READS else False if verb in _GIT_CHANGES else None
    if name == "sed" and any(word.startswith(("-i", "--in-place")) for word in rest):
        return False
    if name in {"find", "fd"}:
        return _found(rest)
    return True if name in _READS else False if name in _CHANGES else None


def _found(rest: list[str]) -> bool | None:
    if "-delete" in rest:
        return False
    for flag in ("-exec", "-execdir", "-ok"):
        if flag in rest:
            return _command(rest[rest.index(flag) + 1 :])
    return True


def _together(verdicts: list[bool | None]) -> bool | None:
    """One change makes a change of the whole, one unclear part makes it unclear."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True
