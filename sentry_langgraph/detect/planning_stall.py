"""An action that was announced and never came."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions, Threshold
from sentry_langgraph.detect.cues import has_any
from sentry_langgraph.options import Count
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.taxonomy import Label

_SENTENCES = re.compile(r"(?<=[.!?…:])\s+|\n+")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|```.*?```", re.DOTALL)
_MARKS = ('"', "“", "«", "```")
_ACTION = (
    r"(?:look|check|search|find|fetch|get|pull|retriev\w*|read|open|run|call|execut\w*|quer\w*|"
    r"investigat\w*|review|examin\w*|inspect|verif\w*|calculat\w*|comput\w*|compar\w*|analy[sz]e|"
    r"list|load|download|collect|gather|scan|test|try|start|begin|proceed|continue|"
    r"process|updat\w*|creat\w*|add|book|cancel|chang\w*|modif\w*|delet\w*|remov\w*|send|submit|"
    r"writ\w*|edit|fix|apply|set|make|do|use|go|see|build|generat\w*|prepar\w*)"
)
_ANNOUNCES = re.compile(
    r"\b(?:i will|i'll|i’ll|i shall|let me|i am going to|i'm going to|i’m going to|"
    r"i am now going to|i need to|i now need to|now i(?:'ll|’ll| will))\s+"
    r"(?:(?:now|next|first|then|also|just|quickly|go ahead and|start by|begin by|proceed to)\s+)*"
    + _ACTION
    + r"\b",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"\b(?:please (?:hold on|wait|stand by|bear with me|give me)|one moment|just a moment|"
    r"hold on while|stand by while)\b",
    re.IGNORECASE,
)
_CUES = tuple(
    "i will|i'll|i’ll|i shall|let me|going to|i need to|i now need to|hold on|moment|stand by|"
    "please wait|please bear|please give".split("|")
)
"""One of them stands in every sentence that `_ANNOUNCES` or `_WAIT` finds."""

_WHILE_I = re.compile(r"\bwhile i\b", re.IGNORECASE)
_CONDITIONAL = re.compile(
    r"\b(?:once|if|when|whenever|after|as soon as|unless|until|should you|let me know|"
    r"please (?:provide|confirm|share|tell|reply|send|let|try|follow|check|run|go|restart|turn|"
    r"type|choose|pick|select|answer|specify|enter|give me the)|(?:reply|type|answer|respond) "
    r"(?:with )?[\"'“‘]|which (?:one|option|of)|"
    r"could you|can you|would you|do you|are you|before i|so (?:that )?i can)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:happy to|glad to|be here|feel free|anything else|be able to|can help|"
    r"(?:unable|not able) to|cannot|can't|can’t|could not|couldn't|won't|will not|"
    r"transferred|being transferred|tomorrow|tonight|next (?:week|month|time)|later today|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_TAIL = 3
"""Sentences at the end in which a promise is looked for."""

_ASKED = 10
"""Sentences at the end in which a request to the user makes every promise conditional."""


class PlanningStallOptions(DetectorOptions):
    """Options of `planning_stall`.

    Attributes:
        thinking_steps: Steps in a row without any call before it counts; 0 is off.
    """

    thinking_steps: Count = 3

    thresholds: ClassVar[tuple[Threshold, ...]] = (
        Threshold("thinking_steps", patterns=frozenset({"thinking_only"})),
    )


class PlanningStall:
    """The turn ends on a promise, or thinking goes on without an action."""

    Options: ClassVar[type[DetectorOptions]] = PlanningStallOptions

    def __init__(self, options: PlanningStallOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """One finding where the newest message stalls."""
        proposal = trajectory.proposal
        if proposal.calls or proposal.structured or not trajectory.catalog.tools:
            return ()
        if proposal.finish and announces(proposal.text):
            return (
                Finding(
                    Label.PLANNING_STALL,
                    proposal.id,
                    key=f"{Label.PLANNING_STALL}:announced",
                    confidence=0.8,
                    detail="the message announces an action and ends the turn without it",
                    evidence={"characters": len(proposal.text)},
                    pattern="announced_not_done",
                ),
            )
        return self._thinking(trajectory)

    def _thinking(self, trajectory: Trajectory) -> tuple[Finding, ...]:
        wanted = self._options.thinking_steps
        idle = 0
        for step in reversed(trajectory.steps):
            if step.calls:
                break
            idle += 1
        if not wanted or trajectory.proposal.finish or idle + 1 < wanted:
            return ()
        return (
            Finding(
                Label.PLANNING_STALL,
                trajectory.proposal.id,
                key=f"{Label.PLANNING_STALL}:thinking",
                confidence=0.7,
                detail=f"{idle + 1} steps in a row took no action",
                evidence={"steps": idle + 1},
                pattern="thinking_only",
            ),
        )


def announces(text: str) -> bool:
    """Whether `text` ends on the promise of an action that is the agent's to take now.

    Conditions ("once I have the id"), questions, offers and refusals are not promises.
    """
    end = text.strip()[-2000:]
    if end.endswith("?"):
        return False
    said = _unquoted(end)
    if not _promises(_last_sentence(said), said):
        return False
    # the condition mostly stands right before the promise
    asked = reversed(_sentences(end)[-_ASKED:])
    if any("?" in sentence or _CONDITIONAL.search(sentence) for sentence in asked):
        return False
    return not any(_OFFER.search(sentence) for sentence in _sentences(said)[-_TAIL:])


def _last_sentence(text: str) -> str:
    """The last sentence, where a word of a promise is near; else nothing: few texts have one."""
    line = text.rstrip().rpartition("\n")[2]
    return "".join(_sentences(line)[-1:]) if _cued(line) else ""


def _promises(last: str, text: str) -> bool:
    if not _cued(last):
        return False
    if _ANNOUNCES.search(last):
        return True
    if not _WAIT.search(last):
        return False
    return bool(_WHILE_I.search(last)) or any(
        _ANNOUNCES.search(sentence) for sentence in _sentences(text)[-_TAIL:]
    )


def _unquoted(text: str) -> str:
    for mark in _MARKS:
        if mark in text:
            return _QUOTED.sub("", text)
    return text


def _cued(text: str) -> bool:
    return has_any(_CUES, text.lower().replace("let me know", ""))


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCES.split(text) if sentence.strip()]
