"""The short forms in which a case says what becomes of a call or a run.

`allow`, `reject`, `reject:<label> (detail)`, `no failure, run ends`, `hard repair`,
`<failure> -> model called again`, `none`, `<failure>`, and alternatives joined by `or`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cases.loader import CaseError
from cases.observe import Record, Verdict, ours
from sentry_langgraph.taxonomy import Label

_KNOWN = {label.value for label in Label} | {
    "schema_invalid",
    "malformed_args",
    "duplicate_id",
    "dangling_tool_call",
    "loop",
    "stall",
    "premature_termination",
    "missed_termination",
    "hallucinated_id",
    "goal_drift",
    "over_exploration",
    "reasoning_action_mismatch",
}


def problems(form: Any, record: Record, call_id: str | None) -> list[str]:
    """What in a record is not as the form says; empty where all is well.

    Args:
        form: A text or a mapping with `verdict`, `args` and `tolerated`.
        record: The run.
        call_id: The call that the form speaks of; None where it speaks of the run.

    Raises:
        CaseError: The form can't be read.
    """
    if isinstance(form, Mapping):
        return _mapping(form, record, call_id)
    text = str(form).strip()
    text, _, tolerated = text.partition("(tolerated:")
    found = _text(text.strip(), record, call_id)
    if found and tolerated:
        other = tolerated.partition(")")[0].strip()
        args = re.search(r"with exactly these args", other)
        if args is None and not _text(other, record, call_id):
            return []
    return found


def repairs(form: Any) -> bool:
    """Whether the form says that the run is repaired."""
    return isinstance(form, str) and bool(re.search(r"called again|hard repair|soft repair", form))


def _mapping(form: Mapping[str, Any], record: Record, call_id: str | None) -> list[str]:
    unknown = set(form) - {"verdict", "args", "tolerated", "note", "reason", "tool_runs"}
    if unknown:
        raise CaseError(f"the form {dict(form)} has the unknown keys {sorted(unknown)}")
    found = problems(form.get("verdict", "allow"), record, call_id)
    if found and "tolerated" in form:
        found = problems(form["tolerated"], record, call_id)
    if "args" in form:
        made = record.runs()
        if made != [form["args"]]:
            found.append(f"it ran with {made}, not once with {form['args']}")
    if "reason" in form and str(form["reason"]) not in _told(record, call_id):
        found.append(f"{form['reason']!r} does not stand in the repair")
    return found


def _text(text: str, record: Record, call_id: str | None) -> list[str]:
    core = re.sub(r"\([^)]*\)", "", text)
    head = re.split(r"\s*;\s*", core)[0].strip()
    choices = [one for one in re.split(r"\s+or\s+", head) if one]
    if len(choices) > 1 and all(_readable(one) for one in choices):
        found = [_one(one, text, record, call_id) for one in choices]
        best = min(found, key=len)
    else:
        best = _one(head, text, record, call_id)
    return [*best, *_details(text, record, call_id)]


def _readable(text: str) -> bool:
    return bool(re.match(r"allow|reject|none|no failure|hard|soft|hold", text)) or text in _KNOWN


def _one(head: str, text: str, record: Record, call_id: str | None) -> list[str]:
    if re.fullmatch(r"none|no (?:failure|verdict)", head):
        return _no_failure_at(record, call_id)
    if head.startswith("no failure"):
        return _ended(record) if "ends" in head else _no_failure_at(record, None)
    repair = re.match(r"(hard|soft) repair", head)
    if repair is not None:
        return _repaired(record, repair[1])
    again = re.match(r"(\w+) -> (?:the )?model (?:is )?called again", head)
    if again is not None:
        return [*_failed(record, again[1]), *_again(record)]
    if call_id is not None and re.match(r"allow|reject|hold", head):
        return _verdict(head, record.verdict(call_id), record)
    name = re.match(r"(\w+)", head)
    if name is not None and name[1] in _KNOWN:
        return _failed_at(record, name[1], call_id)
    raise CaseError(f"no rule reads the form {text!r}; see cases/forms.py")


def _verdict(head: str, verdict: Verdict, record: Record) -> list[str]:
    wanted, _, label = head.partition(":")
    wanted = wanted.split()[0]
    label = label.split()[0] if label.strip() else ""
    found = []
    if verdict.outcome != wanted:
        error = f" ({record.error!r})" if record.error is not None else ""
        found.append(
            f"the call {verdict.call_id} got {verdict.outcome} {verdict.label or ''}, not {head}"
            + error
        )
    if label and verdict.label not in ours(label):
        found.append(f"the call {verdict.call_id} was kept for {verdict.label}, not {label}")
    if wanted == "allow" and _no_failure_at(record, verdict.call_id):
        found.append(f"the call {verdict.call_id} ran, and a failure was recorded for it")
    return found


def _details(text: str, record: Record, call_id: str | None) -> list[str]:
    """What a form says besides: fields, mentions, what never happens."""
    told = _told(record, call_id)
    found = []
    for inner in re.findall(r"\(([^)]*)\)", text):
        labels = re.split(r"\s+or\s+|,\s*", inner.strip())
        if call_id is not None and all(label in _KNOWN for label in labels):
            allowed = frozenset[str]().union(*map(ours, labels))
            if record.verdict(call_id).label not in allowed:
                found.append(f"it was kept for {record.verdict(call_id).label}, not for {inner}")
        named = re.match(r"(missing|unexpected|wrong type)[: ]+([\w.\[\]]+)", inner)
        if named is not None and f"`{named[2]}`" not in told:
            found.append(f"the repair does not name the field {named[2]}: {told[:200]}")
    mentioned = re.search(r"text mentions ([\w ]+?)\s*(?:\(|;|$)", text)
    if mentioned is not None and mentioned[1].strip() not in told:
        found.append(f"the repair does not mention {mentioned[1]!r}: {told[:200]}")
    if re.search(r"(?:one|exactly one) repair", text):
        made = [event for event in record.kinds("repair") if event["strategy"] == "hard"]
        if len(made) != 1 and record.verdict(call_id or "").outcome == "reject":
            found.append(f"there were {len(made)} repairs, not one")
    if re.search(r"never \{\}", text) and {} in record.runs():
        found.append("the tool ran with {}")
    return found


def _told(record: Record, call_id: str | None) -> str:
    if call_id is not None and (text := record.verdict(call_id).text):
        return text
    return "\n".join(record.repair_texts())


def _ended(record: Record) -> list[str]:
    found = [f"failures: {_names(record)}"] if record.reported() else []
    if record.calls != 1:
        found.append(f"the model was called {record.calls} times, not once")
    if record.error is not None:
        found.append(f"it raised {record.error!r}")
    return found


def _repaired(record: Record, kind: str) -> list[str]:
    strategies = {event["strategy"] for event in record.kinds("repair")}
    wanted = {"hard"} if kind == "hard" else {"advise", "hold"}
    found = (
        [] if strategies & wanted else [f"there was no {kind} repair, but {strategies or 'none'}"]
    )
    return found + _again(record)


def _again(record: Record) -> list[str]:
    if record.calls < 2:
        return [f"the model was called {record.calls} times, not again"]
    return [] if record.error is None else [f"it raised {record.error!r}"]


def _failed(record: Record, name: str) -> list[str]:
    return [] if record.failures(name) else [f"{name} was not recorded, but {_names(record)}"]


def _failed_at(record: Record, name: str, call_id: str | None) -> list[str]:
    if call_id is None:
        return _failed(record, name)
    steps = _steps_of(record, call_id)
    named = [event for event in record.reported(name) if event["step"] in steps]
    return [] if named else [f"{name} was not recorded for the call {call_id}"]


def _no_failure_at(record: Record, call_id: str | None) -> list[str]:
    if call_id is None:
        return [f"failures: {_names(record)}"] if record.failures() else []
    verdict = record.verdict(call_id)
    if verdict.outcome in ("reject", "hold"):
        return [f"the call {call_id} was kept for {verdict.label}"]
    return []


def _steps_of(record: Record, call_id: str) -> set[str]:
    return {
        str(message.id)
        for message in record.produced
        if any(call["id"] == call_id for call in (*message.tool_calls, *message.invalid_tool_calls))
    }


def _names(record: Record) -> list[str]:
    return [event["label"] for event in record.reported()] or ["none"]
