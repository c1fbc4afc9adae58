"""Calls that can't run: every label of `action_validity_failure`.

Looks at the proposal, and at the last step only where the environment has already answered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar

from sentry_langgraph.detect.access import COMMANDS
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.error_kinds import not_there
from sentry_langgraph.detect.malformed import explain
from sentry_langgraph.detect.names import meant
from sentry_langgraph.detect.written_call import written_call
from sentry_langgraph.options import Switch
from sentry_langgraph.records import (
    Finding,
    ToolCall,
    ToolSpec,
    Trajectory,
    Violation,
)
from sentry_langgraph.signature import call_key
from sentry_langgraph.slots import identifies
from sentry_langgraph.taxonomy import Label, Severity

_MAX_VIOLATIONS = 4
_RAW_SHOWN = 200
_VALUE_SHOWN = 60

_FIELD = re.compile(r"[A-Za-z_][\w.\[\]-]{0,119}\Z")


class ActionValidityOptions(DetectorOptions):
    """Options of `action_validity`.

    Attributes:
        unknown_tool: Refuse calls to tools that the agent does not have.
        arguments: Check arguments against the schema of the tool.
        unavailable_target: Refuse a call that the environment has just refused because its
            target is not there.
    """

    unknown_tool: Switch = True
    arguments: Switch = True
    unavailable_target: Switch = True


class ActionValidity:
    """Every check that decides whether a proposed call can run at all."""

    Options: ClassVar[type[DetectorOptions]] = ActionValidityOptions

    def __init__(self, options: ActionValidityOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """One finding for each bad call, or for the message where it has none."""
        proposal = trajectory.proposal
        if duplicates := _duplicate_ids(proposal.calls):
            yield _duplicate_finding(proposal.id, proposal.calls, duplicates)
        for call in proposal.calls:
            finding = self._check(call, trajectory)
            if finding is not None:
                yield finding
        if proposal.finish and not proposal.calls:
            yield from _written(trajectory)
        if proposal.wants_structured and (proposal.finish or proposal.calls):
            yield from _structured(trajectory)
        if (lost := _lost_results(trajectory)) is not None:
            yield lost

    def _check(self, call: ToolCall, trajectory: Trajectory) -> Finding | None:
        catalog, step = trajectory.catalog, trajectory.proposal.id
        if not catalog.knows(call.name):
            return _unknown(call, trajectory) if self._options.unknown_tool else None
        spec = catalog.tools.get(call.name)
        if call.args is None:
            return _malformed(call, spec, step)
        if spec is None:
            return None
        if self._options.arguments and Label.INVALID_ARGUMENTS not in spec.exempt:
            violations = spec.check(call.args)
            if violations:
                return _invalid(call, spec, violations, step)
        if self._options.unavailable_target and Label.UNAVAILABLE_TARGET not in spec.exempt:
            return _unavailable(call, spec, trajectory)
        return None


def _duplicate_ids(calls: tuple[ToolCall, ...]) -> frozenset[str]:
    if not calls or (len(calls) == 1 and calls[0].id):
        return frozenset()
    counts = Counter(call.id for call in calls)
    return frozenset(id_ for id_, count in counts.items() if count > 1 or not id_)


def _duplicate_finding(
    step: str, calls: tuple[ToolCall, ...], duplicates: frozenset[str]
) -> Finding:
    named = sorted({call.name for call in calls if call.id in duplicates})
    return Finding(
        Label.DUPLICATE_CALL_ID,
        step,
        key=Label.DUPLICATE_CALL_ID.value,
        detail="calls of one message need an id each, and these share one or have none",
        evidence={"tools": named, "calls": len(calls)},
        calls=tuple(call.index for call in calls),
        tool=named[0] if len(named) == 1 else None,
    )


def _unknown(call: ToolCall, trajectory: Trajectory) -> Finding:
    catalog = trajectory.catalog
    near = meant(call, catalog.tools)
    suggestion = near.name if near is not None else None
    owed = near is not None and near.certain and _owed(catalog.tools.get(near.name))
    return Finding(
        Label.UNKNOWN_TOOL,
        trajectory.proposal.id,
        key=f"{Label.UNKNOWN_TOOL}:{call.name[:80]}",
        detail=f"there is no tool named `{call.name[:80]}`" if call.name else "no tool was named",
        evidence={"name": call.name[:80], "suggestion": suggestion},
        calls=(call.index,),
        tool=call.name[:80] or None,
        suggestion=suggestion,
        intention=owed,
    )


def _malformed(call: ToolCall, spec: ToolSpec | None, step: str) -> Finding:
    reason = explain(call.raw)
    shown = call.raw if len(call.raw) <= _RAW_SHOWN else call.raw[:_RAW_SHOWN] + "…"
    return Finding(
        Label.MALFORMED_ARGUMENTS,
        step,
        key=f"{Label.MALFORMED_ARGUMENTS}:{call.name}",
        detail=f"{reason}. You wrote: {shown}" if shown else reason,
        evidence={"reason": reason, "characters": len(call.raw)},
        calls=(call.index,),
        tool=call.name,
        intention=_owed(spec),
    )


def _owed(spec: ToolSpec | None) -> bool:
    """Whether a refused call stays owed: a change does, a look-up may have become needless."""
    return spec is not None and spec.read_only is not True


def _invalid(
    call: ToolCall, spec: ToolSpec, violations: tuple[Violation, ...], step: str
) -> Finding:
    shown = violations[:_MAX_VIOLATIONS]
    detail = "; ".join(_sentence(violation, call) for violation in shown)
    if len(violations) > len(shown):
        detail += f"; and {len(violations) - len(shown)} more"
    if renamed := _renamed(violations):
        detail += f"; if they mean the same, give the value of {renamed}"
    return Finding(
        Label.INVALID_ARGUMENTS,
        step,
        key=f"{Label.INVALID_ARGUMENTS}:{call.name}",
        detail=detail,
        evidence={
            "violations": [
                {
                    "argument": _recorded(violation.path, spec),
                    "problem": violation.problem,
                    "expected": violation.expected[:120],
                    "found": violation.found[:40],
                }
                for violation in shown
            ]
        },
        calls=(call.index,),
        tool=call.name,
        argument=_recorded(shown[0].path, spec) or None,
        pattern=shown[0].problem,
        intention=_owed(spec),
    )


def _renamed(violations: tuple[Violation, ...]) -> str:
    """The one wrong name and the one missing one, where that is all that is wrong."""
    missing = [one.path for one in violations if one.problem == "missing"]
    unexpected = [one.path for one in violations if one.problem == "unexpected"]
    if len(missing) != 1 or len(unexpected) != 1 or len(violations) != 2:
        return ""
    # a name in words is no identifier: that has to be looked up
    if identifies(missing[0]) and not identifies(unexpected[0]):
        return ""
    return f"`{unexpected[0]}` as `{missing[0]}`"


def _recorded(path: str, spec: ToolSpec) -> str:
    """A field as it may stand in the ledger: a name of the schema, never one made up."""
    top = path.partition(".")[0].partition("[")[0]
    return path if top in spec.arguments and _FIELD.match(path) else ""


def _sentence(violation: Violation, call: ToolCall) -> str:
    field = f"`{violation.path}`" if violation.path else "the arguments"
    if violation.problem == "missing":
        return f"{field} is missing"
    if violation.problem == "unexpected":
        return f"{field} is not an argument of this tool"
    value = _value_at(violation.path, call)
    got = f"got {value} ({violation.found})" if value else f"got {violation.found}"
    if violation.note:
        return f"{field}: {violation.note}, {got}"
    return f"{field} must be {violation.expected or 'of another form'}, {got}"


def _value_at(path: str, call: ToolCall) -> str:
    if not path or "." in path or "[" in path or call.args is None or path not in call.args:
        return ""
    text = repr(call.args[path])
    return text if len(text) <= _VALUE_SHOWN else text[:_VALUE_SHOWN] + "…"


def _unavailable(call: ToolCall, spec: ToolSpec, trajectory: Trajectory) -> Finding | None:
    if spec.polling or not trajectory.steps or not COMMANDS.isdisjoint(spec.arguments):
        # a command names many targets and changes some of them before it fails on one
        return None
    last = trajectory.steps[-1]
    if all(seen.status != "error" for seen in last.observations):
        return None
    key = call_key(call, spec)
    for earlier in last.calls:
        seen = last.observation_of(earlier)
        if seen is None or seen.own or seen.status != "error":
            continue
        if call_key(earlier, spec) == key and not_there(seen.text):
            return Finding(
                Label.UNAVAILABLE_TARGET,
                trajectory.proposal.id,
                key=f"{Label.UNAVAILABLE_TARGET}:{key}",
                detail="the tool has just answered that what it was asked for is not there",
                evidence={"step": last.id, "tool": call.name},
                calls=(call.index,),
                tool=call.name,
                related=(key,),
            )
    return None


def _written(trajectory: Trajectory) -> Iterator[Finding]:
    proposal = trajectory.proposal
    if name := written_call(proposal.text, trajectory.catalog):
        yield Finding(
            Label.MALFORMED_MODEL_OUTPUT,
            proposal.id,
            key=f"{Label.MALFORMED_MODEL_OUTPUT}:{name}",
            detail=f"the call to `{name}` was written as text, so nothing ran",
            evidence={"tool": name},
            tool=name,
            pattern="call_written_as_text",
            intention=_owed(trajectory.catalog.tools.get(name)),
        )


def _structured(trajectory: Trajectory) -> Iterator[Finding]:
    """A refused structured answer: where it came with other calls, running those would end the
    run without an answer."""
    proposal = trajectory.proposal
    # a tool that the agent can run is answered by others too, such as a person who declines
    known = trajectory.catalog.tools
    refused = next(
        (seen for seen in proposal.answered if seen.status == "error" and seen.name not in known),
        None,
    )
    if not proposal.structured and refused is not None:
        yield Finding(
            Label.STRUCTURED_OUTPUT_INVALID,
            proposal.id,
            key=f"{Label.STRUCTURED_OUTPUT_INVALID}:{refused.name}",
            detail=f"the answer given through `{refused.name}` was refused",
            evidence={"tool": refused.name},
            calls=tuple(call.index for call in proposal.calls[-1:]),
            tool=refused.name,
        )


def _lost_results(trajectory: Trajectory) -> Finding | None:
    last = trajectory.steps[-1] if trajectory.steps else None
    if last is None or not last.observations:
        return None
    lost = [call for call in last.calls if last.observation_of(call) is None]
    if not lost:
        return None
    names = sorted({call.name for call in lost})
    return Finding(
        Label.NO_OBSERVABLE_OUTPUT,
        trajectory.proposal.id,
        key=f"{Label.NO_OBSERVABLE_OUTPUT}:{last.id}",
        severity=Severity.ADVISE,
        detail=f"no result of {', '.join(f'`{name}`' for name in names)} came back",
        evidence={"step": last.id, "tools": names},
        tool=names[0],
    )
