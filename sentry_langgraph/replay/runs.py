"""One JSON value of a file to a `Recording`: a run of the common format, or of messages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sentry_langgraph.replay.lines import parse
from sentry_langgraph.replay.messages import read_messages
from sentry_langgraph.replay.recording import Json, Recording, RecordingError

TOOLSET = "@toolset:"
"""A run's `tools` that begin so name a key of `toolsets.json` in the same directory."""


def run_of(
    value: Any,
    where: str,
    *,
    directory: Path = Path(),
    key: str = "messages",
    trace: bool = False,
) -> Recording:
    """A run from its JSON value.

    Args:
        value: A list of messages, or an object that holds them.
        where: File and line.
        directory: Where `toolsets.json` lies.
        key: The object's key of the messages.
        trace: Whether it has to be of the common trace format.

    Raises:
        RecordingError: It is neither.
    """
    if trace:
        _check_trace(value, where)
    if isinstance(value, list):
        return Recording(id=where, messages=_messages(value, where), where=where)
    if not isinstance(value, dict) or not isinstance(value.get(key), list):
        raise RecordingError(
            f"{where}: expected a run: an object with a list of {key!r}, or a list of messages"
        )
    tools, instructions = _tools(value, where, directory)
    return Recording(
        id=str(value.get("id") or where),
        messages=_messages(value[key], where),
        tools=tools,
        instructions=instructions,
        where=where,
        source=str(value.get("source") or ""),
        model=str(value.get("model") or ""),
        outcome=_mapping(value.get("outcome")),
        annotations=tuple(value.get("annotations") or ()),
        meta=_mapping(value.get("meta")),
    )


def _messages(raw: list[Any], where: str) -> Any:
    try:
        return read_messages(raw)
    except RecordingError as error:
        raise RecordingError(f"{where}: {error}") from error


def _check_trace(value: Any, where: str) -> None:
    wanted = ("id", "source", "tools", "messages")
    missing = [name for name in wanted if not isinstance(value, dict) or name not in value]
    if missing:
        raise RecordingError(
            f"{where}: expected a run of the common trace format; missing: {', '.join(missing)}"
        )


def _tools(
    value: Json, where: str, directory: Path
) -> tuple[tuple[Json, ...] | None, tuple[str, ...]]:
    tools = value.get("tools")
    if tools is None:
        tools = value.get("functions")
    if tools is None:
        return None, ()
    if isinstance(tools, str):
        return toolset(tools, where, directory)
    if not isinstance(tools, list):
        raise RecordingError(f"{where}: tools: expected a list of function schemas")
    return tuple(tools), ()


def toolset(name: str, where: str, directory: Path) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """The tools and the policy that `@toolset:NAME` stands for.

    Raises:
        RecordingError: There is no `toolsets.json` in the directory, or it has no such name.
    """
    try:
        known = toolsets(directory / "toolsets.json")
    except RecordingError as error:
        raise RecordingError(f"{where}: names a toolset: {error}") from error
    key = name.removeprefix(TOOLSET)
    if key not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise RecordingError(
            f"{where}: the toolset {key!r} is not in toolsets.json (known: {listed})"
        )
    return known[key]


@lru_cache(maxsize=8)
def toolsets(path: Path) -> Mapping[str, tuple[tuple[Json, ...], tuple[str, ...]]]:
    """Tools and instructions by name.

    Raises:
        RecordingError: The file can't be read, or is not of the form.
    """
    try:
        data = parse(path.read_bytes(), str(path))
        found = {}
        for name, one in data.items():
            policy = one.get("policy")
            found[name] = (tuple(one["tools"]), (str(policy),) if policy else ())
    except OSError as error:
        raise RecordingError(f"{path} can't be read: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordingError(
            f"{path}: expected an object from names to tools and policy ({error!r})"
        ) from error
    return found


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
