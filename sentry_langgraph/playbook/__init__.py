"""Lessons: what helped after a failure, kept and found again.

Importing this loads no database and no model.
"""

from __future__ import annotations

from sentry_langgraph.playbook.chroma import ChromaPlaybook
from sentry_langgraph.playbook.embeddings import (
    AutoEmbedder,
    Embedder,
    HashedEmbedder,
    LangChainEmbedder,
    WordLlamaEmbedder,
)
from sentry_langgraph.playbook.lessons import parse_lesson
from sentry_langgraph.playbook.memory import MemoryPlaybook
from sentry_langgraph.playbook.open import open_playbook
from sentry_langgraph.playbook.options import PlaybookOptions, RankingOptions
from sentry_langgraph.playbook.port import Playbook
from sentry_langgraph.playbook.sync import (
    SyncReport,
    import_lessons,
    read_lessons,
    unstored_lessons,
    write_lessons,
)

__all__ = [
    "AutoEmbedder",
    "ChromaPlaybook",
    "Embedder",
    "HashedEmbedder",
    "LangChainEmbedder",
    "MemoryPlaybook",
    "Playbook",
    "PlaybookOptions",
    "RankingOptions",
    "SyncReport",
    "WordLlamaEmbedder",
    "import_lessons",
    "open_playbook",
    "parse_lesson",
    "read_lessons",
    "unstored_lessons",
    "write_lessons",
]
