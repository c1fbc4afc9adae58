"""The figures as grids of cells, for the terminal and for Markdown alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sentry_langgraph.bench.detection.goals import goals
from sentry_langgraph.bench.detection.intervals import Middle, Rate, Share
from sentry_langgraph.bench.detection.judged import JudgedScore
from sentry_langgraph.bench.detection.people import PointerScore
from sentry_langgraph.bench.detection.report import Report
from sentry_langgraph.bench.detection.score import SourceScore, VariantScore
from sentry_langgraph.bench.detection.sweep import Variant

NONE = "–"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        title: What it shows.
        note: How it is to be read; may be empty.
        header: Names of the columns.
        rows: Cells.
        left: How many columns from the left hold words.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    left: int = 1


def grids(report: Report) -> Iterator[Grid]:
    """Everything but the sweep, in the order of reading. Empty tables are left out."""
    made = (
        _runs(report),
        _goals(report),
        *map(_rules, report.sources),
        _labels(report),
        _refused(report),
        _about_calls(report),
        _people(report),
        _judged(report.judged),
        _judge_cost(report.judged),
        _pointers(report),
        _summary(report.pointers),
        _peers(report),
    )
    return (grid for grid in made if grid.rows)


def share(value: Share, *, digits: int = 1) -> str:
    """A share as `count / total = percent (interval)`."""
    if value.value is None or value.interval is None:
        return NONE
    low, high = (100 * end for end in value.interval)
    percent = f"{100 * value.value:.{digits}f} %"
    return f"{value.count:,} / {value.total:,} = {percent} ({low:.{digits}f}–{high:.{digits}f})"


def middle(value: Middle) -> str:
    """A median as `value (interval)`."""
    return _spread(value.value, value.interval, "g")


def rate(value: Rate) -> str:
    """A rate as `value (interval)`."""
    return _spread(value.value, value.interval, ".2f")


def _spread(value: float | None, interval: tuple[float, float] | None, form: str) -> str:
    if value is None:
        return NONE
    if interval is None:
        return f"{value:{form}}"
    return f"{value:{form}} ({interval[0]:{form}}–{interval[1]:{form}})"


def _runs(report: Report) -> Grid:
    return Grid(
        "Runs",
        ("Source", "Runs", "Succeeded", "Failed", "Messages of the agent", "Calls"),
        tuple(
            (
                source.source,
                *(
                    f"{number:,}"
                    for number in (
                        source.runs,
                        source.succeeded,
                        source.failed,
                        source.messages,
                        source.calls,
                    )
                ),
            )
            for source in report.sources
        ),
    )


def _goals(report: Report) -> Grid:
    return Grid(
        "Goals",
        ("Source", "Figure", "Goal", "Measured", "Met"),
        tuple(
            (goal.source, goal.figure, goal.goal, goal.value, "yes" if goal.met else "no")
            for goal in goals(report.sources)
        ),
        left=5,
    )


def _rules(source: SourceScore) -> Grid:
    header = ["Rule", "Does"]
    for target in source.targets:
        header += [f"Caught: {target}", "First fire, message", "Steps left"]
    header += ["Successful runs flagged", "Fires per 100 calls"]
    rows = []
    for rule in source.rules:
        cells = [rule.rule, rule.level]
        for one in rule.targets:
            if one.target not in source.targets:
                continue
            cells += [share(one.caught), middle(one.message), middle(one.left)]
        cells += [share(rule.flagged, digits=2), rate(rule.per_100_calls)]
        rows.append(tuple(cells))
    return Grid(f"Loops in {source.source}", tuple(header), tuple(rows), left=2)


def _labels(report: Report) -> Grid:
    return Grid(
        "What we report",
        ("Source", "Label", "Act", "Successful runs", "Failed runs", "Fires per 100 calls"),
        tuple(
            (
                source.source,
                one.label,
                one.act,
                share(one.flagged, digits=2),
                share(one.failed, digits=2),
                rate(one.per_100_calls),
            )
            for source in report.sources
            for one in source.labels
        ),
        left=3,
    )


def _refused(report: Report) -> Grid:
    rows = []
    for source in report.sources:
        if source.refused is None:
            continue
        refused = source.refused
        reasons = "; ".join(
            f"{reason} {one.count} / {one.total}" for reason, one in refused.reasons.items()
        )
        rows.append(
            (
                source.source,
                share(refused.visible),
                reasons or NONE,
                share(refused.valid, digits=2),
                f"{refused.other_errors:,}",
            )
        )
    return Grid(
        "Invalid calls",
        ("Source", "Caught before", "By reason", "Valid calls we refuse", "Other errors"),
        tuple(rows),
        note=(
            "Caught before: of the calls that the environment refused and whose fault the "
            "schema shows. Other errors: refused for what no schema shows."
        ),
    )


def _about_calls(report: Report) -> Grid:
    return Grid(
        "Calls that soft findings are about",
        ("Source", "Label", "Act", "The environment accepted"),
        tuple(
            (source.source, one.label, one.act, share(one.accepted))
            for source in report.sources
            for one in source.about_calls
        ),
        note=(
            "An accepted call is not a right one: a loop's calls are accepted every time. For "
            "hallucination, a held call that the environment accepted is a doubtful hold."
        ),
        left=3,
    )


def _people(report: Report) -> Grid:
    return Grid(
        "Labels that people gave",
        (
            "Source",
            "Our label",
            "Mapping",
            "Annotators' word",
            "Same label near",
            "At the root cause",
            "Any label near",
            "Without a step",
        ),
        tuple(
            (
                one.source,
                one.label or NONE,
                one.map or NONE,
                one.source_label,
                share(one.same),
                share(one.root_same),
                share(one.any),
                str(one.unplaced or NONE),
            )
            for one in report.people
        ),
        left=4,
    )


def _judged(scores: Sequence[JudgedScore]) -> Grid:
    return Grid(
        "With the judge",
        ("Source", "Our label", "Mapping", "Annotators' word", "Rules alone", "With the judge"),
        tuple(
            (
                one.source,
                alone.label or NONE,
                alone.map or NONE,
                alone.source_label,
                share(alone.same),
                share(together.same),
            )
            for one in scores
            for alone, together in zip(one.alone, one.together, strict=True)
        ),
        "The same label near, on the runs that the judge was asked about.",
        left=4,
    )


def _judge_cost(scores: Sequence[JudgedScore]) -> Grid:
    return Grid(
        "What the judge cost",
        (
            "Source",
            "Came of it",
            "Runs",
            "Runs without a label flagged, rules alone",
            "With the judge",
            "Requests",
            "Tokens a run",
            "Seconds a request",
        ),
        tuple(
            (
                one.source,
                ", ".join(f"{name} {count}" for name, count in one.outcomes.items()) or NONE,
                f"{one.runs:,}",
                share(one.flagged_alone),
                share(one.flagged_together),
                f"{one.requests:,}",
                f"{'≈ ' if one.estimated else ''}{one.tokens / max(one.runs, 1):,.0f}",
                f"{one.seconds / max(one.requests, 1):.1f}",
            )
            for one in scores
        ),
        left=2,
    )


def _pointers(report: Report) -> Grid:
    return Grid(
        "Clear cases",
        ("Label", "Case", "We report", "Also near", "Right", "Why it is clear"),
        tuple(
            (
                one.pointer.label,
                "positive" if one.pointer.positive else "negative",
                ", ".join(one.acts) or NONE,
                ", ".join(one.others) or NONE,
                "yes" if one.right else "no",
                one.pointer.why,
            )
            for one in report.pointers
        ),
        note="A positive has to be reported, a hard negative must not be held.",
        left=6,
    )


def _summary(pointers: Sequence[PointerScore]) -> Grid:
    by_label: dict[str, list[PointerScore]] = defaultdict(list)
    for one in pointers:
        by_label[one.pointer.label].append(one)
    rows = []
    for label, found in sorted(by_label.items()):
        positives = [one for one in found if one.pointer.positive]
        cells = [label, share(Share(sum(bool(one.acts) for one in positives), len(positives)))]
        for acts in (("advised", "held", "refused"), ("held", "refused")):
            hits = [one for one in found if set(one.acts) & set(acts)]
            cells.append(share(Share(sum(one.pointer.positive for one in hits), len(hits))))
        rows.append(tuple(cells))
    return Grid(
        "Clear cases, by label",
        ("Label", "Recall", "Precision of any report", "Precision of holds"),
        tuple(rows),
    )


def _peers(report: Report) -> Grid:
    ran = [
        (
            peer.name,
            report.lineup.versions.get(peer.package, "rule written anew"),
            peer.source,
        )
        for peer in report.lineup.peers
    ]
    missing = [(name, "not run", why) for name, why in report.lineup.missing.items()]
    return Grid(
        "Compared with",
        ("Rule", "Version", "Source, or why it was not run"),
        (*ran, *missing),
        left=3,
    )


def sweep_grids(report: Report) -> Iterator[Grid]:
    """One table for each threshold that changes anything: values down, sources across."""
    for option, rows in sorted(_by_option(report.sources).items()):
        shown = [name for name, scores in rows.items() if _differs(scores)]
        if not shown:
            continue
        cells = [
            (_value(one.variant), *(_cell(rows[name][place]) for name in shown))
            for place, one in enumerate(rows[shown[0]])
        ]
        yield Grid(
            option,
            ("Value", *shown),
            tuple(cells),
            note=(
                "Runs caught by advice and by a hold, of those with a loop target; "
                "successful runs flagged by advice and by a hold."
            ),
        )


def unmoved(report: Report) -> list[str]:
    """Thresholds that change nothing on any source, at the values that were tried."""
    found = _by_option(report.sources)
    return sorted(
        option
        for option, rows in found.items()
        if not any(_differs(scores) for scores in rows.values())
    )


def _by_option(sources: Iterable[SourceScore]) -> dict[str, dict[str, list[VariantScore]]]:
    """By option and source: the detector as it is configured, then with the option changed."""
    found: dict[str, dict[str, list[VariantScore]]] = defaultdict(dict)
    for source in sources:
        as_set: dict[str, VariantScore] = {}
        for one in source.variants:
            if one.variant.option:
                rows = found[one.variant.name].setdefault(source.source, [as_set[one.variant.kind]])
                rows.append(one)
            else:
                as_set[one.variant.kind] = one
    return found


def _shown(one: VariantScore, source: SourceScore) -> VariantScore:
    """With the targets that mean something on the source, and no others."""
    return replace(one, caught={target: one.caught[target] for target in source.targets})


def _value(variant: Variant) -> str:
    if not variant.option:
        return "as set"
    return f"{variant.value:g}{' (default)' if variant.default else ''}"


def _differs(scores: Sequence[VariantScore]) -> bool:
    return len({(one.advised, one.held, tuple(one.caught.items())) for one in scores}) > 1


def _cell(one: VariantScore) -> str:
    flagged = f"flagged {_percent(one.advised)} · {_percent(one.held)}"
    caught = [
        f"{advised.count} · {held.count} of {advised.total}"
        for advised, held in one.caught.values()
    ]
    return "; ".join([*caught, flagged])


def _percent(value: Share) -> str:
    return NONE if value.value is None else f"{100 * value.value:.2f} %"
