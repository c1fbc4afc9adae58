"""The report for people at a terminal."""

from __future__ import annotations

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from sentry_langgraph.bench.detection.grids import Grid, grids, sweep_grids, unmoved
from sentry_langgraph.bench.detection.report import METHOD, NOT_SHOWN, Report


def render(report: Report) -> Group:
    """All tables, how they are made, and what they don't show."""
    parts: list[Table | Text] = []
    for grid in (*grids(report), *sweep_grids(report)):
        parts += [_table(grid), Text()]
    if still := unmoved(report):
        parts += [Text(f"No effect at the values tried: {', '.join(still)}."), Text()]
    for title, lines in (("How", METHOD), ("What this does not show", NOT_SHOWN)):
        parts += [Text(title, style="bold"), *(Text(f"- {line}") for line in lines), Text()]
    return Group(*parts)


def show(report: Report, console: Console | None = None) -> None:
    """Print the tables."""
    (console or Console()).print(render(report))


def _table(grid: Grid) -> Table:
    table = Table(title=Text(grid.title), title_justify="left", caption=Text(grid.note))
    for place, name in enumerate(grid.header):
        table.add_column(Text(name), justify="left" if place < grid.left else "right")
    for row in grid.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
