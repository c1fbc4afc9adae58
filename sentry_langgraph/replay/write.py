"""Reports of replay for other programs, written run by run: JSON, JSON lines, JUnit XML."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self
from xml.sax.saxutils import escape, quoteattr

from sentry_langgraph.replay.engine import Level, Replayed
from sentry_langgraph.replay.totals import VERSION, Totals, run_to_dict


class Writer(Protocol):
    """Takes runs as they come; the file is complete when it is closed."""

    def run(self, replayed: Replayed) -> None:
        """Take a run."""
        ...

    def problem(self, text: str) -> None:
        """Take a run that could not be read."""
        ...

    def close(self, totals: Totals) -> None:
        """Complete the file."""
        ...


class JsonLines:
    """One JSON object a line, with `kind`: `run`, `problem`, and `totals` last."""

    def __init__(self, stream: IO[str], *, details: bool = False) -> None:
        self._stream = stream
        self._details = details

    def run(self, replayed: Replayed) -> None:
        """Take a run."""
        self._line("run", run_to_dict(replayed, details=self._details))

    def problem(self, text: str) -> None:
        """Take a run that could not be read."""
        self._line("problem", {"message": text})

    def close(self, totals: Totals) -> None:
        """Write the sums."""
        self._line("totals", {"version": VERSION, **totals.to_dict()})

    def _line(self, kind: str, data: dict[str, Any]) -> None:
        self._stream.write(_json({"kind": kind, **data}) + "\n")


class JsonDocument:
    """One JSON object with `version`, `runs`, `problems` and `totals`."""

    def __init__(self, stream: IO[str], *, details: bool = False) -> None:
        self._stream = stream
        self._details = details
        self._problems: list[str] = []
        self._first = True
        stream.write(f'{{"version": {VERSION}, "runs": [')

    def run(self, replayed: Replayed) -> None:
        """Take a run."""
        data = _json(run_to_dict(replayed, details=self._details))
        self._stream.write(("\n" if self._first else ",\n") + data)
        self._first = False

    def problem(self, text: str) -> None:
        """Take a run that could not be read."""
        self._problems.append(text)

    def close(self, totals: Totals) -> None:
        """Write problems and sums."""
        problems = _json([{"message": text} for text in self._problems])
        sums = _json(totals.to_dict())
        self._stream.write(f'\n],\n"problems": {problems},\n"totals": {sums}}}\n')


class JUnit:
    """One test case a run, which fails where a finding reaches a level; for CI systems."""

    def __init__(self, stream: IO[str], fail_on: Level, *, details: bool = False) -> None:
        self._stream = stream
        self._fail_on = fail_on
        self._details = details
        # the counts stand before the cases: these wait in a file, and not in memory
        self._cases = tempfile.TemporaryFile(  # noqa: SIM115 - closed by `close`
            "w+", encoding="utf-8", errors="backslashreplace"
        )
        self._errors = 0

    def run(self, replayed: Replayed) -> None:
        """Take a run."""
        recording = replayed.recording
        suite = recording.source or "replay"
        failed = [hit for hit in replayed.hits if hit.level.rank >= self._fail_on.rank]
        self._cases.write(
            f"<testcase classname={_attribute(suite)} name={_attribute(recording.id)}"
        )
        if not failed:
            self._cases.write("/>\n")
            return
        worst = max(failed, key=lambda hit: hit.level.rank)
        lines = []
        for hit in failed:
            finding = hit.first
            named = f"{finding.label} ({finding.pattern})" if finding.pattern else finding.label
            line = f"{hit.level}: {named}, tool {finding.tool or '-'}, message {hit.position}"
            line += f", {hit.times} times" if hit.times > 1 else ""
            lines.append(f"{line}: {finding.detail}" if self._details else line)
        text = "\n".join([recording.where, *lines])
        self._cases.write(
            f"><failure type={_attribute(worst.first.label.value)} "
            f"message={_attribute(lines[failed.index(worst)])}>{_text(text)}</failure></testcase>\n"
        )

    def problem(self, text: str) -> None:
        """Take a run that could not be read."""
        self._errors += 1
        self._cases.write(
            f'<testcase classname="replay" name={_attribute(text.partition(": ")[0])}>'
            f"<error message={_attribute(text)}/></testcase>\n"
        )

    def close(self, totals: Totals) -> None:
        """Write the file."""
        tests, failures = totals.runs + self._errors, totals.reached(self._fail_on)
        counts = f'tests="{tests}" failures="{failures}" errors="{self._errors}"'
        self._stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._stream.write(f'<testsuites {counts}>\n<testsuite name="sentry replay" {counts}>\n')
        self._cases.seek(0)
        while part := self._cases.read(1 << 16):
            self._stream.write(part)
        self._cases.close()
        self._stream.write("</testsuite>\n</testsuites>\n")


class Reports:
    """All the reports that were asked for, as a context: files are closed at its end."""

    def __init__(self) -> None:
        self._writers: list[Writer] = []
        self._files: list[IO[str]] = []

    def open(self, path: Path) -> IO[str]:
        """A file for a report; what can't be encoded is escaped."""
        file = path.open("w", encoding="utf-8", errors="backslashreplace")
        self._files.append(file)
        return file

    def add(self, writer: Writer) -> None:
        """One more report."""
        self._writers.append(writer)

    def run(self, replayed: Replayed) -> None:
        """Take a run."""
        for writer in self._writers:
            writer.run(replayed)

    def problem(self, text: str) -> None:
        """Take a run that could not be read."""
        for writer in self._writers:
            writer.problem(text)

    def close(self, totals: Totals) -> None:
        """Complete the reports."""
        for writer in self._writers:
            writer.close(totals)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files:
            file.close()


def _json(data: Any) -> str:
    # plain ASCII: a name from a recording can't reach a terminal as a control character
    return json.dumps(data, default=str)


def _readable(text: str) -> str:
    """The text with everything that XML does not allow as escapes."""
    return "".join(
        one if one == "\n" or one.isprintable() else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


def _attribute(text: str) -> str:
    return quoteattr(_readable(text).replace("\n", " "))


def _text(text: str) -> str:
    return escape(_readable(text))
