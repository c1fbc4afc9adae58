"""A list of todos that an agent keeps through a tool, told by its shape and not by its name.

A call that gives a list of items, each with words and a status out of a known few, keeps such
a list: `write_todos` of LangChain's `TodoListMiddleware`, and its kind elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentry_langgraph.records import ToolCall, Trajectory

_OPEN = frozenset(
    "pending in_progress todo to_do not_started open started doing active queued".split()
)
_CLOSED = frozenset(
    "completed complete done finished cancelled canceled skipped closed dropped".split()
)
_STATUS = ("status", "state")
_MOST = 200
"""Items that are read: a longer list is data."""


@dataclass(frozen=True, slots=True)
class Todos:
    """The latest list.

    Attributes:
        tool: The tool that keeps it.
        open: What its open items say.
        total: How many items there are.
    """

    tool: str
    open: tuple[str, ...]
    total: int


def todos_of(trajectory: Trajectory) -> Todos | None:
    """The list as it was last written in this task; None where none is kept.

    A list counts as the agent's own once something on it has moved, or once it was written
    twice: a single call that only makes new items may be what the user asked for. So may a
    change of a status that the request speaks of.
    """
    lists = list(_written(trajectory))
    if not lists:
        return None
    call, items = lists[0]
    moved = any(status not in {"pending", "todo", "to_do", "not_started"} for _, status in items)
    if not moved and sum(other.name == call.name for other, _ in lists) < 2:
        return None
    still = tuple(text for text, status in items if status in _OPEN)
    asked = trajectory.task.objective.lower()
    if any(_spoken(status) in asked for _, status in items if status in _OPEN):
        return None
    return Todos(call.name, still, len(items))


def _spoken(status: str) -> str:
    return status.replace("_", " ")


def _written(trajectory: Trajectory) -> Iterator[tuple[ToolCall, list[tuple[str, str]]]]:
    """Calls that wrote a list with success, newest first."""
    for step in reversed(trajectory.steps):
        for call in reversed(step.calls):
            items = _items(call) if call.args else None
            if not items:
                continue
            seen = step.observation_of(call)
            if seen is not None and seen.worked:
                yield call, items


def _items(call: ToolCall) -> list[tuple[str, str]]:
    for value in (call.args or {}).values():
        if type(value) is list and 0 < len(value) <= _MOST:
            read = [_item(one) for one in value]
            if items := [one for one in read if one is not None]:
                return items if len(items) == len(value) else []
    return []


def _item(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    status = next((value[key] for key in _STATUS if isinstance(value.get(key), str)), None)
    if status is None:
        return None
    plain = status.strip().lower().replace("-", "_").replace(" ", "_")
    words = _words(value)
    return (words, plain) if words and plain in _OPEN | _CLOSED else None


def _words(value: Mapping[Any, Any]) -> str:
    texts: Sequence[str] = [
        text
        for key, text in value.items()
        if isinstance(text, str) and key not in _STATUS and not str(key).lower().endswith("id")
    ]
    return max(texts, key=len, default="").strip()
