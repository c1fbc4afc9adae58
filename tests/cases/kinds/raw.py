"""`raw_args_matrix`: texts of arguments, as the parsers of langchain-core deliver them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import default_tool_parser, invalid_tool_call
from langchain_core.output_parsers.openai_tools import parse_tool_call

from cases.agents import react
from cases.assume import settings
from cases.drive import Scenario, run
from cases.kinds.gate import CALL, GIVES_UP
from cases.loader import Case, CaseError
from cases.plans import Run
from cases.rules import ALWAYS
from sentry_langgraph.testing import ai, call, if_guided, parsable_arguments

AGAIN = "the-call-again"


def runs(case: Case) -> Iterator[Run]:
    """`raw/parsed` and `raw/unparsed` for every text that a parser delivers."""
    spec = case.input["tool"]
    for name, raw in case.input["raw"].items():
        wanted = _args(case.expected.get(name))
        for way, message in delivered(case.input.get("delivered_as"), spec["name"], raw).items():
            yield _one(f"{name}/{way}", spec, message, wanted)
    for name, words in case.input.get("also", {}).items():
        yield _one(name, spec, _bypass(spec["name"], words), None)
    contrast = case.expected.get("contrast")
    if contrast is not None:
        other = _signature(contrast["tool"])
        for name, raw in case.input["raw"].items():
            for way, message in delivered(None, other["name"], raw).items():
                yield _one(f"contrast/{name}/{way}", other, message, None)


def delivered(words: Any, tool: str, raw: str) -> dict[str, AIMessage]:
    """The messages in which a raw text arrives, by the parser that reads it.

    Args:
        words: What the case says of the way; `invalid_tool_calls` alone means that one.
        tool: The tool.
        raw: The text.
    """
    if isinstance(words, str) and "invalid_tool_calls" in words:
        return {"unparsed": _invalid(tool, raw)}
    return {"parsed": _lenient(tool, raw), "unparsed": _strict(tool, raw)}


def _lenient(tool: str, raw: str) -> AIMessage:
    """As `langchain-openai` reads it: control characters may stand in strings."""
    request = {"id": CALL, "function": {"name": tool, "arguments": raw}}
    try:
        parsed = parse_tool_call(request, return_id=True)
    except OutputParserException:
        return _invalid(tool, raw)
    assert parsed is not None
    return _message(tool, parsed["args"])


def _strict(tool: str, raw: str) -> AIMessage:
    """As `AIMessage` reads `additional_kwargs`."""
    good, bad = default_tool_parser([{"id": CALL, "function": {"name": tool, "arguments": raw}}])
    return _invalid(tool, raw) if bad else _message(tool, good[0]["args"])


def _message(tool: str, args: Any) -> AIMessage:
    made = ai("", call(tool, {}, id=CALL))
    made.tool_calls[0]["args"] = args
    return made


def _invalid(tool: str, raw: str) -> AIMessage:
    return AIMessage(
        "",
        invalid_tool_calls=[invalid_tool_call(name=tool, args=raw, id=CALL, error="not JSON")],
    )


def _bypass(tool: str, words: str) -> AIMessage:
    found = re.search(r"\['args'\] = (['\"])(.*)\1", words)
    if found is None:
        raise CaseError(f"no rule reads {words!r}; see cases/kinds/raw.py")
    return _message(tool, found[2])


def _one(name: str, spec: Mapping[str, Any], message: AIMessage, wanted: Any) -> Run:
    """The call arrives; where it is refused, the model makes it well if that is possible."""
    again: Any = GIVES_UP if wanted is None else ai("", call(spec["name"], wanted, id=AGAIN))
    return Run(
        name,
        lambda mode: run(
            Scenario(
                name,
                react([spec]),
                [message, if_guided(again, "Done."), "Done."],
                [{"messages": [("user", "Do it.")]}],
                settings(),
                (*ALWAYS, parsable_arguments),
            ),
            mode,
        ),
        calls=(CALL,),
    )


def _args(form: Any) -> Any:
    """The arguments that a call should have in the end."""
    if not isinstance(form, Mapping):
        return None
    if "args" in form:
        return form["args"]
    return next((found for one in form.values() if (found := _args(one)) is not None), None)


def _signature(words: str) -> dict[str, Any]:
    found = re.fullmatch(r"(\w+)\(([\w, ]*)\)", words.strip())
    if found is None:
        raise CaseError(f"{words!r} is no signature of a tool")
    names = [one.strip() for one in found[2].split(",") if one.strip()]
    return json.loads(
        json.dumps(
            {
                "name": found[1],
                "schema_kind": "pydantic",
                "parameters": {
                    "type": "object",
                    "properties": {one: {"type": "string"} for one in names},
                    "required": names,
                },
                "returns": "ok",
            }
        )
    )
