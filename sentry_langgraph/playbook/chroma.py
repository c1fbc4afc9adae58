"""Lessons in Chroma: an embedded database on disk, or a Chroma server.

Embedded, two processes that write to one path damage it for good, although every write is
acknowledged. So each operation takes a lock between processes, opens the database, acts and
closes it (some 30 ms, and only on repairs). Nothing stays open, so no client crosses a fork.
Don't open the same path by a Chroma client of your own while agents run.

Lessons are looked up by label with `get` and ranked exactly: `query` misses live records after
many deletions. Vectors are ours, so Chroma never loads a model and nothing leaves the machine.
chromadb takes about a second to import; that happens at the first operation.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.playbook.embeddings import Embedder, clean
from sentry_langgraph.playbook.lessons import decode, encode
from sentry_langgraph.playbook.memory import MemoryShelf
from sentry_langgraph.playbook.options import PlaybookOptions
from sentry_langgraph.playbook.ranking import Entry
from sentry_langgraph.playbook.store import (
    KEYS,
    Shelf,
    Stamp,
    StoredPlaybook,
    fits,
    key_of,
    utc_now,
)
from sentry_langgraph.records import Lesson

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.config import Settings

_log = logging.getLogger(__name__)

_POLL = 0.002
"""Seconds between two attempts at the lock between processes."""
_PAUSE = 0.003
"""Seconds after its release: longer than `_POLL`, so that a busy process starves no other."""

EMBEDDING = "sentry_embedding"
DIMENSION = "sentry_dimension"
_FLAT = (
    *KEYS,
    "id",
    "uses",
    "recoveries",
    "relapses",
    "created",
    "last_used",
    "thread_id",
    "checkpoint_id",
)


class ChromaShelf:
    """One collection. Metadata holds flat fields to filter by, and the whole lesson as JSON."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def read(
        self,
        *,
        ids: Sequence[str] | None = None,
        equal: Mapping[str, str] | None = None,
        vectors: bool = False,
    ) -> list[Entry]:
        """Lessons with one of these `ids` whose fields equal those in `equal`.

        A record that is no valid lesson is passed over and logged.
        """
        conditions: list[Any] = [{key: clean(value)} for key, value in (equal or {}).items()]
        if ids is not None:
            conditions.append({"id": {"$in": [clean(id_) for id_ in ids]}})
        where = {"$and": conditions} if len(conditions) > 1 else next(iter(conditions), None)
        rows = self._collection.get(
            where=where, include=["metadatas", "embeddings"] if vectors else ["metadatas"]
        )
        metadatas = rows["metadatas"] or []
        read: Any = rows["embeddings"]
        embeddings = [()] * len(metadatas) if read is None else read
        found = []
        for key, metadata, vector in zip(rows["ids"], metadatas, embeddings, strict=True):
            try:
                lesson = decode((metadata or {}).get("lesson"))
            except PlaybookError as error:
                _log.warning("The playbook holds a record that is passed over: %r: %s", key, error)
                continue
            if fits(lesson, ids, equal):
                found.append(Entry(lesson, tuple(map(float, vector))))
        return found

    def insert(self, entry: Entry) -> None:
        """Store a new lesson with its vector."""
        vectors: list[Sequence[float] | Sequence[int]] = [list(entry.vector)]
        self._collection.upsert(
            ids=[key_of(entry.lesson)],
            embeddings=vectors,
            metadatas=[_metadata(entry.lesson)],
            documents=[clean(entry.lesson.text)],
        )

    def update(self, lessons: Sequence[Lesson]) -> None:
        """Replace stored lessons; their vectors stay."""
        self._collection.update(
            ids=[key_of(lesson) for lesson in lessons],
            metadatas=[_metadata(lesson) for lesson in lessons],
        )

    def remove(self, lessons: Sequence[Lesson]) -> None:
        """Remove stored lessons."""
        self._collection.delete(ids=[key_of(lesson) for lesson in lessons])

    def size(self) -> int:
        """How many lessons there are."""
        return self._collection.count()


class ChromaPlaybook(StoredPlaybook):
    """A playbook that outlives the process, in an embedded Chroma database or on a server.

    Building one does no I/O; the first operation opens.

    Args:
        options: The place, bounds, owner and ranking.
        embedder: Gives the vectors; by default what `options.embeddings` names.
        clock: Gives the time that recency is measured from.
    """

    def __init__(
        self,
        options: PlaybookOptions | None = None,
        *,
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(options, embedder=embedder, clock=clock)
        self._path = Path(os.path.abspath(Path(self.options.path).expanduser()))

    @property
    def place(self) -> str:
        """Where the lessons lie: a directory, or the address of the server."""
        host = self.options.host
        scheme = "https" if self.options.ssl else "http"
        return f"{scheme}://{host}:{self.options.port}" if host else str(self._path)

    @contextmanager
    def _open(self, stamp: Stamp | None = None, *, create: bool = False) -> Iterator[Shelf]:
        with _as_playbook_errors(self.place):
            embedded = self.options.host is None
            if embedded and not create and not (self._path / "chroma.sqlite3").exists():
                yield MemoryShelf()
                return
            import chromadb  # noqa: F401, PLC0415  (a second of work; not while others wait)

            with self._locked(), self._client(embedded) as api:
                collection = self._collection(api, stamp, create)
                yield MemoryShelf() if collection is None else ChromaShelf(collection)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock between threads, and for an embedded database between processes."""
        seconds = self.options.lock_timeout
        lock = _LOCKS.of(self.place)
        if not lock.acquire(timeout=seconds):
            raise _busy(self.place, seconds)
        try:
            if self.options.host is not None:
                yield
                return
            from filelock import FileLock, Timeout  # noqa: PLC0415

            self._path.mkdir(parents=True, exist_ok=True)
            between = FileLock(self._path / "sentry.lock", timeout=seconds, thread_local=False)
            try:
                between.acquire(poll_interval=_POLL)
            except Timeout:
                raise _busy(self.place, seconds) from None
            try:
                yield
            finally:
                between.release()
                time.sleep(_PAUSE)
        finally:
            lock.release()

    @contextmanager
    def _client(self, embedded: bool) -> Iterator[ServerAPI]:
        """Chroma's API over a system of our own: no cache shared with the user's clients."""
        from chromadb.api import ServerAPI as Api  # noqa: PLC0415
        from chromadb.config import System  # noqa: PLC0415

        system = System(self._settings(embedded))
        # Chroma takes the abstract class and looks the concrete one up in its settings.
        api: ServerAPI = system.instance(Api)  # type: ignore[type-abstract]
        session = getattr(api, "_session", None)
        if session is not None:  # Chroma sets no timeout, and a dead server would hold the agent
            session.timeout = self.options.request_timeout
        try:
            system.start()
            try:
                yield api
            finally:
                system.stop()
        finally:
            if session is not None:
                session.close()

    def _settings(self, embedded: bool) -> Settings:
        from chromadb.config import Settings as ChromaSettings  # noqa: PLC0415

        options = self.options
        shared: dict[str, Any] = {
            "_env_file": None,
            "anonymized_telemetry": False,
            "chroma_otel_collection_endpoint": "",
            "chroma_otel_granularity": None,
        }
        if embedded:
            return ChromaSettings(
                **shared,
                chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
                is_persistent=True,
                persist_directory=str(self._path),
            )
        return ChromaSettings(
            **shared,
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=options.host,
            chroma_server_http_port=options.port,
            chroma_server_ssl_enabled=options.ssl,
            # Without TLS there is nothing to verify, and reading the certificates takes 30 ms.
            chroma_server_ssl_verify=None if options.ssl else False,
            chroma_server_headers=self._headers(),
        )

    def _headers(self) -> dict[str, str]:
        name = self.options.token_env
        if name is None:
            return {}
        token = os.environ.get(name, "")
        if not token:
            raise PlaybookError(
                f"The environment variable {name} (`playbook.token_env`) is not set; it has to "
                "hold the token of the Chroma server."
            )
        bearer = self.options.token_header == "Authorization"
        return {self.options.token_header: f"Bearer {token}" if bearer else token}

    def _collection(self, api: ServerAPI, stamp: Stamp | None, create: bool) -> Collection | None:
        from chromadb.api.models.Collection import Collection as ChromaCollection  # noqa: PLC0415
        from chromadb.errors import NotFoundError  # noqa: PLC0415

        options = self.options
        tenant, database = options.tenant, options.database
        try:
            model = api.get_collection(options.collection, tenant=tenant, database=database)
        except NotFoundError:
            if not create or stamp is None:
                return None
            model = api.get_or_create_collection(
                options.collection,
                configuration={"hnsw": {"space": "cosine"}},
                metadata={EMBEDDING: stamp.embedding, DIMENSION: stamp.dimension},
                tenant=tenant,
                database=database,
            )
        if stamp is not None:
            self._check(dict(model.metadata or {}), stamp)
        return ChromaCollection(client=api, model=model, embedding_function=None)

    def _check(self, metadata: Mapping[str, Any], stamp: Stamp) -> None:
        """Refuse to compare or mix vectors of different embeddings."""
        made = (metadata.get(EMBEDDING), metadata.get(DIMENSION))
        if made == (stamp.embedding, stamp.dimension):
            return
        name = self.options.collection
        if made[0] is None:
            raise PlaybookError(
                f"The collection `{name}` in {self.place} was not made by Sentry. Name another "
                "one in `playbook.collection`."
            )
        raise PlaybookError(
            f"The collection `{name}` in {self.place} was made with the embedding `{made[0]}` "
            f"({made[1]} numbers), and this playbook uses `{stamp.embedding}` "
            f"({stamp.dimension} numbers); their vectors can't be compared. Set "
            "`playbook.embeddings` back, or name another `playbook.collection` and import the "
            "exported lessons there."
        )


class _Locks:
    """One lock for each place, for all playbooks of the process; new ones after a fork.

    A lock that another thread held at the time of a fork would never be released in the child.
    """

    def __init__(self) -> None:
        self._fresh()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._fresh)

    def _fresh(self) -> None:
        self._guard = threading.Lock()
        self._by_place: dict[str, threading.Lock] = {}

    def of(self, place: str) -> threading.Lock:
        with self._guard:
            return self._by_place.setdefault(place, threading.Lock())


_LOCKS = _Locks()


@contextmanager
def _as_playbook_errors(place: str) -> Iterator[None]:
    try:
        yield
    except PlaybookError:
        raise
    except BaseException as error:
        # A panic of Chroma's Rust core is not an `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise PlaybookError(
            f"The playbook in {place} can't be used: {type(error).__name__}: {error}. "
            f"{_advice(error)}"
        ) from error


def _advice(error: BaseException) -> str:
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"ConnectError", "TimeoutException", "TransportError"}:
        return "Check that the Chroma server runs there (`playbook.host`, `playbook.port`)."
    if names & {"ChromaAuthError", "AuthorizationError"}:
        return "Check the token (`playbook.token_env`) and its header (`playbook.token_header`)."
    if names & {"ImportError"}:
        return "Install it with `pip install chromadb`, or set `playbook.kind` to `memory`."
    if names & {"OSError"}:
        return "Check that `playbook.path` is a directory that can be written."
    return (
        "Name another `playbook.path` or `playbook.collection`, or set `playbook.kind` to `memory`."
    )


def _busy(place: str, seconds: float) -> PlaybookError:
    return PlaybookError(
        f"The playbook in {place} is in use by others for more than {seconds:g} s. Try again, or "
        "raise `playbook.lock_timeout`; for many writers use a Chroma server (`playbook.host`)."
    )


def _metadata(lesson: Lesson) -> dict[str, str | int]:
    flat: dict[str, str | int] = {}
    for name in _FLAT:
        value = getattr(lesson, name)
        if value is not None:
            flat[name] = clean(value) if isinstance(value, str) else value
    flat["lesson"] = encode(lesson)
    return flat
