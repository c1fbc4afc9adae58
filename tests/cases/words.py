"""What a tool does, from a few words: `behaviour` of a case, read by rules and never run as code.

A behaviour is a list of outcomes by the number of the call, or one outcome for all calls.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphInterrupt, NodeInterrupt
from langgraph.types import Command, Send, interrupt

from cases.loader import CaseError

NEEDS_APPROVAL = re.compile(r"needs (?:an |human )?approval|HITL middleware", re.IGNORECASE)
"""The tool itself is plain; a middleware asks a person before it runs."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a tool sees at one call.

    Attributes:
        args: The arguments.
        call_id: The id of the call, where it is known.
        number: Which call of this tool it is, from 1.
        ids: The ids that tools of this run have given out.
    """

    args: Mapping[str, Any]
    call_id: str | None
    number: int
    ids: Sequence[str] = field(default_factory=list)


Outcome: TypeAlias = Callable[[Situation], Any]
"""Gives the result of a call, or raises."""


class ToolFault(ToolException):
    """An error that the tool answers with; it becomes a ToolMessage of status error."""


def behaviour(text: str) -> Outcome:
    """What the words say.

    Raises:
        CaseError: No rule reads them.
    """
    words = text.strip()
    for rule in (_interrupt, _unless, _successive, _numbered, _single):
        found = rule(words)
        if found is not None:
            return found
    raise CaseError(f"no rule reads the tool behaviour {text!r}; see cases/words.py")


def plain(value: Any) -> Outcome:
    """A tool that returns `value`; `{name}` in its text is the argument of that name."""
    made = _expanded(value)

    def outcome(situation: Situation) -> Any:
        return _filled(made, situation.args)

    return outcome


# Rules


def _interrupt(words: str) -> Outcome | None:
    found = re.fullmatch(r"(?:return )?interrupt\((.*)\)(?:[,;]? (?:and|then) returns?.*)?", words)
    if found is None:
        return None
    inner = found[1].strip() or "''"

    def outcome(situation: Situation) -> Any:
        answer = interrupt(_python(inner, situation))
        return answer if isinstance(answer, str) else str(answer)

    return outcome


def _unless(words: str) -> Outcome | None:
    found = re.fullmatch(
        r"(?:returns? )?error (?P<text>'[^']*'|\"[^\"]*\"|\S+) unless (?P<name>\w+) in "
        r"(?:the )?created ids",
        words,
        re.IGNORECASE,
    )
    if found is None:
        return None

    def outcome(situation: Situation) -> Any:
        if str(situation.args.get(found["name"])) in situation.ids:
            return "ok"
        raise ToolFault(_unquoted(found["text"]))

    return outcome


def _successive(words: str) -> Outcome | None:
    found = re.fullmatch(
        r"(?:returns? )?(?:successive|successively|in order)(?: (?:results|returns|answers))?:?\s*"
        r"(.+)",
        words,
        re.IGNORECASE | re.DOTALL,
    )
    if found is None:
        return None
    results = [_outcome(one) for one in _items(found[1])]
    return _by_number(dict(enumerate(results, 1)), results[-1])


_ORDINAL = r"(\d+)(?:st|nd|rd|th)?(?:\s*(?:-|–|to|and)\s*(\d+)(?:st|nd|rd|th)?)?(?: calls?)?"


def _numbered(words: str) -> Outcome | None:
    """`1st-2nd: error 'x', 3rd: ok` or `returns 'a' for 1st, 'b' for 2nd`."""
    by_number: dict[int, Outcome] = {}
    last: Outcome | None = None
    starts = list(
        re.finditer(
            rf"(?:^|[,;]\s*)(?:on )?(?:{_ORDINAL}|(then|later|after that|afterwards))\s*[:=]\s*",
            words,
        )
    )
    if starts and starts[0].start() == 0:
        for here, following in zip(starts, [*starts[1:], None], strict=True):
            end = following.start() if following is not None else len(words)
            outcome = _outcome(words[here.end() : end])
            if here[3]:
                last = outcome
                continue
            for number in range(int(here[1]), int(here[2] or here[1]) + 1):
                by_number[number] = outcome
                last = outcome
        return _by_number(by_number, last)
    pieces = re.split(
        rf"\s+(?:for|on|at) (?:the )?{_ORDINAL}(?:\s*[,;]\s*(?:and |then )?|\s*$)", words
    )
    if len(pieces) < 4:
        return None
    for start in range(0, len(pieces) - 1, 3):
        outcome = last = _outcome(pieces[start])
        for number in range(
            int(pieces[start + 1]), int(pieces[start + 2] or pieces[start + 1]) + 1
        ):
            by_number[number] = outcome
    rest = pieces[-1].strip()
    return _by_number(by_number, _outcome(rest) if rest else last)


def _single(words: str) -> Outcome | None:
    try:
        return _outcome(words)
    except CaseError:
        return None


def _by_number(by_number: Mapping[int, Outcome], last: Outcome | None) -> Outcome:
    def outcome(situation: Situation) -> Any:
        chosen = by_number.get(situation.number, last)
        assert chosen is not None
        return chosen(situation)

    return outcome


def _outcome(words: str) -> Outcome:
    """One outcome.

    Raises:
        CaseError: No rule reads it.
    """
    words = re.sub(r"^(?:always|then|each call|every call)\s+", "", words.strip(), flags=re.I)
    words = words.rstrip(".") if not words.endswith("...") else words
    fault = re.fullmatch(
        r"(?:returns? )?(?:a )?ToolMessage (?:with )?(?:status )?=?['\"]?error['\"]?"
        r"(?:[:,]\s*|\s+)(.+)",
        words,
        re.DOTALL,
    ) or re.fullmatch(
        r"(?:returns? |answers? )?(?:an? |the )?(?:status )?error:?\s+(.+)", words, re.I | re.DOTALL
    )
    if fault is not None:
        text = _unquoted(fault[1])
        return _raising(lambda _: ToolFault(text))
    raised = re.fullmatch(r"(?:raises?|throws?)\s+(.+)", words, re.DOTALL)
    if raised is not None:
        return _raising(lambda situation: exception(raised[1], situation))
    called = re.fullmatch(r"(?:returns?\s+)?((?:Command|\[|ToolMessage).*)", words, re.DOTALL)
    if called is not None and _parses(called[1]):
        source = called[1]
        return lambda situation: _python(source, situation)
    if re.fullmatch(r"interrupt\(.*\)", words):
        found = _interrupt(words)
        assert found is not None
        return found
    returned = re.fullmatch(r"(?:returns?|results?|answers?)\s*:?\s+(.+)", words, re.DOTALL)
    text = returned[1] if returned is not None else words
    if _quoted(text) or (_parses(text) and _is_literal(text)):
        return plain(ast.literal_eval(text))
    if re.fullmatch(r"ok|success|done|works", text, re.I):
        return plain("ok")
    if returned is not None and re.fullmatch(r"[\w .%:-]+", text):
        return plain(text)
    raise CaseError(f"no rule reads {words!r}")


def _raising(make: Callable[[Situation], BaseException]) -> Outcome:
    def outcome(situation: Situation) -> Any:
        raise make(situation)

    return outcome


# Python in words: a few constructors, names of arguments, and literals


def exception(source: str, situation: Situation | None = None) -> BaseException:
    """An exception, written as its constructor; a class that isn't built in is made.

    Raises:
        CaseError: It is written otherwise.
    """
    source = source.strip()
    if re.fullmatch(r"\w+", source):
        source += "()"
    tree = _tree(source)
    if not isinstance(tree, ast.Call):
        raise CaseError(f"an exception is a name with arguments, not {source!r}")
    here = situation or Situation({}, None, 1)
    name = ast.unparse(tree.func).rpartition(".")[2]
    known = getattr(builtins, name, None)
    args = [_node(one, here) for one in tree.args]
    extra = {str(one.arg): _node(one.value, here) for one in tree.keywords}
    if isinstance(known, type) and issubclass(known, Exception):
        made: BaseException = known(*args)
    elif name in _KNOWN:
        made = _KNOWN[name](*args)
    else:
        made = _own(name)(*args)
    for key, value in extra.items():
        setattr(made, key, value)
    return made


_KNOWN: Mapping[str, type[Exception]] = {
    "ToolException": ToolException,
    "GraphInterrupt": GraphInterrupt,
    "NodeInterrupt": NodeInterrupt,
}
_made: dict[str, type[Exception]] = {}


def _own(name: str) -> type[Exception]:
    if not re.fullmatch(r"[A-Z]\w*", name):
        raise CaseError(f"{name!r} is no name of an exception")
    return _made.setdefault(name, type(name, (Exception,), {"__module__": __name__}))


def _python(source: str, situation: Situation) -> Any:
    return _node(_tree(source), situation)


def _node(node: ast.expr, here: Situation) -> Any:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            made = _CONSTRUCTORS.get(ast.unparse(func))
            if made is None:
                raise CaseError(f"{ast.unparse(func)} may not be called in a behaviour")
            return made(
                *(_node(one, here) for one in args),
                **{str(one.arg): _node(one.value, here) for one in keywords},
            )
        case ast.Attribute() if ast.unparse(node) == "Command.PARENT":
            return Command.PARENT
        case ast.Name(id=name):
            if name in here.args:
                return here.args[name]
            if name in ("id", "tool_call_id", "call_id"):
                return here.call_id
            return name
        case ast.Dict(keys=keys, values=values):
            return {
                _node(key, here): _node(value, here)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.Set(elts=[ast.Constant(value=value)]) if value is ...:
            return {}
        case ast.List(elts=elts):
            return [_node(one, here) for one in elts]
        case ast.Tuple(elts=elts):
            return tuple(_node(one, here) for one in elts)
        case ast.JoinedStr(values=values):
            return "".join(str(_node(one, here)) for one in values)
        case ast.FormattedValue(value=value):
            return _node(value, here)
        case _:
            return ast.literal_eval(node)


_CONSTRUCTORS: Mapping[str, Callable[..., Any]] = {
    "Command": Command,
    "ToolMessage": ToolMessage,
    "Send": Send,
}


def _tree(source: str) -> ast.expr:
    try:
        return ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        raise CaseError(f"can't be read: {source!r}") from error


def _parses(source: str) -> bool:
    try:
        ast.parse(source.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


def _is_literal(source: str) -> bool:
    try:
        ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return False
    return True


# Texts


def _items(text: str) -> list[str]:
    """The quoted texts of a list, or its parts between commas."""
    if _parses(f"[{text}]"):
        tree = _tree(f"[{text}]")
        assert isinstance(tree, ast.List)
        if all(isinstance(one, ast.Constant | ast.Dict | ast.List) for one in tree.elts):
            return [ast.unparse(one) for one in tree.elts]
    return [part for part in re.split(r"\s*[,;]\s*(?:then\s+)?", text) if part]


def _quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0] and _parses(text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return str(ast.literal_eval(text)) if _quoted(text) else text


def _filled(value: Any, args: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        for name, given in args.items():
            value = value.replace("{" + name + "}", str(given))
        return value
    if isinstance(value, list):
        return [_filled(one, args) for one in value]
    if isinstance(value, dict):
        return {key: _filled(one, args) for key, one in value.items()}
    return value


_SIZE = re.compile(r"<(\d+)\s*(kB|MB|KB)[^>]*>")


def _expanded(value: Any) -> Any:
    """Placeholders such as `<200 kB>` filled up."""
    if isinstance(value, str):
        return _SIZE.sub(
            lambda m: "QUJD" * (int(m[1]) * (1_000_000 if m[2] == "MB" else 1_000) // 4), value
        )
    if isinstance(value, list):
        return [_expanded(one) for one in value]
    if isinstance(value, dict):
        return {key: _expanded(one) for key, one in value.items()}
    return value


def ids_in(result: Any) -> Iterable[str]:
    """The ids that a result gives out."""
    if isinstance(result, dict):
        for key, value in result.items():
            if key == "id" or key.endswith("_id"):
                yield str(value)
