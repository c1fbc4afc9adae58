"""`history_run`: threads whose stored or trimmed history is broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage

from cases.agents import hooked, resumable, trimming
from cases.assume import settings
from cases.drive import Scenario, run
from cases.loader import Case
from cases.plans import Run
from cases.rules import rules
from cases.scripts import messages, script


def runs(case: Case) -> Iterator[Run]:
    """One run on the stored thread, or one for each trimming and each place it is made in."""
    given = case.input
    specs = given.get("tools") or _tools_in(given)
    if "stored_messages" in given:
        yield Run("main", lambda mode: run(_stored(case, specs), mode))
    for name, turns in given.get("trim", {}).items():
        kept = messages(turns, "kept")
        for place, make in (("hook", hooked), ("middleware", trimming)):
            yield Run(
                f"{name}/{place}",
                lambda mode, n=f"{name}/{place}", m=make, k=kept: run(
                    _trimmed(case, n, m, k, specs), mode
                ),
            )


def _stored(case: Case, specs: Sequence[Mapping[str, Any]]) -> Scenario:
    given = case.input
    stored = messages(given["stored_messages"], "stored")
    return Scenario(
        "main",
        resumable(specs),
        script(given["model_script"]),
        [{"messages": messages(given.get("new_input", ()), "new")}],
        settings(given.get("assume")),
        rules(given.get("provider_rules", ())),
        saver=given.get("checkpointer", "InMemorySaver"),
        stored=stored,
        waits_at=given.get("stored_next"),
        extra={"rules": rules(given.get("provider_rules", ()))},
    )


def _trimmed(
    case: Case,
    name: str,
    make: Any,
    kept: Sequence[AnyMessage],
    specs: Sequence[Mapping[str, Any]],
) -> Scenario:
    """Two turns on one thread; before each the history is replaced by what was kept of it."""
    *before, question = kept
    given = case.input

    def trim(current: Sequence[AnyMessage]) -> list[AnyMessage]:
        ids = {message.id for message in before}
        return [*before, *(message for message in current if message.id not in ids)]

    return Scenario(
        name,
        make(specs, trim),
        script([*given["model_script"], *given["model_script"]]),
        [{"messages": [question]}, {"messages": [("user", "and then?")]}],
        settings(given.get("assume")),
        rules(given.get("provider_rules", ())),
        extra={"kept": tuple(kept)},
    )


def _tools_in(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tools for every call that a history holds."""
    found: dict[str, dict[str, Any]] = {}
    turns = [*given.get("stored_messages", ())]
    for trimmed in given.get("trim", {}).values():
        turns += trimmed
    for turn in turns:
        for call in turn.get("tool_calls", ()):
            properties = {key: {"type": "string"} for key in call["args"]}
            found[call["name"]] = {
                "name": call["name"],
                "schema_kind": "pydantic",
                "parameters": {"type": "object", "properties": properties},
                "returns": "ran again",
            }
        if turn.get("role") == "tool":
            found.setdefault(
                turn["name"],
                {"name": turn["name"], "schema_kind": "pydantic", "returns": "ran again"},
            )
    return list(found.values())
