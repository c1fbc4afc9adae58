"""The tools an agent has, and how their arguments are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sentry_langgraph.taxonomy import Label


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which arguments break a schema.

    Attributes:
        path: The field, such as `root.kids[0].v`; empty for the object itself.
        problem: `missing`, `unexpected`, `type` or `value`.
        expected: What the schema wants, in words that hold nothing of the input.
        found: The kind of what was found, such as `string` or `null`.
        note: What a validator of the tool's own says; it may quote the input, so it is shown
            to the model and not stored.
    """

    path: str
    problem: Literal["missing", "unexpected", "type", "value"]
    expected: str = ""
    found: str = ""
    note: str = ""


ArgumentCheck: TypeAlias = Callable[[Mapping[str, Any]], tuple[Violation, ...]]


def accept_any(_: Mapping[str, Any]) -> tuple[Violation, ...]:
    """The check of a tool that has no schema."""
    return ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What is known of one tool.

    Attributes:
        name: The name the model calls.
        description: What the model was shown.
        parameters: JSON Schema of the arguments that the model was shown.
        check: Says how arguments break the tool's own schema.
        read_only: True for a look-up, False for a change, None where nothing says so.
        polling: Whether asking again is its purpose; it is never a loop.
        exempt: Labels that never apply to it.
        ignore_args: Arguments that don't count when calls are compared.
        batch: Whether many calls that differ little are its normal use.
        finish: Whether its success ends the task.
        destructive: True where a change can't be undone, None where nothing says so.
        idempotent: True where the same change twice is the same as once, None where nothing
            says so.
        free_args: Arguments whose values the agent may make up.
        advise_at: Identical calls before advice, for this tool; None is the detector's.
        hold_at: Identical calls before one is held, for this tool; None is the detector's.
        known_by: How `read_only` is known: `configuration`, `hint`, `name`, or empty.
        required: The names of the arguments that the schema demands.
        arguments: The schema of each argument, by name.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    check: ArgumentCheck = accept_any
    read_only: bool | None = None
    polling: bool = False
    exempt: frozenset[Label] = frozenset()
    ignore_args: frozenset[str] = frozenset()
    batch: bool = False
    finish: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None
    free_args: frozenset[str] = frozenset()
    advise_at: int | None = None
    hold_at: int | None = None
    known_by: Literal["configuration", "hint", "name", ""] = ""
    required: tuple[str, ...] = field(init=False, repr=False, compare=False)
    arguments: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        required = self.parameters.get("required")
        listed = required if isinstance(required, list | tuple) else ()
        properties = self.parameters.get("properties")
        given = properties if isinstance(properties, Mapping) else {}
        object.__setattr__(self, "required", tuple(n for n in listed if isinstance(n, str)))
        object.__setattr__(self, "arguments", given)


_NOTHING_KNOWN = ToolSpec("")


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tools an agent has.

    Attributes:
        tools: By name.
        declared: Names that exist outside the tool node (structured output, provider tools,
            tools that a middleware serves): never unknown, and not checked.
        complete: Whether these are all; where False, no name is unknown.
        finishing: Names of the tools that end a task.
    """

    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()
    complete: bool = True
    finishing: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(name for name, spec in self.tools.items() if spec.finish)
        object.__setattr__(self, "finishing", names)

    def spec(self, name: str) -> ToolSpec:
        """What is known of a tool; of one that is not there, nothing."""
        return self.tools.get(name, _NOTHING_KNOWN)

    def knows(self, name: str) -> bool:
        """Whether a call to `name` can be served."""
        return name in self.tools or name in self.declared or not self.complete
