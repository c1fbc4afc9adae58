"""A thread that goes on in another process, with every checkpointer and environment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from cases.child import ask
from cases.loader import Case, listed
from cases.observe import Record
from cases.plans import Run

AGAIN = [{"role": "human", "content": "And now?"}]
MORE = [{"role": "ai", "content": "Still the same."}]


def runs(case: Case) -> Iterable[Run] | None:
    """The runs of a case with several checkpointers or environments; None for all others."""
    if not isinstance(case.input.get("checkpointer"), list) and "env" not in case.input:
        return None
    return _each(case)


def _each(case: Case) -> Iterator[Run]:
    for env in case.input.get("env", [{}]):
        together = _both_turns(case, env)
        for saver in listed(case.input.get("checkpointer", "InMemorySaver")):
            name = "/".join([saver, *(f"{key}={value}" for key, value in env.items())])
            yield Run(name, lambda mode, n=name, s=saver, t=together: _record(n, t()[s]), ("sync",))


def _record(name: str, done: list[dict[str, Any]]) -> Record:
    return Record(
        name,
        "sync",
        tool_runs=tuple((tool, args) for one in done for tool, args in one["runs"]),
        events=tuple(done[-1]["events"]),
        extra={"processes": done},
    )


def _both_turns(case: Case, env: Mapping[str, str]) -> Any:
    """What comes of two turns, by checkpointer; made when it is first asked for.

    The second turn is made in a new process where the checkpointer outlives the first.
    """

    @cache
    def make() -> dict[str, list[dict[str, Any]]]:
        given = case.input
        first, second = [], []
        for saver in listed(given.get("checkpointer", "InMemorySaver")):
            said, script = given["messages"], given["model_script"]
            if saver == "InMemorySaver":
                inputs = {"inputs": [said, AGAIN], "script": [*script, *MORE]}
                first.append({"saver": saver, **inputs})
            else:
                first.append({"saver": saver, "inputs": [said], "script": script})
                second.append({"saver": saver, "inputs": [AGAIN], "script": MORE})
        common = {"case": case.id, "file": str(case.file.resolve())}
        made: dict[str, list[dict[str, Any]]] = {}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
            for jobs in filter(None, (first, second)):
                done = ask("threads", env=env, path=path, jobs=jobs, **common)
                for job, result in zip(jobs, done, strict=True):
                    made.setdefault(job["saver"], []).append(result)
        return made

    return make
