"""What an argument is by its name and schema: an identifier of something, or free text.

The name of a slot says what kind of thing it names: `order_id`, `order_ids` and the `id` of
`cancel_order` all name an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from sentry_langgraph.records import ToolSpec

SlotKind: TypeAlias = Literal["id", "number", "email", "url", "path", "phone", "text", "other"]

LEAVES = 200
"""Values of one call that are looked at."""

_DEPTH = 6
NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
"""The words of a name in snake, kebab or camel case."""


_ID = frozenset("id ids uuid uuids guid guids sku skus isbn iban slug slugs".split())
_NUMBERED = frozenset(
    "number numbers no num nos code codes reference ref references refs handle key keys".split()
)
_PUBLIC = frozenset(
    "country language lang locale currency airport iata icao area zip postal post status error "
    "exit return response color colour hex state region time timezone unit qr source program "
    "python javascript js html sql line page row column version port step turn chapter max min "
    "total room house street api secret access public private encryption ssh license sort group "
    "partition cache shortcut hot dict map json object foreign primary unique meta".split()
)
"""What stands before `code`, `number` or `key` where the value is common knowledge, a count, a
secret or a name that the agent may choose."""

_TEXT = frozenset(
    "query q queries text content contents message body note notes comment comments title "
    "description summary reason reasons subject prompt thought thoughts question answer command "
    "cmd commands sql expression expr script input instruction instructions details detail search "
    "keyword keywords pattern regex filter filters label labels tag tags version model format "
    "type types mode status encoding unit size date dates time timestamp dob year month day "
    "language lang code value values name names data payload json html markdown css caption "
    "explanation rationale objective goal plan term terms topic address street city state country "
    "cwd timezone tz locale schedule cron range interval duration".split()
)
_EMAIL = frozenset({"email", "emails", "mail"})
_URL = frozenset({"url", "urls", "uri", "link", "href"})
_PATH = frozenset({"path", "paths", "file", "files", "filename", "filepath", "directory", "dir"})
_PHONE = frozenset({"phone", "telephone", "mobile"})

_CREATES = frozenset(
    "create new add register make insert generate open start init initialize define declare put "
    "save store write set upsert begin draft build provision allocate".split()
)


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument, by its name.

    Attributes:
        name: The name.
        kind: What its values are.
        nouns: What the value names, as far as the name says it: `order` for `order_ids`.
    """

    name: str
    kind: SlotKind
    nouns: tuple[str, ...] = ()


@lru_cache(maxsize=2_048)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in snake, kebab or camel case, lower case and singular."""
    return tuple(singular(word.lower()) for word in NAME_WORDS.findall(name[:200]))


@lru_cache(maxsize=4_096)
def singular(word: str) -> str:
    """A word without the `s` of its plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=2_048)
def slot_of(name: str) -> Slot:
    """What an argument is, as far as its name says it."""
    raw = tuple(word.lower() for word in NAME_WORDS.findall(name[:200]))
    if not raw:
        return Slot(name, "other")
    last, before = raw[-1], tuple(singular(word) for word in raw[:-1])
    nouns = tuple(word for word in before if word not in _ID and not word.isdigit())
    if last in _ID or (last.endswith("id") and name.lower().endswith(("_id", "-id"))):
        return Slot(name, "id", nouns)
    if last in _EMAIL or "email" in raw:
        return Slot(name, "email")
    if not _PHONE.isdisjoint(raw):
        return Slot(name, "phone")
    if last in _NUMBERED and nouns and _PUBLIC.isdisjoint(raw):
        return Slot(name, "number", nouns)
    if last in _URL:
        return Slot(name, "url")
    if last in _PATH:
        return Slot(name, "path")
    if not _TEXT.isdisjoint(raw) or not _PUBLIC.isdisjoint(raw):
        return Slot(name, "text")
    return Slot(name, "other", tuple(singular(word) for word in raw))


def nouns_of(slot: Slot, tool: str) -> tuple[str, ...]:
    """What a slot names; where its name does not say it, what the tool's name is about."""
    return slot.nouns or things_of(tool)


@lru_cache(maxsize=1_024)
def things_of(tool: str) -> tuple[str, ...]:
    """The nouns of a tool's name: its words without verbs and small words."""
    kept = tuple(word for word in words_of(tool) if word not in _NO_THING)
    return kept or words_of(tool)[-1:]


_NO_THING = frozenset(
    "get list search find read fetch query lookup look check view show describe browse retrieve "
    "create update delete remove set add send cancel book modify write edit insert put post "
    "patch move rename copy submit apply approve reject pay return exchange transfer enable "
    "disable start stop reset assign make close open grant revoke change new by of for the a an "
    "to in on from with all id ids detail details info information data one my".split()
)


@lru_cache(maxsize=2_048)
def chosen_by_agent(tool: str, name: str) -> bool:
    """Whether a call makes something new and the argument names it: the agent may choose it."""
    made = words_of(tool)
    if not made or _CREATES.isdisjoint(made):
        return False
    slot = slot_of(name)
    return not slot.nouns or slot.nouns[-1] in made


_PLAIN = re.compile(r"[A-Za-z_][\w.-]{0,63}\Z")


def plain_name(name: str) -> bool:
    """Whether a field's name may be stored and shown: a tool may call its fields anything."""
    return _PLAIN.match(name) is not None


def identifies(name: str) -> bool:
    """Whether an argument or field, by its name, identifies something: an id or a number."""
    return slot_of(name).kind in ("id", "number")


class Leaf(NamedTuple):
    """One value of a call; a named tuple, because it is made for every argument of every step.

    Attributes:
        name: The name it stands under; items of a list stand under the name of the list.
        value: The value.
        schema: Its schema, where one is known.
        top: The argument that holds it.
    """

    name: str
    value: Any
    schema: Mapping[str, Any]
    top: str


def leaves_of(args: Mapping[str, Any], spec: ToolSpec | None) -> Iterator[Leaf]:
    """The texts and numbers in the arguments of a call, at most `LEAVES`, with their schemas."""
    parameters: Mapping[str, Any] = spec.parameters if spec is not None else {}
    shown = spec.arguments if spec is not None and parameters else {}
    left = LEAVES
    for name, value in args.items():
        kind = type(value)
        if kind is str or kind is int or kind is float:
            yield Leaf(name, value, shown.get(name) or {}, name)
            left -= 1
        elif kind is not bool and value is not None:
            place = Leaf(name, value, _mapping(shown.get(name)), name)
            for leaf in islice(_inside(place, parameters, _DEPTH), left):
                yield leaf
                left -= 1
        if left <= 0:
            return


def _inside(place: Leaf, root: Mapping[str, Any], depth: int) -> Iterator[Leaf]:
    value = place.value
    if isinstance(value, str | int | float):
        if not isinstance(value, bool):
            yield place
    elif depth and isinstance(value, Mapping):
        inner = _part(place.schema, "properties", root)
        for key, one in value.items():
            below = Leaf(str(key), one, _mapping(inner.get(key)), place.top)
            yield from _inside(below, root, depth - 1)
    elif depth and isinstance(value, list | tuple):
        inner = _part(place.schema, "items", root)
        for one in value:
            yield from _inside(Leaf(place.name, one, inner, place.top), root, depth - 1)


def options_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema and what it may also be: references inside `root`, and the branches of unions."""
    yield schema
    referred = _referred(schema, root)
    if referred:
        yield referred
    for union in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(union)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, Mapping):
                yield _referred(branch, root) or branch


def _part(schema: Mapping[str, Any], key: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    for option in options_of(schema, root):
        found = option.get(key)
        if isinstance(found, Mapping):
            return found
    return {}


def _referred(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    found: Any = root
    for part in reference[2:].split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return _mapping(found)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
