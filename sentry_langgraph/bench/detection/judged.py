"""What a judge adds to the rules: a language model, asked about runs that people have labelled.

It is asked where the gate would ask it, with the settings of the configuration, and what it
finds counts as the gate would count it. Runs without a label of people show its false alarms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sentry_langgraph import ledger
from sentry_langgraph.bench.detection.intervals import Share
from sentry_langgraph.bench.detection.people import PeopleScore, people
from sentry_langgraph.bench.detection.watch import Act, Found, Progress, Watched
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.decisions import Diagnose, SoftRepair
from sentry_langgraph.judge import Judges, Usage, diagnose, drive
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import TaskState, Trajectory
from sentry_langgraph.replay.catalogs import Catalogs
from sentry_langgraph.replay.prefixes import prefixes
from sentry_langgraph.replay.read import Format, read_runs
from sentry_langgraph.replay.recording import Recording

_DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class JudgedScore:
    """One source, by rules alone and with the judge, on the same runs.

    Attributes:
        source: The source.
        runs: Runs that the judge was asked about.
        alone: Recall on people's labels by rules alone.
        together: The same with what the judge found.
        flagged_alone: Runs without a label of people in which rules act.
        flagged_together: The same with what the judge found.
        outcomes: Requests by what came of them.
        tokens: Tokens of prompts and answers.
        estimated: Whether some of them are estimated from the characters.
        seconds: Time that was spent waiting.
    """

    source: str
    runs: int
    alone: tuple[PeopleScore, ...]
    together: tuple[PeopleScore, ...]
    flagged_alone: Share
    flagged_together: Share
    outcomes: Mapping[str, int]
    tokens: int
    estimated: bool
    seconds: float

    @property
    def requests(self) -> int:
        """How often the judge was asked."""
        return sum(self.outcomes.values())


@dataclass(frozen=True, slots=True)
class _Asked:
    run: Watched
    found: tuple[Found, ...]
    outcomes: Counter[str]
    usage: Usage


def judged(
    groups: Mapping[str, Sequence[Watched]],
    directory: Path,
    config: SentryConfig,
    judges: Judges,
    *,
    limit: int | None = None,
    on_progress: Progress | None = None,
) -> Iterator[JudgedScore]:
    """Ask the judge about the sources that people have labelled.

    Args:
        groups: The watched runs by source.
        directory: Where their files lie.
        config: The settings.
        judges: The models that are asked.
        limit: At most so many runs of each source: half of them labelled, those with labels that
            fit ours directly first, and half without a label.
        on_progress: Is told how many runs of how many are done.
    """
    chosen = {
        source: _chosen(group, limit)
        for source, group in groups.items()
        if any(run.annotations for run in group)
    }
    total, done = sum(map(len, chosen.values())), 0
    asking = _Asking(config, judges)
    for source, runs in chosen.items():
        asked: list[_Asked] = []
        for run, recording in _recorded(runs, directory):
            asked.append(asking.about(run, recording))
            done += 1
            if on_progress is not None:
                on_progress(done, total)
        yield _score(source, asked)


def _chosen(runs: Sequence[Watched], limit: int | None) -> list[Watched]:
    if limit is None:
        return list(runs)
    labelled = sorted((run for run in runs if run.annotations), key=_unfit)
    clean = [run for run in runs if not run.annotations]
    half = limit // 2
    return [*labelled[: limit - half], *_spread(clean, half)]


def _unfit(run: Watched) -> bool:
    """Whether no label of a run fits ours directly."""
    return all(note.get("map") != _DIRECT for note in run.annotations)


def _spread(runs: Sequence[Watched], count: int) -> list[Watched]:
    """So many of the runs, evenly over all of them."""
    taken = min(count, len(runs))
    return [runs[place * len(runs) // taken] for place in range(taken)]


def _recorded(runs: Sequence[Watched], directory: Path) -> Iterator[tuple[Watched, Recording]]:
    for file in dict.fromkeys(run.file for run in runs):
        wanted = {run.id: run for run in runs if run.file == file}
        for recording in read_runs(directory / file, format=Format.TRACE):
            if recording.id in wanted:
                yield wanted[recording.id], recording


class _Asking:
    def __init__(self, config: SentryConfig, judges: Judges) -> None:
        self._config = config
        self._judges = judges
        self._catalogs = Catalogs(config.tools)

    def about(self, run: Watched, recording: Recording) -> _Asked:
        """Ask about one run, where the gate would."""
        catalog = self._catalogs.of(recording)
        pipeline = self._config.pipeline(catalog, judge=True)
        found: list[Found] = []
        outcomes: Counter[str] = Counter()
        usage = Usage()
        task, state = "", TaskState()
        for prefix in prefixes(recording, catalog, pipeline.healthy_depth):
            seen = prefix.trajectory
            if seen.task.id != task:
                task, state = seen.task.id, TaskState()
            seen = replace(seen, state=state)
            due = _due(pipeline, seen)
            if due is None:
                continue
            made = drive(diagnose(self._judges, seen, due.suspicions))
            outcomes[made.outcome] += 1
            usage += made.usage
            event = made.recorded(seen.task, seen.proposal.id, due.why, due.suspicions)
            state = ledger.fold([event], state)
            if made.finding is None:
                continue
            for decision in pipeline.diagnosed(seen, made.finding, due.suspicions):
                if isinstance(decision, SoftRepair):
                    act: Act = "held" if decision.hold else "advised"
                    label = str(decision.finding.label)
                    found.append(Found(prefix.position, label, act, ledger.JUDGE))
        return _Asked(run, tuple(found), outcomes, usage)


def _due(pipeline: Pipeline, seen: Trajectory) -> Diagnose | None:
    decisions = pipeline.decide(seen).decisions
    return next((one for one in decisions if isinstance(one, Diagnose)), None)


def _score(source: str, asked: Sequence[_Asked]) -> JudgedScore:
    runs = [one.run for one in asked]
    with_judge = [replace(one.run, ours=(*one.run.ours, *one.found)) for one in asked]
    outcomes: Counter[str] = Counter()
    usage = Usage()
    for one in asked:
        outcomes += one.outcomes
        usage += one.usage
    return JudgedScore(
        source,
        len(asked),
        tuple(people(source, runs)),
        tuple(people(source, with_judge)),
        _flagged(runs),
        _flagged(with_judge),
        dict(outcomes.most_common()),
        usage.tokens,
        usage.estimated,
        usage.seconds,
    )


def _flagged(runs: Sequence[Watched]) -> Share:
    clean = [run for run in runs if not run.annotations]
    return Share(sum(bool(run.ours) for run in clean), len(clean))
