"""Two plots: recall against flagged successes, and where in the run loops are caught.

They need matplotlib, which the extra `bench` brings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sentry_langgraph.bench.detection.report import Report
from sentry_langgraph.bench.detection.score import (
    OURS,
    RuleScore,
    SourceScore,
    TargetScore,
    VariantScore,
)
from sentry_langgraph.taxonomy import Label

RECALL = "recall-and-flagged.svg"
WHERE = "where-caught.svg"

_WIDTH, _HEIGHT, _COLUMNS = 4.2, 3.2, 3
_MARKS = "osv^D<>pPX*hd"
_LEAST = 10
"""Runs with the target that a panel needs: under that, a curve is noise."""

_OURS_IN = ("#000000", "#d62728")
"""Colours of our advice and our holds, which stand first."""

_LEFT_OUT = "Sentry, all labels"
"""A rule that says more than loops."""


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
    sources = [source for source in report.sources if _enough(source)]
    if not sources:
        return []
    colours = _colours(sources)
    directory.mkdir(parents=True, exist_ok=True)
    made = []
    for name, panel in ((RECALL, _recall), (WHERE, _where)):
        figure, axes = _panels(len(sources))
        for axis, source in zip(axes, sources, strict=False):
            panel(axis, source, colours)
        _legend(figure, axes)
        figure.savefig(directory / name, metadata={"Date": None}, bbox_inches="tight")
        made.append(directory / name)
        _close(figure)
    return made


def main_target(source: SourceScore) -> str | None:
    """The target that the plots of a source show: the strongest that it has."""
    return next(iter(source.targets), None)


def _enough(source: SourceScore) -> bool:
    target = _target(source.rules[0], str(main_target(source)))
    return target is not None and target.caught.total >= _LEAST


def _colours(sources: Sequence[SourceScore]) -> dict[str, str]:
    """A colour for each line and point, the same in every panel."""
    from matplotlib import colormaps, colors  # noqa: PLC0415

    names = [_name(rule) for rule in sources[0].rules if rule.rule != _LEFT_OUT]
    names += [
        _line(option, held)
        for option in _loop_options(sources[0].variants)
        for held in (False, True)
    ]
    palette = [colors.to_hex(colormaps["tab20"](place)) for place in range(20)]
    found = {name: palette[place % len(palette)] for place, name in enumerate(names)}
    return {**found, **dict(zip(names, _OURS_IN, strict=False))}


def _name(rule: RuleScore) -> str:
    return f"{rule.rule}, {rule.level}"


def _line(option: str, held: bool) -> str:
    return f"{option}, {'holds' if held else 'advises'}"


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


def _recall(axis: Any, source: SourceScore, colours: Mapping[str, str]) -> None:
    target = str(main_target(source))
    for option, scores in _loop_options(source.variants).items():
        for held in (False, True):
            points = sorted(_points(scores, target, held))
            if len(set(points)) > 1:
                style, name = "--" if held else "-", _line(option, held)
                axis.plot(*zip(*points, strict=True), style, color=colours[name], label=name)
    for place, rule in enumerate(source.rules):
        found = _target(rule, target)
        if found is None or rule.flagged.value is None or rule.rule == _LEFT_OUT:
            continue
        axis.plot(
            100 * rule.flagged.value,
            100 * (found.caught.value or 0),
            _MARKS[place % len(_MARKS)],
            color=colours[_name(rule)],
            markersize=9 if rule.rule == OURS else 5,
            linestyle="none",
            label=_name(rule),
            zorder=3,
        )
    axis.set_title(f"{source.source}: {target}", fontsize=8)
    axis.set_xlabel("successful runs flagged, %")
    axis.set_ylabel("caught, %")
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(left=-0.1)
    axis.set_ylim(-3, 103)
    axis.grid(alpha=0.3)


def _where(axis: Any, source: SourceScore, colours: Mapping[str, str]) -> None:
    target = str(main_target(source))
    for rule in source.rules:
        found = _target(rule, target)
        if found is None or not found.where or rule.rule == _LEFT_OUT:
            continue
        xs, ys = steps(found.where, found.caught.total)
        axis.plot(
            xs,
            ys,
            drawstyle="steps-post",
            color=colours[_name(rule)],
            linewidth=2.2 if rule.rule == OURS else 1,
            label=_name(rule),
            zorder=3 if rule.rule == OURS else 2,
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


def _legend(figure: Any, axes: Sequence[Any]) -> None:
    """One legend for all panels."""
    known: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=4, fontsize=7, frameon=False
    )
