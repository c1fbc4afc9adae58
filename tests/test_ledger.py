"""The ledger: an idempotent reducer, and a state that is the fold of the events."""

from __future__ import annotations

import json
from typing import Any

from builders import active, finding
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sentry_langgraph import ledger
from sentry_langgraph.records import Event, Finding, Judgement, Task
from sentry_langgraph.taxonomy import Label, Strategy, Verdict

TASK = Task("t1", "Cancel my order.")

_FOUND = [
    finding(
        label,
        step=step,
        key=f"{label}:{key}",
        tool="cancel_order" if key == "a" else None,
        intention=key == "a",
        evidence={"count": 3},
    )
    for label in (Label.UNKNOWN_TOOL, Label.REPETITION_OR_LOOPING, Label.PLANNING_STALL)
    for step in ("m1", "m2", "m3")
    for key in "ab"
]


def _of(found: Finding, position: int) -> list[Event]:
    """One event of each kind about a finding, with guidance that comes and goes."""
    shown, gone = f"g{position % 3}", f"g{(position + 1) % 3}"
    strategies, verdicts = list(Strategy), list(Verdict)
    strategy = strategies[position % len(strategies)]
    repair = active(found.label, key=found.key, step=found.step)
    judged = Judgement(repair, verdicts[position % len(verdicts)], "why")
    outcome = "continue" if position % 2 else "stopped"
    return [
        ledger.failure(found, TASK, agent="agent"),
        ledger.repair(
            found, TASK, strategy, messages=[shown], removed=[gone], tokens=70, seconds=0.1
        ),
        ledger.verdict(judged, TASK, "m4", removed=[shown]),
        ledger.suppressed(found, TASK, "cooldown" if position % 2 else "budget"),
        ledger.escalation(found, TASK, outcome),
        ledger.notice("reminder", TASK, found.step, messages=[shown], tokens=20),
    ]


_EVENTS = [event for position, found in enumerate(_FOUND) for event in _of(found, position)]
RUNS = st.lists(st.sampled_from(_EVENTS), max_size=10)


def test_nothing_is_an_empty_ledger() -> None:
    """The reducer takes None on either side, which is what a channel starts from."""
    event = ledger.notice("healed", TASK, "m1")
    assert ledger.append(None, None) == []
    assert ledger.append(None, [event]) == [event]
    assert ledger.append([event], None) == [event]


@given(RUNS, RUNS)
def test_reducer_is_idempotent(old: list[Event], new: list[Event]) -> None:
    """Writing the same events again changes nothing, and neither argument is changed."""
    before = (list(old), list(new))
    once = ledger.append(old, new)
    assert ledger.append(once, new) == once
    assert ledger.append(once, old) == once
    assert ledger.append(once, once) == once
    assert (old, new) == before


@given(RUNS, RUNS, RUNS)
def test_reducer_is_associative(a: list[Event], b: list[Event], c: list[Event]) -> None:
    """How writes are grouped into supersteps does not matter."""
    base = ledger.append(None, a)
    left = ledger.append(ledger.append(base, b), c)
    assert left == ledger.append(base, ledger.append(ledger.append(None, b), c))


@given(RUNS, RUNS)
def test_reducer_keeps_order_and_ids(old: list[Event], new: list[Event]) -> None:
    """Ids are unique, the first write of an id stays, and events keep their order."""
    base = ledger.append(None, old)
    merged = ledger.append(base, new)
    ids = [event["id"] for event in merged]
    assert len(set(ids)) == len(ids)
    assert merged[: len(base)] == base
    first: dict[str, Event] = {}
    for event in new:
        first.setdefault(event["id"], event)
    known = {event["id"] for event in base}
    assert merged[len(base) :] == [e for id_, e in first.items() if id_ not in known]


@given(RUNS, st.integers(0, 10))
def test_fold_after_a_resume_is_the_fold_of_the_whole(events: list[Event], cut: int) -> None:
    """After any prefix, the rest folded onto its state gives the state of all events."""
    events = ledger.append(None, events)
    whole = ledger.fold(events)
    assert ledger.fold(events[cut:], ledger.fold(events[:cut])) == whole


@given(RUNS, st.integers(0, 10), st.integers(0, 10))
def test_fold_after_a_replay_is_the_fold_of_the_whole(
    events: list[Event], cut: int, back: int
) -> None:
    """A run that dies at `cut` and is replayed from `back` has the same ledger and state."""
    whole = ledger.append(None, events)
    resumed = ledger.append(whole[:cut], whole[min(back, cut) :])
    assert resumed == whole
    assert ledger.fold(resumed) == ledger.fold(whole)


@given(RUNS)
def test_events_are_plain_json(events: list[Event]) -> None:
    """JSON and LangGraph's serializer give the same events back, and so the same state."""
    serde = JsonPlusSerializer()
    for copied in (json.loads(json.dumps(events)), serde.loads_typed(serde.dumps_typed(events))):
        assert copied == events
        assert ledger.fold(copied) == ledger.fold(events)


@given(RUNS, RUNS)
def test_only_the_newest_task_counts(old: list[Event], new: list[Event]) -> None:
    """A new task starts from nothing: events of the one before are left out."""
    earlier = [{**event, "task": "t0"} for event in old]
    assert ledger.of_task([*earlier, *new], TASK.id) == new
    assert ledger.fold(ledger.of_task(earlier, TASK.id)) == ledger.EMPTY


def test_active_repair_ends_with_its_verdict() -> None:
    """A repair is active until it is judged; a failed one counts against its key."""
    found = finding(Label.REPETITION_OR_LOOPING, step="m3", key="loop:a")
    repair = ledger.repair(found, TASK, Strategy.ADVISE, messages=["g1"], tokens=40)
    state = ledger.fold([ledger.failure(found, TASK), repair])
    (made,) = state.active
    assert (made.id, made.key, made.strategy) == (repair["id"], "loop:a", Strategy.ADVISE)
    assert (state.soft_repairs, state.tokens, state.guidance) == (1, 40, {"loop:a": ("g1",)})
    relapse = ledger.verdict(Judgement(made, Verdict.RELAPSED, "again"), TASK, "m4")
    judged = ledger.fold([relapse], state)
    assert judged.active == ()
    assert judged.failed == {"loop:a": 1}
    recovery = Judgement(made, Verdict.RECOVERED, "went on")
    gone = ledger.fold([ledger.verdict(recovery, TASK, "m4", removed=["g1"])], state)
    assert gone.failed == {}
    assert gone.guidance == {}


def test_a_newer_repair_replaces_the_older_one_of_its_key() -> None:
    """Only one repair of a failure is active at a time."""
    first = finding(Label.REPETITION_OR_LOOPING, step="m3", key="loop:a")
    second = finding(Label.REPETITION_OR_LOOPING, step="m6", key="loop:a")
    events: list[dict[str, Any]] = [
        ledger.repair(first, TASK, Strategy.ADVISE),
        ledger.repair(second, TASK, Strategy.HOLD),
    ]
    assert [made.step for made in ledger.fold(events).active] == ["m6"]


def test_ids_come_from_what_happened() -> None:
    """The same failure at the same message is the same event; another message is another."""
    found = finding(Label.UNKNOWN_TOOL, step="m1", key="unknown:x")
    assert ledger.failure(found, TASK)["id"] == ledger.failure(found, TASK, at="later")["id"]
    other = finding(Label.UNKNOWN_TOOL, step="m2", key="unknown:x")
    assert ledger.failure(found, TASK)["id"] != ledger.failure(other, TASK)["id"]
    assert ledger.failure(found, TASK)["id"] == ledger.event_id("failure", "m1", "unknown:x")
