"""Changes that the agent says it made and never made."""

from __future__ import annotations

import re

from sentry_langgraph.detect.verbs import kinds_of
from sentry_langgraph.records import Catalog, Finding, Trajectory
from sentry_langgraph.taxonomy import Label, Severity

_TEXT_READ = 4_000
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_DONE = (
    r"(cancel(?:l)?ed|changed|modified|updated|edited|adjusted|moved|renamed|rescheduled|upgraded|"
    r"created|added|registered|opened|submitted|saved|deleted|removed|erased|cleared|returned|"
    r"refunded|exchanged|sent|e-?mailed|notified|forwarded|paid|charged|purchased|bought|booked|"
    r"reserved|ordered|scheduled|enabled|activated|disabled|deactivated|suspended|resumed|"
    r"reactivated|restored|approved|rejected|closed|resolved|renewed|extended|assigned|merged|"
    r"deployed|published|restarted|rebooted|reset)"
)
_ADVERBS = r"(?:(?:now|just|already|also|successfully|then|gone ahead and)\s+){0,3}"
_CLAIM = re.compile(rf"i(?<!\wi)(?:['’]ve|\s+have)?\s+{_ADVERBS}{_DONE}\b")
"""In lower case. It begins with a plain letter, which is searched for ten times as fast."""

_NOT = re.compile(
    r"\b(?:not|never|cannot|can['’]t|couldn['’]t|wasn['’]t|haven['’]t|hasn['’]t|unable|if|once|"
    r"when|after|will|would|should|could|can|may|might|before|unless|until|verified that|see "
    r"that|confirm that|whether|understand|thought|tried|attempted)\b|\?|n['’]t\b",
    re.IGNORECASE,
)
_IRREGULAR = {
    "sent": "send",
    "paid": "pay",
    "bought": "buy",
    "reset": "reset",
    "cancelled": "cancel",
    "canceled": "cancel",
    "modified": "modify",
    "notified": "notify",
    "submitted": "submit",
}


def claimed_call(trajectory: Trajectory) -> Finding | None:
    """The finding of a final message that claims a change which no tool made.

    Only the first person counts ("I have cancelled…"): what "has been cancelled" may be a state
    that was read. Silent as soon as anything but a look-up ran in the thread: a recap may mean
    that.
    """
    proposal = trajectory.proposal
    if not proposal.finish or proposal.calls:
        return None
    text = proposal.text[:_TEXT_READ].lower()
    if _CLAIM.search(text) is None:
        return None
    for sentence in _SENTENCES.split(text):
        claim = _CLAIM.search(sentence)
        if claim is None or _NOT.search(sentence):
            continue
        kinds = kinds_of(_stem(claim[1]))
        tool = _tool_of(kinds, trajectory.catalog)
        if tool is None or _changed(trajectory):
            continue
        return Finding(
            Label.HALLUCINATION,
            proposal.id,
            key=f"{Label.HALLUCINATION}:claimed_call:{tool}",
            confidence=0.8,
            severity=Severity.HOLD,
            detail=f"the message says that something was {claim[1]}, and no such call ran "
            "with success",
            evidence={"verb": claim[1]},
            advice=f"if the request asks for it, call `{tool}`; if not, give the answer without "
            "saying that it was done.",
            tool=tool,
            pattern="claimed_call",
        )
    return None


def _stem(done: str) -> str:
    """The verb of a past participle."""
    if done in _IRREGULAR:
        return _IRREGULAR[done]
    for cut in (done.removesuffix("ed"), done.removesuffix("d")):
        if kinds_of(cut):
            return cut
    return done


def _tool_of(kinds: tuple[str, ...], catalog: Catalog) -> str | None:
    """The changing tool that would have done it, if there is one."""
    for name, spec in catalog.tools.items():
        if spec.read_only is False and set(kinds) & set(kinds_of(name)):
            return name
    return None


def _changed(trajectory: Trajectory) -> bool:
    """Whether anything but look-ups ran with success in the thread."""
    for passage in trajectory.provenance.passages():
        if passage.kind != "result" or passage.failed:
            continue
        spec = trajectory.catalog.tools.get(passage.tool)
        if spec is None or spec.read_only is not True:
            return True
    return False
