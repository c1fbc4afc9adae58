"""Tools, scripts and ways to run a graph that the tests of this directory share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from sentry_langgraph.testing import (
    STRICT,
    ScriptedChatModel,
    ai,
    call,
    check_history,
    invalid_call,
    no_trailing_assistant,
)

if TYPE_CHECKING:
    from .kinds import Kind

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

QUIET: Mapping[str, Any] = {"playbook": {"kind": "none"}}
"""A configuration without lessons: the playbook is not the subject here."""

REQUEST = "Weather in Oslo?"

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "1"}, "recursion_limit": 60}


@dataclass
class Toolbox:
    """The tools, and what ran since this box was made. One box is in use at a time."""

    ran: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        _current[:] = [self]

    def names(self) -> list[str]:
        """Names of the tools that ran, sorted: the calls of one batch run side by side."""
        return sorted(name for name, _ in self.ran)

    def tools(self) -> list[BaseTool]:
        """The tools, as objects. They are made once, since making them is slow."""
        return list(TOOLS)


_current: list[Toolbox] = []


def _ran(name: str, what: str) -> None:
    _current[0].ran.append((name, what))


@tool
def forecast(city: str, days: int = 1) -> str:
    """Give the forecast of a city."""
    _ran("forecast", city)
    return f"mild in {city}"


@tool
def read_page(name: str) -> str:
    """Read a page."""
    _ran("read_page", name)
    return f"the page {name}"


@tool
def ask_user(question: str) -> str:
    """Ask the user."""
    answer = interrupt(question)
    _ran("ask_user", question)
    return f"the user says {answer}"


@tool
def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write a note down."""
    _ran("note", text)
    answer = ToolMessage(f"noted {text}", tool_call_id=tool_call_id, name="note")
    return Command(update={"messages": [answer]})


TOOLS: tuple[BaseTool, ...] = (forecast, read_page, ask_user, note)


def script(name: str) -> list[AIMessage]:
    """What the model says, by the name of the run."""
    return [message.model_copy(deep=True) for message in SCRIPTS[name]]


def _look(step: int, city: str = "Oslo", **more: Any) -> AIMessage:
    return ai("", call("forecast", {"city": city, **more}, id=f"c{step}"), id=f"m{step}")


_DONE = ai("It is mild in Oslo.", id="m99")

SCRIPTS: dict[str, list[AIMessage]] = {
    "single": [_look(1), _look(2, "Bergen"), _DONE],
    "parallel": [
        _look(1),
        ai(
            "Two more.",
            call("forecast", {"city": "Bergen"}, id="c2"),
            call("read_page", {"name": "sea"}, id="c3"),
            id="m2",
        ),
        _DONE,
    ],
    "hard": [
        ai("", call("forcast", {"city": "Oslo"}, id="c1"), id="m1"),
        _look(2, days="many"),
        ai("", invalid_call("forecast", '{"city": Oslo', id="c3"), id="m3"),
        _look(4),
        _DONE,
    ],
    "mixed": [
        ai(
            "",
            call("read_page", {"name": "sea"}, id="c1"),
            call("forecast", {"town": "Oslo"}, id="c2"),
            id="m1",
        ),
        _look(3),
        _DONE,
    ],
    "finish": [
        _look(1),
        ai("I will now check the sea page.", id="m2"),
        _look(3, "Bergen"),
        ai("", id="m4"),
        _DONE,
    ],
    "advised": [_look(1), _look(2), _look(3), _look(4, "Bergen"), _DONE],
    "loop": [_look(step) for step in range(1, 13)],
    "asks": [
        _look(1),
        _look(2),
        ai(
            "",
            call("forecast", {"city": "Oslo"}, id="c3"),
            call("ask_user", {"question": "Which day?"}, id="c4"),
            id="m3",
        ),
        _DONE,
    ],
    "asks_mixed": [
        ai(
            "",
            call("forcast", {"city": "Oslo"}, id="c1"),
            call("ask_user", {"question": "Which day?"}, id="c2"),
            id="m1",
        ),
        _look(3),
        _DONE,
    ],
    "asks_healthy": [
        ai("", call("ask_user", {"question": "Which day?"}, id="c1"), id="m1"),
        _look(2),
        _DONE,
    ],
    "notes": [ai("", call("note", {"text": "rain"}, id="c1"), id="m1"), _look(2), _DONE],
}


def model_for(name: str, **options: Any) -> ScriptedChatModel:
    """A scripted model that refuses what a strict provider refuses."""
    return ScriptedChatModel(script=script(name), rules=STRICT, **options)


def request(key: str = "messages", text: str = REQUEST, id: str = "h1") -> dict[str, Any]:
    """The input of a run."""
    return {key: [HumanMessage(text, id=id)]}


@dataclass(frozen=True)
class Drive:
    """Runs a graph, sync or async, by the same calls."""

    way: Literal["sync", "async"]

    async def invoke(self, graph: Graph, given: Any, config: Any = CONFIG, **options: Any) -> Any:
        """`invoke` or `ainvoke`."""
        if self.way == "sync":
            return graph.invoke(given, config, **options)
        return await graph.ainvoke(given, config, **options)

    async def stream(
        self, graph: Graph, given: Any, config: Any = CONFIG, **options: Any
    ) -> list[Any]:
        """`stream` or `astream`, as a list."""
        if self.way == "sync":
            return list(graph.stream(given, config, **options))
        return [chunk async for chunk in graph.astream(given, config, **options)]

    async def state(self, graph: Graph, config: Any = CONFIG) -> Any:
        """`get_state` or `aget_state`."""
        return graph.get_state(config) if self.way == "sync" else await graph.aget_state(config)

    async def history(self, graph: Graph, config: Any = CONFIG) -> list[Any]:
        """`get_state_history` or its async twin, as a list."""
        if self.way == "sync":
            return list(graph.get_state_history(config))
        return [state async for state in graph.aget_state_history(config)]


def events_of(graph: Graph, saver: Any, thread: str = "1") -> list[dict[str, Any]]:
    """The ledger of a thread: in the graph's state, or in that of the agent inside of it."""
    values = graph.get_state({"configurable": {"thread_id": thread}}).values
    if "sentry" in values:
        return list(values["sentry"])
    events: list[dict[str, Any]] = []
    for namespace in saver.storage[thread]:
        config = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        newest = next(iter(saver.list(config, limit=1)))
        events += newest.checkpoint["channel_values"].get("sentry", [])
    return events


def kinds_of(events: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The events of one kind."""
    return [event for event in events if event["kind"] == kind]


def faults_of(messages: Sequence[AnyMessage]) -> list[str]:
    """What a strict provider would refuse in a finished history."""
    return check_history(messages, [rule for rule in STRICT if rule is not no_trailing_assistant])


def is_guide(message: AnyMessage) -> bool:
    """Whether it is a human message of Sentry."""
    return isinstance(message, HumanMessage) and message.name == "sentry"


_UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


def plain(value: Any) -> str:
    """A value as text, without what differs from run to run and without the empty ledger."""
    text = _TIMES.sub("<time>", _UNIQUE.sub("<id>", repr(value)))
    return text.replace(", 'sentry': []", "")


def outcome(messages: Sequence[AnyMessage]) -> list[tuple[str, str, str]]:
    """Type, content and status of each message."""
    return [(m.type, str(m.content), getattr(m, "status", "")) for m in messages]


def made(
    kind: Kind, run: str, *, bare: bool = False, **options: Any
) -> tuple[Graph, ScriptedChatModel, Toolbox]:
    """A graph with a scripted model and a fresh toolbox."""
    box, model = Toolbox(), model_for(run)
    build = kind.bare if bare else kind.wrapped
    return build(model, box.tools(), **options), model, box
