"""Fenced code blocks of a page, and how each kind is run.

The word after the language says what happens beyond the usual:

| fence | what happens |
|---|---|
| `python` | runs, in order, in one namespace for the page |
| `python title="my.py"` | is saved as `my.py`, to be imported by later blocks |
| `yaml` | is loaded as settings; with a title it is saved too |
| `console run` | each line after `$ ` runs, and the other lines are its output |
| `console` | is not run: it installs something, serves, or takes long |
| `text output` | is what the block before it printed |
| `json`, `toml` | is parsed |
| `text`, `mermaid` | is for people only |

In outputs a `…` on a line of its own stands for any lines, and ids that are made at random
don't have to be the same. `pytest tests/docs --update-snapshots` writes outputs anew, but for
those with a `…`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sentry_langgraph.cli.app import COMMANDS
from sentry_langgraph.config import SentryConfig

KNOWN = frozenset({"python", "yaml", "console", "text", "json", "toml", "mermaid"})

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)$")
_TITLE = re.compile(r'title="([\w./-]+)"')
_RANDOM = re.compile(
    r"\b(msg_|call_)?[0-9a-f]{16,32}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block.

    Attributes:
        page: The file it stands in.
        line: The line of its opening fence, from 1.
        language: The first word of its info string.
        words: The words after it, without the title.
        title: The file name in `title="…"`, or None.
        text: What stands between the fences, without the indentation of the fence.
    """

    page: Path
    line: int
    language: str
    words: frozenset[str]
    title: str | None
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order.

    Raises:
        ValueError: A fence is never closed.
    """
    found: list[Block] = []
    opened: tuple[int, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence is not None:
                opened, body = (number, fence["indent"], fence["info"].strip()), []
            continue
        start, indent, info = opened
        if fence is not None and not fence["info"].strip() and fence["indent"] == indent:
            found.append(_block(page, start, info, "".join(f"{one}\n" for one in body)))
            opened = None
        else:
            body.append(line.removeprefix(indent))
    if opened is not None:
        raise ValueError(f"{page.name}:{opened[0]}: the fence is never closed")
    return found


def _block(page: Path, line: int, info: str, text: str) -> Block:
    title = _TITLE.search(info)
    language, *words = _TITLE.sub("", info).split() or [""]
    return Block(page, line, language, frozenset(words), title[1] if title else None, text)


class Page:
    """Runs the blocks of one page in a directory of its own, which is the current one.

    Args:
        directory: The directory; it has to be the working directory and on `sys.path`.
        update: Keep outputs that differ in `changed` instead of failing.
    """

    def __init__(self, directory: Path, *, update: bool = False) -> None:
        self._directory = directory
        self._update = update
        self._module = types.ModuleType("page")
        self.printed = ""
        self.changed: dict[int, str] = {}

    def run(self, block: Block) -> None:
        """Run one block.

        Raises:
            AssertionError: It doesn't print what the page says.
            ValueError: Its language is unknown.
        """
        if block.language not in KNOWN:
            raise ValueError(f"{block.place}: a block in {block.language!r}; known: {KNOWN}")
        getattr(self, f"_{block.language}")(block)

    def _python(self, block: Block) -> None:
        if block.title:
            self._save(block)
            compile(block.text, block.place, "exec")
            return
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self._module.__dict__)
        self.printed = printed.getvalue()

    def _yaml(self, block: Block) -> None:
        SentryConfig.from_yaml_text(block.text, block.place).pipeline()
        if block.title:
            self._save(block)

    def _console(self, block: Block) -> None:
        for command, expected in _commands(block.text):
            first, *rest = shlex.split(command, comments=True)
            if first == "sentry" and rest:
                assert rest[0] in COMMANDS, f"{block.place}: there is no `sentry {rest[0]}`"
            if "run" in block.words:
                self.printed = self._command(command, fails="fails" in block.words)
                check_output(self.printed, expected, block.place)

    def _command(self, command: str, *, fails: bool) -> str:
        first, *rest = shlex.split(command, comments=True)
        call = "validate_main" if first == "sentry-validate" else "main"
        assert first in {"sentry", "sentry-validate"}, f"only commands of ours run: {command}"
        start = (
            f"import sys; sys.argv[0] = 'sentry'; from sentry_langgraph.cli import {call} as m; m()"
        )
        done = subprocess.run(
            [sys.executable, "-c", start, *rest],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self._directory,
            env={
                **os.environ,
                "COLUMNS": "100",
                "NO_COLOR": "1",
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
        )
        assert (done.returncode != 0) is fails, f"`{command}` ended with {done.returncode}: {done}"
        return done.stdout

    def _text(self, block: Block) -> None:
        if "output" not in block.words:
            return
        try:
            check_output(self.printed, block.text, block.place)
        except AssertionError:
            if not self._update or "…\n" in block.text:
                raise
            self.changed[block.line] = self.printed.strip("\n")

    def _json(self, block: Block) -> None:
        json.loads(block.text)

    def _toml(self, block: Block) -> None:
        tomllib.loads(block.text)

    def _mermaid(self, block: Block) -> None:
        assert block.text.strip(), block.place

    def _save(self, block: Block) -> None:
        target = self._directory / str(block.title)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")


def rewrite(page: Path, blocks: Sequence[Block], changed: Mapping[int, str]) -> None:
    """Put other outputs into a page: texts by the line of the opening fence."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for block in reversed(blocks):
        if block.line in changed:
            end = block.line + block.text.count("\n")
            lines[block.line : end] = changed[block.line].split("\n")
    page.write_text("\n".join(lines), encoding="utf-8")


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that follows it."""
    command, output = "", []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(output)
            command, output = line[2:], []
        else:
            output.append(line)
    if command:
        yield command, "\n".join(output)


def check_output(printed: str, expected: str, place: str) -> None:
    """Whether `printed` is what a page shows.

    Raises:
        AssertionError: It is not; the message shows both.
    """
    shown, real = _lines(expected), _lines(printed)
    assert _fits(shown, real), f"{place} shows\n{expected}\nand what is printed is\n{printed}"


def _lines(text: str) -> list[str]:
    return [_RANDOM.sub("ID", line.rstrip()) for line in text.strip("\n").splitlines()]


def _fits(shown: Sequence[str], real: Sequence[str]) -> bool:
    if not shown:
        return not real
    if shown[0].strip() == "…":
        return any(_fits(shown[1:], real[start:]) for start in range(len(real) + 1))
    return bool(real) and shown[0] == real[0] and _fits(shown[1:], real[1:])
