"""The text says one thing and the call does another.

Only what can be compared exactly is: a tool that the text announces by its very name, an id in
the sentence that announces the action, and the announcement to stop. A text that also names what
the call does agrees with it, and an announcement of several steps says nothing about the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.cues import has_any
from sentry_langgraph.options import Switch
from sentry_langgraph.provenance import leaves
from sentry_langgraph.records import Finding, ToolCall, Trajectory
from sentry_langgraph.taxonomy import Label, Severity

_LOOKED_AT = 1_000
"""Characters at the end of the text that are read: the announcement stands next to the call."""

_SENTENCES = re.compile(r"(?<=[.!?:])\s+|\n+")
_MINE = (
    r"(?:i will|i'll|i’ll|i shall|let me|i am going to|i'm going to|i’m going to|i am now|i'm now|"
    r"i’m now)"
)
_MINE_STEMS = (
    "i will",
    "i'll",
    "i’ll",
    "i shall",
    "let me",
    "i am going to",
    "i'm going to",
    "i’m going to",
    "i am now",
    "i'm now",
    "i’m now",
)
_STOP_STEMS = (" stop", " wait", " end ", "nothing ")
_USE_STEMS = ("call", "use", "run", "invoke", "execute")
_DIGIT = re.compile(r"\d")
_ANNOUNCES = re.compile(rf"\b{_MINE}\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(?:then|after\w*|once|before|next|later|finally|first|second|if|when|until|unless|"
    r"instead of|rather than|not|n['’]t|never|already|earlier|previous\w*|same as|like|as for|"
    r"while|because|since|so that|in order)\b",
    re.IGNORECASE,
)
"""Words of a plan, a condition or a contrast."""

_USES = re.compile(
    rf"\b{_MINE}\s+(?:(?:now|just|also|go ahead and)\s+)*(?:call|use|run|invoke|execute)\s+"
    r"(?:the\s+)?(?:tool\s+|function\s+)?[`'\"]?([A-Za-z_][\w-]*)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_ENTITY = re.compile(r"[#A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_STOPS = re.compile(
    r"\bi (?:have to|must|need to|should|will|shall) (?:now )?(?:stop|wait|end) (?:here|now|and|"
    r"until|for)\b|\bi(?:'ll|’ll) (?:stop|wait) (?:here|now|until|for)\b|"
    r"\bnothing (?:more |else |left )?(?:for me )?to do(?: here| now)?[.!]",
    re.IGNORECASE,
)
_WAITS = re.compile(r"wait|sleep|pause|poll|status|transfer|escalat|finish|end|stop|done|submit")


class ReasoningActionMismatchOptions(DetectorOptions):
    """Options of `reasoning_action_mismatch`.

    Attributes:
        tool: The text announces one tool by its name, and another is called.
        entity: The sentence that announces the action names one id, and the call has another of
            the same form.
        stop: The text says for the second time in a row that the agent stops or waits, and it
            makes another call.
    """

    tool: Switch = True
    entity: Switch = True
    stop: Switch = True


class ReasoningActionMismatch:
    """Compares the text of the newest message with its calls."""

    Options: ClassVar[type[DetectorOptions]] = ReasoningActionMismatchOptions

    def __init__(self, options: ReasoningActionMismatchOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding."""
        proposal = trajectory.proposal
        if not proposal.calls or not proposal.text:
            return ()
        text = proposal.text[-_LOOKED_AT:]
        lower = text.lower()
        if self._options.stop and has_any(_STOP_STEMS, lower) and _STOPS.search(text):
            return tuple(_stopped(trajectory))
        mine = 0
        for stem in _MINE_STEMS:
            mine += lower.count(stem)
            if mine > 1:
                return ()  # a plan of several steps
        if not mine:
            return ()
        found = None
        if self._options.tool and has_any(_USE_STEMS, lower):
            found = _other_tool(text, trajectory)
        if found is None and self._options.entity and _DIGIT.search(text):
            found = _other_entity(text, trajectory)
        return (found,) if found is not None else ()


def _stopped(trajectory: Trajectory) -> Iterator[Finding]:
    """For the second time in a row: once, the call may be the last look before the stop. The
    same call again is a loop, which has a detector of its own."""
    calls = trajectory.proposal.calls
    before = trajectory.steps[-1:]
    if not before or not before[0].calls or not _STOPS.search(before[0].text[-_LOOKED_AT:]):
        return
    if {(call.name, str(call.args)) for call in calls} & {
        (call.name, str(call.args)) for call in before[0].calls
    }:
        return
    for call in calls:
        spec = trajectory.catalog.spec(call.name)
        if spec.polling or spec.finish or _WAITS.search(call.name.lower()):
            return
    yield _finding(
        trajectory,
        "stop",
        calls[0],
        "the text says that you stop or wait, as the one before did, and you go on with calls",
        severity=Severity.ADVISE,
    )


def _other_tool(text: str, trajectory: Trajectory) -> Finding | None:
    """The text announces one tool by name, and none of those it names is called."""
    tools = trajectory.catalog.tools
    announced = [found[1] for found in _USES.finditer(text) if found[1] in tools]
    if len(announced) != 1 or _SEVERAL.search(text):
        return None
    calls = trajectory.proposal.calls
    named = {name for name in _NAME.findall(text) if name in tools}
    called = {call.name for call in calls}
    if not named.isdisjoint(called):
        return None
    changing = [call for call in calls if trajectory.catalog.spec(call.name).read_only is False]
    meant = tools[announced[0]]
    if not changing and meant.read_only is not True:
        # looking something up before the announced change is no contradiction
        return None
    call = changing[0] if changing else calls[0]
    return _finding(
        trajectory,
        "tool",
        call,
        f"the text announces `{announced[0]}`, and the call is `{call.name}`",
        severity=Severity.HOLD if changing else Severity.ADVISE,
        suggestion=announced[0],
    )


def _other_entity(text: str, trajectory: Trajectory) -> Finding | None:
    """The announcing sentence names an id, and the call has another one of the same form."""
    sentences = [
        one
        for one in _SENTENCES.split(text)
        if has_any(_MINE_STEMS, one.lower()) and _ANNOUNCES.search(one)
    ]
    if len(sentences) != 1 or _SEVERAL.search(sentences[0]):
        return None
    spoken = [found.group() for found in _ENTITY.finditer(sentences[0])]
    said = {form: value for value in spoken if (form := _form(value))}
    if not said:
        return None
    given = [
        (call, name, str(value))
        for call in trajectory.proposal.calls
        for name, value in leaves(call.args or {})
        if isinstance(value, str | int) and not isinstance(value, bool)
    ]
    values = {_plain(value) for _, _, value in given}
    whole = text.lower()
    for call, name, value in given:
        form = _form(value)
        if form not in said or _plain(value) in whole:
            continue
        if any(_form(other) == form and _plain(other) in values for other in spoken):
            continue
        changes = trajectory.catalog.spec(call.name).read_only is False
        return _finding(
            trajectory,
            "entity",
            call,
            f"the text speaks of {said[form]}, and the call has {name}={value[:60]}",
            argument=name,
            severity=Severity.HOLD if changes else Severity.ADVISE,
        )
    return None


def _plain(value: str) -> str:
    return value.lower().lstrip("#")


def _form(value: str) -> str:
    """The form of an id: its letters, digits and marks; empty where it is none.

    An id has a digit, and a letter or five digits: short numbers count things, and so does a
    number with a letter after it.
    """
    bare = value.lstrip("#")
    if not 2 <= len(bare) <= 40 or not any(sign.isdigit() for sign in bare):
        return ""
    if bare.isdigit():
        return f"{len(bare)} digits" if len(bare) >= 5 else ""
    if len(bare) == 2 and not bare[0].isalpha():
        return ""
    if not _ENTITY.fullmatch(bare) or _DATED.fullmatch(bare):
        return ""
    return re.sub(r"[A-Za-z]+", _letters, re.sub(r"\d", "9", bare))


_DATED = re.compile(r"\d{1,4}-\d{1,2}(?:-\d{1,4})?|\d+(?:st|nd|rd|th|am|pm|[KMGT]?B|ms|s|x|GB|h|d)")


def _letters(found: re.Match[str]) -> str:
    return "A" * len(found[0]) if found[0].isupper() else found[0].lower()


def _finding(
    trajectory: Trajectory,
    pattern: str,
    call: ToolCall,
    detail: str,
    *,
    severity: Severity,
    argument: str | None = None,
    suggestion: str | None = None,
) -> Finding:
    label = Label.REASONING_ACTION_MISMATCH
    return Finding(
        label,
        trajectory.proposal.id,
        key=f"{label}:{pattern}:{call.name}" + (f":{argument}" if argument else ""),
        confidence=0.75,
        severity=severity,
        detail=detail,
        evidence={"tool": call.name},
        calls=(call.index,),
        tool=call.name,
        argument=argument,
        pattern=pattern,
        suggestion=suggestion,
    )
