"""Runs that end too early, on nothing, or not at all.

On nothing: an empty, refused or cut-off final message. Too early: a held action, todos or a
required tool are open, or an error was passed over. Not at all: calls after the end of the task,
and changes that have been made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.conversation import only_request
from sentry_langgraph.detect.miscount import miscounted
from sentry_langgraph.detect.open_action import gave_up, left_unseen, open_action
from sentry_langgraph.detect.overrun import after_finish, completed_again
from sentry_langgraph.detect.unfinished import (
    never_called,
    open_todos,
    unacknowledged_error,
    unanswered,
)
from sentry_langgraph.options import PositiveCount, Switch
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
            repair named was tried, or before other candidates were looked at.
        open_todos: A finish while the agent's own list of todos has open items.
        unacknowledged_error: A finish right after an error that the answer does not speak of.
        required_tools: Tools that have to run with success before a task ends.
        unanswered: An answer to a question that lacks the one value that results have for what
            the question names.
        miscounted: An answer with another count than the list has that it is about.
        finish_tool: A finish in words by an agent that has a tool to end with (`finish`).
        after_finish: Calls after the tool that ends the task has run with success.
        completed_again: A change that is made again with the same arguments.
        completed_hold_at: The time, the proposed one included, from which such a change is held;
            earlier ones are advised on.
    """

    empty: Switch = True
    refused: Switch = True
    cut_off: Switch = True
    open_action: Switch = True
    open_todos: Switch = True
    unacknowledged_error: Switch = True
    required_tools: tuple[str, ...] = ()
    unanswered: Switch = True
    miscounted: Switch = True
    finish_tool: Switch = True
    after_finish: Switch = True
    completed_again: Switch = True
    completed_hold_at: Annotated[PositiveCount, Field(ge=2)] = 3


class Termination:
    """Looks at the wish to finish, and at calls that come after the end."""

    Options: ClassVar[type[DetectorOptions]] = TerminationOptions

    def __init__(self, options: TerminationOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding: what is wrong with ending here, or with going on."""
        proposal = trajectory.proposal
        if proposal.calls and trajectory.steps:
            found = self._overrun(trajectory)
            return (found,) if found is not None else ()
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
        found = self._unfinished(trajectory)
        return (found,) if found is not None else ()

    def _overrun(self, trajectory: Trajectory) -> Finding | None:
        found = None
        if self._options.after_finish and trajectory.catalog.finishing:
            found = after_finish(trajectory)
        if found is None and self._options.completed_again:
            found = completed_again(trajectory, self._options.completed_hold_at)
        return found

    def _unfinished(self, trajectory: Trajectory) -> Finding | None:
        options = self._options
        found = None
        if options.open_action and (trajectory.state.active or _failed_last(trajectory)):
            reason = gives_reason(_own_words(trajectory))
            found = open_action(trajectory, reason=reason) or gave_up(trajectory, reason=reason)
        if found is not None:
            return found
        found = open_todos(trajectory) if options.open_todos else None
        if found is None and options.unacknowledged_error:
            found = unacknowledged_error(trajectory)
        if found is None:
            found = never_called(
                trajectory, options.required_tools, finish_tool=options.finish_tool
            )
        # last, because it reads the text
        if found is not None and not gives_reason(_own_words(trajectory)):
            return found
        return self._of_one_request(trajectory)

    def _of_one_request(self, trajectory: Trajectory) -> Finding | None:
        """What results say against the answer. In a conversation the user may have settled what
        is meant, in words that no rule follows."""
        if not trajectory.steps or not only_request(trajectory):
            return None
        options = self._options
        found = left_unseen(trajectory) if options.open_action else None
        if found is None and options.unanswered:
            found = unanswered(trajectory)
        if found is None and options.miscounted:
            found = miscounted(trajectory)
        return found


def _failed_last(trajectory: Trajectory) -> bool:
    steps = trajectory.steps
    return bool(steps) and any(seen.status == "error" for seen in steps[-1].observations)


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
