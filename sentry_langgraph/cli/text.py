"""Lines for a terminal: nothing in them that a terminal would obey."""

from __future__ import annotations

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


def styled(text: str, style: str) -> Text:
    """The text, made plain, in a style."""
    return Text(plain(text), style=style)
