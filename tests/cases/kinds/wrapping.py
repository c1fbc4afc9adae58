"""`wrap`: odd tools, given to `with_sentry`."""

from __future__ import annotations

from collections.abc import Iterator

from cases.agents import react
from cases.assume import settings
from cases.drive import Scenario, run
from cases.kinds.gate import one_call
from cases.loader import Case, CaseError
from cases.plans import Run
from cases.rules import ALWAYS
from sentry_langgraph.testing import ai, call


def runs(case: Case) -> Iterator[Run]:
    """A run for each call against its odd schema, or one with all tools."""
    schemas = case.input.get("tools_args_schema")
    if schemas is not None:
        for name, args in case.input.get("calls", {}).items():
            schema = next(
                (s for s in sorted(schemas, key=len, reverse=True) if name.startswith(s)), None
            )
            if schema is None:
                raise CaseError(f"the call {name!r} names no schema")
            spec = {
                "name": schema,
                "schema_kind": "json_schema",
                "parameters": schemas[schema],
                "returns": "ok",
            }
            yield one_call(name, spec, args)
        return
    specs = case.input["tools"]
    for position, spec in enumerate(specs):
        required = spec["parameters"].get("required", [])
        args = {key: _sample(spec["parameters"]["properties"][key]["type"]) for key in required}
        name = f"call_{position + 1}"
        yield Run(
            name,
            lambda mode, name=name, spec=spec, args=args: run(
                Scenario(
                    name,
                    react(specs),
                    [ai("", call(spec["name"], args, id=name)), "I could not do more, sorry."],
                    [{"messages": [("user", "Do it.")]}],
                    settings(),
                    ALWAYS,
                ),
                mode,
            ),
            calls=(name,),
        )


def _sample(kind: str) -> object:
    return {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": []}.get(kind, {})
