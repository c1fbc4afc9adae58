"""Results of all runs as figures for each domain and arm, never pooled over domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sentry_langgraph.bench.live.names import ARMS
from sentry_langgraph.bench.live.paired import Difference, difference, mcnemar
from sentry_langgraph.bench.live.run import Result

BASE = "off"
"""The arm that the others are compared with."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An arm against `off`, on the tasks that both have done.

    Attributes:
        tasks: How many those are.
        won: Tasks that only this arm solved.
        lost: Tasks that only `off` solved.
        p: The exact p-value of McNemar's test on them.
        solved: Difference of the share solved.
        wrong_changes: Difference of wrong changes for one task.
        turns: Difference of calls of the model for one task.
        tokens: Difference of tokens for one task.
    """

    tasks: int
    won: int
    lost: int
    p: float
    solved: Difference
    wrong_changes: Difference
    turns: Difference
    tokens: Difference


@dataclass(frozen=True, slots=True)
class Figures:
    """One domain and arm.

    Attributes:
        domain: The domain.
        arm: The arm.
        tasks: Tasks done.
        solved: Tasks solved.
        by_kind: Solved and done by kind of task.
        wrong_changes: Records changed that should not be as they are.
        runs_with_wrong_changes: Runs that have any.
        turns: Calls of the model.
        tool_calls: Calls that reached a tool.
        tokens: Tokens read and written.
        approximate: Whether some are guessed from characters.
        tokens_per_solved: Tokens for one solved task; None where none is solved.
        seconds: Wall-clock time.
        compared: Against `off`; None for `off` itself or where no task has both.
    """

    domain: str
    arm: str
    tasks: int
    solved: int
    by_kind: dict[str, tuple[int, int]]
    wrong_changes: int
    runs_with_wrong_changes: int
    turns: int
    tool_calls: int
    tokens: int
    approximate: bool
    tokens_per_solved: int | None
    seconds: float
    compared: Compared | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def figures(results: Iterable[Result]) -> list[Figures]:
    """The figures of every domain and arm that has results, in a fixed order."""
    by_arm: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_arm.setdefault((result.domain, result.arm), []).append(result)
    domains = list(dict.fromkeys(domain for domain, _ in by_arm))
    return [
        _figures(by_arm[domain, arm], by_arm.get((domain, BASE), ()))
        for domain in domains
        for arm in ARMS
        if (domain, arm) in by_arm
    ]


def _figures(results: Sequence[Result], base: Sequence[Result]) -> Figures:
    first, solved = results[0], sum(result.solved for result in results)
    tokens = sum(result.tokens for result in results)
    kinds = dict.fromkeys(result.kind for result in results)
    return Figures(
        domain=first.domain,
        arm=first.arm,
        tasks=len(results),
        solved=solved,
        by_kind={
            kind: (
                sum(result.solved for result in results if result.kind == kind),
                sum(result.kind == kind for result in results),
            )
            for kind in kinds
        },
        wrong_changes=sum(result.wrong_changes for result in results),
        runs_with_wrong_changes=sum(result.wrong_changes > 0 for result in results),
        turns=sum(result.turns for result in results),
        tool_calls=sum(result.tool_calls for result in results),
        tokens=tokens,
        approximate=any(result.approximate for result in results),
        tokens_per_solved=round(tokens / solved) if solved else None,
        seconds=round(sum(result.seconds for result in results), 1),
        compared=None if first.arm == BASE else _compared(base, results),
    )


def _compared(base: Sequence[Result], other: Sequence[Result]) -> Compared | None:
    known = {result.task: result for result in base}
    pairs = [(known[result.task], result) for result in other if result.task in known]
    if not pairs:
        return None
    ones, others = zip(*pairs, strict=True)

    def gap(name: str) -> Difference:
        return difference(
            [float(getattr(one, name)) for one in ones],
            [float(getattr(one, name)) for one in others],
        )

    return Compared(
        tasks=len(pairs),
        won=sum(b.solved and not a.solved for a, b in pairs),
        lost=sum(a.solved and not b.solved for a, b in pairs),
        p=mcnemar([one.solved for one in ones], [one.solved for one in others]),
        solved=gap("solved"),
        wrong_changes=gap("wrong_changes"),
        turns=gap("turns"),
        tokens=gap("tokens"),
    )
