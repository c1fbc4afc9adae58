"""What detection is meant to reach on the benchmarks it was developed on, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sentry_langgraph.bench.detection.score import (
    ALL_OF,
    OURS,
    RuleScore,
    SourceScore,
    TargetScore,
)
from sentry_langgraph.bench.detection.targets import HALTED, SECOND, STEP_LIMIT

ADVISES, HOLDS = "advises", "holds"
ALL_LABELS = "Sentry, all labels"


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and what it has to be.

    Attributes:
        source: Where it was measured.
        figure: What was measured.
        goal: What it has to be, in words.
        value: What it is, in words.
        met: Whether that is enough.
    """

    source: str
    figure: str
    goal: str
    value: str
    met: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rule has to reach on runs that hit the step limit.

    Attributes:
        level: Advice or hold.
        flagged: Most successful runs flagged, as a share.
        message: Latest median of the first fire, as a message.
    """

    level: str
    flagged: float
    message: float


CHAT_LIMITS = (Limits(ADVISES, 0.021, 32), Limits(HOLDS, 0.009, 42))
"""For chats with tools: the figures of the best simple rule that was known before."""

LEAST_SECOND = 0.95
"""Share of second identical calls that are caught at once, where a shell or a query runs."""

LEAST_HALTED = 0.90
"""Share of halted runs with a repeated call that are caught."""

MOST_HELD = 0.02
"""Share of successful runs in which any rule holds an action."""


def goals(sources: Iterable[SourceScore]) -> Iterator[Goal]:
    """Every goal that the sources at hand can show."""
    known = tuple(sources)
    limited = {source.source for source in known if STEP_LIMIT in source.targets}
    # the domains of one benchmark are judged together, where they stand in one file
    limited = {name for name in limited if name.startswith(ALL_OF)} or limited
    for source in known:
        if source.source in limited:
            yield from _step_limit(source)
            held = _rule(source, ALL_LABELS, HOLDS).flagged
            yield Goal(
                source.source,
                "successful runs in which any rule holds an action",
                f"≤ {MOST_HELD:.0%}",
                f"{held.count} / {held.total} = {held.value or 0:.2%}",
                (held.value or 0) <= MOST_HELD,
            )
        yield from _share(source, HALTED, LEAST_HALTED)
        if source.targets == (SECOND,):
            yield from _share(source, SECOND, LEAST_SECOND)
        yield from _calls(source)


def _step_limit(source: SourceScore) -> Iterator[Goal]:
    for limits in CHAT_LIMITS:
        rule = _rule(source, OURS, limits.level)
        target = _target(rule, STEP_LIMIT)
        if target is None:
            continue
        flagged, message = rule.flagged.value or 0.0, target.message.value
        yield Goal(
            source.source,
            f"{STEP_LIMIT}, {limits.level}: caught · successes flagged · median message",
            f"all · ≤ {limits.flagged:.1%} · ≤ {limits.message:g}",
            _three(rule, target),
            target.caught.count == target.caught.total
            and flagged <= limits.flagged
            and message is not None
            and message <= limits.message,
        )
        better = list(_better(rule, target, source.rules))
        yield Goal(
            source.source,
            f"rules of others better than ours ({limits.level}) on all three",
            "none",
            "; ".join(better) or "none",
            not better,
        )


def _better(ours: RuleScore, target: TargetScore, rules: Sequence[RuleScore]) -> Iterator[str]:
    for rule in rules:
        theirs = _target(rule, target.target)
        if rule.rule.startswith("Sentry") or theirs is None or not theirs.caught.count:
            continue
        if (
            theirs.caught.count >= target.caught.count
            and (rule.flagged.value or 0) < (ours.flagged.value or 0)
            and (theirs.message.value or 0) < (target.message.value or 0)
        ):
            yield f"{rule.rule} {rule.level}: {_three(rule, theirs)}"


def _share(source: SourceScore, name: str, least: float) -> Iterator[Goal]:
    target = _target(_rule(source, OURS, ADVISES), name)
    if target is not None:
        caught = target.caught
        yield Goal(
            source.source,
            f"{name}: caught",
            f"≥ {least:.0%}",
            f"{caught.count} / {caught.total} = {caught.value or 0:.1%}",
            (caught.value or 0) >= least,
        )


def _calls(source: SourceScore) -> Iterator[Goal]:
    refused = source.refused
    if refused is None:
        return
    if refused.visible.total:
        yield Goal(
            source.source,
            "calls that the environment refused, visible from the schema: refused before",
            "all",
            f"{refused.visible.count} / {refused.visible.total}",
            refused.visible.count == refused.visible.total,
        )
    yield Goal(
        source.source,
        "valid calls refused",
        "0",
        f"{refused.valid.count} / {refused.valid.total}",
        refused.valid.count == 0,
    )


def _three(rule: RuleScore, target: TargetScore) -> str:
    message = "–" if target.message.value is None else f"{target.message.value:g}"
    caught = f"{target.caught.count} / {target.caught.total}"
    return f"{caught} · {rule.flagged.value or 0:.2%} · {message}"


def _rule(source: SourceScore, name: str, level: str) -> RuleScore:
    return next(rule for rule in source.rules if (rule.rule, rule.level) == (name, level))


def _target(rule: RuleScore, name: str) -> TargetScore | None:
    return next((one for one in rule.targets if one.target == name), None)
