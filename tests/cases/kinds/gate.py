"""`gate_matrix`: calls against tools, one call a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cases.agents import react
from cases.assume import settings
from cases.drive import Scenario, run
from cases.loader import Case
from cases.plans import Run
from cases.rules import ALWAYS
from sentry_langgraph.testing import ai, call, if_guided

CALL = "the-call"
GIVES_UP = "I could not do it: the call was refused. Sorry."


def runs(case: Case) -> Iterator[Run]:
    """`tool/call` for every pair."""
    calls = case.input["calls"]
    for tool, spec in case.input["tools"].items():
        for name, args in calls.items():
            yield one_call(f"{tool}/{name}", spec, args, case.input.get("assume"))


def one_call(
    name: str, spec: Mapping[str, Any], args: Any, assume: Mapping[str, Any] | None = None
) -> Run:
    """A run in which the model makes one call and then ends."""
    message = ai("", call(spec["name"], args if isinstance(args, dict) else {}, id=CALL))
    if not isinstance(args, dict):
        message.tool_calls[0]["args"] = args
    return Run(
        name,
        lambda mode: run(
            Scenario(
                name,
                react([spec]),
                [message, if_guided(GIVES_UP, "Done.")],
                [{"messages": [("user", "Do it.")]}],
                settings(assume),
                ALWAYS,
            ),
            mode,
        ),
        calls=(CALL,),
    )
