"""The tool that a wrong name probably means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from sentry_langgraph.detect.naming import reads_by_name
from sentry_langgraph.records import ToolCall, ToolSpec
from sentry_langgraph.slots import things_of

_SEPARATORS = re.compile(r"[.:/]|__")
_NEGATIONS = re.compile(r"\A(?:un|dis|en|de|in|re|non)")
_CLOSE = 0.75


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A registered name.

    Attributes:
        name: The name.
        certain: Whether it is the same name but for case, separators or words around it.
    """

    name: str
    certain: bool


def meant(call: ToolCall, tools: Mapping[str, ToolSpec]) -> Suggestion | None:
    """The tool that a call to an unknown one means, by its name and by what it was given.

    A near name is none where that tool takes nothing of what was given: `change_city` is not what
    a call of `change_quantity` with an order and a number means. Where no name is near, the one
    tool counts that takes just these arguments, is about the same thing, and reads or changes as
    the call would.
    """
    same = nearest(call.name, tools)
    if same is not None and same.certain:
        return same
    given = frozenset(call.args or {})
    if near := nearest(call.name, (n for n, spec in tools.items() if _takes(spec, given))):
        return near
    fitting = [name for name, spec in tools.items() if _fits(call.name, given, spec)]
    return Suggestion(fitting[0], certain=False) if len(fitting) == 1 else None


def _takes(spec: ToolSpec, given: Set[str]) -> bool:
    return not given or not spec.arguments or not given.isdisjoint(spec.arguments)


def _fits(name: str, given: Set[str], spec: ToolSpec) -> bool:
    if not given or not set(spec.required) <= given <= set(spec.arguments):
        return False
    if set(things_of(name)).isdisjoint(things_of(spec.name)):
        return False
    return spec.read_only is not None and reads_by_name(name) is spec.read_only


def nearest(name: str, known: Iterable[str]) -> Suggestion | None:
    """The known name that `name` is a spelling of, or None where none is close.

    Letter case, separators, surrounding space, a prefix such as `functions.` and words around a
    whole name are looked through. Names that begin with another verb are no spelling, however
    alike: `delete_order` is not what `create_order` means.
    """
    names = {_plain(candidate): candidate for candidate in known}
    for form in (name, _SEPARATORS.split(name.strip())[-1]):
        if (plain := _plain(form)) and plain in names:
            return Suggestion(names[plain], certain=True)
    wrong = _plain(name)
    run_together = {plain.replace("_", ""): found for plain, found in names.items()}
    if (joined := wrong.replace("_", "")) and joined in run_together:
        return Suggestion(run_together[joined], certain=True)
    whole = [plain for plain in names if "_" in plain and f"_{plain}_" in f"_{wrong}_"]
    if whole:
        return Suggestion(names[max(whole, key=len)], certain=len(whole) == 1)
    for close in difflib.get_close_matches(wrong, names, n=3, cutoff=_CLOSE):
        if _same_verb(wrong, close):
            return Suggestion(names[close], certain=False)
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def _same_verb(wrong: str, close: str) -> bool:
    """Whether the first words are the same, two ways to read, or a slip of one another."""
    one, other = wrong.partition("_")[0], close.partition("_")[0]
    if one == other:
        return True
    kinds = (reads_by_name(one), reads_by_name(other))
    if None not in kinds:
        return kinds == (True, True)
    if _NEGATIONS.sub("", one) == _NEGATIONS.sub("", other):
        return False
    return difflib.SequenceMatcher(None, one, other).ratio() >= _CLOSE
