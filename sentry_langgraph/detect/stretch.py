"""The current stretch: what was called since the last change, and what of it was nothing new.

A step whose calls all come back with results that the stretch already had adds one to a count
that is called *stale* here; a step that brought something new takes one away. So an agent that
goes over old ground is seen whatever the order, and one that reads on is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sentry_langgraph.detect.access import access_of
from sentry_langgraph.detect.error_kinds import INFRASTRUCTURE, classify
from sentry_langgraph.detect.novelty import reworded as asks_the_same
from sentry_langgraph.detect.novelty import same_result
from sentry_langgraph.records import Observation, Step, ToolCall, ToolSpec, Trajectory
from sentry_langgraph.signature import call_key, digest
from sentry_langgraph.taxonomy import Label

_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Seen:
    """One executed call, reduced to what is compared.

    Attributes:
        call: The call.
        key: Names it by tool and arguments.
        result: The digest of its result; equal where results say the same. None: nothing is
            known, because Sentry held the call or nothing came back.
        step: The position of its step.
        failed: Whether it failed.
        outage: Whether it failed because of the infrastructure.
        error: The form of its error, without numbers; empty where there is none to compare.
        counts: Whether it counts as nothing new: not for polling and exempt tools, nor for
            those that have thresholds of their own.
        batch: Whether many calls that differ little are the tool's normal use.
        changes: True for a change, False for a look-up, None where nothing says so.
    """

    call: ToolCall
    key: str
    result: str | None
    step: int
    failed: bool
    outage: bool
    error: str
    counts: bool
    batch: bool
    changes: bool | None


@dataclass(slots=True)
class Stale:
    """How much of a stretch was nothing new.

    Attributes:
        count: Steps that brought nothing new, less those that did; never below 0.
        keys: The calls that make up the count.
        reworded: Whether some of them were asked in other words.
    """

    count: int = 0
    keys: set[str] = field(default_factory=set)
    reworded: bool = False


def executed(trajectory: Trajectory) -> list[Seen]:
    """The calls of the window, oldest first. Equal results have equal digests."""
    made: list[Seen] = []
    latest: dict[str, tuple[str, Observation]] = {}
    for position, step in enumerate(trajectory.steps):
        for call in step.calls:
            made.append(_seen(trajectory, step, position, call, latest))
    return made


def _seen(
    trajectory: Trajectory,
    step: Step,
    position: int,
    call: ToolCall,
    latest: dict[str, tuple[str, Observation]],
) -> Seen:
    spec = trajectory.catalog.spec(call.name)
    key = call_key(call, spec)
    result = step.observation_of(call)
    failed = result is not None and result.status == "error"
    name: str | None = None
    outage, error = False, ""
    if result is not None and not result.own:
        known = latest.get(key)
        name = known[0] if known and same_result(known[1], result) else result.digest
        latest[key] = (name, result)
        if failed:
            outage, error = _error(result)
    reads = access_of(call, spec).reads
    return Seen(
        call=call,
        key=key,
        result=name,
        step=position,
        failed=failed,
        outage=outage,
        error=error,
        counts=counts(spec),
        batch=spec.batch,
        changes=None if reads is None else not reads,
    )


def counts(spec: ToolSpec) -> bool:
    """Whether calls of a tool count as nothing new when they repeat."""
    return not (
        spec.polling
        or spec.advise_at is not None
        or spec.hold_at is not None
        or Label.REPETITION_OR_LOOPING in spec.exempt
    )


def _error(result: Observation) -> tuple[bool, str]:
    if classify(result.text, result.status) in INFRASTRUCTURE:
        return True, ""
    return False, digest(_NUMBERS.sub("0", result.text[:2000]))


def since_last_change(seen: Sequence[Seen]) -> Sequence[Seen]:
    """The calls from the last successful change on.

    A change that only repeats itself is no change. Where nothing says whether a call reads or
    changes, its first success may have been a change.
    """
    known: set[tuple[str, str | None]] = set()
    keys: set[str] = set()
    start = 0
    for position, one in enumerate(seen):
        new = (one.key, one.result) not in known and one.result is not None and not one.failed
        if new and (one.changes or (one.changes is None and one.key not in keys)):
            start = position
        known.add((one.key, one.result))
        keys.add(one.key)
    return seen[start:]


def streak(key: str, stretch: Sequence[Seen]) -> tuple[int, Seen | None]:
    """How often `key` came back with its latest result, held calls included, and its last run."""
    count = 0
    last: Seen | None = None
    for one in reversed(stretch):
        if one.key != key:
            continue
        if one.result is not None:
            if last is not None and one.result != last.result:
                break
            last = last or one
        count += 1
    return (count, last) if last is not None else (0, None)


def stale(stretch: Sequence[Seen], *, reworded: bool = True) -> Stale:
    """How much of the stretch was nothing new.

    Args:
        stretch: Calls, oldest first.
        reworded: Whether a question in other words, with the answer of before, is nothing new.
    """
    made = Stale()
    known: set[tuple[str, str]] = set()
    answered: dict[str, list[Seen]] = {}
    for row in _by_step(stretch):
        old: set[str] = set()
        fresh = False
        for one in row:
            if not one.counts or one.outage:
                continue
            earlier = answered.get(one.call.name, [])
            if one.result is None:
                if any(other.key == one.key for other in earlier):
                    old.add(one.key)
                continue
            if (one.key, one.result) in known:
                old.add(one.key)
            elif reworded and not one.batch and _asked_before(one, earlier):
                old.add(one.key)
                made.reworded = True
            else:
                fresh = True
            known.add((one.key, one.result))
            answered.setdefault(one.call.name, []).append(one)
        if fresh:
            made.count = max(0, made.count - 1)
        elif old:
            made.count += 1
            made.keys |= old
        if not made.count:
            made.keys.clear()
            made.reworded = False
    return made


def _asked_before(one: Seen, earlier: Iterable[Seen]) -> bool:
    """Whether the same was asked in other words, with the same answer."""
    args = one.call.args
    return args is not None and any(
        other.result == one.result
        and other.call.args is not None
        and asks_the_same(other.call.args, args)
        for other in earlier
    )


def _by_step(stretch: Sequence[Seen]) -> Iterable[list[Seen]]:
    row: list[Seen] = []
    for one in stretch:
        if row and one.step != row[-1].step:
            yield row
            row = []
        row.append(one)
    if row:
        yield row


def rows(seen: Sequence[Seen]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """The steps as sets of calls and of results, oldest first."""
    made: list[tuple[frozenset[str], frozenset[str]]] = []
    for row in _by_step(seen):
        calls = frozenset(one.key for one in row)
        made.append((calls, frozenset(f"{o.key}={o.result}" for o in row if o.result is not None)))
    return made


def periodic(made: Sequence[tuple[frozenset[str], frozenset[str]]], period: int) -> int:
    """How many steps at the end repeat with `period`, results included."""
    length = min(period, len(made))
    for position in range(len(made) - 1 - period, -1, -1):
        earlier, later = made[position], made[position + period]
        same_results = earlier[1] == later[1] or not earlier[1] or not later[1]
        if earlier[0] != later[0] or not same_results:
            break
        length += 1
    return length
