"""Text to vectors, without a download and without a key by default.

`wordllama` carries its weights in its wheel and understands paraphrases; hashed n-grams need
nothing and give the same vectors in every process. Any LangChain `Embeddings` can take their
place. Models are loaded at first use, once, from whichever thread comes first.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sentry_langgraph.errors import PlaybookError

_log = logging.getLogger(__name__)

HASHED_DIMENSION = 256
MAX_CHARACTERS = 4_000
"""Characters of a text that count; the rest is not read."""


@runtime_checkable
class Embedder(Protocol):
    """Gives vectors for texts. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Names the vectors: equal names mean comparable vectors. The store records it."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, all of one length.

        Raises:
            PlaybookError: The embedding fails.
        """
        ...


class HashedEmbedder:
    """Words and character trigrams, hashed into a vector of 256 counts of unit length."""

    name = f"hashed-ngrams-{HASHED_DIMENSION}"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text; equal in every process."""
        return [_unit(self._counts(clean(text).lower())) for text in texts]

    @staticmethod
    def _counts(text: str) -> list[float]:
        vector = [0.0] * HASHED_DIMENSION
        words = "".join(c if c.isalnum() else " " for c in text).split()
        for word in words:
            padded = f"^{word}$"
            grams = [word, *(padded[i : i + 3] for i in range(len(padded) - 2))]
            for gram in grams:
                digest = blake2b(gram.encode(), digest_size=4).digest()
                sign = 1.0 if digest[3] & 1 else -1.0
                vector[int.from_bytes(digest[:3]) % HASHED_DIMENSION] += sign
        return vector


class WordLlamaEmbedder:
    """The `wordllama` model of 256 dimensions, from the weights in its wheel."""

    name = "wordllama-l2_supercat-256"

    def __init__(self) -> None:
        self._model = _Once(_load_wordllama)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text; a text without words gets a constant one.

        Raises:
            PlaybookError: wordllama can't be loaded.
        """
        cleaned = [clean(text) for text in texts]
        spoken = [text for text in cleaned if text.strip()]
        rows = iter(self._model().embed(spoken).tolist() if spoken else ())
        return [_unit(next(rows) if text.strip() else []) for text in cleaned]


class LangChainEmbedder:
    """Vectors of a LangChain `Embeddings`.

    Args:
        embeddings: The object, or a function that makes it; called at first use.
        name: Names its vectors; by default its class and model.
    """

    def __init__(self, embeddings: Any, *, name: str | None = None) -> None:
        loader = (lambda: embeddings) if hasattr(embeddings, "embed_documents") else embeddings
        self._embeddings = _Once(loader)
        self._name = name

    @property
    def name(self) -> str:
        """The given name, or class and model of the object."""
        found = self._embeddings()
        if self._name is None:
            self._name = f"{type(found).__module__}.{type(found).__qualname__}"
        model = next((getattr(found, key, None) for key in ("model", "model_name")), None)
        return f"{self._name}/{model}" if isinstance(model, str) else self._name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text.

        Raises:
            PlaybookError: The embeddings fail, or give something else than vectors.
        """
        try:
            rows = self._embeddings().embed_documents([clean(text) for text in texts])
            vectors = [[float(number) for number in row] for row in rows]
        except PlaybookError:
            raise
        except Exception as error:
            raise PlaybookError(
                f"The embeddings failed: {type(error).__name__}: {error}. Check their service "
                "and key, or set `playbook.embeddings` to `auto`."
            ) from error
        return vectors


class AutoEmbedder:
    """wordllama where it can be loaded, else hashed n-grams."""

    def __init__(self) -> None:
        self._chosen = _Once(_wordllama_or_hashed)

    @property
    def name(self) -> str:
        """The name of the embedder that was chosen."""
        return str(self._chosen().name)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text."""
        chosen: Embedder = self._chosen()
        return chosen.embed(texts)


def make_embedder(spec: str) -> Embedder:
    """The embedder that a setting names; nothing is loaded yet.

    Args:
        spec: `auto`, `wordllama`, `hashed` or `pkg.module:attribute`.
    """
    match spec:
        case "auto":
            return AutoEmbedder()
        case "wordllama":
            return WordLlamaEmbedder()
        case "hashed":
            return HashedEmbedder()
        case _:
            return LangChainEmbedder(lambda: _import_embeddings(spec), name=spec)


def adapt(embeddings: Any) -> Embedder:
    """An `Embedder` for what a user passes: one already, or a LangChain `Embeddings`.

    Raises:
        PlaybookError: It is neither.
    """
    if hasattr(embeddings, "embed_documents"):
        return LangChainEmbedder(embeddings)
    if isinstance(embeddings, Embedder):
        return embeddings
    raise PlaybookError(
        f"`embeddings` is a {type(embeddings).__name__}; pass a LangChain `Embeddings` or an "
        "object with `name` and `embed(texts)`."
    )


def vectors_of(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """The embedder's vectors, checked: one for each text, finite, of one length.

    Raises:
        PlaybookError: They are not, or the embedder fails.
    """
    try:
        vectors = embedder.embed(texts)
        lengths = {len(vector) for vector in vectors}
        sound = (
            len(vectors) == len(texts)
            and len(lengths) == 1
            and 0 not in lengths
            and all(math.isfinite(number) for vector in vectors for number in vector)
        )
    except PlaybookError:
        raise
    except Exception as error:
        raise PlaybookError(f"The embeddings failed: {type(error).__name__}: {error}") from error
    if not sound:
        raise PlaybookError(
            "The embeddings gave something else than one finite vector of one length for each "
            "text; choose others in `playbook.embeddings`."
        )
    return vectors


def clean(text: str) -> str:
    """`text` as every tokenizer and database takes it: valid UTF-8, no NUL, bounded."""
    return (
        text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    )


class _Once:
    """Calls `make` at first use, once, and keeps what it gave; a failure is tried again."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Any = None

    def __call__(self) -> Any:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made


def _unit(vector: list[float]) -> list[float]:
    """`vector` with length 1; where it has none, a constant one, for cosines need a direction."""
    norm = math.sqrt(sum(number * number for number in vector))
    if not norm or not math.isfinite(norm):
        size = len(vector) or HASHED_DIMENSION
        return [1.0 / math.sqrt(size)] * size
    return [number / norm for number in vector]


def _wordllama_or_hashed() -> Embedder:
    embedder = WordLlamaEmbedder()
    try:
        embedder.embed(["ready"])
    except PlaybookError as error:
        _log.info("Lessons are compared by hashed n-grams. %s", error)
        return HashedEmbedder()
    return embedder


def _load_wordllama() -> Any:
    try:
        with _logging_untouched():
            from wordllama import WordLlama  # noqa: PLC0415

        spec = importlib.util.find_spec("wordllama")
        home = Path(str(spec.origin)).parent if spec else Path()
        return WordLlama.load(cache_dir=home, disable_download=True)
    except Exception as error:
        raise PlaybookError(
            f"wordllama can't be loaded ({type(error).__name__}: {error}). Install it with "
            "`pip install wordllama`, or set `playbook.embeddings` to `hashed`."
        ) from error


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """Keeps an import from configuring the root logger, which is the application's.

    `logging.basicConfig` does nothing where the root has a handler. For the time of the import
    it is given the handler of last resort, which acts as if there were none.
    """
    root = logging.getLogger()
    if root.handlers or logging.lastResort is None:
        yield
        return
    keeper = logging.lastResort
    root.addHandler(keeper)
    try:
        yield
    finally:
        root.removeHandler(keeper)


def _import_embeddings(spec: str) -> Any:
    module, _, path = spec.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        if isinstance(found, type) or not hasattr(found, "embed_documents"):
            found = found()
    except Exception as error:
        raise PlaybookError(
            f"`playbook.embeddings: {spec}` can't be loaded ({type(error).__name__}: {error}). "
            "It has to be `pkg.module:attribute` of a LangChain `Embeddings`: an object, a class "
            "or a factory without arguments."
        ) from error
    if not hasattr(found, "embed_documents"):
        raise PlaybookError(
            f"`playbook.embeddings: {spec}` is a {type(found).__name__}, which has no "
            "`embed_documents`; name a LangChain `Embeddings`."
        )
    return found
