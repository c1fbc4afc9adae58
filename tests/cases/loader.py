"""A file of cases: one JSON object a line."""

from __future__ import annotations

import ast
import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).with_name("cases.jsonl")

_KEYS = frozenset({"id", "area", "input", "expected"})


class CaseError(Exception):
    """A case says something that the harness can't read; the message says what."""


@dataclass(frozen=True, slots=True, repr=False)
class Case:
    """One case.

    Attributes:
        id: Its name.
        area: What part of the product it is about.
        symptom: What went wrong in public.
        input: What happens.
        expected: What has to come of it.
        file: Where it stands.
    """

    id: str
    area: str
    symptom: str
    input: Mapping[str, Any]
    expected: Mapping[str, Any]
    file: Path = SHIPPED

    def __repr__(self) -> str:
        return f"Case({self.id!r})"

    @property
    def kind(self) -> str:
        """The name of the harness."""
        return str(self.input.get("kind", ""))

    def sentences(self) -> tuple[str, ...]:
        """What stands under `must` and `must_not`, each with its side."""
        return tuple(
            f"{side}: {sentence}"
            for side in ("must", "must_not")
            for sentence in listed(self.expected.get(side))
        )


def load(path: Path = SHIPPED) -> tuple[Case, ...]:
    """The cases of a file.

    Raises:
        CaseError: A line is no case, or two have one id.
    """
    cases: dict[str, Case] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            raise CaseError(f"{path.name}, line {number}: {error}") from error
        missing = sorted(_KEYS - set(data)) if isinstance(data, dict) else sorted(_KEYS)
        if missing:
            raise CaseError(f"{path.name}, line {number}: {', '.join(missing)} is missing")
        if data["id"] in cases:
            raise CaseError(f"{path.name}, line {number}: {data['id']} stands there twice")
        cases[data["id"]] = Case(
            data["id"],
            data["area"],
            data.get("symptom", ""),
            literals(data["input"]),
            literals(data["expected"]),
            path,
        )
    return tuple(cases.values())


def listed(value: Any) -> list[Any]:
    """The value as a list; None is the empty one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def literals(value: Any) -> Any:
    """The value with every `{"$py": …}` replaced by what it says.

    Raises:
        CaseError: It is neither a literal nor a date, a time or a timedelta.
    """
    if isinstance(value, Mapping):
        if set(value) == {"$py"}:
            return literal(str(value["$py"]))
        return {key: literals(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [literals(inner) for inner in value]
    return value


_TIMES = {
    "datetime.datetime": datetime.datetime,
    "datetime.date": datetime.date,
    "datetime.time": datetime.time,
    "datetime.timedelta": datetime.timedelta,
}
_NUMBERS = {"float": float, "bytes": bytes, "set": set, "frozenset": frozenset, "tuple": tuple}


def literal(text: str) -> Any:
    """A Python literal, in which times may be constructed and `'x' * 100` repeated.

    Raises:
        CaseError: It holds anything else.
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError) as error:
        raise CaseError(f"not a literal: {text[:80]!r} ({error})") from error


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            name = ast.unparse(func)
            made = _TIMES.get(name) or _NUMBERS.get(name)
            if made is None:
                raise ValueError(f"{name} may not be called")
            return made(*map(_value, args), **{str(k.arg): _value(k.value) for k in keywords})
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            value, count = _value(left), _value(right)
            if not isinstance(count, int) or count > 20_000_000:
                raise ValueError("a repetition needs a count")
            return value * count
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _value(left), _value(right)
            if abs(power) > 4096:
                raise ValueError("the power is too large")
            return base**power
        case ast.Dict(keys=keys, values=values):
            return {
                _value(k): _value(v) for k, v in zip(keys, values, strict=True) if k is not None
            }
        case ast.List(elts=elts):
            return [_value(one) for one in elts]
        case ast.Tuple(elts=elts):
            return tuple(_value(one) for one in elts)
        case ast.Set(elts=elts):
            return {_value(one) for one in elts}
        case ast.Attribute() if ast.unparse(node) == "datetime.timezone.utc":
            return datetime.UTC
        case _:
            return ast.literal_eval(node)


def walk(value: Any) -> Iterator[Any]:
    """The value and everything in it."""
    yield value
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from walk(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from walk(inner)
