"""Loops: the same calls with the same results.

A repeat counts only where its *result* is the same too, so polling that moves and batch work
over different arguments are never loops. The stretch that is looked at begins at the last
successful change, because reading again after a change is checking, not looping. Calls that
Sentry itself held stay part of the streak.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sentry_langgraph.detect.access import COMMANDS, access_of
from sentry_langgraph.detect.base import DetectorOptions, Threshold
from sentry_langgraph.detect.novelty import reworded
from sentry_langgraph.detect.stretch import (
    Seen,
    Stale,
    counts,
    executed,
    periodic,
    rows,
    since_last_change,
    stale,
    streak,
)
from sentry_langgraph.options import Count, PositiveCount, Switch
from sentry_langgraph.records import Finding, Step, ToolCall, ToolSpec, Trajectory
from sentry_langgraph.signature import VOLATILE, call_key, digest
from sentry_langgraph.taxonomy import Label, Severity

_NEVER = 1_000_000
_ONLY_EXACT = {"stale_at": 0, "same_error_at": 0}
_ONLY_STALE = {
    "advise_at": _NEVER,
    "advise_reads_at": None,
    "hold_at": _NEVER,
    "same_error_at": 0,
}


class RepetitionOptions(DetectorOptions):
    """Options of `repetition_or_looping`. Counts include the call that is proposed.

    Attributes:
        advise_at: Identical calls with identical results before advice is given.
        hold_at: Identical calls with identical results before one is held.
        advise_reads_at: As `advise_at`, for look-ups that worked; `null` is the same.
        stale_at: Steps that brought nothing new, over all tools, before advice; 0 is off. Steps
            that do bring something new are taken off.
        stale_hold_at: Steps that brought nothing new before one is held.
        max_period: Longest cycle that is looked for, in steps.
        reworded: Whether a question in other words, with the answer of before, brings nothing
            new.
        same_error_at: Calls of one tool in a row that end in the same error before advice;
            0 is off.
    """

    advise_at: Annotated[PositiveCount, Field(ge=2)] = 3
    hold_at: Annotated[PositiveCount, Field(ge=2)] = 6
    advise_reads_at: Annotated[PositiveCount, Field(ge=2)] | None = None
    stale_at: Count = 3
    stale_hold_at: PositiveCount = 5
    max_period: Annotated[PositiveCount, Field(le=20)] = 5
    reworded: Switch = True
    same_error_at: Count = 4

    thresholds: ClassVar[tuple[Threshold, ...]] = (
        Threshold("advise_at", off={"advise_reads_at": None, **_ONLY_EXACT}),
        Threshold("stale_at", off=_ONLY_STALE),
        Threshold("same_error_at", off={**_ONLY_STALE, "stale_at": 0}),
        Threshold(
            "hold_at",
            hold=True,
            above="advise_at",
            same=("advise_at",),
            off={"advise_reads_at": None, **_ONLY_EXACT},
        ),
        Threshold(
            "stale_hold_at", hold=True, above="stale_at", same=("stale_at",), off=_ONLY_STALE
        ),
    )


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop in one of its forms, before it becomes a finding."""

    pattern: str
    name: str
    count: int
    calls: tuple[int, ...]
    tool: str
    related: tuple[str, ...]
    detail: str
    hold: bool
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Look:
    """What the rules look at: the proposed calls that can loop, and what was called before."""

    trajectory: Trajectory
    proposed: tuple[tuple[ToolCall, ToolSpec, str], ...]
    seen: Sequence[Seen]
    stretch: Sequence[Seen]
    stale: Stale
    again: bool
    reworded: bool

    @property
    def old(self) -> int:
        """Steps that brought nothing new; the proposed one counts if all of it was made before."""
        return self.stale.count + self.again

    def goes_over(self, least: int) -> bool:
        """Whether at least so many steps brought nothing new; 0 is never.

        One call alone has thresholds of its own, so there have to be two.
        """
        return 0 < least <= self.old and len(self.stale.keys | self.keys) > 1

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the proposed calls."""
        return frozenset(key for _, _, key in self.proposed)

    @property
    def indices(self) -> tuple[int, ...]:
        """Positions of the proposed calls."""
        return tuple(call.index for call, _, _ in self.proposed)


class Repetition:
    """Exact repeats, cycles, calls that bring nothing new, and the same error again."""

    Options: ClassVar[type[DetectorOptions]] = RepetitionOptions

    def __init__(self, options: RepetitionOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding: the clearest form of the loop."""
        steps = trajectory.steps
        if not steps:
            return ()
        proposed = [
            (call, spec)
            for call in trajectory.proposal.calls
            if call.args is not None
            and not (spec := trajectory.catalog.spec(call.name)).polling
            and Label.REPETITION_OR_LOOPING not in spec.exempt
        ]
        if not proposed:
            return ()
        wordy = self._options.reworded and _may_reword(proposed, steps)
        repeats = _may_repeat(proposed, steps) and (
            wordy or _again(trajectory) >= self._fewest(proposed)
        )
        if not (repeats or wordy or self._may_fail_again(proposed, steps)):
            return ()
        look = self._look(trajectory, proposed)
        found = None
        if repeats or wordy:
            found = self._cycle(look) or self._exact(look) or self._stale(look)
        found = found or self._same_error(look)
        return () if found is None else (self._finding(trajectory, found),)

    def _fewest(self, proposed: Sequence[tuple[ToolCall, ToolSpec]]) -> int:
        """The lowest number of calls that were made before with which anything can be found."""
        options = self._options
        advise_at = min(
            options.advise_at,
            options.advise_reads_at or options.advise_at,
            *(spec.advise_at or options.advise_at for _, spec in proposed),
        )
        in_cycles = 2 * (options.advise_at - 2) + 1
        return min(advise_at - 1, in_cycles, options.stale_at or in_cycles)

    def _may_fail_again(
        self, proposed: Sequence[tuple[ToolCall, ToolSpec]], steps: Sequence[Step]
    ) -> bool:
        """Whether a proposed tool has failed often enough: quick, and never wrong with a no."""
        least = self._options.same_error_at - 1
        if least < 0 or all(seen.status != "error" for seen in steps[-1].observations):
            return False
        failed = [
            call.name
            for step in steps
            for seen in step.observations
            if seen.status == "error" and not seen.own
            for call in step.calls
            if call.id == seen.call_id
        ]
        return len(failed) >= least and any(
            failed.count(call.name) >= least for call, _ in proposed
        )

    def _look(self, trajectory: Trajectory, proposed: Sequence[tuple[ToolCall, ToolSpec]]) -> _Look:
        seen = executed(trajectory)
        stretch = since_last_change(seen)
        made = stale(stretch, reworded=self._options.reworded)
        keyed = tuple((call, spec, call_key(call, spec)) for call, spec in proposed)
        counted = [(call, key) for call, spec, key in keyed if counts(spec)]
        again = bool(counted) and all(_made_before(key, stretch) for _, key in counted)
        other_words = (
            self._options.reworded
            and not again
            and bool(counted)
            and all(_asked_before(call, key, stretch) for call, key in counted)
        )
        return _Look(trajectory, keyed, seen, stretch, made, again, other_words)

    def _exact(self, look: _Look) -> _Loop | None:
        best: tuple[int, ToolCall, str, bool] | None = None
        going_over = self._stale_holds(look)
        for call, spec, key in look.proposed:
            times, last = streak(key, look.stretch)
            count = times + 1
            if last is None or count < self._advise_at(call, spec, last):
                continue
            if best is None or count > best[0]:
                hold = count >= (spec.hold_at or self._options.hold_at) or going_over
                hold = hold and not last.outage  # trying again after an outage is not wrong
                best = (count, call, key, hold)
        if best is None:
            return None
        count, call, key, hold = best
        return _Loop(
            pattern="exact_repeat",
            name=key,
            count=count,
            calls=tuple(call.index for call, _, own in look.proposed if own == key),
            tool=call.name,
            related=(key,),
            detail=(
                f"this is call {count} of `{call.name}` with the same arguments, "
                "and the result has not changed"
            ),
            hold=hold,
        )

    def _advise_at(self, call: ToolCall, spec: ToolSpec, last: Seen) -> int:
        options = self._options
        if spec.advise_at is not None:
            return spec.advise_at
        if options.advise_reads_at is not None and not last.failed:
            return options.advise_reads_at if access_of(call, spec).reads else options.advise_at
        return options.advise_at

    def _cycle(self, look: _Look) -> _Loop | None:
        made = rows(look.seen)
        options = self._options
        for period in range(2, options.max_period + 1):
            if len(made) < period or not look.keys <= made[-period][0]:
                continue
            length = periodic(made, period)
            if length < period * (options.advise_at - 1) and not self._in_order(look, period):
                continue
            members = frozenset().union(*(row[0] for row in made[-period:]))
            inside = [one for one in look.seen if one.key in members]
            if len(members) < 2 or any(one.outage for one in inside):
                continue
            tools = sorted({one.call.name for one in inside})
            count = (length + 1 + period - 1) // period
            return _Loop(
                pattern="cycle",
                name=f"cycle:{digest('|'.join(sorted(members)))}",
                count=count,
                calls=look.indices,
                tool=look.proposed[0][0].name,
                related=tuple(sorted(members)),
                detail=(
                    f"the steps repeat with period {period}: "
                    + " → ".join(f"`{name}`" for name in tools)
                    + ", with the same results each time"
                ),
                hold=count >= options.hold_at or self._stale_holds(look),
                evidence={"period": period, "tools": tools},
            )
        return None

    def _in_order(self, look: _Look, period: int) -> bool:
        """Whether what brought nothing new comes back in the order of before."""
        least = self._options.stale_at
        if not least or look.old < least:
            return False
        return periodic(rows(look.stretch), period) >= period + least - 1

    def _stale(self, look: _Look) -> _Loop | None:
        if not (look.again or (look.reworded and look.stale.reworded)):
            return None
        if not look.goes_over(self._options.stale_at):
            return None
        members = look.stale.keys | look.keys
        return _Loop(
            pattern="reworded" if look.stale.reworded else "nothing_new",
            name="nothing_new",
            count=look.old,
            calls=look.indices,
            tool=look.proposed[0][0].name,
            related=tuple(sorted(members)),
            detail=(
                f"{look.old} steps since the last change repeat earlier ones "
                "and brought nothing new"
            ),
            hold=look.again and self._stale_holds(look),
        )

    def _stale_holds(self, look: _Look) -> bool:
        return bool(self._options.stale_at) and look.goes_over(self._options.stale_hold_at)

    def _same_error(self, look: _Look) -> _Loop | None:
        if not self._options.same_error_at:
            return None
        for call, spec, _ in look.proposed:
            own = [one for one in look.seen if one.call.name == call.name]
            if not own or not own[-1].error or spec.batch:
                continue
            error = own[-1].error
            count = 1
            for one in reversed(own):
                if one.error != error:
                    break
                count += 1
            if count >= self._options.same_error_at:
                return _Loop(
                    pattern="same_error",
                    name=f"error:{call.name}:{error}",
                    count=count,
                    calls=(call.index,),
                    tool=call.name,
                    related=tuple({one.key for one in own if one.error == error}),
                    detail=(
                        f"`{call.name}` has failed {count - 1} times in a row with the same error"
                    ),
                    hold=False,
                )
        return None

    def _finding(self, trajectory: Trajectory, loop: _Loop) -> Finding:
        last = trajectory.last_run({loop.tool})
        return Finding(
            Label.REPETITION_OR_LOOPING,
            trajectory.proposal.id,
            key=f"{Label.REPETITION_OR_LOOPING}:{loop.name}",
            confidence=0.9 if loop.count > self._options.advise_at else 0.8,
            severity=Severity.HOLD if loop.hold else Severity.ADVISE,
            detail=loop.detail,
            evidence={
                "count": loop.count,
                "tool": loop.tool,
                "failing": last is not None and last[1].status == "error",
                **loop.evidence,
            },
            calls=loop.calls,
            tool=loop.tool,
            pattern=loop.pattern,
            related=loop.related,
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


def _again(trajectory: Trajectory) -> int:
    """How many calls of the window and the proposal were made before in it."""
    catalog = trajectory.catalog
    calls = [call for step in trajectory.steps for call in step.calls]
    calls += trajectory.proposal.calls
    return len(calls) - len({call_key(call, catalog.spec(call.name)) for call in calls})


def _may_reword(proposed: Sequence[tuple[ToolCall, ToolSpec]], steps: Sequence[Step]) -> bool:
    """Whether a proposed call asks in words, after a result that the window already had."""
    wordy = any(
        isinstance(value, str) and " " in value and name not in COMMANDS
        for call, _ in proposed
        for name, value in (call.args or {}).items()
    )
    if not wordy or not steps[-1].observations:
        return False
    known = steps[-1].observations[0].digest
    return any(seen.digest == known for step in steps[:-1] for seen in step.observations)


def _made_before(key: str, stretch: Sequence[Seen]) -> bool:
    """Whether a call was made in the stretch, and answered."""
    return any(one.key == key and one.result is not None and not one.outage for one in stretch)


def _asked_before(call: ToolCall, key: str, stretch: Sequence[Seen]) -> bool:
    """Whether a call was made in the stretch, be it in other words."""
    return _made_before(key, stretch) or any(
        one.call.name == call.name
        and not one.batch
        and one.result is not None
        and reworded(one.call.args or {}, call.args or {})
        for one in stretch
    )
