"""PyYAML's parser with bounds, and with other rules for plain scalars."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import yaml
from yaml.composer import ComposerError
from yaml.events import AliasEvent
from yaml.nodes import Node

MAX_BYTES = 1_000_000
"""Largest file that is read."""

MAX_DEPTH = 40
"""Deepest nesting."""

MAX_VALUES = 20_000
"""Most keys and values, counted before and after aliases are expanded."""

CORE = "tag:yaml.org,2002:"
"""What the tags of YAML's own types begin with."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A type of plain scalars.

    Attributes:
        pattern: What such a scalar looks like.
        first: The characters that it starts with; an empty one stands for an empty scalar.
        convert: The value of one.
    """

    pattern: re.Pattern[str]
    first: str
    convert: Callable[[str], bool | int | float | None]


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


PLAIN = {
    "bool": Plain(
        re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"),
        "tTfF",
        lambda text: text.lower() == "true",
    ),
    "int": Plain(re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z"), "-+0123456789", int),
    "float": Plain(
        re.compile(
            r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)\Z"
            r"|[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z"
            r"|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
        ),
        "-+.0123456789",
        _float,
    ),
    "null": Plain(re.compile(r"(?:~|null|Null|NULL|)\Z"), "~nN", lambda text: None),
}
"""The types of plain scalars; what fits none of them is text."""


class Loader(yaml.SafeLoader):
    """Parser and composer. The nodes that an alias refers to are kept in `aliased`."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.aliased: list[Node] = []
        self._depth = 0
        self._count = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Compose a node, within the bounds of depth and number."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self._count += 1
        if self._count > MAX_VALUES:
            raise ComposerError(None, None, f"more than {MAX_VALUES:,} values", event.start_mark)
        if self._depth == MAX_DEPTH:
            raise ComposerError(
                None, None, f"nested deeper than {MAX_DEPTH} levels", event.start_mark
            )
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, AliasEvent) and node is not None:
            self.aliased.append(node)
        return node


for _kind, _plain in PLAIN.items():
    _first = [*_plain.first, ""] if _plain.pattern.match("") else list(_plain.first)
    Loader.add_implicit_resolver(f"{CORE}{_kind}", _plain.pattern, _first)
Loader.add_implicit_resolver(f"{CORE}merge", re.compile(r"<<\Z"), ["<"])
