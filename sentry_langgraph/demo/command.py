"""The command `sentry demo`."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sentry_langgraph.demo import show
from sentry_langgraph.demo.agents import AgentKind, AgentUnavailable, AnyGraph, build, check
from sentry_langgraph.demo.figures import figures
from sentry_langgraph.demo.recordings import run_of, shipped_runs
from sentry_langgraph.demo.recover import Recoveries, recover
from sentry_langgraph.demo.reenact import CONFIG, Reenactment, reenact
from sentry_langgraph.graph.picture import draw_mermaid, draw_svg
from sentry_langgraph.graph.wrap import with_sentry
from sentry_langgraph.testing.recorded import RecordedChatModel, recorded_tools
from sentry_langgraph.testing.traces import RecordedRun, TraceError


def demo(
    agent: Annotated[
        AgentKind, typer.Option(help="The agent that is wrapped.", case_sensitive=False)
    ] = AgentKind.REACT,
    trace: Annotated[
        Path | None,
        typer.Option(help="Re-enact a run of this file instead (.jsonl or .jsonl.gz)."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--id", help="The run in --trace, or how its id begins.")
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Where to write; new or empty. Default: a temporary one."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file.")
    ] = None,
) -> None:
    """Show failures and their repair, offline.

    Part one re-enacts recorded runs of real models. In part two a scripted agent recovers, and
    what it learned helps it the next time. Needs no key and no network.
    """
    started = time.perf_counter()
    try:
        check(agent)
        chosen = _chosen(trace, run_id)
        place = _place(directory)
    except (AgentUnavailable, TraceError, _Usage) as error:
        raise _failed(str(error)) from error
    out = show.console()
    out.print(f"Everything that is written lies in {place}")
    runs = _part_one(out, chosen, agent)
    recoveries = _part_two(out, place, agent) if trace is None else None
    named = [(show.short_name(one.run), one.report) for one in runs]
    if recoveries is not None:
        named += [(f"{one.thread}: {one.task.name}", one.report) for one in recoveries.tasks]
    show.reports(out, named)
    if recoveries is not None:
        show.lessons(out, recoveries)
    graph = recoveries.graph if recoveries is not None else _wrapped(runs[0].run, agent)
    picture = _draw(out, graph, place)
    show.summary(out, runs, recoveries)
    seconds = time.perf_counter() - started
    out.print(f"\n{seconds:.1f} seconds. Everything that was written lies in {place}")
    if json_file is not None:
        measured = figures(runs, recoveries, directory=place, picture=picture, seconds=seconds)
        _write(json_file, measured)


class _Usage(Exception):
    """The options don't fit together."""


def _failed(message: str) -> typer.Exit:
    typer.echo(f"sentry demo: {show.printable_lines(message)}", err=True)
    return typer.Exit(1)


def _chosen(trace: Path | None, run_id: str | None) -> list[tuple[RecordedRun, str]]:
    if trace is None and run_id is None:
        return shipped_runs()
    if trace is None or not run_id:
        raise _Usage("--trace FILE and --id ID belong together")
    return [(run_of(trace, run_id), "")]


def _place(directory: Path | None) -> Path:
    """The directory that is written to: a new or an empty one."""
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="sentry-demo-"))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        used = next(directory.iterdir(), None)
    except OSError as error:
        raise _Usage(f"--dir {directory} can't be used: {error.strerror or error}") from error
    if used is not None:
        raise _Usage(f"--dir {directory} is not empty; name a new directory")
    return directory.resolve()


def _part_one(
    out: Any, chosen: list[tuple[RecordedRun, str]], agent: AgentKind
) -> list[Reenactment]:
    show.part_one(out)
    runs = []
    for number, (run, about) in enumerate(chosen, 1):
        runs.append(reenact(run, about, agent))
        show.reenacted(out, number, runs[-1])
    return runs


def _part_two(out: Any, place: Path, agent: AgentKind) -> Recoveries:
    show.part_two(out)
    recoveries = recover(place, agent)
    for number, one in enumerate(recoveries.tasks, 1):
        show.recovered(out, number, one)
    return recoveries


def _wrapped(run: RecordedRun, agent: AgentKind) -> AnyGraph:
    return with_sentry(build(agent, RecordedChatModel(run), recorded_tools(run)), CONFIG)


def _draw(out: Any, graph: AnyGraph, place: Path) -> Path:
    svg, mermaid_file = place / "graph.svg", place / "graph.mmd"
    mermaid = draw_mermaid(graph)
    svg.write_text(draw_svg(graph), encoding="utf-8")
    mermaid_file.write_text(mermaid, encoding="utf-8")
    show.picture(out, svg, mermaid_file, mermaid)
    return svg


def _write(path: Path, measured: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(measured, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise _failed(f"--json {path} can't be written: {error.strerror or error}") from error
