"""LangChain tools become a catalog that judges arguments as the tools themselves would."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal

import pytest
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, tool
from langgraph.prebuilt import InjectedState, ToolNode
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.v1 import BaseModel as BaseModelV1

from sentry_langgraph.config.models import ToolOptions
from sentry_langgraph.graph.tools import catalog_of, name_of, spec_of
from sentry_langgraph.records import Violation, accept_any
from sentry_langgraph.taxonomy import Label

PLAIN = ToolOptions()


@tool
def search(query: str, limit: int = 5) -> str:
    """Search the orders."""
    return query * limit


class Kid(BaseModel):
    """A part."""

    v: int


def known(value: str) -> str:
    """A validator that quotes what it was given."""
    raise ValueError(f"no customer {value}")


class Form(BaseModel):
    """Arguments of many kinds."""

    model_config = ConfigDict(extra="forbid")

    when: Literal["now", "later"] = "now"
    kids: list[Kid] = Field(default_factory=list)
    amount: Annotated[float, Field(gt=0)] = 1.0
    maybe: int | None = None
    customer: Annotated[str, AfterValidator(known)] | None = None
    other_name: str = Field("", alias="otherName")


@tool(args_schema=Form)
def fill(**values: Any) -> str:
    """Fill the form."""
    return str(values)


@tool
def secretive(
    query: str,
    state: Annotated[dict[str, Any], InjectedState],
    user: Annotated[str, InjectedToolArg],
) -> str:
    """A tool with arguments that the framework fills in."""
    return query


class FormV1(BaseModelV1):
    """An old schema."""

    count: int


def old(count: int) -> str:
    """A tool with an old schema."""
    return str(count)


OLD = StructuredTool.from_function(old, args_schema=FormV1)
SCHEMA = {
    "title": "Remote",
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
}
REMOTE = StructuredTool(name="remote", description="From a server.", args_schema=SCHEMA, func=old)


def violations(made: Any, **args: Any) -> list[Violation]:
    """What is wrong with the arguments of a tool."""
    return list(spec_of(name_of(made), made, PLAIN).check(args))


@pytest.mark.parametrize(
    ("made", "args", "expected"),
    [
        (search, {"query": "x"}, []),
        (search, {"query": "x", "limit": "7"}, []),
        (search, {"query": "x", "limit": "seven"}, [("limit", "type", "string")]),
        (search, {"query": None}, [("query", "type", "null")]),
        (search, {}, [("query", "missing", "")]),
        (search, {"text": "x"}, [("query", "missing", ""), ("text", "unexpected", "")]),
        (search, {"query": "x", "more": 1}, []),
        (fill, {}, []),
        (fill, {"when": "soon"}, [("when", "value", "string")]),
        (fill, {"kids": [{"v": 1}, {"v": "x"}]}, [("kids[1].v", "type", "string")]),
        (fill, {"kids": [{}]}, [("kids[0].v", "missing", "")]),
        (fill, {"amount": -1}, [("amount", "value", "integer")]),
        (fill, {"extra": 1}, [("extra", "unexpected", "")]),
        (fill, {"maybe": None}, []),
        (fill, {"otherName": "x"}, []),
        (secretive, {"query": "x"}, []),
        (secretive, {}, [("query", "missing", "")]),
        (OLD, {"count": 1}, []),
        (OLD, {"count": "x"}, [("count", "type", "string")]),
        (OLD, {}, [("count", "missing", "")]),
        (REMOTE, {"id": "x"}, []),
        (REMOTE, {"id": 1}, [("id", "type", "integer")]),
        (REMOTE, {"line": "x"}, [("id", "missing", ""), ("line", "unexpected", "")]),
    ],
)
def test_arguments_are_judged_as_the_tool_would(
    made: BaseTool, args: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    """Field, problem and kind; what the framework injects is not the model's to give."""
    found = violations(made, **args)
    assert [(one.path, one.problem, one.found) for one in found] == expected


def test_words_of_a_validator_are_kept_apart() -> None:
    """They may quote the input: the model reads them, the ledger does not hold them."""
    (violation,) = violations(fill, customer="ana@mail.example")
    assert "ana@mail.example" not in violation.expected + violation.path + violation.found
    assert "ana@mail.example" in violation.note


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (search, "search"),
        (len, "len"),
        ("anything", "anything"),
        ({"type": "function", "function": {"name": "f", "parameters": {}}}, "f"),
        ({"name": "g", "input_schema": {}}, "g"),
        ({"title": "H", "type": "object"}, "H"),
        ({"type": "web_search"}, "web_search"),
        (Form, "Form"),
        ({}, "?"),
    ],
)
def test_the_name_of_a_tool_in_any_form(made: Any, name: str) -> None:
    """Objects, functions, classes, schemas and names."""
    assert name_of(made) == name


@pytest.mark.parametrize("made", [search, fill, secretive, OLD, REMOTE])
def test_what_the_model_was_shown(made: BaseTool) -> None:
    """Parameters without what is injected, and the description."""
    spec = spec_of(made.name, made, PLAIN)
    assert spec.description
    assert spec.arguments
    assert not {"state", "user"} & set(spec.arguments)


@pytest.mark.parametrize(
    ("name", "metadata", "options", "expected"),
    [
        ("get_order", None, {}, True),
        ("cancel_order", None, {}, False),
        ("weather", None, {}, None),
        ("get_order", {"readOnlyHint": False}, {}, False),
        ("cancel_order", {"readOnlyHint": True}, {}, True),
        ("weather", {"destructiveHint": True}, {}, False),
        ("weather", {"annotations": {"readOnlyHint": True}}, {}, True),
        ("get_order", {"readOnlyHint": True}, {"read_only": False}, False),
        ("cancel_order", {"annotations": None}, {}, False),
        ("get_order", {"readOnlyHint": "yes"}, {}, True),
    ],
)
def test_whether_a_tool_reads_or_changes(
    name: str, metadata: Any, options: dict[str, Any], expected: bool | None
) -> None:
    """The user's word, then the server's hints, then the name."""
    made = StructuredTool.from_function(old, name=name, metadata=metadata)
    assert spec_of(name, made, ToolOptions(**options)).read_only is expected


def test_what_the_user_says_of_a_tool() -> None:
    """It stands on the spec."""
    options = ToolOptions(
        polling=True, exempt=(Label.REPETITION_OR_LOOPING,), ignore_args=("page",)
    )
    spec = spec_of("search", search, options)
    assert spec.polling
    assert spec.exempt == {Label.REPETITION_OR_LOOPING}
    assert spec.ignore_args == {"page"}


class Unreadable:
    """A tool whose schema raises."""

    name = "unreadable"

    @property
    def args_schema(self) -> Any:
        """It can't be read."""
        raise RuntimeError("no")

    __call__ = None


def test_a_schema_that_can_not_be_read_checks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The tool decides, and the log says so."""
    with caplog.at_level(logging.WARNING, "sentry_langgraph"):
        spec = spec_of("unreadable", Unreadable(), PLAIN)
    assert spec.check is accept_any
    assert "unreadable" in caplog.text


def test_the_catalog_of_tool_nodes() -> None:
    """Their tools, further ones, and names that are served elsewhere."""
    catalog = catalog_of(
        [ToolNode([search])],
        [fill, "provider_tool", search],
        {"served_by_middleware": ToolOptions(polling=True)},
        declared=["final_answer", "search"],
    )
    assert set(catalog.tools) == {"search", "fill"}
    assert catalog.declared == {"provider_tool", "served_by_middleware", "final_answer"}
    assert catalog.complete


@pytest.mark.parametrize(("extra", "complete"), [([], False), ([search], True)])
def test_a_plain_function_as_tool_node_serves_unknown_tools(
    extra: list[Any], complete: bool
) -> None:
    """No name is unknown, unless the user says which tools there are."""
    assert catalog_of([lambda state: state], extra, {}).complete is complete
