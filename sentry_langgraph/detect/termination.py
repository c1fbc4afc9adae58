"""Runs that end on nothing: an empty, refused or cut-off final message, or an open action."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.naming import NOT_THERE
from sentry_langgraph.options import Switch
from sentry_langgraph.plans import plan_to
from sentry_langgraph.producers import known_values
from sentry_langgraph.records import Finding, PathStep, Proposal, ToolSpec, Trajectory
from sentry_langgraph.slots import slot_of
from sentry_langgraph.taxonomy import Label

_REFUSED = frozenset({"refusal", "content_filter", "safety", "blocked", "recitation"})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_IMPOSSIBLE = re.compile(
    r"\b(?:cannot|can't|can’t|could(?: not|n't|n’t)|unable|not able|not possible|impossible|"
    r"no longer|not (?:available|allowed|permitted|found|eligible|supported)|"
    r"do(?:es)?(?: not|n't|n’t) (?:exist|have|allow|support)|"
    r"there (?:is|are|was|were) no|no such|failed|denied|declined|refused|sorry|unfortunately)\b",
    re.IGNORECASE,
)


_QUESTIONS = re.compile(r"[^.!?\n]*\?")
_COURTESY = re.compile(
    r"\b(?:anything else|something else|any other|help you|be of help|further assist\w*)\b",
    re.IGNORECASE,
)


_SHORT = 20
"""Lines of ours that are shorter can stand in an answer by chance."""


class TerminationOptions(DetectorOptions):
    """Options of `termination_miscalibration`.

    Attributes:
        empty: A final message without text.
        refused: A final message that the provider marks as refused or filtered.
        cut_off: A final message that the provider marks as cut off by its token limit.
        open_action: A finish while a held action is still owed, or one that gives up before what a
            repair named was tried.
    """

    empty: Switch = True
    refused: Switch = True
    cut_off: Switch = True
    open_action: Switch = True


class Termination:
    """Looks at the wish to finish only."""

    Options: ClassVar[type[DetectorOptions]] = TerminationOptions

    def __init__(self, options: TerminationOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding: what is wrong with ending here."""
        proposal = trajectory.proposal
        if not proposal.finish or proposal.calls or proposal.structured:
            return ()
        if self._options.refused and proposal.stop_reason in _REFUSED:
            return (
                _finding(proposal, "refused", "the provider marks the final message as refused"),
            )
        if self._options.empty and not proposal.text.strip() and not proposal.answered:
            return (_finding(proposal, "empty", "the final message is empty"),)
        if self._options.cut_off and proposal.stop_reason in _CUT:
            return (_finding(proposal, "cut_off", "the final message was cut off by its length"),)
        if self._options.open_action:
            return _open(trajectory) or _gave_up(trajectory)
        return ()


def _open(trajectory: Trajectory) -> tuple[Finding, ...]:
    """A finish while a held action is owed, or before anything was tried after a hold."""
    if not trajectory.state.active:
        return ()
    reason = gives_reason(_own_words(trajectory))
    for repair in trajectory.state.active:
        untried = bool(repair.plan) and not _tried(repair.step, trajectory)
        if repair.owes and (not reason or untried):
            detail = f"`{repair.owes}` was not executed, and is neither done nor given up"
            return (_finding(trajectory.proposal, "open_action", detail, tool=repair.owes),)
        if reason and untried:
            detail = "the answer gives up, and the way to what is missing was not tried"
            return (_finding(trajectory.proposal, "untried", detail, tool=repair.tool),)
    return ()


def _gave_up(trajectory: Trajectory) -> tuple[Finding, ...]:
    """An end after "not found", where the identifier was no identifier and a tool yields one."""
    last = trajectory.steps[-1] if trajectory.steps else None
    if last is None or all(seen.status != "error" for seen in last.observations):
        return ()
    if not gives_reason(trajectory.proposal.text):
        return ()
    for call in last.calls:
        seen, spec = last.observation_of(call), trajectory.catalog.tools.get(call.name)
        if seen is None or seen.own or seen.status != "error" or spec is None:
            continue
        if not NOT_THERE.search(seen.text[:2000]):
            continue
        for slot in spec.required:
            plan = _way_to(slot, (call.args or {}).get(slot), spec, trajectory)
            if plan is not None:
                detail = f"`{slot}` of `{call.name}` was no known one, and a tool yields it"
                found = _finding(trajectory.proposal, "untried", detail, tool=call.name)
                return (replace(found, plan=plan),)
    return ()


def _way_to(
    slot: str, value: object, spec: ToolSpec, trajectory: Trajectory
) -> tuple[PathStep, ...] | None:
    """The calls that yield an identifier in place of `value`; None where `value` may be one."""
    if slot_of(slot).kind not in ("id", "number") or value is None:
        return None
    catalog, provenance = trajectory.catalog, trajectory.provenance
    text = str(value)
    if any(map(str.isdigit, text)) and provenance.grounded(value):
        return None
    if known_values(slot, catalog, provenance, consumer=spec.name, limit=1):
        return ()
    return plan_to(slot, catalog, provenance, consumer=spec.name) or None


def _tried(step: str, trajectory: Trajectory) -> bool:
    """Whether any call reached a tool after the message `step`."""
    for one in reversed(trajectory.steps):
        if one.id == step:
            return False
        if any(not seen.own for seen in one.observations):
            return True
    return True


def _own_words(trajectory: Trajectory) -> str:
    """The final message without what it only repeats of Sentry's answers to its calls."""
    said = [
        line
        for step in trajectory.steps[-3:]
        for seen in step.observations
        if seen.own
        for line in seen.text.splitlines()
    ]
    text = trajectory.proposal.text
    for line in said:
        if len(line) > _SHORT:
            text = text.replace(line, " ").replace(line.partition(": ")[2] or line, " ")
    return text


def gives_reason(text: str) -> bool:
    """Whether a final message says why something was not done, or asks the user."""
    asks = any(not _COURTESY.search(question) for question in _QUESTIONS.findall(text[-1000:]))
    return asks or bool(_IMPOSSIBLE.search(text))


def _finding(proposal: Proposal, pattern: str, detail: str, tool: str | None = None) -> Finding:
    return Finding(
        Label.TERMINATION_MISCALIBRATION,
        proposal.id,
        key=f"{Label.TERMINATION_MISCALIBRATION}:{pattern}" + (f":{tool}" if tool else ""),
        confidence=0.8 if pattern in ("open_action", "untried") else 0.9,
        detail=detail,
        evidence={"stop_reason": proposal.stop_reason} if proposal.stop_reason else {},
        tool=tool,
        pattern=pattern,
    )
