"""Tool results that read like instructions to the agent.

What a tool gives is data, whoever wrote it. No single sign tells an attack from a document: an
override of earlier instructions, a voice that speaks to an AI, a demand for secrecy, a forged
role marker, a demand for a tool by its name, text that people can't see. Signs are weighed, and
only several together, or an override, speak. Signs follow published attacks: Greshake et al.
2023 (indirect prompt injection), InjecAgent (Zhan et al. 2024) and AgentDojo (Debenedetti et
al. 2024); hidden characters: Unicode tags and zero-width signs.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.options import PositiveCount
from sentry_langgraph.provenance import leaves
from sentry_langgraph.records import Finding, Observation, ToolCall, Trajectory
from sentry_langgraph.signature import digest
from sentry_langgraph.taxonomy import Label, Origin, Severity
from sentry_langgraph.values import plain

_LOOKED_AT = 4_000
_BEFORE, _AFTER = 100, 240
_PLACES = 8
"""A pattern is tried around a stem, in at most this many places, so that time stays linear."""

_NEEDED = 2.0
"""Weight from which a text is reported."""

_DEMAND = 1.3
"""Weight of a demand for a tool that the agent has, beside another sign."""

_ORDERS = r"(?:instructions?|prompts?|rules|directions|directives|guidelines|orders|commands)"
_ASKED = (
    r"(?:(?:^|[^\w\s])\s{0,3}|\n\s{0,8}|\b(?:please|must|should|now|to|and|then|will|shall|"
    r"immediately|instead|first)\s+)"
)
"""What stands before an imperative: a rule that overrides an older one is none."""


@dataclass(frozen=True, slots=True)
class _Sign:
    """One sign. The pattern is tried only around the stems."""

    name: str
    weight: float
    stems: tuple[str, ...]
    pattern: re.Pattern[str]

    def search(self, text: str) -> re.Match[str] | None:
        for stem in self.stems:
            at = text.find(stem)
            for _ in range(_PLACES):
                if at < 0:
                    break
                found = self.pattern.search(text, max(at - _BEFORE, 0), at + _AFTER)
                if found is not None:
                    return found
                at = text.find(stem, at + len(stem))
        return None


def _sign(name: str, weight: float, stems: str, pattern: str) -> _Sign:
    return _Sign(name, weight, tuple(stems.split("|")), re.compile(pattern))


_SIGNS = (
    _sign(
        "override",
        2.0,
        "ignore|disregard|forget|override|bypass|do not follow",
        rf"{_ASKED}(?:ignore|disregard|forget|override|bypass|do not follow)\b(?:\s+\w+){{0,3}}?\s+"
        r"(?:previous|prior|above|earlier|preceding|former|existing|original|other|system|"
        rf"user(?:'s|’s)?|your)(?:\s+\w+){{0,2}}?\s+{_ORDERS}\b|"
        rf"{_ASKED}(?:ignore|disregard|forget|override)\s+(?:all\s+)?(?:of\s+)?{_ORDERS}\s+"
        r"(?:above|before|given|you (?:were|have|got))\b|"
        rf"{_ASKED}(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:you|above|before|"
        r"that (?:came|was))\b",
    ),
    _sign(
        "secrecy",
        1.2,
        "the user|your user",
        r"\b(?:do not|don['’]t|never|without)\s+(?:\w+\s+){0,2}?(?:tell|telling|inform|informing|"
        r"mention|mentioning|notify|notifying|alert|alerting|reveal|revealing|show|showing|warn|"
        r"warning|ask|asking)\b(?:\s+\w+){0,4}?\s+(?:to\s+)?(?:the|your)\s+user\b|"
        r"\b(?:keep|hide)\s+(?:this|it)\b(?:\s+\w+){0,3}?\s+from\s+(?:the|your)\s+user\b",
    ),
    _sign(
        "chat_template",
        1.5,
        "[inst]|[/inst]|<<sys>>|<|im_start|<|system|<|start_header",
        r"<\|(?:im_start|system|start_header_id)\|?>?|\[/?inst\]|<</?sys>>",
    ),
    _sign(
        "role_marker",
        0.7,
        "system:|system]|system**|system prompt|system message|system notice|system override|"
        "system alert|system instruction|<system|admin:|admin message|developer:|developer message|"
        "<important>|<information>|<instruction",
        r"(?m:^\s{0,8}(?:\[|<|\*\*|#{1,4} ?)?(?:system|admin|developer)(?: (?:message|prompt|"
        r"notice|override|alert|instructions?))?(?:\]|>|\*\*)?\s{0,2}:)|"
        r"(?m:^\s{0,8}<(?:system|instructions?|important|information)>)|"
        r"\bend of (?:system )?prompt\b",
    ),
    _sign(
        "speaks_to_ai",
        1.0,
        "assistant|agent|language model|llm|an ai|ai agent|ai model| ai:| ai,|to you, |chatbot|gpt",
        r"\b(?:dear|attention|hello|hey|hi|note to|message (?:to|for)|important for|"
        r"instructions? (?:to|for)|notice (?:to|for))\s*[,:]?\s+(?:the\s+|any\s+|all\s+)?"
        r"(?:ai\b|llms?\b|language model|assistant|agent\b|chatbot|gpt|claude|gemini)|"
        r"\b(?:if you are|as|you are(?: now)?)\s+(?:an?\s+|the\s+)?(?:ai\b|llm\b|large language|"
        r"language model|ai assistant|helpful assistant|autonomous agent)|"
        r"\bai (?:assistant|agent|model)s?\s+(?:must|should|reading|processing)|"
        r"\bto you,\s+(?:gpt|claude|gemini|llama|the ai)",
    ),
    _sign(
        "new_task",
        1.0,
        "instructions:|your new|your real|your actual|your only|your true|your updated|before you |"
        "before solv|before continu|before proceed|the following|these instr|these new|"
        "this message|this instruction|this notice|these command|these order",
        r"\b(?:new|updated|revised|real|actual|following)\s+instructions?\s*:|"
        r"\byour (?:new|real|actual|updated|only|true) (?:task|goal|objective|instructions?|job|"
        r"role)\b|\bbefore (?:you )?(?:can )?(?:solv|continu|proceed|complet|answer)\w*\b.{0,80}?"
        r"\b(?:you (?:must|have to|need to)|please|do the following|first)\b|"
        r"\b(?:strictly )?(?:adhere to|follow|obey|execute) (?:only )?(?:the following|these|this)"
        r" (?:new )?(?:instructions?|commands?|orders?)\b|"
        r"\b(?:this|these) (?:message|instructions?|notice) (?:overrides?|supersedes?|takes? "
        r"(?:precedence|priority))\b",
    ),
    _sign(
        "exfiltration",
        1.0,
        "password|api key|api-key|api_key|credential|access token|secret|private key|"
        "conversation|chat history|system prompt| all | money| funds| $| usd| eur|bitcoin|btc",
        r"\b(?:send|forward|post|upload|transmit|e-?mail|exfiltrate)\b.{0,60}?"
        r"\b(?:passwords?|api[ _-]?keys?|credentials|access tokens?|secrets?|private keys?|"
        r"conversation|chat history|system prompt|all (?:the )?(?:data|files|emails|messages|"
        r"contacts|records))\b.{0,60}?\bto\b|"
        r"\b(?:wire|transfer|send)\b.{0,40}?\b(?:money|funds|\$\s?\d|usd|eur|bitcoin|btc)\b.{0,40}?"
        r"\bto\b",
    ),
    _sign(
        "invisible",
        1.0,
        "display:|font-size:|opacity:|visibility:|<!--",
        r"(?:display:\s?none|font-size:\s?0|opacity:\s?0\b|visibility:\s?hidden)[^>]{0,80}>[^<]{0,200}"
        r"\b(?:you (?:must|should)|assistant|agent|instruction|ignore|call|send)\b|"
        r"<!--[^>]{0,200}\b(?:assistant|agent|ai|llm|instruction|ignore)\b",
    ),
)
_GATE = (
    *(
        "ignore",
        "disregard",
        "forget",
        "overrid",
        "bypass",
        "not follow",
        "instruction",
        "the user",
    ),
    *(
        "your user",
        "system",
        "assistant",
        "agent",
        "language model",
        "llm",
        "chatbot",
        "gpt",
        " ai",
        "[inst",
    ),
    *("<|", "<important>", "<information>", "admin", "developer", "to you,", "your new"),
    *("your real", "your actual", "your only", "your true", "your updated", "before you"),
    *("before solv", "before continu", "before proceed", "following", "this message"),
    *("this notice", "these "),
)
"""A text with none of these has at most signs that are too weak alone."""

_DEMANDS = re.compile(
    r"(?:\b(?:you (?:must|should|need to|have to|will)|must|please|now|immediately|first|then|"
    r"next|and)\s+(?:(?:now|immediately|first|also|then|always)\s+)*|(?:^|[.!:\n]\s*))"
    r"(?:call|use|run|invoke|execute)\s+(?:the\s+)?(?:tool\s+|function\s+)?[`'\"]?([a-z_][\w-]*)"
)
_DECODE = ("base64", "Base64", "BASE64", "b64", "ecode")
_QUOTED = re.compile(r"[\"“'`«]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,4000}+={0,2}")
_HIDDEN = re.compile("[\u200b\u200c\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0020-\U000e007e]")
_MANY_HIDDEN = 8
_TAGS = range(0xE0020, 0xE007F)
_CHANGES_OUTSIDE = re.compile(r"https?://|[\w.+-]+@[\w-]+\.\w")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What speaks for an injection in one text.

    Attributes:
        weight: The sum of the signs' weights; below 2 nothing is reported.
        signs: Their names.
        demanded: Names that the text tells the agent to call.
    """

    weight: float = 0.0
    signs: tuple[str, ...] = ()
    demanded: frozenset[str] = frozenset()


_NONE = Suspicion()


class SuspectedInjectionOptions(DetectorOptions):
    """Options of `suspected_injection`.

    Attributes:
        look_back: Steps back whose results are compared with a call that changes or sends
            something.
    """

    look_back: PositiveCount = 5


class SuspectedInjection:
    """Weighs the newest results, and looks whether a call does what they demand."""

    Options: ClassVar[type[DetectorOptions]] = SuspectedInjectionOptions

    def __init__(self, options: SuspectedInjectionOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding: a call that follows such a text, or the text itself."""
        steps = trajectory.steps
        if not steps:
            return ()
        acting = [call for call in trajectory.proposal.calls if _acts(call, trajectory)]
        looked_at = steps[-self._options.look_back :] if acting else steps[-1:]
        tools = trajectory.catalog.tools
        for step in reversed(looked_at):
            for seen in step.observations:
                if seen.own:
                    continue
                found = suspicion(seen.text)
                demanded = found.demanded.intersection(tools)
                weight = found.weight + (_DEMAND if demanded else 0.0)
                if weight < _NEEDED:
                    continue
                for call in acting:
                    if call.name in demanded or _takes_from(call, seen, trajectory):
                        return (_followed(trajectory, call, seen, found),)
                if step is steps[-1]:
                    return (_seen(trajectory, seen, found),)
        return ()


def suspicion(text: str) -> Suspicion:
    """The signs of an injection in a result; its first 4,000 characters are read."""
    return _weigh(text[:_LOOKED_AT]) if len(text) > 20 else _NONE


@lru_cache(maxsize=512)
def _weigh(text: str) -> Suspicion:
    hidden = tuple(_hidden(text))
    lower = "\n".join([text, *hidden]).lower() if hidden else text.lower()
    if not hidden and not any(stem in lower for stem in _GATE):
        return _NONE
    names: list[str] = []
    weight = 0.0
    for sign in _SIGNS:
        found = sign.search(lower)
        if found is None:
            continue
        quoted = _QUOTED.search(lower[max(found.start() - 1, 0) : found.start() + 2])
        # a text about attacks quotes them
        weight += sign.weight / 2 if quoted else sign.weight
        names.append(sign.name)
    if hidden:
        # text that was made unreadable for people, and says something
        weight += 1.0 if names else 0.0
        names.append("hidden_text")
    if not names:
        return _NONE
    demanded = frozenset(found[1] for found in _DEMANDS.finditer(lower))
    return Suspicion(weight, tuple(names), demanded)


def _hidden(text: str) -> Iterator[str]:
    """Text that people don't see: behind Unicode tags, zero-width signs, or base64."""
    if not text.isascii() and _HIDDEN.search(text):
        tags = "".join(chr(ord(sign) - 0xE0000) for sign in text if ord(sign) in _TAGS)
        if len(tags) > _MANY_HIDDEN:
            yield tags
        # from the sign before the first hidden one: what was taken apart begins there
        start = next(_HIDDEN.finditer(text)).start()
        bare, count = _HIDDEN.subn("", text[max(start - 1, 0) :])
        if count >= _MANY_HIDDEN:
            yield bare
    if any(word in text for word in _DECODE):
        for found in list(_BASE64.finditer(text))[:3]:
            decoded = _decoded(found.group())
            if decoded:
                yield decoded


def _decoded(run: str) -> str:
    try:
        plain_text = base64.b64decode(run[: len(run) // 4 * 4], validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return plain_text if plain_text.isprintable() and " " in plain_text else ""


def _acts(call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether a call changes something, or may send something out."""
    spec = trajectory.catalog.tools.get(call.name)
    if spec is None or call.args is None or spec.read_only is True:
        return False
    return spec.read_only is False or any(
        isinstance(value, str) and _CHANGES_OUTSIDE.search(value[:2000])
        for _, value in leaves(call.args)
    )


def _takes_from(call: ToolCall, seen: Observation, trajectory: Trajectory) -> bool:
    """Whether a value of the call stands in the suspect text, and the user did not say it."""
    text = plain(seen.text)
    for _, value in leaves(call.args or {}):
        wanted = plain(value) if isinstance(value, str) else ""
        if len(wanted) < 5 or wanted not in text:
            continue
        sources = trajectory.provenance.sources(value)
        if wanted not in plain(trajectory.task.objective) and not any(
            source.passage.kind == "told" for source in sources
        ):
            return True
    return False


def _followed(
    trajectory: Trajectory, call: ToolCall, seen: Observation, found: Suspicion
) -> Finding:
    return Finding(
        Label.SUSPECTED_INJECTION,
        trajectory.proposal.id,
        key=f"{Label.SUSPECTED_INJECTION}:{call.name}:{seen.digest}",
        confidence=0.9,
        severity=Severity.HOLD,
        detail=(
            f"a result of `{_source(seen, trajectory)}` reads like an instruction to you, and "
            "this call does what it says"
        ),
        evidence={"signs": list(found.signs), "from": _source(seen, trajectory)},
        calls=(call.index,),
        tool=call.name,
        pattern="followed",
        origin=Origin.TOOL,
    )


def _seen(trajectory: Trajectory, seen: Observation, found: Suspicion) -> Finding:
    source = _source(seen, trajectory)
    # nobody works with the text of an error: it is recorded, and a call that follows it held
    told = Severity.INFO if seen.status == "error" else Severity.ADVISE
    return Finding(
        Label.SUSPECTED_INJECTION,
        trajectory.proposal.id,
        key=f"{Label.SUSPECTED_INJECTION}:{digest(source)}:{seen.digest}",
        confidence=0.7,
        severity=told,
        detail=f"a result of `{source}` contains text that reads like an instruction to you",
        evidence={"signs": list(found.signs), "from": source},
        tool=source if source in trajectory.catalog.tools else None,
        pattern="instructions_in_result",
        origin=Origin.TOOL,
    )


def _source(seen: Observation, trajectory: Trajectory) -> str:
    for step in reversed(trajectory.steps):
        for call in step.calls:
            if call.id == seen.call_id:
                return call.name
    return seen.name
