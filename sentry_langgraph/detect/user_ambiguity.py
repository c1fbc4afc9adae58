"""A change while the request leaves open what only the user can decide.

Two clear cases: a tool has said that more than one thing fits, and a change follows without a
question; and a request that says nothing is answered with a change whose values stand nowhere.
Which of several ids was taken is the business of `hallucination`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.options import Switch
from sentry_langgraph.provenance import leaves
from sentry_langgraph.records import Finding, Observation, ToolCall, Trajectory
from sentry_langgraph.relevance import words
from sentry_langgraph.taxonomy import Label, Origin, Severity
from sentry_langgraph.values import plain

_LOOKED_AT = 400
_STEPS = 4
_LONG = 60
_FEW = 1
_SENTENCE = 3
"""A request of so many words, and of at most `_FEW` with content, says nothing. A single word
may be all that a standing order needs to start."""

_THINGS = (
    r"(?:users?|customers?|accounts?|people|persons?|contacts?|records?|entries|results?|matches|"
    r"items?|products?|orders?|reservations?|bookings?|files?|candidates?|patients?|options|"
    r"customers|invoices?|members?|employees?|documents?|projects?|tickets?)"
)
_AMBIGUOUS = re.compile(
    rf"\b(?:multiple|several|more than one|too many)\s+(?:\w+\s+)?{_THINGS}\b.{{0,40}}?"
    r"\b(?:found|match|matched|matching|fit|exist|returned|with (?:that|this|the same))|"
    rf"\bfound (?:multiple|several|more than one|\d{{1,3}}) (?:\w+ )?(?:matching )?"
    rf"{_THINGS}\b.{{0,60}}?"
    r"\b(?:specify|which|clarify|choose|narrow|disambiguate)|"
    r"\b(?:name|query|request|reference|input|search|term|match)\b.{0,20}\bis ambiguous\b|"
    r"^\W{0,3}(?:error\W{1,3})?ambiguous\b|\bmultiple matches\b|\bnot unique\b|"
    r"\bplease (?:specify|clarify) which\b|\bwhich (?:one )?(?:do|did) you mean\b|"
    r"\bdid you mean\b[^?\n]{1,120}(?:,| or )[^?\n]{1,120}\?"
)
_STEMS = (
    "multiple",
    "several",
    "more than one",
    "too many",
    "ambiguous",
    "found ",
    "not unique",
    "specify which",
    "clarify which",
    "you mean",
)


class UserAmbiguityOptions(DetectorOptions):
    """Options of `user_ambiguity`.

    Attributes:
        ambiguous_result: A change after a result that said that several things fit.
        empty_request: A change with made-up values for a request that says nothing.
    """

    ambiguous_result: Switch = True
    empty_request: Switch = True


class UserAmbiguity:
    """Looks at proposed changes only."""

    Options: ClassVar[type[DetectorOptions]] = UserAmbiguityOptions

    def __init__(self, options: UserAmbiguityOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding."""
        tools = trajectory.catalog.tools
        for call in trajectory.proposal.calls:
            spec = tools.get(call.name)
            if spec is None or spec.read_only is not False or not call.args:
                continue
            if self._options.ambiguous_result and (source := _left_open(call, trajectory)):
                return (
                    _finding(
                        trajectory,
                        call,
                        "ambiguous_result",
                        f"`{source}` said that more than one fits, and the user has not chosen",
                        source,
                    ),
                )
            if self._options.empty_request and _from_nowhere(call, trajectory):
                return (
                    _finding(
                        trajectory,
                        call,
                        "empty_request",
                        f"the request does not say what `{call.name}` is to be given",
                    ),
                )
        return ()


def _left_open(call: ToolCall, trajectory: Trajectory) -> str:
    """The tool that said that several fit, where nothing has settled it since."""
    settled: set[str] = set()
    for step in reversed(trajectory.steps[-_STEPS:]):
        for earlier in reversed(step.calls):
            seen = step.observation_of(earlier)
            if seen is None or seen.own or earlier.name in settled:
                continue
            if says_ambiguous(seen):
                return "" if _user_said(call, trajectory) else earlier.name
            settled.add(earlier.name)
    return ""


def says_ambiguous(seen: Observation) -> bool:
    """Whether a result says in its first words that more than one thing fits."""
    return _reads_ambiguous(seen.text)


@lru_cache(maxsize=512)
def _reads_ambiguous(text: str) -> bool:
    lower = text[:_LOOKED_AT].lower()
    return any(stem in lower for stem in _STEMS) and _AMBIGUOUS.search(lower) is not None


def _user_said(call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether the user named the target: a value of the call that has a digit or a mark."""
    told = plain(trajectory.task.objective)
    return any(
        isinstance(value, str)
        and len(wanted := plain(value)) > 2
        and any(sign.isdigit() or sign in "@_" for sign in value)
        and wanted in told
        for _, value in leaves(call.args or {})
    )


def _from_nowhere(call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether a request without content is answered with values that stand nowhere."""
    objective = trajectory.task.objective
    if len(objective) > _LONG or len(objective.split()) < _SENTENCE:
        return False
    if len(words(objective)) > _FEW:
        return False
    for place, passage in enumerate(trajectory.provenance.passages()):
        # two are the request and a system prompt; what was agreed in a talk is not seen here
        if passage.kind != "told" or place > 1:
            return False
    spec = trajectory.catalog.tools[call.name]
    values = [(call.args or {}).get(name) for name in spec.required]
    given = [value for value in values if isinstance(value, str | int) and value != ""]
    return bool(given) and not any(trajectory.provenance.grounded(value) for value in given)


def _finding(
    trajectory: Trajectory, call: ToolCall, pattern: str, detail: str, source: str = ""
) -> Finding:
    label = Label.USER_AMBIGUITY
    return Finding(
        label,
        trajectory.proposal.id,
        key=f"{label}:{pattern}:{call.name}",
        confidence=0.7,
        severity=Severity.ADVISE,
        detail=detail,
        evidence={"tool": call.name, **({"from": source} if source else {})},
        calls=(call.index,),
        tool=call.name,
        pattern=pattern,
        origin=Origin.USER,
    )
