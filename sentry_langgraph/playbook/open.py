"""From settings to a playbook."""

from __future__ import annotations

from typing import Any

from sentry_langgraph.playbook.chroma import ChromaPlaybook
from sentry_langgraph.playbook.embeddings import adapt
from sentry_langgraph.playbook.memory import MemoryPlaybook
from sentry_langgraph.playbook.options import PlaybookOptions
from sentry_langgraph.playbook.port import Playbook


def open_playbook(
    options: PlaybookOptions | None = None, *, embeddings: Any = None
) -> Playbook | None:
    """The playbook that the options describe. Does no I/O: its first operation opens it.

    Args:
        options: The settings; by default an embedded Chroma database in `.sentry/playbook`.
        embeddings: A LangChain `Embeddings` or an `Embedder`, in place of `options.embeddings`.

    Returns:
        The playbook, or None for `kind: none`.

    Raises:
        PlaybookError: `embeddings` is neither of the two.
    """
    options = options or PlaybookOptions()
    embedder = None if embeddings is None else adapt(embeddings)
    match options.kind:
        case "none":
            return None
        case "memory":
            return MemoryPlaybook(options, embedder=embedder)
        case "chroma":
            return ChromaPlaybook(options, embedder=embedder)
