"""Each rule of another project fires at its documented threshold, and not one earlier."""

from __future__ import annotations

import importlib.util

import pytest

from bench.recorded import asks, events, gives, recording, says, turns, user
from sentry_langgraph.bench.peers import PEERS, lineup
from sentry_langgraph.bench.peers.browser_use import BrowserUse
from sentry_langgraph.bench.peers.deerflow import DeerFlow
from sentry_langgraph.bench.peers.events import (
    Call,
    Event,
    Result,
    Rule,
    Turn,
    UserText,
    events_of,
    fires,
)
from sentry_langgraph.bench.peers.gemini_cli import GeminiCli
from sentry_langgraph.bench.peers.openclaw import OpenClaw
from sentry_langgraph.bench.peers.openhands import OpenHands


def levels(rule: Rule, seen: list[Event]) -> list[tuple[int, str]]:
    """Which call, from 1, each fire is about, and its level."""
    found = []
    for fire in fires(rule, seen):
        before = [e for e in seen if isinstance(e, Turn) and e.position <= fire.position]
        found.append((len(before), fire.level))
    return found


def test_openhands_same_action_and_result() -> None:
    """Four times the same pair, seen before the next step."""
    assert levels(OpenHands(), events(*"aaa")) == []
    assert levels(OpenHands(), events(*"aaaa")) == [(4, "stop")]
    assert levels(OpenHands(), events("a", "a", "a", ("a", "new"))) == []


def test_openhands_same_action_with_errors() -> None:
    """Three times the same action with errors, whatever they say."""
    moves = [("a", "x"), ("a", "y"), ("a", "z")]
    assert levels(OpenHands(), events(*moves, failed=True)) == [(3, "stop")]
    assert levels(OpenHands(), events(*moves[:2], failed=True)) == []
    assert levels(OpenHands(), events(*moves)) == []


def test_openhands_alternation() -> None:
    """Six actions by turns."""
    assert levels(OpenHands(), events(*"ababa")) == []
    assert levels(OpenHands(), events(*"ababab")) == [(6, "stop")]


def test_openhands_monologue_and_user() -> None:
    """Three messages in a row without the user; a text of the user starts over."""
    assert levels(OpenHands(), events(*"!!!")) == [(3, "stop")]
    assert levels(OpenHands(), events(*"!!@!")) == []
    assert levels(OpenHands(), events(*"aaa@a")) == []


def test_openhands_thought_counts() -> None:
    """The same call with another thought is another action."""
    call = Call("c", "lookup", {"id": "a"})
    seen: list[Event] = []
    for number in range(4):
        seen += [Turn(2 * number, f"thought {number}", (call,)), Result(2 * number + 1, call, "r")]
    assert levels(OpenHands(), seen) == []


@pytest.mark.parametrize(
    ("moves", "at"),
    [
        ("aaaa", None),
        ("aaaaa", 5),
        ("abababab", None),
        ("ababababab", 10),
        ("abcdeabcdeabcdeabcdeabcde", 25),
        ("abcdefabcdefabcdefabcdefabcdef", None),
        ("aaa@aa", None),
    ],
)
def test_gemini_cli_cycles(moves: str, at: int | None) -> None:
    """A cycle of one to five calls, five times in a row, under one prompt; results don't count."""
    expected = [] if at is None else [(at, "stop")]
    assert levels(GeminiCli(), events(*moves)) == expected
    changing = [(move, str(n)) if move != "@" else "@" for n, move in enumerate(moves)]
    assert levels(GeminiCli(), events(*changing)) == expected


def test_gemini_cli_reports_once_for_a_prompt() -> None:
    """After a detection nothing more is reported until the user speaks."""
    assert levels(GeminiCli(), events(*"aaaaaaa")) == [(5, "stop")]
    assert levels(GeminiCli(), events(*"aaaaaa@aaaaa")) == [(5, "stop"), (11, "stop")]


def test_gemini_cli_chanting() -> None:
    """The same fifty characters ten times, close together; prose and code are none."""
    chant = "I will now check the order for you, please wait a moment. "
    assert levels(GeminiCli(), events("!", text=chant * 11)) == [(1, "stop")]
    assert levels(GeminiCli(), events("!", text=chant * 5)) == []
    assert levels(GeminiCli(), events("!", text="```\n" + chant * 11 + "\n```")) == []
    prose = " ".join(f"Order {number} has been shipped to you." for number in range(40))
    assert levels(GeminiCli(), events("!", text=prose)) == []


def test_deerflow_warns_then_stops() -> None:
    """The third same set warns once, the fifth and later are stripped."""
    assert levels(DeerFlow(), events(*"aa")) == []
    assert levels(DeerFlow(), events(*"aaaa")) == [(3, "warning")]
    assert levels(DeerFlow(), events(*"aaaaaa")) == [(3, "warning"), (5, "stop"), (6, "stop")]
    assert levels(DeerFlow(), events(*"aa@a")) == [(3, "warning")]


def test_deerflow_forgets_after_twenty() -> None:
    """What lies more than twenty messages with calls back doesn't count."""
    between = [str(number) for number in range(19)]
    assert levels(DeerFlow(), events("a", *between[:17], "a", "a")) == [(20, "warning")]
    assert levels(DeerFlow(), events("a", *between[:18], "a", "a")) == []


def test_deerflow_compares_salient_arguments() -> None:
    """Where a call has a command or a path, only that is compared."""
    seen: list[Event] = []
    for number in range(3):
        call = Call(f"c{number}", "bash", {"command": "ls", "description": f"try {number}"})
        seen.append(Turn(number, "", (call,)))
    assert [fire.level for fire in fires(DeerFlow(), seen)] == ["warning"]


def test_deerflow_counts_a_tool() -> None:
    """One tool thirty times is a warning, fifty times a stop, whatever the arguments."""
    seen = events(*(str(number) for number in range(51)))
    assert levels(DeerFlow(), seen) == [(30, "warning"), (50, "stop"), (51, "stop")]


def test_openclaw_same_call() -> None:
    """The call after ten same ones warns; after twenty with the same result it is blocked."""
    assert levels(OpenClaw(), events(*"a" * 10)) == []
    found = levels(OpenClaw(), events(*"a" * 21))
    assert found == [(n, "warning") for n in range(11, 21)] + [(21, "stop")]
    changing = [("a", str(number)) for number in range(25)]
    assert {level for _, level in levels(OpenClaw(), events(*changing))} == {"warning"}


def test_openclaw_by_turns() -> None:
    """Ten calls by turns warn, twenty without progress are blocked."""
    assert levels(OpenClaw(), events(*"ab" * 4, "a")) == []
    assert levels(OpenClaw(), events(*"ab" * 5)) == [(10, "warning")]
    assert levels(OpenClaw(), events(*"ab" * 10))[-1] == (20, "stop")


def test_openclaw_unknown_tool() -> None:
    """A tool that doesn't exist is blocked after ten tries, whatever the arguments."""
    moves = [(str(number), "Error: unknown tool lookup") for number in range(11)]
    assert levels(OpenClaw(), events(*moves, failed=True)) == [(11, "stop")]


def test_browser_use_nudges() -> None:
    """Five similar actions among twenty, and again while it lasts; it never stops."""
    assert levels(BrowserUse(), events(*"aaaa")) == []
    assert levels(BrowserUse(), events(*"aabbaacca")) == [(9, "warning")]
    assert levels(BrowserUse(), events(*"aaaaab")) == [(5, "warning"), (6, "warning")]


def test_browser_use_similar_actions() -> None:
    """A search is compared by its words, nulls and waiting don't count."""

    def turn(number: int, name: str, **args: object) -> list[Event]:
        call = Call(f"c{number}", name, args)
        return [Turn(2 * number, "", (call,)), Result(2 * number + 1, call, "r")]

    words = ["red shoes", "shoes, red", "RED shoes!", "shoes red red", "red  shoes"]
    searches = [e for n, query in enumerate(words) for e in turn(n, "search", query=query)]
    assert len(fires(BrowserUse(), searches)) == 1
    waits = [event for number in range(9) for event in turn(number, "wait")]
    assert not fires(BrowserUse(), waits)
    nulls = [e for n in range(5) for e in turn(n, "open", id=1, **({"x": None} if n % 2 else {}))]
    assert len(fires(BrowserUse(), nulls)) == 1


def test_events_of_a_recording() -> None:
    """Turns, results and texts keep their positions; the user's own tools are left out."""
    messages = [
        user("Hello"),
        asks(id="a", text="Looking."),
        gives("found"),
        {"role": "user", "content": None, "tool_calls": [asks(number=9)["tool_calls"][0]]},
        {"role": "tool", "tool_call_id": "c9", "content": "x", "requestor": "user"},
        says("Done."),
    ]
    seen = events_of(recording(messages).messages)
    assert [type(event) for event in seen] == [UserText, Turn, Result, Turn]
    assert [event.position for event in seen] == [0, 1, 2, 5]
    result = seen[2]
    assert isinstance(result, Result)
    assert (result.call.canonical, result.text, result.failed) == (
        'lookup:{"id": "a"}',
        "found",
        False,
    )


def test_last_result_of_a_batch() -> None:
    """Only the last result of a message with several calls is called so."""
    both = asks(id="a")
    both["tool_calls"] += asks(id="b", number=1)["tool_calls"]
    seen = events_of(recording([user(), both, gives(), gives(number=1)]).messages)
    assert [event.last for event in seen if isinstance(event, Result)] == [False, True]


def test_every_peer_names_its_source() -> None:
    """Names are unique, sources are addresses, and the mildest level comes first."""
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert all(peer.source.startswith("https://") for peer in PEERS)
    assert {peer.levels for peer in PEERS} <= {("warning",), ("stop",), ("warning", "stop")}


def test_rules_written_anew_always_run() -> None:
    """What isn't a package takes part everywhere; a missing package is named with the reason."""
    found = lineup()
    ran = {peer.name for peer in found.peers}
    assert {peer.name for peer in PEERS if not peer.package} <= ran
    assert ran | set(found.missing) == {peer.name for peer in PEERS}
    assert all("pip install" in why for why in found.missing.values())


@pytest.mark.parametrize(
    ("name", "module", "expected"),
    [
        ("longguard, repeats only", "longguard", [(3, "warning"), (4, "warning")]),
        ("longguard", "longguard", [(3, "warning"), (4, "warning")]),
        ("loopguard-runtime", "loopguard", [(3, "warning"), (3, "stop"), (4, "stop")]),
        ("triage-agent", "triage", [(3, "warning"), (4, "warning")]),
    ],
)
def test_packages_see_a_repeated_call(
    name: str, module: str, expected: list[tuple[int, str]]
) -> None:
    """The packages fire on the third same call, and a run without a repeat is clean to all."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{name} is not installed")
    peer = next(peer for peer in PEERS if peer.name == name)
    found = levels(peer.make(), list(events_of(recording(turns(*[("a", "r")] * 4)).messages)))
    assert list(dict.fromkeys(found)) == expected
    clean = events_of(recording([user(), *turns(("a", "1"), ("b", "2"))]).messages)
    assert levels(peer.make(), list(clean)) == []
