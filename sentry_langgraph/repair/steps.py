"""Plans in words: the next call with what is known of its values, and what follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentry_langgraph.producers import known_values
from sentry_langgraph.provenance import Provenance
from sentry_langgraph.records import Catalog, PathStep, ToolSpec, Trajectory
from sentry_langgraph.repair.signatures import signature
from sentry_langgraph.repair.templates import ENDS
from sentry_langgraph.slots import slot_of

_SHOWN = 4
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Known:
    """Values that results hold for an argument.

    Attributes:
        tool: The tool that gave the newest of them.
        values: The values, newest first.
    """

    tool: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        shown = [f"'{value[:_LONGEST]}'" for value in self.values[:_SHOWN]]
        more = len(self.values) - len(shown)
        text = shown[0] if len(self.values) == 1 else "one of " + ", ".join(shown)
        return text + (f" and {more} more" if more else "") + f" from `{self.tool}`"


def known(spec: ToolSpec, catalog: Catalog, provenance: Provenance) -> dict[str, Known]:
    """What results hold for the identifiers that a tool demands, by argument."""
    found: dict[str, Known] = {}
    for name in spec.required:
        if slot_of(name).kind not in ("id", "number", "email"):
            continue
        values = known_values(name, catalog, provenance, consumer=spec.name)
        if values:
            texts = tuple(dict.fromkeys(str(value) for _, _, value in values))
            found[name] = Known(values[0][0], texts)
    return found


def next_call(
    tool: str,
    gives: str,
    catalog: Catalog,
    provenance: Provenance,
    given: Mapping[str, Any] | None = None,
) -> str:
    """A call to make now, as an instruction: parameters, known values, and what it gives.

    Args:
        tool: The tool.
        gives: The field of its result that is wanted; empty where none is known.
        catalog: The tools.
        provenance: What was told and seen.
        given: Values that the agent has given under the same names.
    """
    spec = catalog.tools.get(tool)
    if spec is None:
        return f"call `{tool}`"
    notes = {name: str(one) for name, one in known(spec, catalog, provenance).items()}
    for name in spec.required:
        if name not in notes and _of_the_request(name, spec):
            said = (given or {}).get(name)
            notes[name] = f"'{said[:_LONGEST]}'" if said else "as the request says it"
    text = f"call {signature(spec, notes)}"
    return f"{text}. It gives `{gives}`" if gives else text


def _of_the_request(name: str, spec: ToolSpec) -> bool:
    """Whether only the request can hold the value: a text or name, and no identifier."""
    schema = spec.arguments.get(name)
    text = isinstance(schema, Mapping) and schema.get("type") == "string" and "enum" not in schema
    return text and slot_of(name).kind not in ("id", "number", "path", "url")


def follow(plan: Sequence[PathStep], held: str, catalog: Catalog, *, change: bool) -> str:
    """What follows the next call: the rest of the path, the held call, the rest of the request.

    Args:
        plan: The path after the next call.
        held: The call it leads to.
        catalog: The tools.
        change: Whether the held call changes something.
    """
    parts = [_short(step.tool, step.arguments, step.gives) for step in plan]
    if held:
        spec = catalog.tools.get(held)
        parts.append(_short(held, spec.required if spec is not None else (), ""))
    if change:
        return ", then ".join([*parts, "the rest of the request"]) + "."
    rest = ", then ".join([*parts, ENDS]) + "."
    return rest if not parts else f"{ENDS} if that result allows it; if not, {rest}"


def _short(tool: str, arguments: Sequence[str], gives: str) -> str:
    given = f" with {', '.join(arguments)}" if arguments else ""
    return f"`{tool}`{given}" + (f" → {gives}" if gives else "")


def open_ends(trajectory: Trajectory, *, limit: int = 2) -> Iterator[tuple[str, str, str]]:
    """Look-ups that results have made possible and that were not made: tool, argument, value.

    A chain of look-ups stands still where the value that the last one gave is not used.
    """
    catalog, provenance = trajectory.catalog, trajectory.provenance
    made = {
        (call.name, str(value))
        for step in trajectory.steps
        for call in step.calls
        for value in (call.args or {}).values()
    }
    for spec in catalog.tools.values():
        if limit <= 0:
            return
        if spec.read_only is False or len(spec.required) != 1:
            continue
        (name,) = spec.required
        one = known(spec, catalog, provenance).get(name)
        if one is None:
            continue
        unused = [value for value in one.values if (spec.name, value) not in made]
        if unused:
            limit -= 1
            yield spec.name, name, unused[0]
