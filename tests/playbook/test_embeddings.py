"""Embeddings: no download, no key, the same in every process."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.playbook import (
    AutoEmbedder,
    HashedEmbedder,
    LangChainEmbedder,
    WordLlamaEmbedder,
    embeddings,
)
from sentry_langgraph.playbook.embeddings import adapt, make_embedder, vectors_of
from sentry_langgraph.playbook.ranking import similarity

made = 0
ready = DeterministicFakeEmbedding(size=8)


def factory() -> Embeddings:
    """A factory that counts its calls."""
    global made  # noqa: PLW0603
    made += 1
    return DeterministicFakeEmbedding(size=8)


class Small(Embeddings):
    """A class without arguments."""

    model = "small"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Failing(Small):
    """A service that is down."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("refused")


TEXTS = ["look the order up", "", " ", "\x00", "\ud800", "🙂", "x" * 1_000_000]


@pytest.mark.parametrize("embedder", [HashedEmbedder(), WordLlamaEmbedder(), AutoEmbedder()])
def test_unit_vectors_for_any_text(embedder: embeddings.Embedder) -> None:
    """Every text has a vector of length 1, empty and broken ones too."""
    for vector in vectors_of(embedder, TEXTS):
        assert len(vector) == 256
        assert sum(n * n for n in vector) == pytest.approx(1.0)
    assert embedder.embed([]) == []


def test_hashed_is_the_same_in_every_process() -> None:
    """The hash does not depend on the process."""
    code = (
        "from sentry_langgraph.playbook import HashedEmbedder;"
        "print(HashedEmbedder().embed(['look the order up'])[0])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == str(HashedEmbedder().embed(["look the order up"])[0])


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("the order id was not looked up", "look the order id up", "stop and answer"),
        ("repeats fetch_customer", "call fetch_customer once", "wait for the invoice"),
    ],
)
def test_nearer_texts_are_nearer(asked: str, near: str, far: str) -> None:
    """Texts that share words are nearer than texts that don't."""
    for embedder in (HashedEmbedder(), WordLlamaEmbedder()):
        a, b, c = embedder.embed([asked, near, far])
        assert similarity(a, b) > similarity(a, c)


def test_wordllama_knows_paraphrases() -> None:
    """wordllama sees that two sentences without a common word mean the same."""
    a, b, c = WordLlamaEmbedder().embed(
        ["purchase identifier is missing", "the order number was not given", "the sky turns red"]
    )
    assert similarity(a, b) > similarity(a, c)


def test_wordllama_leaves_the_root_logger_alone() -> None:
    """Loading wordllama, which configures logging at import, changes nothing of it."""
    code = (
        "import logging; root = logging.getLogger(); before = (root.level, list(root.handlers));"
        "from sentry_langgraph.playbook import WordLlamaEmbedder;"
        "WordLlamaEmbedder().embed(['a']);"
        "assert (root.level, list(root.handlers)) == before, (root.level, root.handlers)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_auto_falls_back(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where wordllama is not installed, hashed n-grams take its place, and the log says so."""
    assert AutoEmbedder().name == WordLlamaEmbedder.name
    monkeypatch.setitem(sys.modules, "wordllama", None)
    caplog.set_level(logging.INFO)
    auto = AutoEmbedder()
    assert auto.name == HashedEmbedder.name
    assert auto.embed(["a"]) == HashedEmbedder().embed(["a"])
    assert "pip install wordllama" in caplog.text
    with pytest.raises(PlaybookError, match="pip install wordllama"):
        WordLlamaEmbedder().embed(["a"])


@pytest.mark.parametrize("name", ["ready", "factory", "Small"])
def test_import_path(name: str) -> None:
    """An object, a factory and a class all work, and the path names the vectors."""
    embedder = make_embedder(f"{__name__}:{name}")
    assert embedder.embed(["a", "b"]) == [embedder.embed([t])[0] for t in ("a", "b")]
    assert embedder.name.startswith(f"{__name__}:{name}")


def test_loaded_once() -> None:
    """Sixteen threads load the model once."""
    before = made
    embedder = make_embedder(f"{__name__}:factory")
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: embedder.embed(["a"]), range(16)))
    assert made == before + 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nowhere.at_all:x", "nowhere"),
        (f"{__name__}:missing", "missing"),
        ("math:pi", "can't be loaded"),
        ("builtins:dict", "embed_documents"),
    ],
)
def test_import_path_that_is_wrong(spec: str, said: str) -> None:
    """A path that leads nowhere is an error that names it and what it should be."""
    with pytest.raises(PlaybookError, match=said) as caught:
        make_embedder(spec).embed(["a"])
    assert spec in str(caught.value)


def test_langchain_object() -> None:
    """A LangChain object is named by its class and model; an embedder stays as it is."""
    assert adapt(Small()).name == f"{__name__}.Small/small"
    own = HashedEmbedder()
    assert adapt(own) is own
    with pytest.raises(PlaybookError, match="Embeddings"):
        adapt(3)


def test_failing_service() -> None:
    """A service that is down is a PlaybookError with a way out."""
    with pytest.raises(PlaybookError, match=r"refused.*auto"):
        LangChainEmbedder(Failing()).embed(["a"])


@pytest.mark.parametrize("rows", [[], [[]], [[float("nan")]], [[1.0], [2.0]], None])
def test_wrong_vectors(rows: list[list[float]]) -> None:
    """Vectors that can't be compared are refused."""

    class Wrong:
        name = "wrong"

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return rows

    with pytest.raises(PlaybookError):
        vectors_of(Wrong(), ["a"])
