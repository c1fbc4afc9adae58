"""What only Chroma has: places, locks, processes, embeddings on record, broken stores."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import chromadb
import pytest
from filelock import FileLock
from langchain_core.embeddings import DeterministicFakeEmbedding

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.playbook import (
    ChromaPlaybook,
    HashedEmbedder,
    LangChainEmbedder,
    PlaybookOptions,
)
from sentry_langgraph.records import LessonQuery
from sentry_langgraph.taxonomy import Label, Verdict

from .conftest import Server, lesson


def at(path: Path, **settings: Any) -> ChromaPlaybook:
    """An embedded playbook."""
    return ChromaPlaybook(PlaybookOptions(path=str(path), **settings), embedder=HashedEmbedder())


WORKER = """
import sys
from sentry_langgraph.playbook import ChromaPlaybook, HashedEmbedder, PlaybookOptions
from sentry_langgraph.records import Lesson
from sentry_langgraph.taxonomy import Label
playbook = ChromaPlaybook(PlaybookOptions(path=sys.argv[1]), embedder=HashedEmbedder())
"""
"""The beginning of another process; a fresh interpreter, that imports no more than it needs."""

ADD_FIVE = """
for number in range(5):
    playbook.add(Lesson(f"{sys.argv[2]}-{number}", Label.HALLUCINATION, "text"))
"""
READ_AND_ADD = """
print(playbook.count())
playbook.add(Lesson("b", Label.HALLUCINATION, "text"))
"""
BUSY = """
import time
playbook.count()
print("on", flush=True)
end = time.monotonic() + 2
while time.monotonic() < end:
    playbook.add(Lesson("busy", Label.HALLUCINATION, "text"))
"""


def process(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process with a playbook on the path that is its first argument."""
    command = [sys.executable, "-c", WORKER + code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def all_found(playbook: ChromaPlaybook) -> set[str]:
    """Ids that `find` lists and `search` ranks, which have to be the same."""
    listed = {found.id for found in playbook.find()}
    ranked = playbook.search(LessonQuery(Label.HALLUCINATION, "order"), 1_000)
    assert listed == {found.lesson.id for found in ranked}
    return listed


def test_persists(tmp_path: Path) -> None:
    """Lessons are there for the next playbook on the same path."""
    stored = at(tmp_path).add(lesson(extra={"n": None}))
    assert at(tmp_path).get(["a"]) == [stored]


def test_processes(tmp_path: Path) -> None:
    """Four processes add five lessons each; none is lost and none damaged."""
    workers = [process(ADD_FIVE, str(tmp_path), str(number)) for number in range(4)]
    for worker in workers:
        worker.communicate(timeout=60)
    assert [worker.returncode for worker in workers] == [0] * 4
    assert len(all_found(at(tmp_path))) == 20


def test_reader_in_another_process(tmp_path: Path) -> None:
    """Another process sees what was just written, and the other way round."""
    playbook = at(tmp_path)
    playbook.add(lesson("a"))
    out, _ = process(READ_AND_ADD, str(tmp_path)).communicate(timeout=60)
    assert out.strip() == "1"
    assert all_found(playbook) == {"a", "b"}


def test_two_playbooks_with_other_settings(tmp_path: Path) -> None:
    """Two playbooks on one path with different settings work side by side."""
    one, two = at(tmp_path), at(tmp_path, collection="others", max_lessons=5, lock_timeout=5)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda p: [p.add(lesson(str(n))) for n in range(3)], (one, two)))
    assert (one.count(), two.count()) == (3, 3)


def test_beside_a_client_of_the_user(tmp_path: Path) -> None:
    """A Chroma client that the user has open elsewhere goes on working."""
    own = chromadb.PersistentClient(path=str(tmp_path / "own"))
    collection = own.create_collection("docs", embedding_function=None)
    at(tmp_path / "ours").add(lesson())
    collection.add(ids=["1"], embeddings=[[1.0, 2.0]])
    assert own.get_collection("docs", embedding_function=None).count() == 1
    own.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork(tmp_path: Path) -> None:
    """A forked child uses the playbook, also when a thread of the parent was in the middle."""
    playbook = at(tmp_path)
    playbook.add(lesson("parent"))
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with playbook._open():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            at(tmp_path).add(lesson("child"))
            code = 0
        finally:
            os._exit(code)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all_found(playbook) == {"parent", "child"}


def test_nothing_leaves_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The embedded store opens no connection, sends no telemetry and touches no logger."""
    connections: list[Any] = []

    def record(_: socket.socket, address: Any) -> None:
        connections.append(address)
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", record)
    monkeypatch.setattr(socket.socket, "connect_ex", record)
    root = logging.getLogger()
    before = (root.level, list(root.handlers), root.disabled)
    caplog.set_level(logging.DEBUG)
    level = root.level
    playbook = ChromaPlaybook(PlaybookOptions(path=str(tmp_path)))
    playbook.add(lesson())
    assert playbook.search(LessonQuery(Label.HALLUCINATION, "order"))
    assert playbook._settings(True).anonymized_telemetry is False
    assert connections == []
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert (root.level, list(root.handlers), root.disabled) == (level, *before[1:])


def test_metadata_can_be_filtered_by_others(tmp_path: Path) -> None:
    """Flat fields stand beside the record, and the collection names its embedding."""
    at(tmp_path).add(lesson(tool="cancel_order", thread_id="t", pattern="p"))
    client = chromadb.PersistentClient(path=str(tmp_path))
    collection = client.get_collection("sentry_playbook", embedding_function=None)
    assert collection.metadata == {
        "sentry_embedding": HashedEmbedder.name,
        "sentry_dimension": 256,
    }
    rows = collection.get(where={"$and": [{"tool": "cancel_order"}, {"recoveries": {"$gte": 1}}]})
    assert rows["ids"] == ["a"]
    assert rows["documents"] == ["look the order up first"]
    metadata = (rows["metadatas"] or [])[0]
    assert json.loads(str(metadata.pop("lesson")))["id"] == "a"
    assert metadata == {
        "id": "a",
        "label": "hallucination",
        "type": "reasoning_grounding_failure",
        "tool": "cancel_order",
        "pattern": "p",
        "status": "active",
        "uses": 0,
        "recoveries": 1,
        "relapses": 0,
        "created": "",
        "last_used": "",
        "thread_id": "t",
    }
    hits = collection.query(query_embeddings=HashedEmbedder().embed(["x"]), n_results=1)
    assert 0.0 <= (hits["distances"] or [[9.0]])[0][0] <= 2.0
    client.close()


@pytest.mark.parametrize("embedder", [LangChainEmbedder(DeterministicFakeEmbedding(size=8))])
def test_another_embedding(tmp_path: Path, embedder: LangChainEmbedder) -> None:
    """Vectors of another embedding are neither compared nor mixed; the error says what to do."""
    at(tmp_path).add(lesson())
    options = PlaybookOptions(path=str(tmp_path))
    other = ChromaPlaybook(options, embedder=embedder)
    for act in (
        lambda: other.add(lesson("b")),
        lambda: other.search(LessonQuery(Label.HALLUCINATION, "x")),
    ):
        with pytest.raises(PlaybookError, match=r"hashed-ngrams-256.*playbook\.embeddings"):
            act()
    assert [found.id for found in other.find()] == ["a"]
    other.record(["a"], Verdict.RECOVERED, at="2026-01-01")
    assert all_found(at(tmp_path)) == {"a"}


def test_same_name_other_length(tmp_path: Path) -> None:
    """An embedding that changed its length under the same name is refused too."""
    options = PlaybookOptions(path=str(tmp_path))
    for size in (8, 9):
        embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=size), name="mine")
        playbook = ChromaPlaybook(options, embedder=embedder)
        if size == 8:
            playbook.add(lesson())
        else:
            with pytest.raises(PlaybookError, match="8 numbers"):
                playbook.add(lesson())


def test_foreign_collection(tmp_path: Path) -> None:
    """A collection that others made is not written to."""
    client = chromadb.PersistentClient(path=str(tmp_path))
    client.create_collection("sentry_playbook", embedding_function=None)
    client.close()
    with pytest.raises(PlaybookError, match="not made by Sentry"):
        at(tmp_path).add(lesson())


def test_tampered_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A record that others broke is passed over and logged; the rest is found."""
    at(tmp_path).add(lesson("good"))
    at(tmp_path).add(lesson("bad"))
    client = chromadb.PersistentClient(path=str(tmp_path))
    collection = client.get_collection("sentry_playbook", embedding_function=None)
    collection.update(ids=["bad"], metadatas=[{"lesson": '{"id": "bad", "text": "obey"}'}])
    client.close()
    assert all_found(at(tmp_path)) == {"good"}
    assert "passed over" in caplog.text


def test_many_deletions(tmp_path: Path) -> None:
    """After many deletions every live lesson is still found."""
    playbook = at(tmp_path)
    for number in range(16):
        playbook.add(lesson(f"{number:02}"))
    playbook.delete([f"{number:02}" for number in range(0, 16, 2)])
    assert len(all_found(playbook)) == 8


def file_in_the_way(path: Path) -> None:
    """A file stands where the directory should be."""
    path.write_text("not a directory")


def garbage(path: Path) -> None:
    """The database is no database."""
    path.mkdir()
    (path / "chroma.sqlite3").write_bytes(b"garbage" * 1000)


@pytest.mark.parametrize("broken", [file_in_the_way, garbage])
def test_broken_store(tmp_path: Path, broken: Callable[[Path], None]) -> None:
    """Whatever is wrong with the store, every operation is a PlaybookError with a way out."""
    path = tmp_path / "p"
    broken(path)
    playbook = at(path)
    with pytest.raises(PlaybookError, match=r"playbook\.path"):
        playbook.add(lesson())
    if path.is_dir():
        for act in (playbook.count, playbook.find, lambda: playbook.get(["a"])):
            with pytest.raises(PlaybookError, match=r"playbook\.path"):
                act()


def test_lock_held_elsewhere(tmp_path: Path) -> None:
    """A lock that others keep is waited for, then named in the error."""
    at(tmp_path).add(lesson())
    with FileLock(tmp_path / "sentry.lock"), pytest.raises(PlaybookError, match="lock_timeout"):
        at(tmp_path, lock_timeout=0.1).count()
    assert at(tmp_path).count() == 1


def test_busy_writer_does_not_starve_others(tmp_path: Path) -> None:
    """While one process writes without a pause, another gets its turn."""
    at(tmp_path).add(lesson())
    busy = process(BUSY, str(tmp_path))
    assert busy.stdout is not None
    assert busy.stdout.readline().strip() == "on"
    playbook = at(tmp_path, lock_timeout=3)
    for _ in range(4):
        playbook.record(["a"], Verdict.RECOVERED, at="2026-01-01")
    assert busy.poll() is None
    busy.wait(20)
    busy.stdout.close()
    assert playbook.get(["a"])[0].uses == 4


def test_no_server() -> None:
    """A server that isn't there is an error that names host and port, at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = PlaybookOptions(host="127.0.0.1", port=port)
    with pytest.raises(PlaybookError, match=f"{port}.*playbook.host"):
        ChromaPlaybook(options, embedder=HashedEmbedder()).count()


def test_silent_server() -> None:
    """A server that takes the request and never answers is given up in time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = PlaybookOptions(
            host="127.0.0.1", port=silent.getsockname()[1], request_timeout=0.3
        )
        with pytest.raises(PlaybookError, match=r"playbook\.host"):
            ChromaPlaybook(options, embedder=HashedEmbedder()).count()


def test_token(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token comes from the environment and is missed by name."""
    options = PlaybookOptions(
        host=server.host, port=server.port, token_env="SENTRY_TEST_TOKEN", collection="tokens"
    )
    playbook = ChromaPlaybook(options, embedder=HashedEmbedder())
    monkeypatch.delenv("SENTRY_TEST_TOKEN", raising=False)
    with pytest.raises(PlaybookError, match="SENTRY_TEST_TOKEN"):
        playbook.count()
    monkeypatch.setenv("SENTRY_TEST_TOKEN", "abc")
    assert playbook._headers() == {"Authorization": "Bearer abc"}
    assert playbook.count() == 0


def test_collection_deleted_on_the_server(server: Server) -> None:
    """A collection that vanished between two operations is made anew."""
    options = PlaybookOptions(host=server.host, port=server.port, collection="vanishing")
    playbook = ChromaPlaybook(options, embedder=HashedEmbedder())
    playbook.add(lesson())
    with playbook._client(False) as api:
        api.delete_collection("vanishing")
    assert playbook.count() == 0
    playbook.add(lesson("b"))
    assert [found.id for found in playbook.find()] == ["b"]
