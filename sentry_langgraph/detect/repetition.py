"""Loops: the same calls with the same results.

A repeat counts only where its *result* is the same too, so polling that moves and batch work
over different arguments are never loops. The stretch that is looked at begins at the last
successful change, because reading again after a change is checking, not looping. Calls that
Sentry itself held stay part of the streak.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.error_kinds import INFRASTRUCTURE, classify
from sentry_langgraph.options import Count, PositiveCount
from sentry_langgraph.records import Finding, Observation, Step, ToolCall, ToolSpec, Trajectory
from sentry_langgraph.signature import VOLATILE, call_key, digest
from sentry_langgraph.taxonomy import Label, Severity

_NUMBERS = re.compile(r"\d+")
_UNKNOWN = ToolSpec("")


class RepetitionOptions(DetectorOptions):
    """Options of `repetition_or_looping`. Counts include the call that is proposed.

    Attributes:
        advise_at: Identical calls with identical results before advice is given.
        hold_at: Identical calls, or calls that brought nothing new, before one is held.
        max_period: Longest cycle that is looked for, in steps.
        stale_at: Calls that brought nothing new, over all tools, before advice; 0 is off.
        same_error_at: Calls of one tool in a row that end in the same error before advice;
            0 is off.
    """

    advise_at: Annotated[PositiveCount, Field(ge=2)] = 3
    hold_at: Annotated[PositiveCount, Field(ge=2)] = 6
    max_period: Annotated[PositiveCount, Field(le=20)] = 5
    stale_at: Count = 4
    same_error_at: Count = 4


@dataclass(frozen=True, slots=True)
class _Seen:
    """One executed call, reduced to what is compared."""

    key: str
    result: str | None  # None: Sentry held it, so nothing is known
    step: int
    tool: str
    failed: bool
    error: str


class Repetition:
    """Exact repeats, cycles, calls that bring nothing new, and the same error again."""

    Options: ClassVar[type[DetectorOptions]] = RepetitionOptions

    def __init__(self, options: RepetitionOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding: the clearest form of the loop."""
        proposed = [
            (call, spec)
            for call in trajectory.proposal.calls
            if call.args is not None
            and not (spec := self._spec(trajectory, call.name)).polling
            and Label.REPETITION_OR_LOOPING not in spec.exempt
        ]
        if not proposed or not trajectory.steps:
            return ()
        if not _may_repeat(proposed, trajectory.steps) and not _errs(trajectory):
            return ()
        keys = [call_key(call, spec) for call, spec in proposed]
        seen = self._executed(trajectory)
        if not {one.key for one in seen}.isdisjoint(keys):
            stretch = _since_last_change(seen, trajectory)
            for rule in (self._cycle, self._exact, self._stale):
                found = rule(trajectory, proposed, keys, stretch, seen)
                if found is not None:
                    return (found,)
        found = self._same_error(trajectory, proposed, seen)
        return (found,) if found is not None else ()

    def _spec(self, trajectory: Trajectory, name: str) -> ToolSpec:
        return trajectory.catalog.tools.get(name, _UNKNOWN)

    def _executed(self, trajectory: Trajectory) -> list[_Seen]:
        executed: list[_Seen] = []
        for position, step in enumerate(trajectory.steps):
            for call in step.calls:
                executed.append(self._seen(trajectory, step, position, call))
        return executed

    def _seen(self, trajectory: Trajectory, step: Step, position: int, call: ToolCall) -> _Seen:
        result = step.observation_of(call)
        known = result is not None and not result.own
        failed = result is not None and result.status == "error"
        return _Seen(
            key=call_key(call, self._spec(trajectory, call.name)),
            result=result.digest if result is not None and known else None,
            step=position,
            tool=call.name,
            failed=failed,
            error=_error_form(result) if result is not None and known and failed else "",
        )

    def _exact(
        self,
        trajectory: Trajectory,
        proposed: Sequence[tuple[ToolCall, ToolSpec]],
        keys: Sequence[str],
        stretch: Sequence[_Seen],
        seen: Sequence[_Seen],
    ) -> Finding | None:
        best: tuple[int, ToolCall, str] | None = None
        for (call, _), key in zip(proposed, keys, strict=True):
            count = _streak(key, stretch) + 1
            if count >= self._options.advise_at and (best is None or count > best[0]):
                best = (count, call, key)
        if best is None:
            return None
        count, call, key = best
        return self._finding(
            trajectory,
            pattern="exact_repeat",
            key=f"{Label.REPETITION_OR_LOOPING}:{key}",
            count=count,
            calls=tuple(
                call.index for (call, _), own in zip(proposed, keys, strict=True) if own == key
            ),
            tool=call.name,
            related=(key,),
            detail=(
                f"this is call {count} of `{call.name}` with the same arguments, "
                "and the result has not changed"
            ),
        )

    def _cycle(
        self,
        trajectory: Trajectory,
        proposed: Sequence[tuple[ToolCall, ToolSpec]],
        keys: Sequence[str],
        stretch: Sequence[_Seen],
        seen: Sequence[_Seen],
    ) -> Finding | None:
        rows = _rows(seen)
        new = frozenset(keys)
        for period in range(2, self._options.max_period + 1):
            needed = period * (self._options.advise_at - 1)
            if len(rows) < needed or not new <= rows[-period][0]:
                continue
            length = _periodic(rows, period)
            if length < needed:
                continue
            members = frozenset().union(*(row[0] for row in rows[-period:]))
            if len(members) < 2:
                continue
            tools = sorted({one.tool for one in seen if one.key in members})
            count = (length + 1 + period - 1) // period
            return self._finding(
                trajectory,
                pattern="cycle",
                key=f"{Label.REPETITION_OR_LOOPING}:cycle:{digest('|'.join(sorted(members)))}",
                count=count,
                calls=tuple(call.index for call, _ in proposed),
                tool=proposed[0][0].name,
                related=tuple(sorted(members)),
                detail=(
                    f"the steps repeat with period {period}: "
                    + " → ".join(f"`{name}`" for name in tools)
                    + ", with the same results each time"
                ),
                period=period,
                tools=tools,
            )
        return None

    def _stale(
        self,
        trajectory: Trajectory,
        proposed: Sequence[tuple[ToolCall, ToolSpec]],
        keys: Sequence[str],
        stretch: Sequence[_Seen],
        seen: Sequence[_Seen],
    ) -> Finding | None:
        if not self._options.stale_at:
            return None
        known: set[tuple[str, str | None]] = set()
        last: dict[str, str | None] = {}
        stale = 0
        for one in stretch:
            if one.result is None or (one.key, one.result) in known:
                stale += 1
            known.add((one.key, one.result))
            last[one.key] = one.result
        repeated = [
            (call, key) for (call, _), key in zip(proposed, keys, strict=True) if key in last
        ]
        count = stale + 1
        if not repeated or count < self._options.stale_at:
            return None
        call = repeated[0][0]
        return self._finding(
            trajectory,
            pattern="nothing_new",
            key=f"{Label.REPETITION_OR_LOOPING}:nothing_new",
            count=count,
            calls=tuple(call.index for call, _ in repeated),
            tool=call.name,
            related=tuple(sorted(last)),
            detail=(
                f"{count} calls since the last change repeat earlier ones and brought nothing new"
            ),
        )

    def _same_error(
        self,
        trajectory: Trajectory,
        proposed: Sequence[tuple[ToolCall, ToolSpec]],
        seen: Sequence[_Seen],
    ) -> Finding | None:
        if not self._options.same_error_at:
            return None
        for call, _ in proposed:
            own = [one for one in seen if one.tool == call.name]
            if not own or not own[-1].error:
                continue
            error = own[-1].error
            count = 1
            for one in reversed(own):
                if one.error != error:
                    break
                count += 1
            if count >= self._options.same_error_at:
                return self._finding(
                    trajectory,
                    pattern="same_error",
                    key=f"{Label.REPETITION_OR_LOOPING}:error:{call.name}:{error}",
                    count=count,
                    calls=(call.index,),
                    tool=call.name,
                    related=tuple({one.key for one in own if one.error == error}),
                    detail=(
                        f"`{call.name}` has failed {count - 1} times in a row with the same error"
                    ),
                    severity=Severity.ADVISE,
                )
        return None

    def _finding(
        self,
        trajectory: Trajectory,
        *,
        pattern: str,
        key: str,
        count: int,
        calls: tuple[int, ...],
        tool: str,
        related: tuple[str, ...],
        detail: str,
        severity: Severity | None = None,
        **evidence: object,
    ) -> Finding:
        hold = count >= self._options.hold_at
        failing = _last_failed(tool, trajectory)
        return Finding(
            Label.REPETITION_OR_LOOPING,
            trajectory.proposal.id,
            key=key,
            confidence=0.9 if count > self._options.advise_at else 0.8,
            severity=severity or (Severity.HOLD if hold else Severity.ADVISE),
            detail=detail,
            evidence={"count": count, "tool": tool, "failing": failing, **evidence},
            calls=calls,
            tool=tool,
            pattern=pattern,
            related=related,
        )


def _may_repeat(proposed: Sequence[tuple[ToolCall, ToolSpec]], steps: Sequence[Step]) -> bool:
    """Whether a proposed call can be one of the window: quick, and never wrong with a no."""
    for call, spec in proposed:
        name, args = call.name, call.args or {}
        loose = spec.ignore_args or not VOLATILE.isdisjoint(str(key).lower() for key in args)
        for step in steps:
            for earlier in step.calls:
                if earlier.name == name and (loose or earlier.args == args):
                    return True
    return False


def _last_failed(tool: str, trajectory: Trajectory) -> bool:
    """Whether the latest real result of the loop was an error."""
    for step in reversed(trajectory.steps):
        for call in reversed(step.calls):
            result = step.observation_of(call)
            if call.name == tool and result is not None and not result.own:
                return result.status == "error"
    return False


def _errs(trajectory: Trajectory) -> bool:
    return any(seen.status == "error" for seen in trajectory.steps[-1].observations)


def _error_form(result: Observation) -> str:
    """The error without its numbers; empty for faults of the infrastructure."""
    if classify(result.text, result.status) in INFRASTRUCTURE:
        return ""
    return digest(_NUMBERS.sub("0", result.text[:2000]))


def _since_last_change(seen: Sequence[_Seen], trajectory: Trajectory) -> Sequence[_Seen]:
    """The calls after the last successful change.

    A change that only repeats itself is no change. Where nothing says whether a tool reads or
    writes, a success with a new result may have been one.
    """
    known: set[tuple[str, str | None]] = set()
    tools = trajectory.catalog.tools
    start = 0
    for position, one in enumerate(seen):
        new = (one.key, one.result) not in known
        known.add((one.key, one.result))
        spec = tools.get(one.tool, _UNKNOWN)
        if new and not one.failed and one.result is not None and spec.read_only is not True:
            first_of_its_kind = all(other.key != one.key for other in seen[:position])
            if first_of_its_kind:
                start = position
    return seen[start:]


def _streak(key: str, stretch: Sequence[_Seen]) -> int:
    """How often `key` came back with its latest result, held calls included."""
    count = 0
    result: str | None = None
    for one in reversed(stretch):
        if one.key != key:
            continue
        if one.result is not None:
            if result is not None and one.result != result:
                break
            result = one.result
        count += 1
    return count if result is not None else 0


def _rows(seen: Sequence[_Seen]) -> list[tuple[frozenset[str], frozenset[str | None]]]:
    """The steps as sets of calls and of results, oldest first."""
    rows: dict[int, tuple[set[str], set[str | None]]] = {}
    for one in seen:
        calls, results = rows.setdefault(one.step, (set(), set()))
        calls.add(one.key)
        if one.result is not None:
            results.add(f"{one.key}={one.result}")
    return [(frozenset(calls), frozenset(results)) for calls, results in rows.values()]


def _periodic(rows: Sequence[tuple[frozenset[str], frozenset[str | None]]], period: int) -> int:
    """How many rows at the end repeat with `period`, results included."""
    length = min(period, len(rows))
    for position in range(len(rows) - 1 - period, -1, -1):
        earlier, later = rows[position], rows[position + period]
        same_results = earlier[1] == later[1] or not earlier[1] or not later[1]
        if earlier[0] != later[0] or not same_results:
            break
        length += 1
    return length
