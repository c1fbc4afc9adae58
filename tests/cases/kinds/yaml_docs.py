"""`yaml_load`: YAML texts, with the placeholder keys of the cases replaced by ours."""

from __future__ import annotations

import re
import time
import tracemalloc
from collections.abc import Iterator

from cases.loader import Case
from cases.observe import Record
from cases.plans import Run
from sentry_langgraph import SentryConfig

FILE = "settings.yaml"

KEYS: tuple[tuple[str, str], ...] = (
    (r"^repair:\n  mode: ", "mode: "),
    (r"^tools:\n  read_only: ", "tools:\n  grep:\n    ignore_args: "),
    (r"^breaker:\n  reset: ", "repair:\n  max_seconds: "),
    (r"^gate:\n  timeout_s: ", "repair:\n  max_seconds: "),
    (r"^gate: ", "repair: "),
    (r"^(?:lessons|store|memory):", "playbook:"),
    (r"^(\s+)(?:persist_directory|directory|db_path): ", r"\1path: "),
    (r"^(\s+)max_repairs: ", r"\1max_soft_repairs: "),
    (r"^(?:judge|llm):", "model:"),
    (r"^moniter:", "verifi:"),
    (r"^monitor:", "verify:"),
    (r"^(\s+)monitor:", r"\1verify:"),
)
"""Placeholder keys of the cases, and ours of the same kind of value."""


def ours(text: str) -> str:
    """The text with our keys."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    for form, key in KEYS:
        text = re.sub(form, key, text, flags=re.MULTILINE)
    return mark + text


def placeholder(key: str) -> str:
    """Our dotted key for a placeholder that an expectation names."""
    known = {
        "monitor": "verify",
        "moniter": "verifi",
        "monitor.tools": "verify.tools",
        "repair.mode": "mode",
        "gate": "repair",
    }
    return known.get(key, re.sub(r"^monitor\.", "verify.", key))


def runs(case: Case) -> Iterator[Run]:
    """One run for each text."""
    for name, text in case.input["docs"].items():
        yield Run(name, lambda mode, n=name, t=text: _load(n, t), ("sync",))


def _load(name: str, text: str) -> Record:
    changed = ours(text)
    config, error = None, None
    tracemalloc.start()
    started = time.monotonic()
    try:
        config = SentryConfig.from_yaml_text(changed, FILE)
    except Exception as raised:
        error = raised
    seconds = time.monotonic() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Record(
        name,
        "sync",
        error=error,
        seconds=seconds,
        extra={"config": config, "text": changed, "given": text, "peak": peak},
    )
