"""Which preset fits an agent, by its tools."""

from __future__ import annotations

from dataclasses import dataclass

from sentry_langgraph.config.presets import PresetName
from sentry_langgraph.detect.access import COMMANDS
from sentry_langgraph.detect.naming import words_of
from sentry_langgraph.records import Catalog, ToolSpec

_RUNS = frozenset("bash shell sh terminal console sql python repl execute exec run command".split())
_SCRIPTS = frozenset({"code", "script", "input", "query", "program", *COMMANDS})
_SEARCHES = frozenset("search find lookup look query browse retrieve wiki wikipedia web".split())
_FINISHES = frozenset("finish submit answer final finalize done complete respond".split())
_IDS = frozenset(
    "id ids uuid code number no key ref reference email phone sku iban username".split()
)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset and why it was taken.

    Attributes:
        name: The preset.
        why: What decided, in words; it names tools and arguments only.
    """

    name: PresetName
    why: str


def choose(catalog: Catalog) -> Preset:
    """The preset that fits the tools of an agent.

    - `shell`: at least half of the tools run commands, those that only finish left out.
    - `search`: all tools look up and at least one takes a text to search for, and there is one
      that finishes.
    - `api`: a tool changes something and takes an id.
    - `chat`: none of these.
    """
    finishing = [spec for spec in catalog.tools.values() if _finishes(spec)]
    tools = [spec for spec in catalog.tools.values() if not _finishes(spec)]
    running = [spec for spec in tools if _runs_commands(spec)]
    if running and 2 * len(running) >= len(tools):
        verb = "runs" if len(running) == 1 else "run"
        return Preset("shell", f"{_named(running)} {verb} commands")
    if finishing and tools and all(spec.read_only for spec in tools):
        searching = [spec for spec in tools if _searches(spec)]
        if searching:
            why = f"all tools look up, {_named(searching)} by a text, and {_named(finishing)} ends"
            return Preset("search", why)
    for spec in tools:
        wanted = next((name for name in spec.arguments if _is_id(name)), None)
        if spec.read_only is False and wanted is not None:
            return Preset("api", f"`{spec.name}` changes something and takes `{wanted}`")
    return Preset("chat", "no tool says more of its environment")


def _finishes(spec: ToolSpec) -> bool:
    return spec.finish or (
        not _FINISHES.isdisjoint(words_of(spec.name)) and len(spec.arguments) <= 1
    )


def _runs_commands(spec: ToolSpec) -> bool:
    names = {name.lower() for name in spec.arguments}
    if not COMMANDS.isdisjoint(names):
        return True
    one_script = len(names) == 1 and not _SCRIPTS.isdisjoint(names)
    return one_script and spec.read_only is None and not _RUNS.isdisjoint(words_of(spec.name))


def _searches(spec: ToolSpec) -> bool:
    return not _SEARCHES.isdisjoint(words_of(spec.name)) and any(
        schema.get("type", "string") == "string" and not _is_id(name)
        for name, schema in spec.arguments.items()
        if isinstance(schema, dict)
    )


def _is_id(name: str) -> bool:
    words = words_of(name)
    return bool(words) and words[-1] in _IDS


def _named(specs: list[ToolSpec]) -> str:
    names = [f"`{spec.name}`" for spec in specs[:_SHOWN]]
    more = len(specs) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
