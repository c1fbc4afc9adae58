"""Where a setting stands: paths, dotted keys and lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""The way to a setting, such as `("detectors", 1, "hold_at")`."""

Lines: TypeAlias = Mapping[Path, int]
"""The line of each setting of a file, from 1."""

_PART = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


def dotted(path: Path) -> str:
    """A path as people write it: `detectors[1].hold_at`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def parsed(key: str) -> Path:
    """The path of a dotted key; the inverse of `dotted` for names without dots and brackets."""
    return tuple(int(index) if index else name for index, name in _PART.findall(key))


def line_of(path: Path, lines: Lines) -> int | None:
    """The line of a setting, or of the nearest thing around it that the file holds."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None
