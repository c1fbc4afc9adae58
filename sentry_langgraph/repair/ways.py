"""The calls that lead to a missing value, and whether they lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sentry_langgraph.plans import plan_to
from sentry_langgraph.records import Finding, PathStep, ToolSpec, Trajectory
from sentry_langgraph.repair.steps import known
from sentry_langgraph.slots import identifies, leaves_of, plain_name
from sentry_langgraph.taxonomy import Label

_TOKENS = re.compile(r"#?(?=[\w-]*\d)[\w-]{3,64}")
_NONE = re.compile(r"\A\s*(?:\{\s*\"[^\"]*\"\s*:\s*)?\[\s*\]\s*\}?\s*\Z")
"""A result that is an empty list, or one field with an empty list."""


def gave_none(tool: str, trajectory: Trajectory) -> bool:
    """Whether a look-up with the newest values has worked in this task and gave an empty list."""
    spec = trajectory.catalog.tools[tool]
    newest = {
        (name, one.values[0])
        for name, one in known(spec, trajectory.catalog, trajectory.provenance).items()
    }
    for step in reversed(trajectory.steps):
        for call in step.calls:
            seen = step.observation_of(call)
            if call.name != tool or seen is None or not seen.worked:
                continue
            given = {(name, str(value)) for name, value in (call.args or {}).items()}
            if newest <= given:
                return _NONE.match(seen.text) is not None
    return False


def way_to_value(finding: Finding, spec: ToolSpec, trajectory: Trajectory) -> tuple[PathStep, ...]:
    """The calls that yield the identifier that a call lacks; none where it has one."""
    slot = finding.argument
    if finding.label in (Label.UNAVAILABLE_TARGET, Label.MALFORMED_ARGUMENTS):
        slot = next((name for name in spec.required if identifies(name)), None)
    elif finding.pattern != "missing":
        slot = None
    if not slot or not identifies(slot) or _says_one(finding, trajectory):
        return ()
    return plan_to(slot, trajectory.catalog, trajectory.provenance, consumer=spec.name)


def first_look_up(
    finding: Finding, trajectory: Trajectory
) -> tuple[PathStep, Mapping[str, str]] | None:
    """The look-up that begins the way to an identifier which a call lacks, with what it takes.

    A call lacks an identifier where it has words in its place, or a value that nobody has told.
    Words of the request are what a look-up with one text for a parameter takes.
    """
    catalog, provenance = trajectory.catalog, trajectory.provenance
    for call in trajectory.proposal.calls:
        for leaf in leaves_of(call.args or {}, None) if call.index in finding.calls else ():
            if not identifies(leaf.name):
                continue
            code = any(map(str.isdigit, str(leaf.value)))
            if code and provenance.grounded(leaf.value):
                continue
            plan = named_safely(plan_to(leaf.name, catalog, provenance, consumer=call.name))
            if not plan:
                continue
            wanted = catalog.tools[plan[0].tool].required
            asked = str(leaf.value).lower() in trajectory.task.objective.lower()
            words = {wanted[0]: str(leaf.value)} if asked and len(wanted) == 1 else {}
            return plan[0], words
    return None


def _says_one(finding: Finding, trajectory: Trajectory) -> bool:
    """Whether arguments that can't be read hold an identifier that was told or seen."""
    return any(
        trajectory.provenance.grounded(token)
        for call in trajectory.proposal.calls
        if call.index in finding.calls and call.args is None
        for token in _TOKENS.findall(call.raw)
    )


def dead_end(finding: Finding, plan: tuple[PathStep, ...], trajectory: Trajectory) -> str:
    """The look-up that the way begins with, where it found nothing of what is asked about."""
    first = plan[0].tool if plan else finding.tool or ""
    if not plan and finding.label is not Label.UNAVAILABLE_TARGET:
        return ""
    request = trajectory.task.objective.lower()
    for step in reversed(trajectory.steps):
        for call in step.calls:
            seen = step.observation_of(call)
            if call.name != first or seen is None or seen.own:
                continue
            given = [str(value).lower() for value in (call.args or {}).values()]
            named = bool(given) and all(value and value in request for value in given)
            return first if seen.found_nothing and named else ""
    return ""


def named_safely(plan: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """The plan without fields whose name is no plain name: it would be stored and shown."""
    return tuple(
        step if plain_name(step.gives) else PathStep(step.tool, step.arguments) for step in plan
    )
