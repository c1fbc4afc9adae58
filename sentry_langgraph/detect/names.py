"""The tool that a wrong name probably means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[.:/]|__")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is a spelling of, or None where none is close.

    Letter case, surrounding space and a prefix such as `functions.` are looked through.
    """
    names = {_plain(candidate): candidate for candidate in known}
    for form in (name, _SEPARATORS.split(name.strip())[-1]):
        if (plain := _plain(form)) and plain in names:
            return names[plain]
    close = difflib.get_close_matches(_plain(name), names, n=1, cutoff=0.7)
    return names[close[0]] if close else None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())
