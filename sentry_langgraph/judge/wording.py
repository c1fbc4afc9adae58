"""A lesson worded by the judge: from names alone, and taken only where it holds nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from sentry_langgraph import ledger
from sentry_langgraph.judge.answer import WORDING_SCHEMA, WordingAnswer
from sentry_langgraph.judge.asking import Question, Usage
from sentry_langgraph.judge.calls import Flow
from sentry_langgraph.judge.diagnose import affordable
from sentry_langgraph.judge.judges import Judges
from sentry_langgraph.records import Lesson
from sentry_langgraph.taxonomy import DEFINITIONS

LONGEST = 240
"""Most characters of a lesson's sentence."""

_ASK = """\
Word a lesson for an agent that calls tools, in one plain sentence of at most 30 words: after \
which failure it helps, and which calls helped, in their order. Use the names of tools and \
arguments exactly as they stand, in backticks, and no other names, values or numbers. It is \
advice about what helped before, not a command.

Answer with one JSON object and nothing else: {"sentence": the lesson}"""

_WORD = re.compile(r"[A-Za-z]+(?:[-'’][A-Za-z]+)*")
_QUOTED = re.compile(r"`([^`]*)`")
_PUNCTUATION = frozenset(" ,.;:()'’-")
_COMMANDING = re.compile(
    r"\b(?:ignor\w*|disregard\w*|overrid\w*|bypass\w*|forget\w*|instruct\w*|prompt\w*|system|"
    r"polic\w*|password\w*|secret\w*|token\w*|key|keys|credential\w*|admin\w*|developer|"
    r"must|always|never|immediately|execut\w*|approv\w*|confirm\w*|without asking)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Worded:
    """A lesson whose wording the judge was asked for.

    Attributes:
        lesson: The lesson; with the sentence of the rule where the judge's did not count.
        outcome: `taken`, `refused`, or why there is no answer.
        usage: What it cost.
    """

    lesson: Lesson
    outcome: str
    usage: Usage = field(default_factory=Usage)

    def recorded(self) -> dict[str, Any]:
        """What the event of the lesson says of it."""
        return {"wording": self.outcome, **self.usage.to_dict()}


def worded(judges: Judges, lesson: Lesson, spent: int) -> Flow[Worded]:
    """Ask the judge for the sentence of a lesson.

    Args:
        judges: The models; the first is asked.
        lesson: The lesson, with the sentence of the rule.
        spent: Tokens that the judge has used in this task.
    """
    question = Question(_ASK, _names(lesson), WORDING_SCHEMA, WordingAnswer)
    if not affordable(judges, question, spent):
        return Worded(lesson, ledger.CEILING)
    reply = yield from judges.first.ask(question)
    if reply.outcome != "answered":
        return Worded(lesson, reply.outcome, reply.usage)
    sentence = " ".join(reply.answer.sentence.split())
    if not acceptable(sentence, lesson):
        return Worded(lesson, "refused", reply.usage)
    return Worded(replace(lesson, text=sentence), "taken", reply.usage)


def acceptable(sentence: str, lesson: Lesson) -> bool:
    """Whether a sentence holds nothing but words and the lesson's names, and commands nothing.

    Names stand in backticks; every tool of the path has to be there.
    """
    if not 0 < len(sentence) <= LONGEST:
        return False
    quoted = _QUOTED.findall(sentence)
    if not set(quoted) <= known_names(lesson):
        return False
    if not {step.tool for step in lesson.path} <= set(quoted):
        return False
    rest = _QUOTED.sub(" ", sentence)
    if _COMMANDING.search(rest):
        return False
    return not set(_WORD.sub("", rest)) - _PUNCTUATION


def known_names(lesson: Lesson) -> set[str]:
    """The names of tools and arguments that a lesson is about."""
    names = {name for name in (lesson.tool, lesson.argument, lesson.pattern) if name}
    names.add(lesson.label.value)
    for step in lesson.path:
        names |= {step.tool, *step.arguments, step.gives} - {""}
    return names


def _names(lesson: Lesson) -> str:
    return json.dumps(
        {
            "failure": DEFINITIONS[lesson.label].meaning,
            "pattern": lesson.pattern or "",
            "tool": lesson.tool or "",
            "argument": lesson.argument or "",
            "calls_that_helped": [step.to_dict() for step in lesson.path],
        }
    )
