"""What a case expects of a YAML text, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.kinds.yaml_docs import FILE, placeholder
from cases.loader import CaseError
from cases.observe import Record
from sentry_langgraph import ConfigError, SentryConfig


def problems(words: str, record: Record) -> list[str]:
    """What of the outcome is not as the words say.

    Raises:
        CaseError: The words say nothing that can be checked.
    """
    found = _error(words, record) if record.error is not None else _value(words, record)
    seconds = re.search(r"< ?([\d.]+) s\b", words)
    if seconds is not None and record.seconds >= float(seconds[1]):
        found.append(f"it took {record.seconds:.2f} s")
    megabytes = re.search(r"< ?([\d.]+) MB", words)
    if megabytes is not None and record.extra["peak"] >= float(megabytes[1]) * 1e6:
        found.append(f"it took {record.extra['peak'] / 1e6:.0f} MB")
    return found


def each_error(record: Record) -> list[str]:
    """One exception type, whose message has the file, the key and the value."""
    error = record.error
    if error is None:
        return []
    if type(error) is not ConfigError:
        return [f"it is a {type(error).__name__}"]
    text = str(error)
    found = [] if FILE in text else ["the file is not named"]
    if not error.key or error.key not in text:
        found.append("the key is not named")
    shown = error.value
    if isinstance(shown, str | int | float) and str(shown) not in text:
        found.append("the value is not named")
    return [f"{one}: {text}" for one in found]


def _error(words: str, record: Record) -> list[str]:
    error = record.error
    assert error is not None
    if not isinstance(error, ConfigError):
        return [f"it raised {error!r}"]
    if "error" not in words.replace("no duplicate-key error", ""):
        return [f"it is an error: {error}"]
    text, found = str(error), []
    for key in _named(words):
        ours = placeholder(key)
        if ours.rpartition(".")[2] not in text and key not in text:
            found.append(f"the error does not name {ours}")
    if "both lines" in words and len(re.findall(r"\b\d+\b", text.partition(FILE)[2])) < 2:
        found.append("the error does not name both lines")
    if re.search(r"\blines?\b", words) and not error.line:
        found.append("the error names no line")
    meant = re.search(r"did you mean '([\w.]+)'", words)
    if meant is not None and placeholder(meant[1]) not in text.partition("did you mean")[2]:
        found.append(f"the error does not suggest {placeholder(meant[1])}")
    return [f"{one}: {text}" for one in found]


def _named(words: str) -> Iterator[str]:
    """The keys that an error has to name."""
    for form in (
        r"naming (?:the )?(?:key )?'([\w.-]+)'",
        r"naming key ([\w.-]+)",
        r"naming the key True/'(\w+)'",
        r"unknown key '([\w.-]+)'",
        r"type of ([\w.]+)",
    ):
        for found in re.findall(form, words):
            yield found.rstrip(".")


def _value(words: str, record: Record) -> list[str]:
    config = record.extra["config"]
    changed = dict(_changed(config))
    if re.search(r"\ball defaults\b|default value", words):
        return [f"it changes {changed}"] if changed else []
    same = re.search(r"(\w+) == ([\d.]+)", words)
    if same is not None:
        values = [value for key, value in changed.items() if key.rpartition(".")[2] == same[1]]
        good = values == [float(same[2])]
        return [] if good else [f"{same[1]} is {values}, not {same[2]}"]
    text = re.search(r"the string '(\w+)'", words) or re.search(r"enum value '(\w+)'", words)
    if text is None:
        text = re.fullmatch(r"'?([a-z]+)'?", words)
        if text is not None and text[1] == "error":
            return [f"it is no error: {changed}"]
    if text is not None:
        leaves = [leaf for value in changed.values() for leaf in _leaves(value)]
        if any(isinstance(leaf, bool) for leaf in leaves):
            return [f"a truth value stands in {changed}"]
        return [] if text[1] in leaves else [f"{text[1]!r} does not stand in {changed}"]
    number = re.match(r"(-?[\d.]+)\b", words)
    if number is not None:
        good = [v for v in changed.values() if v == float(number[1]) and not isinstance(v, bool)]
        return [] if good else [f"{number[1]} does not stand in {changed}"]
    if words.startswith("error"):
        return [f"it is no error: {changed}"]
    raise CaseError(f"no rule reads {words!r}; see cases/words_yaml.py")


def _changed(config: SentryConfig) -> Iterator[tuple[str, Any]]:
    """The settings that are not the defaults, by dotted key."""
    yield from _difference("", config.model_dump(), SentryConfig().model_dump())


def _difference(path: str, ours: Any, default: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(ours, Mapping):
        for key, value in ours.items():
            inner = default.get(key) if isinstance(default, Mapping) else None
            yield from _difference(f"{path}.{key}" if path else str(key), value, inner)
    elif ours != default and ours not in (None, (), False):
        yield path, ours


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    else:
        yield value
