"""The figures of a demo as plain JSON, for `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sentry_langgraph import __version__
from sentry_langgraph.demo.recover import Done, Recoveries, Recovery
from sentry_langgraph.demo.reenact import Played, Reenactment, position


def figures(
    runs: Sequence[Reenactment],
    recoveries: Recoveries | None,
    *,
    directory: Path,
    picture: Path,
    seconds: float,
) -> dict[str, Any]:
    """Everything that was measured."""
    return {
        "version": __version__,
        "seconds": round(seconds, 2),
        "directory": str(directory),
        "picture": str(picture),
        "reenacted": [_run(one) for one in runs],
        "recovering": [_recovery(one) for one in recoveries.tasks] if recoveries else [],
        "lessons": {
            "path": str(recoveries.playbook),
            "count": len(recoveries.lessons),
            "texts": [lesson.text for lesson in recoveries.lessons],
        }
        if recoveries
        else None,
    }


def _run(one: Reenactment) -> dict[str, Any]:
    return {
        "id": one.run.id,
        "source": one.run.source,
        "model": one.run.model,
        "about": one.about,
        "without": _played(one.bare),
        "with": _played(one.guarded),
        "caught": [
            {
                "message": position(row.step),
                "label": row.label,
                "pattern": row.pattern,
                "tool": row.tool,
                "evidence": dict(row.evidence),
                "done": row.done,
            }
            for row in one.report.rows
        ],
        "injected": [text for texts in one.injected.values() for text in texts],
        "report": one.report.to_dict(),
    }


def _played(played: Played) -> dict[str, Any]:
    return {
        **asdict(played.cost),
        "calls_beyond_recording": played.beyond,
        "turns": played.turns,
        "same_call": played.repeats,
        "stopped": played.stopped,
    }


def _recovery(one: Recovery) -> dict[str, Any]:
    return {
        "task": one.task.name,
        "failure": one.task.failure,
        "thread": one.thread,
        "without": _done(one.bare),
        "with": _done(one.guarded),
        "injected": list(one.injected),
        "report": one.report.to_dict(),
    }


def _done(done: Done) -> dict[str, Any]:
    return {**asdict(done.cost), "solved": done.solved, "database": done.value}
