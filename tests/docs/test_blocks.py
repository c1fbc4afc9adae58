"""Every code block in the README and in `docs/` does what the page says."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.blocks import KNOWN, Page, blocks_of, check_output, rewrite

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """No block reaches the network: addresses that something tried to reach."""
    tried: list[Any] = []
    connect = socket.socket.connect

    def local_only(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            tried.append(address)
            raise OSError("the tests of the pages run offline")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local_only)
    return tried


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_blocks_run(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    offline: list[Any],
    request: pytest.FixtureRequest,
) -> None:
    """Every block of a page runs offline, without a key, and prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    blocks = blocks_of(path)
    page = Page(tmp_path, update=request.config.getoption("write_snapshots"))
    try:
        for block in blocks:
            page.run(block)
        if page.changed:
            rewrite(path, blocks, page.changed)
    finally:
        for block in blocks:
            if block.language == "python" and block.title:
                sys.modules.pop(Path(block.title).stem, None)
    assert not offline


def test_every_language_is_known() -> None:
    """A block whose language has no rule can't slip through unread."""
    languages = {block.language for path in PAGES for block in blocks_of(path)}
    assert languages <= KNOWN


def test_outputs_are_compared() -> None:
    """A `…` line stands for any lines, random ids may differ, and nothing else may."""
    check_output("a msg_0123456789abcdef\nb\nc\n", "a msg_fedcba9876543210\n…\nc", "here")
    with pytest.raises(AssertionError, match="here shows"):
        check_output("a\nb\n", "a", "here")
    with pytest.raises(AssertionError, match="here shows"):
        check_output("a\nb\n", "…\nc", "here")


def test_blocks_are_found(tmp_path: Path) -> None:
    """Indented fences, titles and info words are read; an open fence is an error."""
    page = tmp_path / "page.md"
    page.write_text('1. x\n   ```python run title="a/b.py"\n   x = 1\n   ```\n', encoding="utf-8")
    (block,) = blocks_of(page)
    assert (block.language, block.words, block.title) == ("python", {"run"}, "a/b.py")
    assert (block.line, block.text) == (2, "x = 1\n")
    page.write_text("```python\nx = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="never closed"):
        blocks_of(page)


def test_outputs_are_written_anew(tmp_path: Path) -> None:
    """Only the output that differs is replaced, whatever its length."""
    source = tmp_path / "page.md"
    text = "a\n```python\nprint(1)\nprint(2)\n```\n```text output\n{}\n```\nb\n"
    source.write_text(text.format("7\n8\n9"), encoding="utf-8")
    page, blocks = Page(tmp_path, update=True), blocks_of(source)
    for block in blocks:
        page.run(block)
    rewrite(source, blocks, page.changed)
    assert source.read_text(encoding="utf-8") == text.format("1\n2")


def test_blocks_that_fail_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that raises, settings with an unknown key and a wrong output are all failures."""
    monkeypatch.chdir(tmp_path)
    wrong = {
        "```python\nassert False\n```\n": AssertionError,
        "```yaml\nmodus: active\n```\n": ValueError,
        "```python\nprint(1)\n```\n```text output\n2\n```\n": AssertionError,
        "```console\n$ sentry fly\n```\n": AssertionError,
        "```console run\n$ sentry validate missing.yaml\n```\n": AssertionError,
        "```bash\nls\n```\n": ValueError,
    }
    for text, error in wrong.items():
        source = tmp_path / "page.md"
        source.write_text(text, encoding="utf-8")
        page = Page(tmp_path)
        *before, last = blocks_of(source)
        for block in before:
            page.run(block)
        with pytest.raises(error):
            page.run(last)
