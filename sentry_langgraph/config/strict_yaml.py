"""YAML without its traps.

Plain `true` and `false` are booleans; `on`, `off`, `yes`, `no` stay text. Numbers are decimal:
`010`, `0x10`, `12:30` and `1_000` stay text, and dates do too. A key that stands twice is an
error. Merge keys and aliases work and give each place its own copy. One document, one mapping,
no tags beyond YAML's own; size, depth and expansion are bounded.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from sentry_langgraph.config.locate import Path, dotted
from sentry_langgraph.config.yaml_loader import (
    CORE,
    MAX_BYTES,
    MAX_VALUES,
    PLAIN,
    Loader,
)
from sentry_langgraph.errors import ConfigError

_MERGE = f"{CORE}merge"
_SURROGATE = re.compile("[\ud800-\udfff]")
_PARTS = {"MappingNode": "a mapping", "SequenceNode": "a list"}


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds.

    Attributes:
        data: The mapping at its root; every part of it is a fresh object.
        lines: Where each key and list entry stands.
        shared: Keys at the root whose value an alias refers to: templates, if not settings.
        problems: What is wrong without being unreadable, such as a key that stands twice.
    """

    data: dict[str, Any]
    lines: Mapping[Path, int]
    shared: frozenset[str] = frozenset()
    problems: tuple[ConfigError, ...] = ()


def read_yaml(source: str | bytes, file: str | None = None) -> Document:
    """Parse one YAML document.

    Args:
        source: Text, or bytes in UTF-8 or in UTF-16 with a byte order mark.
        file: The name that errors give.

    Raises:
        ConfigError: It can't be read as one mapping; `line` says where.
    """
    text = _decoded(source, file)
    loader: Loader | None = None
    try:
        loader = Loader(text)
        root = loader.get_single_node()
        return _Conversion(file, loader.aliased).document(root)
    except yaml.YAMLError as error:
        raise _syntax(error, text, file) from error
    except (ValueError, OverflowError, IndexError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        # the parser's own slips, such as an escape beyond Unicode
        line = loader.get_mark().line + 1 if loader is not None else None
        raise ConfigError("this can't be read as YAML", file=file, line=line) from error


def _decoded(source: str | bytes, file: str | None) -> str:
    if len(source) > MAX_BYTES:
        raise ConfigError(f"the file is larger than {MAX_BYTES:,} bytes", file=file)
    if isinstance(source, str):
        return source.removeprefix("\ufeff")
    utf16 = source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if utf16 else "utf-8-sig"
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise ConfigError(
            f"byte {error.start} is not {encoding.removesuffix('-sig').upper()}",
            file=file,
            line=line,
            hint="save the file as UTF-8",
        ) from error


@dataclass(slots=True)
class _Conversion:
    """One walk over the composed nodes; aliases are expanded, within the bound."""

    file: str | None
    aliased: list[Node]
    lines: dict[Path, int] = field(default_factory=dict)
    problems: dict[tuple[int, str], ConfigError] = field(default_factory=dict)
    open: list[Node] = field(default_factory=list)
    spent: int = 0

    def document(self, root: Node | None) -> Document:
        if root is None or (isinstance(root, ScalarNode) and root.tag == f"{CORE}null"):
            return Document({}, {})
        if not isinstance(root, MappingNode):
            found = _PARTS.get(type(root).__name__, "one value")
            raise ConfigError(
                f"the file must hold a mapping of keys, got {found}",
                file=self.file,
                line=_line(root),
                hint="start with a line such as `mode: active`",
            )
        pairs = self._pairs(root, ())
        data = self._values(pairs, ())
        shared = {name for name, (_, value) in pairs.items() if value in self.aliased}
        return Document(data, self.lines, frozenset(shared), tuple(self.problems.values()))

    def _value(self, node: Node, path: Path) -> Any:
        self._enter(node, path)
        try:
            if isinstance(node, MappingNode) and node.tag == f"{CORE}map":
                return self._values(self._pairs(node, path), path)
            if isinstance(node, SequenceNode) and node.tag == f"{CORE}seq":
                return [self._item(item, (*path, i)) for i, item in enumerate(node.value)]
            if isinstance(node, ScalarNode):
                return self._scalar(node, path)
            return self._problem(node, path, f"the tag {_tag(node)} is not allowed here")
        finally:
            self.open.pop()

    def _item(self, node: Node, path: Path) -> Any:
        self.lines[path] = _line(node)
        return self._value(node, path)

    def _values(self, pairs: Mapping[str, tuple[Node, Node]], path: Path) -> dict[str, Any]:
        data = {}
        for name, (key, value) in pairs.items():
            self.lines[(*path, name)] = _line(key)
            data[name] = self._value(value, (*path, name))
        return data

    def _pairs(self, node: MappingNode, path: Path) -> dict[str, tuple[Node, Node]]:
        """Key and value of each name; own keys win over merged ones, earlier over later."""
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        merge: Node | None = None
        for key, value in node.value:
            if key.tag == _MERGE:
                if merge is not None:
                    self._twice(merge, key, (*path, "<<"))
                merge = key
                for source in self._sources(value, path):
                    for name, pair in source.items():
                        merged.setdefault(name, pair)
                continue
            text = self._name(key, path)
            if text is None:
                continue
            if text in own:
                self._twice(own[text][0], key, (*path, text))
            else:
                own[text] = (key, value)
        return {**merged, **own}

    def _sources(self, node: Node, path: Path) -> list[dict[str, tuple[Node, Node]]]:
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        found = []
        for one in nodes:
            if not isinstance(one, MappingNode):
                self._problem(one, (*path, "<<"), "`<<` takes a mapping or a list of mappings")
                continue
            self._enter(one, path, len(one.value))
            found.append(self._pairs(one, path))
            self.open.pop()
        return found

    def _name(self, node: Node, path: Path) -> str | None:
        if isinstance(node, ScalarNode) and node.tag == f"{CORE}str":
            return None if self._scalar(node, path) is None else str(node.value)
        if isinstance(node, ScalarNode):
            self._problem(
                node,
                (*path, node.value or "null"),
                "a key must be text",
                value=self._scalar(node, path),
                hint=f'quote it: "{node.value}"' if node.value else "write the key",
            )
        else:
            self._problem(node, path, f"a key must be text, got {_PARTS[type(node).__name__]}")
        return None

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        text, kind = node.value, node.tag.removeprefix(CORE)
        if kind == "merge" or (kind == "str" and not _SURROGATE.search(text)):
            return text
        if kind == "str":
            return self._problem(node, path, "the text holds half a character (a surrogate)")
        if kind not in PLAIN:
            return self._problem(node, path, f"the tag {_tag(node)} is not allowed")
        if PLAIN[kind].pattern.match(text):
            return PLAIN[kind].convert(text)
        return self._problem(node, path, f"the value does not fit its tag {_tag(node)}", value=text)

    def _enter(self, node: Node, path: Path, cost: int = 1) -> None:
        if any(node is one for one in self.open):
            raise self._error(node, path, "an alias refers to what it stands in")
        self.spent += cost
        if self.spent > MAX_VALUES:
            raise self._error(
                node,
                path[:3],
                f"aliases expand to more than {MAX_VALUES:,} values",
                hint="write out what you need",
            )
        self.open.append(node)

    def _twice(self, first: Node, second: Node, path: Path) -> None:
        where = f"lines {_line(first)} and {_line(second)}"
        self._problem(second, path, f"the key stands twice, in {where}", hint="keep one of the two")

    def _problem(self, node: Node, path: Path, message: str, **about: Any) -> None:
        self.problems.setdefault((id(node), message), self._error(node, path, message, **about))

    def _error(self, node: Node, path: Path, message: str, **about: Any) -> ConfigError:
        return ConfigError(
            message, file=self.file, line=_line(node), key=dotted(path) or None, **about
        )


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _tag(node: Node) -> str:
    tag = str(node.tag)
    return ascii(tag.replace(CORE, "!!"))[1:-1][:80]


def _syntax(error: yaml.YAMLError, text: str, file: str | None) -> ConfigError:
    """A parser's complaint in one line, with what to do about it where that is known."""
    if isinstance(error, ReaderError):
        line = text[: error.position].count("\n") + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        return ConfigError(
            f"the character U+{code:04X} is not allowed",
            file=file,
            line=line,
            hint='write it as an escape in double quotes, such as "\\u0007"',
        )
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or "this can't be read as YAML")
    context = getattr(error, "context", None)
    message = f"{problem}, {context}" if context and context not in problem else problem
    hint = None
    if "another document" in problem:
        message, hint = "the file holds several documents", "keep one, without `---` after it"
    elif "'\\t'" in problem:
        hint = "indent with spaces, not with tabs"
    elif "mapping values are not allowed" in problem:
        hint = "quote a text that contains `: `"
    elif "undefined alias" in problem:
        hint = "define it above with `&name`, or quote a text that starts with `*`"
    message = " ".join(message.split())
    return ConfigError(
        message[:300], file=file, line=None if mark is None else mark.line + 1, hint=hint
    )
