"""What the demo prints. Readable at 100 columns, with and without colour."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sentry_langgraph.demo.meter import Cost
from sentry_langgraph.demo.recover import Done, Recoveries, Recovery
from sentry_langgraph.demo.reenact import Played, Reenactment, position
from sentry_langgraph.graph.report import ReportRow
from sentry_langgraph.graph.report_text import done_line, evidence_line, printable
from sentry_langgraph.testing.traces import RecordedRun

WIDTH = 100
_DATE = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")

_CANNOT_HEAR = (
    "Runs of real models, played again through a real LangGraph agent: the model proposes what "
    "was recorded, the tools answer what was recorded. A recorded model cannot hear us. So this "
    "shows what is seen, what is said and where the run is ended, not whether the agent would "
    "have recovered. Verdicts here judge the recording as it went on."
)
_SCRIPTED = (
    "A scripted agent, no language model: it fails on purpose, and listens to Sentry's guidance "
    "and to nothing else. Its tools and its database (SQLite) are real, and so are the verdicts "
    "and the lessons (Chroma). It shows the mechanism, and says nothing about the skill of a model."
)


def console() -> Console:
    """A console of at most 100 columns that reads no markup in what it is given."""
    probe = Console(markup=False, highlight=False, emoji=False)
    wide = min(probe.width, WIDTH) if probe.is_terminal or "COLUMNS" in os.environ else WIDTH
    return Console(width=wide, markup=False, highlight=False, emoji=False)


def part(out: Console, title: str, words: str) -> None:
    """The head of a part."""
    out.print()
    out.rule(Text(title, style="bold"), align="left", characters="=")
    out.print(words)


def part_one(out: Console) -> None:
    """The head of part one."""
    part(out, "Part one: recorded failures, re-enacted", _CANNOT_HEAR)


def part_two(out: Console) -> None:
    """The head of part two."""
    part(out, "Part two: an agent that recovers, and learns", _SCRIPTED)


def reenacted(out: Console, number: int, one: Reenactment) -> None:
    """One recorded run."""
    about = f": {one.about}" if one.about else ""
    _head(out, f"{number}. {one.run.model or 'unknown model'}{about}")
    _line(out, f"{one.run.source}, run {one.run.id}", style="dim")
    shown: set[str] = set()
    for row in one.report.rows:
        if row.done == "suppressed":
            continue
        _failure(out, f"message {position(row.step)}", row)
        if row.done == "stopped":
            _quote(out, "The answer that the user gets instead", [one.guarded.answer])
            continue
        texts = one.injected.get(row.step, [])
        fresh = [text for text in texts if _plan(text) not in shown]
        shown.update(_plan(text) for text in texts)
        if fresh:
            _quote(out, "What the model is told", fresh)
        elif texts:
            _line(out, "    The model is told the same plan again.", style="dim")
    if not one.report.rows:
        _line(out, "No failure seen.")
    _repeats(out, one)
    _costs(out, one.bare.cost, one.guarded.cost, _ending(one.bare), _ending(one.guarded))


def recovered(out: Console, number: int, one: Recovery) -> None:
    """One task of the scripted agent."""
    _head(out, f"{number}. {one.task.name.capitalize()}: the agent {one.task.failure}")
    _line(out, f"Request: {one.task.request}")
    _line(out, f"Judged by: {one.task.check} → {one.task.wanted!r}", style="dim")
    texts = list(one.injected)
    for row in one.report.rows:
        _failure(out, "seen", row)
        if texts and row.repaired:
            title = "What the agent is told, with a lesson" if row.lessons else "What it is told"
            _quote(out, title, [texts.pop(0)])
    for lesson in one.report.lessons:
        _line(out, f"    Lesson {'stored' if lesson.stored else 'not stored'}: {lesson.text}")
    _quote(out, "The agent's answer", [one.guarded.answer])
    _costs(
        out,
        one.bare.cost,
        one.guarded.cost,
        _outcome(one.bare),
        _outcome(one.guarded),
    )


def reports(out: Console, named: Iterable[tuple[str, object]]) -> None:
    """The `sentry_report` of each run."""
    part(out, "Reports", "What sentry_report(graph, config) says about each run.")
    for name, report in named:
        _head(out, name)
        out.print(Padding(Text(str(report)), (0, 0, 0, 2), expand=False))


def lessons(out: Console, recoveries: Recoveries) -> None:
    """Where the lessons lie."""
    part(out, "Lessons", f"{len(recoveries.lessons)} in {recoveries.playbook}")
    for lesson in recoveries.lessons:
        counts = f"{lesson.uses} uses, {lesson.recoveries} recoveries, {lesson.relapses} relapses"
        _line(out, f"- {lesson.text} ({counts})")


def picture(out: Console, svg: Path, mermaid_file: Path, mermaid: str) -> None:
    """The picture of the wrapped graph."""
    part(out, "The graph", f"Drawn in {svg}\nThe same as Mermaid text, {mermaid_file}:")
    out.print(Text(printable_lines(mermaid.expandtabs(2).strip())), soft_wrap=True)


def summary(out: Console, runs: Sequence[Reenactment], recoveries: Recoveries | None) -> None:
    """All runs in one table."""
    table = _table("run", "calls", "with Sentry", "tokens", "with Sentry", "end with Sentry")
    for run in runs:
        table.add_row(
            short_name(run.run),
            *_pair(run.bare.cost, run.guarded.cost),
            "stopped" if run.guarded.stopped else "recording ends",
        )
    for task in recoveries.tasks if recoveries else ():
        table.add_row(
            task.task.name,
            *_pair(task.bare.cost, task.guarded.cost),
            "solved" if task.guarded.solved else "not solved",
        )
    part(out, "In short", "Model calls and approximate tokens, without and with Sentry.")
    out.print(table)


def short_name(run: RecordedRun) -> str:
    """A recorded run in few words: the model without its date, and the beginning of the id."""
    return printable(f"{_DATE.sub('', run.model)} {run.id[:8]}".strip())


def printable_lines(text: str) -> str:
    """Text of others: line breaks stay, anything else that a terminal would obey does not."""
    return "\n".join(printable(line) for line in text.splitlines())


def _failure(out: Console, where: str, row: ReportRow) -> None:
    name = f"{row.label} ({row.pattern})" if row.pattern else row.label
    text = Text.assemble(
        ("  ", ""),
        (f"{printable(where)}: ", "bold"),
        (printable(name), "bold red"),
        (printable(f" `{row.tool}`" if row.tool else ""), ""),
    )
    out.print(text)
    if row.evidence:
        _line(out, f"    evidence: {evidence_line(row.evidence)}")
    _line(out, f"    done: {done_line(row)}")


def _quote(out: Console, title: str, texts: Sequence[str]) -> None:
    _line(out, f"    {title}:", style="dim")
    for text in texts:
        for line in printable_lines(text).splitlines():
            out.print(Padding(Text(f"| {line}", style="cyan"), (0, 0, 0, 6), expand=False))


def _costs(out: Console, bare: Cost, guarded: Cost, bare_end: str, guarded_end: str) -> None:
    table = _table("", "graph steps", "model calls", "tools run", "tokens, about", "end")
    for name, cost, end in (
        ("without Sentry", bare, bare_end),
        ("with Sentry", guarded, guarded_end),
    ):
        table.add_row(
            name,
            f"{cost.graph_steps:,}",
            f"{cost.model_calls:,}",
            f"{cost.tool_runs:,}",
            f"{cost.tokens:,}",
            printable(end),
        )
    out.print(Padding(table, (0, 0, 1, 2)))


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        numbers = column not in ("", "run", "end", "end with Sentry")
        table.add_column(column, justify="right" if numbers else "left", no_wrap=numbers)
    return table


def _pair(bare: Cost, guarded: Cost) -> tuple[str, str, str, str]:
    return (
        f"{bare.model_calls:,}",
        f"{guarded.model_calls:,}",
        f"{bare.tokens:,}",
        f"{guarded.tokens:,}",
    )


def _repeats(out: Console, one: Reenactment) -> None:
    if one.bare.repeats > 3:
        _line(
            out,
            f"  One and the same call ran {one.bare.repeats} times without Sentry, "
            f"{one.guarded.repeats} times with it.",
        )
    if one.bare.beyond or one.guarded.beyond:
        _line(
            out,
            f"  Model calls for which nothing was recorded: {one.bare.beyond} without Sentry, "
            f"{one.guarded.beyond} with it.",
            style="dim",
        )


def _ending(played: Played) -> str:
    return f"stopped in turn {played.turns}" if played.stopped else "end of the recording"


def _outcome(done: Done) -> str:
    return f"{'solved' if done.solved else 'not solved'}: {done.value!r}"


def _plan(text: str) -> str:
    """A text without its first line, which counts."""
    return text.partition("\n")[2]


def _head(out: Console, text: str) -> None:
    out.print()
    out.print(Text(printable(text), style="bold"))


def _line(out: Console, text: str, style: str = "") -> None:
    body = text.lstrip(" ")
    indent = (0, 0, 0, len(text) - len(body))
    out.print(Padding(Text(printable(body), style=style), indent, expand=False))
