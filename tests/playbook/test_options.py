"""Settings of the playbook are closed and bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sentry_langgraph.errors import PlaybookError
from sentry_langgraph.playbook import (
    ChromaPlaybook,
    HashedEmbedder,
    MemoryPlaybook,
    PlaybookOptions,
    open_playbook,
)


def test_defaults() -> None:
    """By default lessons are kept in one embedded collection beside the project."""
    options = PlaybookOptions()
    assert (options.kind, options.path, options.collection, options.embeddings) == (
        "chroma",
        ".sentry/playbook",
        "sentry_playbook",
        "auto",
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "redis"},
        {"paht": "x"},
        {"path": ""},
        {"path": "a\x00b"},
        {"port": 0},
        {"port": "8000"},
        {"host": "http://x/y"},
        {"ssl": True},
        {"token_env": "TOKEN"},
        {"host": "h", "token_env": "sk-1234"},
        {"collection": "a"},
        {"collection": "a b c"},
        {"embeddings": "openai"},
        {"embeddings": "os.system('x')"},
        {"lock_timeout": 0},
        {"max_lessons": 0},
        {"owner": "a:b"},
        {"ranking": {"half_life_days": 0}},
        {"ranking": {"credibility": 1}},
    ],
    ids=str,
)
def test_refused(settings: dict[str, Any]) -> None:
    """What makes no sense is refused when it is loaded."""
    with pytest.raises(ValidationError):
        PlaybookOptions(**settings)


def test_open(tmp_path: Path) -> None:
    """The kind decides; nothing is opened or made yet."""
    assert open_playbook(PlaybookOptions(kind="none")) is None
    assert isinstance(open_playbook(PlaybookOptions(kind="memory")), MemoryPlaybook)
    place = tmp_path / "p"
    playbook = open_playbook(PlaybookOptions(path=str(place)), embeddings=HashedEmbedder())
    assert isinstance(playbook, ChromaPlaybook)
    assert playbook.place == str(place)
    assert playbook.count() == 0
    assert not place.exists()
    with pytest.raises(PlaybookError):
        open_playbook(embeddings=object())


def test_import_is_light() -> None:
    """Importing the package and building a playbook load neither database nor model."""
    code = (
        "import sys; from sentry_langgraph.playbook import open_playbook; open_playbook();"
        "assert not {'chromadb', 'numpy', 'wordllama'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
