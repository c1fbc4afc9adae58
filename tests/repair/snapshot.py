"""Snapshots of texts: one readable file, compared exactly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check(name: str, texts: Mapping[str, str], *, write: bool) -> None:
    """Compare `texts` with the file, or write it anew.

    Args:
        name: The file's name without its ending.
        texts: The texts by their heading.
        write: Whether to write instead of comparing.
    """
    made = "\n\n".join(f"=== {heading}\n{text}" for heading, text in texts.items()) + "\n"
    path = FOLDER / f"{name}.txt"
    if write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8"), f"{path}: run pytest --update-snapshots"
