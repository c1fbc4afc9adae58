"""The figures as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from sentry_langgraph.bench.live.figures import Compared, Figures
from sentry_langgraph.bench.live.paired import Difference

NOT_SHOWN = (
    "Some 20 invented tasks a domain: the intervals are wide, and a difference of one or two "
    "tasks says nothing.",
    "Temperature 0 makes runs alike, not equal: servers round differently.",
    "The domains are small, their tools honest and their data clean. How often your own agent "
    "fails, and how, is not in these figures.",
    "Nothing is pooled over domains: how many tasks of each kind there are is a choice.",
)
"""What the benchmark does not show."""

_LEAST_P = 0.001


def render(found: Sequence[Figures]) -> Group:
    """One table of figures, one of paired differences, and what they don't show."""
    table = _table("A real model on executable tasks", "Domain", "Arm")
    for name in ("Solved", "Look-up", "Change", "Can't", "Wrong", "Calls", "Tokens", "Each"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        table.add_row(*_row(one))
    parts: list[Table | Text] = [table]
    compared = [(one, one.compared) for one in found if one.compared is not None]
    if compared:
        title = "Against off, for one task, with 95 % intervals (paired bootstrap)"
        gaps = _table(title, "Domain", "Arm", "Figure", "Difference")
        for one, other in compared:
            for figure, gap in _gaps(other):
                gaps.add_row(one.domain, one.arm, figure, gap)
        parts.append(gaps)
    notes = [Text(f"- {line}") for line in NOT_SHOWN]
    return Group(*parts, Text(_COLUMNS), Text("What this does not show", style="bold"), *notes)


_COLUMNS = (
    "Can't: tasks that can't be done, solved by saying why. Wrong: records changed that should "
    "not be as they are. Calls: of the model. Each: tokens for one solved task."
)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def _row(one: Figures) -> list[str]:
    kinds = [one.by_kind.get(kind) for kind in ("lookup", "change", "impossible")]
    about = "≈" if one.approximate else ""
    per_solved = f"{about}{one.tokens_per_solved:,}" if one.tokens_per_solved is not None else "–"
    return [
        one.domain,
        one.arm,
        f"{one.solved}/{one.tasks}",
        *(f"{kind[0]}/{kind[1]}" if kind else "–" for kind in kinds),
        f"{one.wrong_changes}",
        f"{one.turns}",
        f"{about}{one.tokens:,}",
        per_solved,
    ]


def _gaps(compared: Compared) -> list[tuple[str, str]]:
    return [
        ("solved", _gap(compared.solved, 2)),
        ("won, lost", f"{compared.won}, {compared.lost} (McNemar p {_p(compared.p)})"),
        ("wrong changes", _gap(compared.wrong_changes, 2)),
        ("calls", _gap(compared.turns, 1)),
        ("tokens", _gap(compared.tokens, 0)),
    ]


def _p(value: float) -> str:
    return f"= {value:.3f}" if value >= _LEAST_P else f"< {_LEAST_P}"


def _gap(gap: Difference, places: int) -> str:
    return f"{gap.mean:+,.{places}f} ({gap.low:+,.{places}f} to {gap.high:+,.{places}f})"


def show(found: Sequence[Figures]) -> None:
    """Print the tables."""
    Console().print(render(found))
