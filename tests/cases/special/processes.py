"""A thread that goes on in another process, with every checkpointer and environment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cases.child import ask
from cases.loader import Case
from cases.observe import Record
from cases.plans import Run


def runs(case: Case) -> Iterable[Run] | None:
    """The runs of a case with several checkpointers or environments; None for all others."""
    if not isinstance(case.input.get("checkpointer"), list) and "env" not in case.input:
        return None
    return _each(case)


def _each(case: Case) -> Iterator[Run]:
    savers = case.input["checkpointer"]
    for saver in savers if isinstance(savers, list) else [savers]:
        for env in case.input.get("env", [{}]):
            name = "/".join([saver, *(f"{key}={value}" for key, value in env.items())])
            yield Run(name, lambda mode, n=name, s=saver, e=env: _resumed(case, n, s, e), ("sync",))


def _resumed(case: Case, name: str, saver: str, env: Mapping[str, str]) -> Record:
    """The run, and then another turn: in a new process where the saver outlives the first."""
    given = case.input
    again = [{"role": "human", "content": "And now?"}]
    more = [{"role": "ai", "content": "Still the same."}]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
        common: dict[str, Any] = {
            "saver": saver,
            "path": path,
            "case": case.id,
            "file": str(case.file),
        }
        if saver == "InMemorySaver":
            script = [*given["model_script"], *more]
            both = ask("thread", env=env, inputs=[given["messages"], again], script=script, **common)
            done = [both]
        else:
            done = [
                ask("thread", env=env, inputs=[said], script=script, **common)
                for said, script in ((given["messages"], given["model_script"]), (again, more))
            ]
    runs_made = [run for one in done for run in one["runs"]]
    return Record(
        name,
        "sync",
        tool_runs=tuple((tool, args) for tool, args in runs_made),
        events=tuple(done[-1]["events"]),
        extra={"processes": done},
    )
