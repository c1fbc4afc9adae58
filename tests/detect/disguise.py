"""Recorded runs with every tool renamed and every id shuffled.

A detector that keys on a data set's tool names or ids says something else of the disguised run.
What a tool's name tells (whether it reads or changes) is handed over as settings instead, as a
user would do for tools whose names say nothing.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.records import Catalog

Json = dict[str, Any]

_ID_DIGITS = re.compile(r"(?<=[A-Za-z_#])\d{4,}|\d{4,}(?=[A-Za-z_])|(?<=[A-Za-z]-)\d{4,}")
"""The digits of an id: four or more, beside a letter, `_` or `#`."""

_CODE = re.compile(r"\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,}\b")
"""A code such as a reservation's: capitals and digits mixed."""

_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")

_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Disguise:
    """One run in disguise.

    Attributes:
        run: The run, in the trace format, tools listed.
        settings: What the settings have to say of the renamed tools.
        names: The new names of the tools, by their own.
        ids: The new ids, or parts of ids, by their own.
    """

    run: Json
    settings: SentryConfig
    names: Mapping[str, str]
    ids: Mapping[str, str]


def disguised(run: Json, catalog: Catalog, settings: SentryConfig, seed: int = 0) -> Disguise:
    """Rename the tools of a run and shuffle its ids, everywhere in the same way.

    Args:
        run: The run, with its tools listed.
        catalog: The tools as `settings` sees them under their own names.
        settings: The settings.
        seed: Which disguise.
    """
    draw = random.Random(seed)
    names = _names(run, draw)
    ids = _ids(json.dumps(run, ensure_ascii=False), draw)
    return Disguise(
        run=_replaced(_renamed(run, names), ids),
        settings=_told(settings, catalog, names),
        names=names,
        ids=ids,
    )


def _names(run: Json, draw: random.Random) -> dict[str, str]:
    """A neutral name for every tool that exists or is called."""
    known = {tool["function"]["name"] for tool in run["tools"]}
    called = {
        call["function"]["name"]
        for message in run["messages"]
        for call in message.get("tool_calls") or ()
    }
    numbers = draw.sample(range(100, 1_000), len(known | called))
    pairs = zip(sorted(known | called), numbers, strict=True)
    return {name: f"tool_{number}" for name, number in pairs}


def _renamed(run: Json, names: Mapping[str, str]) -> Json:
    """The run with other names of tools: in schemas and calls, and where a text says them.

    A name of one common word, such as `think`, is a name in a text only where it is quoted.
    """
    plain = [name for name in names if re.search(r"[_\d]|[a-z][A-Z]", name)]
    quoted = [name for name in names if name not in plain]
    patterns = [rf"\b{re.escape(name)}\b" for name in sorted(plain, key=len, reverse=True)]
    patterns += [rf"(?<=[`'\"]){re.escape(name)}(?=[`'\"])" for name in quoted]
    pattern = re.compile("|".join(patterns)) if patterns else None

    def text(value: str) -> str:
        return pattern.sub(lambda match: names[match[0]], value) if pattern else value

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: walk(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner, key) for inner in value]
        return text(value) if isinstance(value, str) else value

    made: Json = {**walk({"messages": run["messages"], "tools": run["tools"]})}
    for tool, old in zip(made["tools"], run["tools"], strict=True):
        tool["function"]["name"] = names[old["function"]["name"]]
    for message, before in zip(made["messages"], run["messages"], strict=True):
        for call, written in zip(
            message.get("tool_calls") or (), before.get("tool_calls") or (), strict=True
        ):
            call["function"]["name"] = names[written["function"]["name"]]
            call["function"]["arguments"] = written["function"]["arguments"]
    return {**run, **made}


def _ids(text: str, draw: random.Random) -> dict[str, str]:
    """Another id of the same shape for each; equal parts stay equal, different ones different."""
    digits = _shuffled("0123456789", draw)
    letters = _shuffled(_CAPITALS, draw)
    table = str.maketrans({**digits, **letters})
    only_digits = str.maketrans(digits)
    found = {part: part.translate(only_digits) for part in _ID_DIGITS.findall(text)}
    found |= {part: part.translate(only_digits) for part in _PHONE.findall(text)}
    return found | {part: part.translate(table) for part in _CODE.findall(text)}


def _shuffled(signs: str, draw: random.Random) -> dict[str, str]:
    return dict(zip(signs, draw.sample(signs, len(signs)), strict=True))


def _replaced(run: Json, ids: Mapping[str, str]) -> Json:
    if not ids:
        return run
    parts = "|".join(re.escape(part) for part in sorted(ids, key=len, reverse=True))
    # a whole run of digits, or a whole code: not a part of a longer one
    pattern = re.compile(rf"(?<!\d)(?:{parts})(?!\d)")
    body = {name: run[name] for name in ("messages", "tools")}
    text = pattern.sub(lambda match: ids[match[0]], json.dumps(body, ensure_ascii=False))
    return {**run, **json.loads(text)}


def _told(settings: SentryConfig, catalog: Catalog, names: Mapping[str, str]) -> SentryConfig:
    """The settings, and what the old names told."""
    tools = {
        names[name]: {"read_only": spec.read_only}
        for name, spec in catalog.tools.items()
        if name in names and spec.read_only is not None
    }
    said: dict[str, Any] = {**settings.model_dump(), "tools": tools}
    preset_for = getattr(settings, "preset_for", None)
    if preset_for is not None:
        said["preset"] = preset_for(catalog).name
    return SentryConfig.model_validate(said)


def listed(run: Json, toolsets: Mapping[str, Any]) -> Json:
    """The run with its tools as a list."""
    tools = run["tools"]
    if isinstance(tools, str):
        tools = toolsets[tools.removeprefix("@toolset:")]["tools"]
    return {**run, "tools": tools}


def differences(before: Iterable[Any], after: Iterable[Any]) -> list[str]:
    """What only one of the two says."""
    old, new = set(before), set(after)
    lost = [f"only under its own names: {one}" for one in sorted(old - new, key=str)]
    return lost + [f"only in disguise: {one}" for one in sorted(new - old, key=str)]
