"""Values and claims that nothing the agent was told or saw stands behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from sentry_langgraph.detect.asked import unrequested
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.choice import unlooked_choice
from sentry_langgraph.detect.claims import claimed_call
from sentry_langgraph.detect.flaws import Flaw
from sentry_langgraph.detect.guessed import guessed_again
from sentry_langgraph.detect.identifiers import allowed, identifier, left_empty
from sentry_langgraph.detect.kinds import are_words, wrong_kind
from sentry_langgraph.detect.other_kind import other_kind
from sentry_langgraph.detect.unfitting import unfitting_choice
from sentry_langgraph.detect.ungrounded import empty, ungrounded
from sentry_langgraph.options import Switch
from sentry_langgraph.plans import plan_to
from sentry_langgraph.producers import known_values
from sentry_langgraph.records import Finding, PathStep, ToolCall, ToolSpec, Trajectory
from sentry_langgraph.slots import Leaf, leaves_of
from sentry_langgraph.taxonomy import Label, Severity


class HallucinationOptions(DetectorOptions):
    """Options of `hallucination`.

    Attributes:
        ungrounded: An identifier in a call that stands nowhere in what was told or seen, or one
            that the schema demands and the agent left empty.
        wrong_kind: Words of the request in the place of an identifier, where a tool yields one.
        other_kind: An identifier that a tool has not found, and that is known as one of another
            kind of thing: advice on the way to the right one.
        unlooked_choice: A change to one of several candidates of a bare list of ids, of which
            none was looked at, or to one that has nothing of what the request names where another
            has it or was not looked at.
        unrequested_change: A change of a kind that no user and no prompt speaks of.
        guessed_again: One more value that nobody named, after the same tool found nothing for two.
        claimed_call: A final message that says a change was made which no tool made.
    """

    ungrounded: Switch = True
    wrong_kind: Switch = True
    other_kind: Switch = True
    unlooked_choice: Switch = True
    unrequested_change: Switch = True
    guessed_again: Switch = True
    claimed_call: Switch = True


class Hallucination:
    """Looks at the arguments of the newest calls, and at what the newest message claims."""

    Options: ClassVar[type[DetectorOptions]] = HallucinationOptions

    def __init__(self, options: HallucinationOptions) -> None:
        self._options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """At most one finding that holds calls, with every call concerned."""
        calls = trajectory.proposal.calls
        if not calls:
            claim = claimed_call(trajectory) if self._options.claimed_call else None
            return () if claim is None else (claim,)
        flaws = [flaw for call in calls if (flaw := self._flaw(call, trajectory))]
        if not flaws:
            refused = other_kind(trajectory) if self._options.other_kind else None
            return () if refused is None else (refused,)
        holding = [flaw for flaw in flaws if flaw.severity is Severity.HOLD]
        return (_finding(holding or flaws, trajectory),)

    def _flaw(self, call: ToolCall, trajectory: Trajectory) -> Flaw | None:
        """The first thing that is wrong with the arguments of a call."""
        spec = trajectory.catalog.tools.get(call.name)
        if not call.args or (spec is not None and Label.HALLUCINATION in spec.exempt):
            return None
        leaves = tuple(leaves_of(call.args, spec))
        ids: list[Leaf] = []
        for leaf in leaves:
            kind = identifier(leaf)
            if kind is None:
                if self._options.ungrounded and left_empty(leaf, spec):
                    return empty(leaf, call)
                continue
            if kind == "id":
                ids.append(leaf)
            known = trajectory.provenance.grounded(leaf.value)
            if (known and not are_words(leaf)) or allowed(leaf, call.name, spec):
                continue
            flaw = None
            if known and self._options.wrong_kind:
                flaw = wrong_kind(leaf, call, trajectory)
            elif not known and self._options.ungrounded:
                flaw = ungrounded(leaf, kind, call, trajectory)
            if flaw is not None:
                return flaw
        if self._options.guessed_again:
            flaw = guessed_again(call, leaves, trajectory)
            if flaw is not None:
                return flaw
        if spec is None or spec.read_only is not False:
            return None
        return self._change(call, spec, ids, trajectory)

    def _change(
        self, call: ToolCall, spec: ToolSpec, ids: Sequence[Leaf], trajectory: Trajectory
    ) -> Flaw | None:
        """What is wrong with a change whose values are known."""
        options = self._options
        flaw = None
        if options.unlooked_choice and ids:
            chosen = [leaf for leaf in ids if not allowed(leaf, call.name, spec)]
            flaw = unlooked_choice(call, chosen, trajectory)
            flaw = flaw or unfitting_choice(call, chosen, trajectory)
        if flaw is None and options.unrequested_change:
            flaw = unrequested(call, spec, trajectory)
        return flaw


def _finding(flaws: Sequence[Flaw], trajectory: Trajectory) -> Finding:
    """One finding for all flawed calls: they are held together, and the first one leads."""
    first = flaws[0]
    catalog = trajectory.catalog
    spec = catalog.tools.get(first.tool)
    plan: tuple[PathStep, ...] = ()
    detail = first.detail
    if first.argument:
        plan = plan_to(first.argument, catalog, trajectory.provenance, consumer=first.tool)
        if first.pattern != "unlooked_choice":
            detail += _where_known(first, trajectory)
    others = list(dict.fromkeys(f"`{flaw.tool}`: {flaw.detail}" for flaw in flaws[1:]))
    return Finding(
        Label.HALLUCINATION,
        trajectory.proposal.id,
        key=f"{Label.HALLUCINATION}:{first.pattern}:{first.tool}:{first.argument or ''}",
        confidence=first.confidence,
        severity=first.severity,
        detail="; ".join((detail, *others[:3])),
        advice=first.advice,
        evidence={"calls": len(flaws), "slot": first.argument or "", "plan": len(plan)},
        calls=tuple(sorted({flaw.call for flaw in flaws})),
        tool=first.tool,
        argument=first.argument,
        pattern=first.pattern,
        intention=spec is not None and spec.read_only is False and first.owed,
        plan=plan,
    )


def _where_known(flaw: Flaw, trajectory: Trajectory) -> str:
    known = known_values(
        flaw.argument, trajectory.catalog, trajectory.provenance, consumer=flaw.tool, limit=1
    )
    if not known:
        return "; take a value from the request or from a result, never make one up"
    tool, field, _ = known[0]
    return f"; take one that is in the results: `{field}` of `{tool}`"
