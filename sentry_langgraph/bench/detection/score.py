"""Figures of one source: what was caught, what was flagged, how early."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sentry_langgraph.bench.detection.intervals import (
    Middle,
    Rate,
    Share,
    median_of,
    rate_of,
)
from sentry_langgraph.bench.detection.sweep import Variant
from sentry_langgraph.bench.detection.targets import LOOP_TARGETS, SECOND
from sentry_langgraph.bench.detection.watch import Act, Found, Watched, first
from sentry_langgraph.bench.peers import Peer
from sentry_langgraph.taxonomy import Label

LOOPS = frozenset({str(Label.REPETITION_OR_LOOPING)})
ALL_OF = "all of "
"""Begins the name of a file that holds several sources, taken as a whole."""

OURS = "Sentry, loops"
"""The name of our loop rules in the tables."""

When: TypeAlias = Callable[[Watched], Sequence[int]]
"""Positions at which a rule fires on a run."""


@dataclass(frozen=True, slots=True)
class TargetScore:
    """How a rule did on one target.

    Attributes:
        target: The target.
        caught: Runs that were caught, of those that it names.
        message: The position of the first fire, in messages from 0.
        left: Messages of the agent from the first fire to the run's end: the lead time.
        where: The share of the run at each first fire, in order, for the plot.
    """

    target: str
    caught: Share
    message: Middle
    left: Middle
    where: tuple[float, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RuleScore:
    """How one rule did on a source.

    Attributes:
        rule: Its name.
        level: What it does when it fires.
        targets: By loop target.
        flagged: Successful runs that it fires on.
        per_100_calls: Messages it fires on, for each 100 calls of the agent.
    """

    rule: str
    level: str
    targets: tuple[TargetScore, ...]
    flagged: Share
    per_100_calls: Rate


@dataclass(frozen=True, slots=True)
class LabelScore:
    """How often a label is reported.

    Attributes:
        label: The label.
        act: What it leads to.
        flagged: Successful runs with it.
        failed: Failed runs with it.
        per_100_calls: Messages with it, for each 100 calls.
    """

    label: str
    act: str
    flagged: Share
    failed: Share
    per_100_calls: Rate


@dataclass(frozen=True, slots=True)
class RefusedScore:
    """Invalid calls, by what the environment made of them.

    Attributes:
        visible: Refused by the environment for a reason that the schema shows: how many of them
            we refuse before.
        reasons: The same by reason.
        valid: Calls that the environment ran: how many of them we refuse.
        other_errors: Calls that the environment refused for what the schema doesn't show.
    """

    visible: Share
    reasons: Mapping[str, Share]
    valid: Share
    other_errors: int


@dataclass(frozen=True, slots=True)
class CallScore:
    """Calls that a soft label is about, and what the environment made of them.

    Attributes:
        label: The label.
        act: What it leads to.
        accepted: Those that the environment ran without an error, of all with a result.
    """

    label: str
    act: str
    accepted: Share


@dataclass(frozen=True, slots=True)
class VariantScore:
    """A threshold at one value, the detector alone.

    Attributes:
        variant: Detector, option and value.
        advised: Successful runs with any act.
        held: Successful runs with a hold or refusal.
        caught: By target: runs caught by advice, and by a hold.
    """

    variant: Variant
    advised: Share
    held: Share
    caught: Mapping[str, tuple[Share, Share]]


@dataclass(frozen=True, slots=True)
class SourceScore:
    """All figures of one source.

    Attributes:
        source: Its name.
        runs: How many runs.
        succeeded: Those that the source calls a success.
        failed: Those that it calls none.
        messages: Messages of the agent.
        calls: Calls of the agent.
        dialogue: Whether the user speaks again in most runs.
        rules: Ours first, then the others'.
        labels: Our labels.
        refused: Invalid calls; None where no call has a result.
        about_calls: Calls that soft labels are about.
        variants: Thresholds at other values.
    """

    source: str
    runs: int
    succeeded: int
    failed: int
    messages: int
    calls: int
    dialogue: bool
    rules: tuple[RuleScore, ...]
    labels: tuple[LabelScore, ...]
    refused: RefusedScore | None
    about_calls: tuple[CallScore, ...]
    variants: tuple[VariantScore, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """Loop targets that mean something here, the strongest first.

        In a dialogue a call with the same result is no failure yet: records are read again.
        """
        present = {target.target for rule in self.rules for target in rule.targets}
        return tuple(
            target
            for target in LOOP_TARGETS
            if target in present and not (self.dialogue and target == SECOND)
        )


def score(source: str, runs: Sequence[Watched], peers: Iterable[Peer]) -> SourceScore:
    """The figures of one source."""
    return SourceScore(
        source=source,
        runs=len(runs),
        succeeded=sum(run.success is True for run in runs),
        failed=sum(run.success is False for run in runs),
        messages=sum(len(run.turns) for run in runs),
        calls=sum(run.calls for run in runs),
        dialogue=2 * sum(run.dialogue for run in runs) > len(runs),
        rules=tuple(_rules(runs, peers)),
        labels=tuple(_labels(runs)),
        refused=_refused(runs),
        about_calls=tuple(_about_calls(runs)),
        variants=tuple(_variants(runs)),
    )


def _rules(runs: Sequence[Watched], peers: Iterable[Peer]) -> Iterator[RuleScore]:
    yield _rule(runs, OURS, "advises", _ours(("advised", "held"), LOOPS))
    yield _rule(runs, OURS, "holds", _ours(("held",), LOOPS))
    yield _rule(runs, "Sentry, all labels", "advises", _ours(("advised", "held")))
    yield _rule(runs, "Sentry, all labels", "holds", _ours(("held",)))
    for peer in peers:
        for level in peer.levels:
            mildest = level == peer.levels[0]
            says = "warns" if level == "warning" else "stops"
            yield _rule(runs, peer.name, says, _theirs(peer.name, stop=not mildest))


def _ours(acts: Sequence[Act], labels: frozenset[str] | None = None) -> When:
    def positions(run: Watched) -> Sequence[int]:
        return sorted(
            {
                found.position
                for found in run.ours
                if found.act in acts and (labels is None or found.label in labels)
            }
        )

    return positions


def _theirs(name: str, *, stop: bool) -> When:
    def positions(run: Watched) -> Sequence[int]:
        return [fire.position for fire in run.peers[name] if not stop or fire.level == "stop"]

    return positions


def _rule(runs: Sequence[Watched], rule: str, level: str, when: When) -> RuleScore:
    fired = [(run, when(run)) for run in runs]
    return RuleScore(
        rule=rule,
        level=level,
        targets=tuple(_targets(fired)),
        flagged=_of(runs, True, [bool(positions) for _, positions in fired]),
        per_100_calls=rate_of([(len(positions), run.calls) for run, positions in fired]),
    )


def _targets(fired: Sequence[tuple[Watched, Sequence[int]]]) -> Iterator[TargetScore]:
    for target in LOOP_TARGETS:
        named = [(run, positions) for run, positions in fired if target in run.targets]
        if not named:
            continue
        caught = [
            (run, positions[0])
            for run, positions in named
            if positions and positions[0] <= _by(run, target)
        ]
        yield TargetScore(
            target=target,
            caught=Share(len(caught), len(named)),
            message=median_of([position for _, position in caught]),
            left=median_of([run.left_after(position) for run, position in caught]),
            where=tuple(sorted(position / max(run.length - 1, 1) for run, position in caught)),
        )


def _by(run: Watched, target: str) -> int:
    position, exact = run.targets[target]
    return position if exact else run.length


def _of(runs: Sequence[Watched], success: bool, hits: Sequence[bool]) -> Share:
    asked = [hit for run, hit in zip(runs, hits, strict=True) if run.success is success]
    return Share(sum(asked), len(asked))


def _labels(runs: Sequence[Watched]) -> Iterator[LabelScore]:
    for label, act in sorted({(found.label, found.act) for run in runs for found in run.ours}):
        counts = [
            len({f.position for f in run.ours if f.label == label and f.act == act}) for run in runs
        ]
        with_it = [count > 0 for count in counts]
        yield LabelScore(
            label=label,
            act=act,
            flagged=_of(runs, True, with_it),
            failed=_of(runs, False, with_it),
            per_100_calls=rate_of(
                [(count, run.calls) for count, run in zip(counts, runs, strict=True)]
            ),
        )


def _refused(runs: Sequence[Watched]) -> RefusedScore | None:
    reasons: dict[str, Counter[bool]] = defaultdict(Counter)
    valid: Counter[bool] = Counter()
    other = 0
    for run in runs:
        ours = _calls_of(run.ours, "refused")
        stopped = ours | _calls_of(run.ours, "held")
        for call in run.answered:
            place = (call.position, call.index)
            if call.visible:
                reasons[call.visible][place in stopped] += 1
            elif call.accepted:
                valid[place in ours] += 1
            else:
                other += 1
    if not reasons and not valid and not other:
        return None
    shares = {reason: Share(c[True], c.total()) for reason, c in sorted(reasons.items())}
    return RefusedScore(
        visible=Share(
            sum(share.count for share in shares.values()),
            sum(share.total for share in shares.values()),
        ),
        reasons=shares,
        valid=Share(valid[True], valid.total()),
        other_errors=other,
    )


def _calls_of(found: Iterable[Found], act: Act, label: str | None = None) -> set[tuple[int, int]]:
    return {
        (one.position, index)
        for one in found
        if one.act == act and (label is None or one.label == label)
        for index in one.calls
    }


def _about_calls(runs: Sequence[Watched]) -> Iterator[CallScore]:
    for label, act in sorted({(found.label, found.act) for run in runs for found in run.ours}):
        if act == "refused":
            continue
        outcomes = [
            call.accepted
            for run in runs
            if (about := _calls_of(run.ours, act, label))
            for call in run.answered
            if (call.position, call.index) in about
        ]
        if outcomes:
            yield CallScore(label, act, Share(sum(outcomes), len(outcomes)))


def _variants(runs: Sequence[Watched]) -> Iterator[VariantScore]:
    for variant in runs[0].variants if runs else ():
        advised = [first(run.variants[variant], held=False) for run in runs]
        held = [first(run.variants[variant], held=True) for run in runs]
        yield VariantScore(
            variant=variant,
            advised=_of(runs, True, [at is not None for at in advised]),
            held=_of(runs, True, [at is not None for at in held]),
            caught={
                target: (_caught(runs, target, advised), _caught(runs, target, held))
                for target in LOOP_TARGETS
                if any(target in run.targets for run in runs)
            },
        )


def _caught(runs: Sequence[Watched], target: str, at: Sequence[int | None]) -> Share:
    hits = [
        place is not None and place <= _by(run, target)
        for run, place in zip(runs, at, strict=True)
        if target in run.targets
    ]
    return Share(sum(hits), len(hits))
