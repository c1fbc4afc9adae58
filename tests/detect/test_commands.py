"""What a command does, as far as its text tells."""

from __future__ import annotations

import pytest
from builders import call, tool
from hypothesis import given
from strategies import TEXTS

from sentry_langgraph.detect.access import Access, access_of
from sentry_langgraph.detect.commands import reads_by_command, reads_by_sql


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("SELECT name FROM users WHERE id = 3", True),
        ("select 'drop table x' from notes; show tables;", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("```sql\nDESCRIBE ship\n```", True),
        ("execute[SHOW TABLES]", True),
        ("-- look first\nSELECT 1", True),
        ("INSERT INTO t VALUES (1)", False),
        ("update t set a = 1", False),
        ("SELECT 1; DROP TABLE t", False),
        ("SELECT * INTO backup FROM t", None),
        ("EXPLAIN ANALYZE DELETE FROM t", None),
        ("ls -la /tmp | grep foo | wc -l", True),
        ("cat a.txt 2>/dev/null", True),
        ("grep -rn 'rm -rf' src 2>&1 | head", True),
        ("find . -name '*.py' -exec grep -l x {} +", True),
        ("sudo /bin/ls", True),
        ("LANG=C sort a", True),
        ("git -C repo status", None),
        ("git log --oneline", True),
        ("git commit -m x", False),
        ("sed -n 1,5p a", True),
        ("sed -i s/a/b/ a", False),
        ("echo hi > a", False),
        ("cat a >> b", False),
        ("ls && rm -r a", False),
        ("find . -delete", False),
        ("find . -exec rm {} +", False),
        ("echo $(touch a)", False),
        ("python build.py", None),
        ("cat a | python -", None),
        ("for f in *; do cat $f; done", None),
        ("What is this?", None),
        ("", None),
        ("ls " + "a" * 3_000, None),
    ],
)
def test_a_command_reads_changes_or_is_unclear(command: str, reads: bool | None) -> None:
    """One change makes a change of the whole; what isn't known makes it unclear."""
    assert reads_by_command(command) is reads


@given(TEXTS)
def test_any_text_is_read(text: str) -> None:
    """A strange command is unclear, and never an error."""
    assert reads_by_command(text) in {True, False, None}
    assert reads_by_sql(text) in {True, False, None}


@pytest.mark.parametrize(
    ("spec", "args", "access"),
    [
        (tool("run", read_only=True), {"command": "rm a"}, Access(True, "configuration")),
        (tool("run"), {"command": "rm a"}, Access(False, "command")),
        (tool("run"), {"cmd": "ls", "timeout": 3}, Access(True, "command")),
        (tool("ask"), {"query": "SELECT a FROM b"}, Access(True, "command")),
        (tool("ask"), {"query": "delete my account"}, Access(None, "")),
        (tool("ask"), {"query": "select a lamp for me"}, Access(None, "")),
        (tool("ask"), {"query": "show me the way"}, Access(None, "")),
        (tool("run"), {"command": 3}, Access(None, "")),
        (tool("run"), {}, Access(None, "")),
    ],
)
def test_what_a_call_does(spec: object, args: dict[str, object], access: Access) -> None:
    """The configuration decides, then the command; a search text is no command."""
    assert access_of(call("run", **args), spec) == access  # type: ignore[arg-type]
