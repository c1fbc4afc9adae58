"""Files of recorded runs: one JSON value a line, or one JSON document, plain or gzipped."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import orjson

from sentry_langgraph.replay.recording import RecordingError

_GZIP = b"\x1f\x8b"
_OPENS = (b"{", b"[")
_BUFFER = 1 << 20
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON value of a file.

    Attributes:
        where: File and line.
        text: The JSON, where it is a line of its own.
        value: The value, where it is an item of a JSON document.
        read: How many bytes of the file were read by then.
    """

    where: str
    text: bytes = b""
    value: Any = None
    read: int = 0

    def load(self) -> Any:
        """The value.

        Raises:
            RecordingError: The line is not JSON.
        """
        return self.value if not self.text else parse(self.text, self.where)


def read_lines(path: Path) -> Iterator[Line]:
    """The JSON values of a file, one at a time.

    A file whose first line is a complete JSON value is read line by line, so memory depends on
    the longest line only. Any other is one JSON document, and is read as a whole: the items of
    a list, or the one object.

    Raises:
        RecordingError: The file can't be read, or is neither.
    """
    with opened(path) as (stream, file):
        lines = _filled(stream)
        number, first = next(lines, (0, b""))
        if not first:
            raise RecordingError(f"{path}: the file is empty; expected one run a line, as JSON")
        if not first.startswith(_OPENS):
            shown = first[:20].decode("utf-8", "replace")
            raise RecordingError(
                f"{path}:{number}: expected JSON, one run a line; the line begins with {shown!r}"
            )
        after, second = next(lines, (0, b""))
        if _parses(second) or (_parses(first) and (second or not _is_list_of_runs(first))):
            yield Line(f"{path}:{number}", first)
            if second:
                yield Line(f"{path}:{after}", second)
            for place, line in lines:
                yield Line(f"{path}:{place}", line, read=file.tell())
        else:
            yield from _document(path, b"\n".join([first, second, stream.read()]), number)


def parse(text: bytes, where: str) -> Any:
    """A JSON value, with what Python's reader accepts beyond the standard.

    Raises:
        RecordingError: It is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{where}: not JSON: {error}") from error


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The bytes of a file, unpacked where it is gzipped, and the file itself.

    Raises:
        RecordingError: It can't be read.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            if packed:
                # a line at a time out of Python's own reader costs as much as unpacking it
                with BufferedReader(gzip.open(file, "rb"), _BUFFER) as unpacked:
                    yield unpacked, file
            else:
                yield file, file
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordingError(f"{path}: can't be read: {reason}") from error


def _filled(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers."""
    for number, line in enumerate(stream, 1):
        if stripped := line.removeprefix(_MARK).strip():
            yield number, stripped


def _parses(line: bytes) -> bool:
    if not line.startswith(_OPENS):
        return False
    try:
        parse(line, "")
    except RecordingError:
        return False
    return True


def _document(path: Path, text: bytes, number: int) -> Iterator[Line]:
    value = parse(text, f"{path}:{number}")
    if isinstance(value, list) and not _is_run(value):
        for place, one in enumerate(value):
            yield Line(f"{path}[{place}]", value=one)
    else:
        yield Line(f"{path}:{number}", value=value)


def _is_list_of_runs(line: bytes) -> bool:
    return line.startswith(b"[") and not _is_run(parse(line, ""))


def _is_run(value: list[Any]) -> bool:
    """Whether a list is one run, a list of messages, and not a list of runs."""
    first = value[0] if value else None
    if isinstance(first, list):
        return bool(first) and isinstance(first[0], str)
    return isinstance(first, dict) and not ("messages" in first or "run_type" in first)
