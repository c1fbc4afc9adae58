"""`concurrency`: many threads, processes and wrappers on one playbook."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cases.agents import react
from cases.assume import settings
from cases.child import ask
from cases.drive import captured
from cases.loader import Case, CaseError
from cases.observe import Record
from cases.plans import Run
from cases.tools import Workshop
from sentry_langgraph import with_sentry
from sentry_langgraph.playbook import ChromaPlaybook, PlaybookOptions
from sentry_langgraph.records import Lesson
from sentry_langgraph.taxonomy import Label
from sentry_langgraph.testing import ScriptedChatModel, ai, call


def runs(case: Case) -> Iterator[Run]:
    """One run for each variant."""
    for name, words in case.input["variants"].items():
        yield Run(name, lambda mode, n=name, w=words: _variant(n, w), ("sync",))


def _variant(name: str, words: str) -> Record:
    found = re.search(r"(\d+) (threads|processes).*add (\d+) lessons", words)
    action: Callable[[str], dict[str, Any]]
    if found is not None:
        workers, kind, each = int(found[1]), found[2], int(found[3])
        act = _threads if kind == "threads" else _processes
        action = lambda path: act(path, workers, each)  # noqa: E731
    elif "with_sentry called twice" in words:
        action = _wrappers
    else:
        raise CaseError(f"no rule reads the variant {words!r}; see cases/kinds/concurrency.py")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path, captured() as logs:
        extra = action(path)
    return Record(name, "sync", logs=tuple(logs), extra=extra)


def _store(path: str) -> ChromaPlaybook:
    return ChromaPlaybook(PlaybookOptions(path=path, embeddings="hashed", lock_timeout=60.0))


def _lesson(number: int) -> Lesson:
    return Lesson(f"lesson-{number}", Label.TOOL_ERROR, f"lesson {number}")


def _threads(path: str, workers: int, each: int) -> dict[str, Any]:
    def work(worker: int) -> None:
        store = _store(path)
        for number in range(each):
            store.add(_lesson(worker * each + number))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    return _counted(path)


def _processes(path: str, workers: int, each: int) -> dict[str, Any]:
    with ThreadPoolExecutor(workers) as pool:
        list(
            pool.map(
                lambda worker: ask("lessons", path=path, start=worker * each, count=each),
                range(workers),
            )
        )
    return _counted(path)


def _counted(path: str) -> dict[str, Any]:
    store = _store(path)
    count = store.count()
    store.add(_lesson(0))
    return {
        "count": count,
        "again": store.count(),
        "elsewhere": ask("lessons", path=path, start=0, count=0),
    }


def _wrappers(path: str) -> dict[str, Any]:
    """Two wrapped agents on one path, each with a loop that it gets out of."""
    spec = {"name": "look", "schema_kind": "pydantic", "returns": "nothing"}
    other = {"name": "find", "schema_kind": "pydantic", "returns": "found"}
    answers = []
    for most in (10, 20):
        loop = [ai("", call("look", id=f"c{n}")) for n in range(3)]
        model = ScriptedChatModel(script=[*loop, ai("", call("find", id="d")), "found it"])
        bare = react([spec, other])(model, Workshop(), None)
        lessons = {"kind": "chroma", "path": path, "embeddings": "hashed", "max_lessons": most}
        graph = with_sentry(bare, settings(playbook=lessons))
        answers.append(str(graph.invoke({"messages": [("user", "look")]})["messages"][-1].text))
    return {"answers": answers, **_counted(path)}
