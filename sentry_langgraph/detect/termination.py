"""Runs that end on nothing: an empty, refused or cut-off final message, or an open action."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.open_action import gave_up, open_action
from sentry_langgraph.options import Switch
from sentry_langgraph.reasons import gives_reason
from sentry_langgraph.records import Finding, Proposal, Trajectory
from sentry_langgraph.taxonomy import Label

_REFUSED = frozenset({"refusal", "content_filter", "safety", "blocked", "recitation"})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
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
        if self._options.open_action and (trajectory.state.active or _failed(trajectory)):
            reason = gives_reason(_own_words(trajectory))
            found = open_action(trajectory, reason=reason) or gave_up(trajectory, reason=reason)
            return (found,) if found is not None else ()
        return ()


def _failed(trajectory: Trajectory) -> bool:
    """Whether the last step ended in an error: only then the words of the answer are read."""
    last = trajectory.steps[-1:]
    return any(seen.status == "error" for step in last for seen in step.observations)


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


def _finding(proposal: Proposal, pattern: str, detail: str) -> Finding:
    return Finding(
        Label.TERMINATION_MISCALIBRATION,
        proposal.id,
        key=f"{Label.TERMINATION_MISCALIBRATION}:{pattern}",
        confidence=0.9,
        detail=detail,
        evidence={"stop_reason": proposal.stop_reason} if proposal.stop_reason else {},
        pattern=pattern,
    )
