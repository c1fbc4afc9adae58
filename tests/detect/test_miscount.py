"""An answer counts what a result lists, and comes to another number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import SHOP, proposal, ran, steps, trajectory

from sentry_langgraph.detect.termination import Termination, TerminationOptions
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Finding, Task
from sentry_langgraph.taxonomy import Severity

TWO = ran("copies_of", '{"copy_codes": ["c-1", "c-2"]}', title="t-1")
FIRST = ran("show_copy", '{"state": "lent"}', copy_code="c-1")
SECOND = ran("show_copy", '{"state": "in"}', copy_code="c-2")
REQUEST = "How many copies of The Salt Road are there?"


def found(text: str, *turns: Any, request: str = REQUEST, users: int = 1) -> list[Finding]:
    """What is said about this answer."""
    at = trajectory(
        steps(*turns or (TWO,)),
        proposal(text=text),
        tools=SHOP,
        task=Task("t", request),
    )
    told = [Passage("told", request, step="t", user=True)] * users
    at = replace(at, provenance=Provenance.of(told))
    return list(Termination(TerminationOptions()).detect(at))


@pytest.mark.parametrize("text", ["The library owns 1 copy.", "There is one copy.", "None."])
@pytest.mark.parametrize("turns", [(TWO,), (TWO, FIRST)])
def test_the_list_has_another_number(text: str, turns: Any) -> None:
    """Held once, with what the list has."""
    (finding,) = found(text, *turns)
    assert (finding.pattern, finding.severity) == ("miscounted", Severity.HOLD)
    assert "`copy_codes` in the result of `copies_of` has 2 entries" in finding.detail


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("There are two copies.", {}),
        ("It owns 2; one of them is lent.", {}),
        ("Some.", {}),
        ("One is in.", {"turns": (TWO, FIRST, SECOND)}),
        ("There is 1.", {"request": "How many lent copies are there?"}),
        ("There is 1.", {"request": "Which copies are there?"}),
        ("There is 1.", {"turns": (TWO, ran("copies_of", '{"copy_codes": []}', title="t-2"))}),
        ("There is 1.", {"users": 2}),
    ],
)
def test_silent(text: str, more: dict[str, Any]) -> None:
    """Right, without a number, counted one by one, narrowed down, several lists, a talk."""
    assert found(text, *more.pop("turns", ()), **more) == []
