"""A process of its own: reads a job as JSON from its input and prints the result as JSON."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

TESTS = Path(__file__).parents[1]
REPOSITORY = TESTS.parent

_START = "import sys; sys.path[:0] = sys.argv[1:3]; from cases.child import main; main()"


def ask(job: str, timeout: float = 120.0, env: Mapping[str, str] | None = None, **what: Any) -> Any:
    """Run a job of this module in a new process.

    Args:
        job: The name of the job.
        timeout: Seconds until it counts as hung.
        env: Environment variables besides those of this process.
        what: What the job is given, as JSON.

    Raises:
        AssertionError: The process failed; the message holds its last words.
    """
    import os

    started = subprocess.run(
        [sys.executable, "-c", _START, str(TESTS), str(REPOSITORY)],
        input=json.dumps({"job": job, **what}),
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
        cwd=what.get("path") or None,
        check=False,
    )
    if started.returncode:
        raise AssertionError(f"the process for {job} failed:\n{started.stderr[-3000:]}")
    return json.loads(started.stdout.splitlines()[-1])


def main() -> None:
    """Read the job, do it, print what came of it."""
    given = json.loads(sys.stdin.read())
    sys.stdout.write("\n" + json.dumps(_JOBS[given.pop("job")](**given), default=str) + "\n")


def _threads(jobs: list[dict[str, Any]], path: str, **common: Any) -> list[dict[str, Any]]:
    """Several jobs of `_thread`, one after the other."""
    return [_thread(path=path, **job, **common) for job in jobs]


def _thread(
    saver: str, path: str, case: str, inputs: list[list[Any]], script: list[Any], file: str
) -> dict[str, Any]:
    """Invocations of a wrapped agent on one thread, with what a caller can see of the state."""
    from cases.agents import react
    from cases.assume import settings
    from cases.drive import captured, fresh_playbook
    from cases.loader import load
    from cases.observe import plain
    from cases.rules import ALWAYS
    from cases.savers import opened
    from cases.scripts import messages
    from cases.scripts import script as turns
    from cases.tools import Workshop
    from sentry_langgraph import with_sentry
    from sentry_langgraph.testing import ScriptedChatModel

    found = next(one for one in load(Path(file)) if one.id == case)

    async def run() -> dict[str, Any]:
        workshop = Workshop()
        model = ScriptedChatModel(script=turns(script), rules=ALWAYS)
        config: Any = {"configurable": {"thread_id": "case"}}
        answers = []
        async with opened(saver, f"{path}/threads.db") as checkpointer:
            with captured() as logs:
                for said in inputs:
                    # the graph is made anew for each invocation
                    bare = react(found.input["tools"])(model, workshop, checkpointer)
                    graph = with_sentry(bare, settings(), playbook=fresh_playbook())
                    given = {"messages": messages(said, uuid4().hex)}
                    done = await asyncio.to_thread(graph.invoke, given, config)
                    answers.append(str(done["messages"][-1].text))
                values = graph.get_state(config).values
        return {
            "answers": answers,
            "runs": workshop.runs,
            "events": values["sentry"],
            "plain": plain(values["sentry"]),
            "keys": sorted(values),
            "warnings": [text for _, _, text in logs if "unregistered" in text],
            "messages": len(values["messages"]),
        }

    return asyncio.run(run())


def _lessons(path: str, start: int, count: int) -> int:
    """Open the playbook and add lessons to it."""
    from sentry_langgraph.playbook import ChromaPlaybook, PlaybookOptions
    from sentry_langgraph.records import Lesson
    from sentry_langgraph.taxonomy import Label

    store = ChromaPlaybook(PlaybookOptions(path=path, embeddings="hashed", lock_timeout=60.0))
    for number in range(start, start + count):
        store.add(Lesson(f"lesson-{number}", Label.TOOL_ERROR, f"lesson {number}"))
    return store.count()


def _guarded(path: str, modes: list[str]) -> list[dict[str, Any]]:
    """Runs under the guard, one after the other."""
    return [_blocking(path, mode) for mode in modes]


def _blocking(path: str, mode: str) -> dict[str, Any]:
    """A run under the guard that `langgraph dev` sets up, in a process that has just started."""
    from blockbuster import BlockBuster
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver

    import sentry_langgraph
    from cases.drive import captured
    from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_builder

    @tool
    def look(n: int) -> str:
        """Look."""
        return "nothing"

    @tool
    def other(n: int) -> str:
        """Look elsewhere."""
        return "found"

    loop = [ai("", call("look", {"n": 1}, id=f"c{n}")) for n in range(3)]
    script = [*loop, ai("", call("other", {"n": 1}, id="d")), "found it"]
    lessons = f"{path}/lessons of {mode}"
    config: Any = {"playbook": {"path": lessons, "embeddings": "hashed"}}
    if mode == "relative path":
        Path(path, "sentry.yaml").write_text(
            f"playbook:\n  path: {lessons}\n  embeddings: hashed\n"
        )
        config = "sentry.yaml"
    callbacks: list[Any] = []
    if mode == "callback":
        callbacks = [sentry_langgraph.SentryCallback()]
    model = ScriptedChatModel(script=[*script, *script])
    graph = sentry_langgraph.with_sentry(
        react_builder(model, [look, other]).compile(checkpointer=InMemorySaver()), config
    )
    blocked: list[str] = []

    async def run() -> list[str]:
        kinds = []
        for turn in range(2 if mode == "lessons" else 1):
            done: Any = {"configurable": {"thread_id": str(turn)}, "callbacks": callbacks}
            try:
                await graph.ainvoke({"messages": [("user", "look for it")]}, done)
            except Exception as error:
                blocked.append(f"{type(error).__name__}: {error}")
            state = await graph.aget_state(done)
            kinds += [event["kind"] for event in state.values.get("sentry", ())]
        return kinds

    guard = BlockBuster()
    guard.activate()
    try:
        with captured() as logs:
            kinds = asyncio.run(run())
    finally:
        guard.deactivate()
    return {
        "blocked": blocked + [text for _, _, text in logs if "Blocking call" in text],
        "kinds": kinds,
        "warnings": [text for level, _, text in logs if level in ("WARNING", "ERROR")],
    }


_JOBS: dict[str, Callable[..., Any]] = {
    "threads": _threads,
    "lessons": _lessons,
    "blocking": _guarded,
}
