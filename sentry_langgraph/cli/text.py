"""Lines for a terminal: nothing in them that a terminal would obey."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text


def console(*, error: bool = False) -> Console:
    """A console that neither wraps lines nor reads markup."""
    return Console(stderr=error, soft_wrap=True, markup=False, highlight=False, emoji=False)


def plain(text: str) -> str:
    """The text with line breaks, control characters and half characters as escapes."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of rows below each other, made plain and never cut."""
    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def styled(text: str, style: str) -> Text:
    """The text, made plain, in a style."""
    return Text(plain(text), style=style)
