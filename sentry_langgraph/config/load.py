"""Loading settings from a file, from text, from a mapping."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from sentry_langgraph.config.check import check
from sentry_langgraph.config.models import SentryConfig
from sentry_langgraph.config.problems import Places
from sentry_langgraph.errors import ConfigError

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | SentryConfig | None
"""Where settings come from: a path, a mapping, settings that are loaded, or the defaults."""


def load_config(source: Source = None) -> SentryConfig:
    """The settings that `source` holds.

    Args:
        source: Path of a YAML file, a mapping as such a file would hold it, a `SentryConfig`
            (returned as it is), or None for the defaults.

    Raises:
        ConfigError: The first problem, with its file, line, key and value. Further ones are in
            the notes of the error.
    """
    match source:
        case None:
            return SentryConfig()
        case SentryConfig():
            return source
        case Mapping():
            return _settled(*check(source, Places()))
        case str() | os.PathLike():
            return load_text(_read(source), os.fspath(source))
    raise ConfigError(
        f"settings are a path, a mapping or a SentryConfig, not a {type(source).__name__}"
    )


def load_text(text: str | bytes, file: str | None = None) -> SentryConfig:
    """The settings that YAML text holds; an empty text holds the defaults.

    Args:
        text: The text, or its bytes in UTF-8 or UTF-16.
        file: The name that errors give.

    Raises:
        ConfigError: As in `load_config`.
    """
    return _settled(*_checked(text, file))


def check_yaml(text: str | bytes, file: str | None = None) -> list[ConfigError]:
    """Everything that is wrong with YAML text, in the order of its lines; empty where valid."""
    try:
        return _checked(text, file)[1]
    except ConfigError as error:
        return [error]


def check_file(path: str | os.PathLike[str]) -> list[ConfigError]:
    """Everything that is wrong with a YAML file, in the order of its lines; empty where valid."""
    try:
        return check_yaml(_read(path), os.fspath(path))
    except ConfigError as error:
        return [error]


def _checked(text: str | bytes, file: str | None) -> tuple[SentryConfig | None, list[ConfigError]]:
    from sentry_langgraph.config.strict_yaml import read_yaml  # noqa: PLC0415 - only files need it

    document = read_yaml(text, file)
    config, problems = check(document.data, Places(file, document.lines), document.shared)
    unread = {problem.key for problem in document.problems}
    found = [*document.problems, *(one for one in problems if one.key not in unread)]
    return (None if found else config), sorted(found, key=lambda problem: problem.line or 0)


def _settled(config: SentryConfig | None, problems: Sequence[ConfigError]) -> SentryConfig:
    if problems or config is None:
        _raise(problems)
    return config


def _raise(problems: Sequence[ConfigError]) -> NoReturn:
    first, *others = problems
    for other in others[:10]:
        first.add_note(f"also {other}")
    if len(others) > 10:
        first.add_note(f"and {len(others) - 10} more")
    raise first


def _read(path: str | os.PathLike[str]) -> bytes:
    from sentry_langgraph.config.yaml_loader import MAX_BYTES  # noqa: PLC0415 - as above

    name = os.fspath(path)
    if isinstance(name, str) and "\n" in name:
        raise ConfigError(
            "a path is wanted, got text of several lines",
            hint="load YAML text with SentryConfig.from_yaml_text(text)",
        )
    try:
        with Path(name).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"the file can't be read: {reason}",
            file=name,
            hint="write a starter file with `sentry init`"
            if isinstance(error, FileNotFoundError)
            else None,
        ) from error
