"""After "not found" another guess is held; another search is not."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Ran, call, catalog, failed, proposal, ran, steps, tool

from sentry_langgraph.detect.guessed import guessed_again
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Task, Trajectory

DESK = catalog(
    tool("find_guest", guest="string", required=["guest"], read_only=True),
    tool("search_guests", query="string", required=["query"], read_only=True),
    tool("find_room", kind={"enum": ["single", "double"]}, read_only=True),
)
REQUEST = "Move Gil Santos, or Ada Moss, to Friday"


def flaw(done: Ran | None, name: str = "find_guest", **args: Any) -> Any:
    """What is wrong with the next call after `done`."""
    made = call(name, **args)
    known = Provenance.of((Passage("told", REQUEST, user=True),))
    before = steps(done) if done is not None else ()
    return guessed_again(
        made, Trajectory(Task("t", REQUEST), before, proposal(made), DESK, provenance=known)
    )


GONE = failed("find_guest", "Error: guest 'Gil Santos' not found", guest="Gil Santos")


def test_another_guess_is_held() -> None:
    """Nobody named John Doe."""
    found = flaw(GONE, guest="John Doe")
    assert (found.pattern, found.argument, found.owed) == ("guessed_again", "guest", False)
    assert "John Doe" in found.detail


@pytest.mark.parametrize(
    ("why", "done", "name", "args"),
    [
        ("the request names it", GONE, "find_guest", {"guest": "Ada Moss"}),
        ("it is another tool", GONE, "search_guests", {"query": "John Doe"}),
        ("it found something", ran("find_guest", "g-1", guest="Gil"), "find_guest", {"guest": "X"}),
        ("another error", failed("find_guest", "Error: too long"), "find_guest", {"guest": "X"}),
        ("nothing was tried", None, "find_guest", {"guest": "John Doe"}),
        (
            "trying is what searching is",
            failed("search_guests", "Error: no such guest", query="Gil"),
            "search_guests",
            {"query": "Santos family"},
        ),
        (
            "it is one of a few",
            failed("find_room", "Error: not available", kind="single"),
            "find_room",
            {"kind": "double"},
        ),
    ],
)
def test_what_is_no_guess(why: str, done: Ran | None, name: str, args: dict[str, Any]) -> None:
    """A name of the request, another tool, a search, a choice that the schema gives."""
    assert flaw(done, name, **args) is None, why
