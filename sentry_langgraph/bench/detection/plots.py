"""Two plots: recall against flagged successes, and where in the run loops are caught.

They need matplotlib, which the extra `bench` brings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sentry_langgraph.bench.detection.report import Report
from sentry_langgraph.bench.detection.score import (
    RuleScore,
    SourceScore,
    TargetScore,
    VariantScore,
)
from sentry_langgraph.bench.detection.targets import LOOP_TARGETS
from sentry_langgraph.taxonomy import Label

RECALL = "recall-and-flagged.svg"
WHERE = "where-caught.svg"

_OURS = "Sentry, loops"
_WIDTH, _HEIGHT, _COLUMNS = 4.6, 3.6, 3
_MARKS = "osv^D<>pPX*hd"


def available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(report: Report, directory: Path) -> list[Path]:
    """Draw both plots as SVG files into a directory, which is made where it is missing.

    Returns:
        The files; none where no source has a loop target.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib  # noqa: PLC0415 - an optional package

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "sentry", "svg.fonttype": "none", "font.size": 8, "lines.linewidth": 1.2}
    )
    sources = [source for source in report.sources if main_target(source)]
    if not sources:
        return []
    directory.mkdir(parents=True, exist_ok=True)
    made = []
    for name, panel in ((RECALL, _recall), (WHERE, _where)):
        figure, axes = _panels(len(sources))
        for axis, source in zip(axes, sources, strict=False):
            panel(axis, source)
        _legend(figure, axes)
        figure.savefig(directory / name, metadata={"Date": None}, bbox_inches="tight")
        made.append(directory / name)
        _close(figure)
    return made


def main_target(source: SourceScore) -> str | None:
    """The target that the plots of a source show: the first that any of its runs has."""
    present = {target.target for rule in source.rules for target in rule.targets}
    return next((target for target in LOOP_TARGETS if target in present), None)


def _panels(count: int) -> tuple[Any, list[Any]]:
    from matplotlib import pyplot  # noqa: PLC0415

    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    size = (_WIDTH * columns, _HEIGHT * rows)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    flat = list(axes.flat)
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat[:count]


def _close(figure: Any) -> None:
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.close(figure)


def _recall(axis: Any, source: SourceScore) -> None:
    target = main_target(source)
    for option, scores in _loop_options(source.variants).items():
        for held in (False, True):
            points = sorted(_points(scores, str(target), held))
            if len(set(points)) > 1:
                style = "--" if held else "-"
                axis.plot(*zip(*points, strict=True), style, label=f"{option}, {_says(held)}")
    for mark, rule in zip(_cycle(source.rules), source.rules, strict=False):
        found = _target(rule, str(target))
        if found is not None and rule.flagged.value is not None:
            axis.plot(
                100 * rule.flagged.value,
                100 * (found.caught.value or 0),
                mark,
                markersize=8 if rule.rule == _OURS else 5,
                linestyle="none",
                label=f"{rule.rule}, {rule.level}",
            )
    axis.set_title(f"{source.source}: {target}", fontsize=8)
    axis.set_xlabel("successful runs flagged, %")
    axis.set_ylabel("caught, %")
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(left=-0.1)
    axis.set_ylim(-3, 103)
    axis.grid(alpha=0.3)


def _where(axis: Any, source: SourceScore) -> None:
    target = main_target(source)
    for rule in source.rules:
        found = _target(rule, str(target))
        if found is None or not found.where:
            continue
        xs, ys = steps(found.where, found.caught.total)
        axis.plot(
            xs,
            ys,
            drawstyle="steps-post",
            linewidth=2.2 if rule.rule == _OURS else 1,
            label=f"{rule.rule}, {rule.level}",
        )
    axis.set_title(f"{source.source}: {target}", fontsize=8)
    axis.set_xlabel("place in the run, %")
    axis.set_ylabel("caught so far, %")
    axis.set_xlim(0, 100)
    axis.set_ylim(-3, 103)
    axis.grid(alpha=0.3)


def steps(where: Sequence[float], total: int) -> tuple[list[float], list[float]]:
    """The share caught by each place in the run, both in percent: an empirical distribution.

    Runs that are never caught keep it under 100.
    """
    xs, ys = [0.0], [0.0]
    for count, place in enumerate(sorted(where), 1):
        xs.append(100 * place)
        ys.append(100 * count / total)
    return [*xs, 100.0], [*ys, ys[-1]]


def _points(
    scores: Iterable[VariantScore], target: str, held: bool
) -> Iterable[tuple[float, float]]:
    for one in scores:
        flagged = (one.held if held else one.advised).value
        caught = one.caught[target][int(held)].value
        if flagged is not None and caught is not None:
            yield 100 * flagged, 100 * caught


def _loop_options(variants: Iterable[VariantScore]) -> dict[str, list[VariantScore]]:
    found: dict[str, list[VariantScore]] = {}
    for one in variants:
        if one.variant.kind == Label.REPETITION_OR_LOOPING and one.variant.option:
            found.setdefault(one.variant.option, []).append(one)
    return found


def _target(rule: RuleScore, target: str) -> TargetScore | None:
    return next((one for one in rule.targets if one.target == target), None)


def _says(held: bool) -> str:
    return "holds" if held else "advises"


def _cycle(rules: Sequence[RuleScore]) -> Sequence[str]:
    return [_MARKS[place % len(_MARKS)] for place in range(len(rules))]


def _legend(figure: Any, axes: Sequence[Any]) -> None:
    """One legend for all panels."""
    known: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=4, fontsize=7, frameon=False
    )
