"""Results in a file of JSON lines: what is done stays done, whatever ends the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from sentry_langgraph.bench.live.run import Result

Key: TypeAlias = tuple[str, str, str]
"""Domain, task and arm."""


def key_of(result: Result) -> Key:
    """What a result is of."""
    return result.domain, result.task, result.arm


class Store:
    """Results by domain, task and arm, in memory and in a file.

    The first line of the file holds the settings they were made with. Results of other settings
    are not mixed in: their file is kept under another name, and `note` says so.

    Args:
        path: The file; None keeps the results in memory only.
        settings: What the results depend on, plain JSON.

    Raises:
        OSError: The file can't be read or written.
        ValueError: The file is not one of results.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        self.done: dict[Key, Result] = {}
        self.note = ""
        self._path = path
        header = {"settings": dict(settings)}
        if path is None:
            return
        lines = _lines(path)
        if lines and lines[0] == header:
            self.done = {key_of(result): result for result in map(_result, lines[1:])}
            self.note = f"{len(self.done)} results of {path} are taken over" if self.done else ""
            _write(path, [header, *(result.to_dict() for result in self.done.values())])
            return
        if lines:
            if "settings" not in lines[0]:
                raise ValueError(f"{path} does not hold results of this benchmark")
            old = _free(path)
            path.replace(old)
            changed = ", ".join(_changed(lines[0]["settings"], header["settings"]))
            self.note = f"other settings ({changed}): starting anew; the old results are in {old}"
        _write(path, [header])

    def add(self, result: Result) -> None:
        """Keep a result."""
        self.done[key_of(result)] = result
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result.to_dict(), ensure_ascii=False) + "\n")


def _lines(path: Path) -> list[Any]:
    """The objects of a file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    found: list[Any] = []
    rows = path.read_text("utf-8").splitlines()
    for number, row in enumerate(rows, 1):
        try:
            found.append(json.loads(row))
        except ValueError as error:
            if number == len(rows) and found:
                break
            raise ValueError(f"{path}, line {number}: not JSON") from error
    return found


def _result(data: Mapping[str, Any]) -> Result:
    known = {field.name for field in fields(Result)}
    return Result(**{name: value for name, value in data.items() if name in known})


def _write(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def _free(path: Path) -> Path:
    number = 1
    while (old := path.with_name(f"{path.name}.old{number}")).exists():
        number += 1
    return old


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
