"""After "not found" another guess is held; another search is not."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Ran, call, catalog, failed, proposal, ran, steps, tool

from sentry_langgraph.detect.guessed import guessed_again
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Task, Trajectory
from sentry_langgraph.slots import leaves_of

DESK = catalog(
    tool("find_guest", guest="string", required=["guest"], read_only=True),
    tool("search_guests", query="string", required=["query"], read_only=True),
    tool("find_room", kind={"enum": ["single", "double"]}, read_only=True),
)
REQUEST = "Move Gil Santos, or Ada Moss, to Friday"


def flaw(*done: Ran, name: str = "find_guest", **args: Any) -> Any:
    """What is wrong with the next call after `done`."""
    made = call(name, **args)
    known = Provenance.of((Passage("told", REQUEST, user=True),))
    before = steps(*done)
    leaves = tuple(leaves_of(made.args or {}, DESK.tools.get(name)))
    return guessed_again(
        made, leaves, Trajectory(Task("t", REQUEST), before, proposal(made), DESK, provenance=known)
    )


GONE = failed("find_guest", "Error: guest 'Gil Santos' not found", guest="Gil Santos")
WORSE = failed("find_guest", "Error: guest 'Jane' not found", guest="Jane")


def test_another_guess_is_held() -> None:
    """Nobody named John Doe."""
    found = flaw(GONE, WORSE, guest="John Doe")
    assert (found.pattern, found.argument, found.owed) == ("guessed_again", "guest", False)
    assert "John Doe" in found.detail


NO_SEARCH = failed("search_guests", "Error: no such guest", query="Gil")
MORE_SEARCH = failed("search_guests", "Error: no such guest", query="Santos")
NO_ROOM = failed("find_room", "Error: not available", kind="single")


@pytest.mark.parametrize(
    ("why", "done", "name", "args"),
    [
        ("the request names it", (GONE, WORSE), "find_guest", {"guest": "Ada Moss"}),
        ("it has a word of the request", (GONE, WORSE), "find_guest", {"guest": "G. Santos"}),
        ("it is the second try", (GONE,), "find_guest", {"guest": "John Doe"}),
        ("it is another tool", (GONE, WORSE), "search_guests", {"query": "John Doe"}),
        ("it found something", (GONE, WORSE, ran("find_guest", "g")), "find_guest", {"guest": "X"}),
        ("another error", (failed("find_guest", "Error: late"),), "find_guest", {"guest": "X"}),
        ("nothing was tried", (), "find_guest", {"guest": "John Doe"}),
        ("it is a search", (NO_SEARCH, MORE_SEARCH), "search_guests", {"query": "the doe family"}),
        ("it is one of a few", (NO_ROOM, NO_ROOM), "find_room", {"kind": "double"}),
    ],
)
def test_what_is_no_guess(why: str, done: tuple[Ran, ...], name: str, args: dict[str, Any]) -> None:
    """A name of the request, a second try, another tool, a search, a choice of the schema."""
    assert flaw(*done, name=name, **args) is None, why
