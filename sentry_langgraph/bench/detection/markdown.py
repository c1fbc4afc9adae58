"""The report as Markdown: a file of its own, or the marked part of a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sentry_langgraph.bench.detection.grids import Grid, grids, sweep_grids, unmoved
from sentry_langgraph.bench.detection.report import METHOD, NOT_SHOWN, Report, versions

BEGIN = "<!-- figures: begin. `sentry bench detect` writes what stands here. -->"
END = "<!-- figures: end -->"


def markdown(report: Report) -> str:
    """All tables."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def write(report: Report, path: Path) -> None:
    """Write the tables to a file; where it has the marks, only what stands between them.

    Raises:
        ValueError: The file has one of the two marks, or the end before the beginning.
    """
    made = markdown(report)
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN in old or END in old:
        before, begin, rest = old.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise ValueError(f"{path}: the marks {BEGIN!r} and {END!r} have to stand in this order")
        made = f"{before}{BEGIN}\n\n{made}\n{END}{after}"
    path.write_text(made, encoding="utf-8")


def _lines(report: Report) -> Iterator[str]:
    named = ", ".join(f"{name} {number}" for name, number in versions().items())
    limit = report.data["limit"]
    part = f", the first {limit} of each file" if limit else ""
    yield f"{report.data['runs']:,} runs{part}. {named}. {report.date}."
    yield ""
    yield from (f"- {line}" for line in METHOD)
    yield ""
    for grid in grids(report):
        yield from _table(grid)
    yield "### What this does not show"
    yield ""
    yield from (f"- {line}" for line in NOT_SHOWN)
    yield ""
    if any(source.variants for source in report.sources):
        yield "## Thresholds"
        yield ""
        for grid in sweep_grids(report):
            yield from _table(grid)
        if still := unmoved(report):
            yield f"No effect at the values tried: {', '.join(f'`{name}`' for name in still)}."
            yield ""


def _table(grid: Grid) -> Iterator[str]:
    yield f"### {grid.title}"
    yield ""
    if grid.note:
        yield grid.note
        yield ""
    yield _row(grid.header)
    yield _row(["---" if place < grid.left else "---:" for place in range(len(grid.header))])
    yield from map(_row, grid.rows)
    yield ""


def _row(cells: tuple[str, ...] | list[str]) -> str:
    # what people wrote may hold signs that end a cell or open a tag
    safe = (cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(safe)} |"
