"""`graph_load`: what Studio and `langgraph dev` do with an exported graph."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel

from cases.assume import settings
from cases.drive import Graph
from cases.loader import Case, CaseError
from cases.observe import Record
from cases.plans import Run
from cases.tools import Workshop
from sentry_langgraph import with_sentry
from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_builder

NAME = "the agent"
_LOOK = {
    "name": "look",
    "schema_kind": "pydantic",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "returns": "seen",
}


def made(wrap: bool = True) -> Graph:
    """An exported graph, with Sentry or without."""
    model = ScriptedChatModel(
        script=[ai("", call("look", {"n": "x"}, id="c1")), "I could not, sorry."]
    )
    builder = react_builder(model, Workshop().tools([_LOOK]))
    graph: Graph = builder.compile(name=NAME)
    return with_sentry(graph, settings()) if wrap else graph


def runs(case: Case) -> Iterator[Run]:
    """One run for each check, by its position; what it found wrong stands in the record."""
    for position, words in enumerate(case.input["checks"], 1):
        yield Run(f"check_{position}", lambda mode, w=words: _checked(w), ("sync",))


def _checked(words: str) -> Record:
    check = next((check for form, check in _CHECKS if re.search(form, words)), None)
    if check is None:
        raise CaseError(f"no rule reads the check {words!r}; see cases/kinds/graph_load.py")
    return Record(words, "sync", extra={"check": words, "problem": check(made())})


def _is_pregel(graph: Graph) -> str | None:
    return None if isinstance(graph, Pregel) else f"it is a {type(graph).__name__}"


def _not_callable(graph: Graph) -> str | None:
    return "it is callable" if callable(graph) else None


def _draws(graph: Graph) -> str | None:
    picture = graph.get_graph(xray=True).draw_mermaid()
    return None if "agent" in picture and "sentry_hard_repair" in picture else picture


def _schemas(graph: Graph) -> str | None:
    bare = made(wrap=False)
    pairs = {
        "input": (graph.get_input_jsonschema(), bare.get_input_jsonschema()),
        "output": (graph.get_output_jsonschema(), bare.get_output_jsonschema()),
        "context": (graph.get_context_jsonschema(), bare.get_context_jsonschema()),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pairs["config"] = (graph.get_config_jsonschema(), bare.get_config_jsonschema())
    other = [name for name, (ours, theirs) in pairs.items() if ours != theirs]
    return f"other schemas: {', '.join(other)}" if other else None


def _name(graph: Graph) -> str | None:
    return None if graph.name == NAME else f"it is called {graph.name!r}"


def _subgraphs(graph: Graph) -> str | None:
    found = list(graph.get_subgraphs())
    return f"there are {found}" if found else None


def _copies(graph: Graph) -> str | None:
    saver = InMemorySaver()
    copied, updated = copy.copy(graph), graph.copy(update={"checkpointer": saver})
    if type(copied) is not type(graph) or type(updated) is not type(graph):
        return "a copy is of another type"
    if updated.checkpointer is not saver:
        return "the copy has another checkpointer"
    config: Any = {"configurable": {"thread_id": "1"}}
    updated.invoke({"messages": [("user", "look")]}, config)
    kinds = [event["kind"] for event in updated.get_state(config).values["sentry"]]
    return None if "repair" in kinds else "the copy doesn't repair"


def _factory(graph: Graph) -> str | None:
    import asyncio

    async def make(config: Any) -> Graph:
        return made()

    loaded = asyncio.run(make({}))
    return _is_pregel(loaded) or _draws(loaded)


_CHECKS: tuple[tuple[str, Callable[[Graph], str | None]], ...] = (
    (r"isinstance\(graph, .*Pregel\)", _is_pregel),
    (r"not callable", _not_callable),
    (r"draw_mermaid", _draws),
    (r"get_(input|output|config|context)_jsonschema", _schemas),
    (r"graph\.name", _name),
    (r"get_subgraphs", _subgraphs),
    (r"copy", _copies),
    (r"factory|async def", _factory),
)
