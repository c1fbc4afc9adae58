"""Threads of real checkpointers, written by a real graph, are read as the graph saw them."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from sentry_langgraph import with_sentry
from sentry_langgraph.config import load_config
from sentry_langgraph.replay import Level, RecordingError, Replay, read_runs
from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_graph

SHADOW = {"mode": "shadow", "playbook": {"kind": "none"}}


def get_status(job: str) -> str:
    """The state of a job."""
    return f"{job} is running"


def run_threads(saver: Any, count: int) -> None:
    """A thread that loops, and threads that don't."""
    for thread in range(count):
        again = 4 if thread == 0 else 1
        script = [*[ai("", call("get_status", {"job": "7"})) for _ in range(again)], "It runs."]
        model = ScriptedChatModel(script=script)
        graph = with_sentry(react_graph(model, [get_status], checkpointer=saver), SHADOW)
        config: Any = {"configurable": {"thread_id": f"t{thread}"}}
        graph.invoke({"messages": [("user", "Is job 7 done?")]}, config)


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    """A database that `SqliteSaver` wrote."""
    path = tmp_path / "checkpoints.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        run_threads(saver, 3)
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def written(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of either kind with three threads."""
    if request.param == "sqlite":
        yield str(request.getfixturevalue("sqlite_file"))
        return
    url: str = request.getfixturevalue("postgres")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        run_threads(saver, 3)
        yield url
        for thread in range(3):
            saver.delete_thread(f"t{thread}")


def test_threads_are_runs(written: str) -> None:
    """Each thread's newest messages are one run, with what the gate found then."""
    runs = list(read_runs(written))
    assert [run.id for run in runs] == ["t0", "t1", "t2"]
    look = Replay(load_config(SHADOW))
    found = [look.run(run) for run in runs]
    assert [(one.steps, one.calls) for one in found] == [(5, 4), (2, 1), (2, 1)]
    assert [one.level for one in found] == [Level.ADVISE, None, None]
    assert found[0].hits[0].first.pattern == "exact_repeat"
    assert found[0].hits[0].first.tool == "get_status"


def test_a_channel_that_is_not_there_is_named(written: str) -> None:
    """Each thread is reported, with the channels there are and the option to pass."""
    problems: list[RecordingError] = []
    assert not list(read_runs(written, messages_key="chat", on_problem=problems.append))
    assert len(problems) == 3
    assert "thread t0" in str(problems[0])
    assert "--messages-key" in str(problems[0])
    assert "messages" in str(problems[0])


def test_the_database_is_only_read(sqlite_file: Path) -> None:
    """No table and no row changes, also in a directory that allows no writing."""
    before = sqlite_file.read_bytes()
    list(read_runs(sqlite_file))
    assert sqlite_file.read_bytes() == before


def test_another_database_is_refused(tmp_path: Path) -> None:
    """An SQLite file without checkpoints, and a server that is not there, in words."""
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE a (b)")
    database.close()
    with pytest.raises(RecordingError, match="no database of LangGraph's checkpointer"):
        list(read_runs(path))
    with pytest.raises(RecordingError, match="can't be read") as refused:
        list(read_runs("postgresql://me:secret@127.0.0.1:1/none"))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("package", ["sqlite", "postgres"])
def test_what_to_install_is_said(
    package: str, sqlite_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the checkpointer's package, the error names it."""
    real = builtins.__import__

    def missing(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith(f"langgraph.checkpoint.{package}"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    source = str(sqlite_file) if package == "sqlite" else "postgresql://127.0.0.1:1/none"
    with pytest.raises(RecordingError, match=f"pip install langgraph-checkpoint-{package}"):
        list(read_runs(source))
