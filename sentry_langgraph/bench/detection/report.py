"""All runs of a directory, watched once, and every figure of them."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import sentry_langgraph
from sentry_langgraph.bench.detection.goals import goals
from sentry_langgraph.bench.detection.judged import JudgedScore, judged
from sentry_langgraph.bench.detection.people import (
    NEAR,
    PeopleScore,
    PointerScore,
    people,
    pointed,
    read_pointers,
)
from sentry_langgraph.bench.detection.score import ALL_OF, SourceScore, score
from sentry_langgraph.bench.detection.sweep import variants
from sentry_langgraph.bench.detection.watch import Progress, Watched, Watcher
from sentry_langgraph.bench.peers import Lineup, lineup
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.judge import Judges
from sentry_langgraph.replay.lines import opened
from sentry_langgraph.replay.read import Format, read_runs
from sentry_langgraph.replay.recording import RecordingError

POINTERS = "instances.jsonl"
"""The file of pointers to clear cases, where the directory has one."""

METHOD = (
    "Every run is replayed message by message: a detector sees what the gate would have seen, "
    "and nothing of what comes after. The recording goes on as it was recorded.",
    "Advised counts every soft finding that would act, held those that would keep the action "
    "from running; refused are invalid calls. Cooldowns and budgets are not applied, so the "
    "shares of flagged runs are upper bounds.",
    f"A label of people counts as caught where we report the same label at its step or up to "
    f"{NEAR} messages of the agent before or after.",
    "Shares have Wilson's 95 % interval, medians that of the bootstrap, rates one that takes "
    "runs as the sample. Sources are never pooled; `all of …` is a file that holds the domains "
    "of one benchmark.",
)
"""How the figures are made."""

NOT_SHOWN = (
    "Whether a repair helps: a recording cannot hear.",
    "How well rules do on other agents: thresholds were chosen on the development split of "
    "these very sources.",
    "Recall on meaning: people's labels are few, from one benchmark, and most of them name what "
    "no rule can see.",
    "A run that hit the step limit is a loop by its outcome; nobody has read and labelled each.",
)
"""What the figures do not show."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one call of the benchmark found.

    Attributes:
        sources: Figures by source.
        people: Recall on people's labels.
        pointers: What was said near clear cases.
        lineup: Who took part.
        config: The settings, as plain JSON.
        data: What was read: directory, files, runs, limits.
        date: When, ISO 8601, UTC.
        judged: What a judge added, where one was asked.
    """

    sources: tuple[SourceScore, ...]
    people: tuple[PeopleScore, ...]
    pointers: tuple[PointerScore, ...]
    lineup: Lineup
    config: Mapping[str, Any]
    data: Mapping[str, Any]
    date: str
    judged: tuple[JudgedScore, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, with numerators and denominators."""
        return {
            "date": self.date,
            "versions": versions(),
            "config": dict(self.config),
            "data": dict(self.data),
            "method": list(METHOD),
            "not_shown": list(NOT_SHOWN),
            "peers": {
                peer.name: {
                    "source": peer.source,
                    "version": self.lineup.versions.get(peer.package) if peer.package else None,
                    "levels": list(peer.levels),
                }
                for peer in self.lineup.peers
            },
            "not_run": dict(self.lineup.missing),
            "goals": [plain(goal) for goal in goals(self.sources)],
            "sources": [plain(source) for source in self.sources],
            "people": [plain(one) for one in self.people],
            "pointers": [{**plain(one), "right": one.right} for one in self.pointers],
            "judged": [plain(one) for one in self.judged],
        }


def measure(
    directory: Path,
    config: SentryConfig | None = None,
    *,
    sources: Sequence[str] = (),
    limit: int | None = None,
    sweep: bool = False,
    peers: bool = True,
    judges: Judges | None = None,
    judge_runs: int | None = None,
    on_progress: Progress | None = None,
    on_asked: Progress | None = None,
) -> Report:
    """Watch the runs of a directory and count.

    Args:
        directory: Holds `*.jsonl` or `*.jsonl.gz` in the common trace format, and
            `toolsets.json` and `instances.jsonl` where there are any.
        config: The settings; the defaults where None.
        sources: Only runs whose source begins with one of these.
        limit: At most so many runs of each file.
        sweep: Whether every threshold is varied.
        peers: Whether the rules of others run too.
        judges: Models that are asked too, about sources that people have labelled.
        judge_runs: They are asked about at most so many runs of a source.
        on_progress: Is told how far it is.
        on_asked: Is told how many of the judge's runs are done.

    Raises:
        RecordingError: There are no such files, or one can't be read.
    """
    config = config or SentryConfig()
    ready = lineup() if peers else Lineup((), {}, {})
    watcher = Watcher(config, ready.peers, tuple(variants(config)) if sweep else ())
    files = recordings(directory)
    runs = list(_watched(watcher, files, tuple(sources), limit, on_progress))
    if not runs:
        raise RecordingError(f"{directory}: no run of the sources asked for: {', '.join(sources)}")
    groups = grouped(runs)
    alone = {name: group for name, group in groups.items() if not name.startswith(ALL_OF)}
    asked: tuple[JudgedScore, ...] = ()
    if judges is not None:
        asked = tuple(
            judged(alone, directory, config, judges, limit=judge_runs, on_progress=on_asked)
        )
    return Report(
        sources=tuple(score(name, group, ready.peers) for name, group in groups.items()),
        people=tuple(one for name, group in alone.items() for one in people(name, group)),
        pointers=tuple(pointed(read_pointers(directory / POINTERS), runs)),
        lineup=ready,
        config=config.model_dump(mode="json"),
        data={
            "files": [path.name for path in files],
            "runs": len(runs),
            "sources": list(sources),
            "limit": limit,
        },
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        judged=asked,
    )


def grouped(runs: Iterable[Watched]) -> dict[str, list[Watched]]:
    """The runs by source; where one file holds several sources, that file as a whole too.

    A file holds the domains of one benchmark. Runs of different files are never put together.
    """
    sources: dict[str, list[Watched]] = {}
    files: dict[str, list[Watched]] = {}
    for run in runs:
        sources.setdefault(run.source, []).append(run)
        files.setdefault(run.file, []).append(run)
    found = dict(sorted(sources.items()))
    for file, group in sorted(files.items()):
        if len({run.source for run in group}) > 1:
            found[f"{ALL_OF}{file.partition('.')[0]}"] = group
    return found


def recordings(directory: Path) -> tuple[Path, ...]:
    """The files of runs in a directory, in the order of their names.

    Raises:
        RecordingError: There are none.
    """
    found = {
        path
        for pattern in ("*.jsonl", "*.jsonl.gz")
        for path in directory.glob(pattern)
        if path.name != POINTERS
    }
    if not found:
        raise RecordingError(
            f"{directory}: there are no runs; expected *.jsonl or *.jsonl.gz in the trace format"
        )
    return tuple(sorted(found))


def _watched(
    watcher: Watcher,
    files: Sequence[Path],
    sources: Sequence[str],
    limit: int | None,
    on_progress: Progress | None,
) -> Iterator[Watched]:
    total = sum(map(_count, files)) if on_progress is not None else 0
    done = 0
    for path in files:
        before, taken = done, 0
        for recording in read_runs(path, format=Format.TRACE):
            done += 1
            if on_progress is not None:
                on_progress(done, total)
            if sources and not recording.source.startswith(tuple(sources)):
                continue
            if limit is not None and taken >= limit:
                break
            taken += 1
            yield watcher.watch(recording, path.name)
        if on_progress is not None:
            done = before + _count(path)
            on_progress(done, total)


@cache
def _count(path: Path) -> int:
    with opened(path) as (lines, _):
        return sum(bool(line.strip()) for line in lines)


def versions() -> dict[str, str]:
    """What it was measured with."""
    return {
        "sentry_langgraph": sentry_langgraph.__version__,
        "python": platform.python_version(),
    }


def plain(value: Any) -> Any:
    """Records as plain JSON."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return round(value, 5) if isinstance(value, float) else value
