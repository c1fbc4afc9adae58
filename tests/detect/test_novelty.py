"""Which results say the same, and which calls ask the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from strategies import TEXTS

from sentry_langgraph.detect.novelty import reworded, same_text, steady


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (
            '{"state": "queued", "request_id": "a1"}',
            '{"state": "queued", "request_id": "b2"}',
            True,
        ),
        ("no rows (took 0.12 s)", "no rows (took 0.31 s)", True),
        ("2026-01-01 10:00:00 started", "2026-01-01 10:00:07 started", True),
        (
            "Date: Mon, 01 Jan 2026 10:00:00 GMT\nempty",
            "Date: Mon, 01 Jan 2026 11:00:00 GMT\nempty",
            True,
        ),
        ('{"state": "queued", "ts": 1}', '{"state": "done", "ts": 2}', False),
        ("running, 10 s elapsed", "running, 20 s elapsed", False),
        ("departs 2026-01-01 10:00", "departs 2026-01-01 11:00", False),
        ("timestamp: 1", "timestamp: 2", False),
        ("order 17", "order 18", False),
        ("request_id: 1 " + "x" * 4_000, "request_id: 2 " + "x" * 4_000, False),
    ],
)
def test_only_named_clocks_and_ids_are_left_out(first: str, second: str, same: bool) -> None:
    """What may be the answer itself counts, and so does everything where nothing else is left."""
    assert same_text(first, second) is same


@given(TEXTS)
def test_any_text_is_the_same_as_itself(text: str) -> None:
    """Whatever a tool writes."""
    assert same_text(text, text)
    assert steady(text) is None or isinstance(steady(text), str)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"q": "tall blue lamp"}, {"q": "blue lamp"}, True),
        ({"q": "blue lamp"}, {"q": "Lamp, blue"}, True),
        ({"q": "blue lamp", "n": 3}, {"q": "tall blue lamp", "n": 3}, True),
        ({"q": "blue lamp", "n": 3}, {"q": "tall blue lamp", "n": 4}, False),
        ({"q": "blue lamp"}, {"q": "blue desk"}, False),
        ({"q": "Ana Maria Lopez"}, {"q": "Ana Maria Perez"}, False),
        ({"q": "order list"}, {"q": "order list 2"}, False),
        ({"q": "lamp"}, {"q": "lamps"}, False),
        ({"q": "blue lamp in the attic"}, {"q": "lamp"}, False),
        ({"id": "A17"}, {"id": "A18"}, False),
        ({"path": "a/b"}, {"path": "b/a"}, False),
        ({"command": "ls -l a b"}, {"command": "ls a b"}, False),
        ({"q": "blue lamp"}, {"q": "blue lamp"}, False),
        ({"q": "blue lamp"}, {"text": "tall blue lamp"}, False),
        ({}, {}, False),
    ],
)
def test_other_words_are_no_other_target(
    first: dict[str, Any], second: dict[str, Any], same: bool
) -> None:
    """Words more or fewer ask the same; another word, number or command asks something else."""
    assert reworded(first, second) is same
    assert reworded(second, first) is same
