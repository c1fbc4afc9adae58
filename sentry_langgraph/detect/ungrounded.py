"""Identifiers that stand nowhere in what the agent was told or saw."""

from __future__ import annotations

import re

from sentry_langgraph.detect.flaws import Flaw, shown
from sentry_langgraph.detect.identifiers import Identifier
from sentry_langgraph.provenance import Provenance
from sentry_langgraph.records import ToolCall, Trajectory
from sentry_langgraph.slots import Leaf, chosen_by_agent
from sentry_langgraph.taxonomy import Severity

_PARTS = re.compile(r"[/\\?&=#]+")
_TOKEN = re.compile(r"(?=[\w-]*\d)[\w-]{6,64}")
_COMMON = re.compile(
    r"readme|license|changelog|makefile|dockerfile|package|requirements|setup|pyproject|main|index|"
    r"app|config|settings|test|src|lib|docs?|bin|etc|tmp|home|usr|var|\.",
    re.IGNORECASE,
)
_CONFIDENCE = {"id": 0.9, "email": 0.85, "phone": 0.85, "shape": 0.75, "url": 0.7, "path": 0.7}
_ADVISED = ("url", "path")
"""A guess that a look-up settles at once is not worth a hold."""


def ungrounded(leaf: Leaf, kind: Identifier, call: ToolCall, trajectory: Trajectory) -> Flaw | None:
    """The flaw of an identifier that stands nowhere."""
    spec = trajectory.catalog.tools.get(call.name)
    reads = spec is not None and spec.read_only is True
    if kind == "shape" and reads:
        # only the shape speaks for an identifier, and a look-up that finds nothing does no harm
        return None
    if kind in _ADVISED and (
        not reads or _made_of_known(str(leaf.value), kind, trajectory.provenance)
    ):
        # what a change writes to may be new
        return None
    if _named_beside(leaf, call, trajectory):
        return None
    return Flaw(
        call.index,
        call.name,
        leaf.name,
        "ungrounded",
        f"`{leaf.name}` is '{shown(leaf.value)}', which stands neither in the request nor in any "
        "result",
        Severity.ADVISE if kind in _ADVISED else Severity.HOLD,
        _CONFIDENCE[kind],
    )


def empty(leaf: Leaf, call: ToolCall) -> Flaw:
    """The flaw of an identifier that was left empty."""
    detail = f"`{leaf.name}` is empty, and it has to name something"
    return Flaw(call.index, call.name, leaf.name, "empty", detail)


def _made_of_known(value: str, kind: Identifier, provenance: Provenance) -> bool:
    parts = [part for part in _PARTS.split(value) if part and part not in (".", "..", "~")]
    if kind == "url":
        # sites are common knowledge, and so are words; a token with digits is not
        tokens = [part for part in parts[1:] if _TOKEN.fullmatch(part)]
        return all(provenance.grounded(token) for token in tokens)
    if len(parts) < 2 or _COMMON.match(parts[-1]):
        return True
    stem = parts[-1].rpartition(".")[0] or parts[-1]
    return any(provenance.grounded(one) for one in (parts[-1], stem, parts[-2]))


def _named_beside(leaf: Leaf, call: ToolCall, trajectory: Trajectory) -> bool:
    """Whether another call of the message makes something that it gives this very name."""
    for other in trajectory.proposal.calls:
        if other is call or not other.args:
            continue
        for name, value in other.args.items():
            if value == leaf.value and chosen_by_agent(other.name, name):
                return True
    return False
