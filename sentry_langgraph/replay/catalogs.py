"""The tools of recorded runs as catalogs, each built once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from sentry_langgraph.config import ToolOptions
from sentry_langgraph.config.tool_spec import tool_spec
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.records import Catalog
from sentry_langgraph.replay.lines import parse
from sentry_langgraph.replay.recording import Json, Recording, RecordingError
from sentry_langgraph.runner.schemas import catalog_of

_KEPT = 64


class Catalogs:
    """Gives the catalog of a run.

    Where a run's tools are not known, the names that it calls are taken as its tools: whether
    one reads or changes is still told by its name, but no name is unknown and no argument is
    checked.

    Args:
        options: What the configuration says of tools, by name.
        tools: The schemas of the tools, for runs that record none.
    """

    def __init__(
        self, options: Mapping[str, ToolOptions], tools: Sequence[Json] | None = None
    ) -> None:
        self._options = options
        self._tools = None if tools is None else tuple(tools)
        self._built: OrderedDict[Any, Catalog] = OrderedDict()
        self._last: tuple[Any, Catalog] | None = None

    def of(self, recording: Recording) -> Catalog:
        """The tools the agent had.

        Raises:
            RecordingError: They are listed, and the list is none of tool schemas.
        """
        tools = self._tools if recording.tools is None else recording.tools
        if self._last is not None and tools is not None and self._last[0] is tools:
            return self._last[1]
        key: Any = (
            frozenset(call.name for one in recording.messages for call in one.calls)
            if tools is None
            else orjson.dumps(tools, default=str)
        )
        catalog = self._built.get(key)
        if catalog is None:
            catalog = self._inferred(key) if tools is None else self._listed(tools, recording)
            self._built[key] = catalog
            if len(self._built) > _KEPT:
                self._built.popitem(last=False)
        if tools is not None:
            self._last = (tools, catalog)
        return catalog

    def _listed(self, tools: Sequence[Json], recording: Recording) -> Catalog:
        try:
            return catalog_of(tools, self._options)
        except ConfigError as error:
            raise RecordingError(f"{recording.where}: tools: {error.message}") from error

    def _inferred(self, names: frozenset[str]) -> Catalog:
        known = sorted(names | set(self._options))
        specs = {name: tool_spec(name, self._options.get(name, ToolOptions())) for name in known}
        return Catalog(specs, frozenset(), complete=False)


def read_tools(path: Path) -> tuple[Json, ...]:
    """Tool schemas of a file: a list of them, or an object that holds one as `tools`.

    Raises:
        RecordingError: The file can't be read, or is neither.
    """
    try:
        value = parse(path.read_bytes(), str(path))
    except OSError as error:
        raise RecordingError(f"{path}: can't be read: {error.strerror}") from error
    if isinstance(value, dict):
        value = value.get("tools")
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise RecordingError(
            f"{path}: expected a list of tool schemas, or an object with such a list as `tools`"
        )
    try:
        catalog_of(value, {})
    except ConfigError as error:
        raise RecordingError(f"{path}: {error.message}") from error
    return tuple(value)
