"""Plans in words: the next call with what is known of its values, and what follows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sentry_langgraph.producers import known_values
from sentry_langgraph.provenance import Provenance, fields
from sentry_langgraph.records import Catalog, PathStep, ToolSpec, Trajectory
from sentry_langgraph.repair.signatures import signature
from sentry_langgraph.slots import singular, slot_of, words_of

_SHOWN = 4
_LONGEST = 60
_REQUEST_READ = 4_000
_STEM = 5


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


def next_call(tool: str, gives: str, catalog: Catalog, provenance: Provenance) -> str:
    """A call to make now, as an instruction: parameters, known values, and what it gives."""
    spec = catalog.tools.get(tool)
    if spec is None:
        return f"call `{tool}`"
    notes = {name: str(one) for name, one in known(spec, catalog, provenance).items()}
    for name in spec.required:
        if name not in notes and _of_the_request(name, spec):
            notes[name] = "as the request says it"
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
    end = "the rest of the request" if change else "answer the request"
    return ", then ".join([*parts, end]) + "."


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
        if one is None or one.tool == spec.name:
            continue
        unused = [value for value in one.values if (spec.name, value) not in made]
        if unused:
            limit -= 1
            yield spec.name, name, unused[0]


def answer_at(trajectory: Trajectory) -> tuple[str, str] | None:
    """A tool and the field of its result that the request names; None where none does.

    The newest result wins. Names of identifiers don't count: a request is seldom about them.
    """
    asked = _asked(trajectory.task.objective[-_REQUEST_READ:])
    for step in reversed(trajectory.steps):
        for seen in reversed(step.observations):
            if not seen.worked:
                continue
            for key, _ in fields(seen.text):
                named = slot_of(key).kind not in ("id", "number") and words_of(key)[-1:]
                if named and named[0][:_STEM] in asked:
                    return seen.name, key
    return None


def _asked(request: str) -> frozenset[str]:
    """The stems of the words of a request; `e-mail` is `email`."""
    words = re.findall(r"[a-z]{3,}", request.lower().replace("-", ""))
    return frozenset(singular(word)[:_STEM] for word in words)
