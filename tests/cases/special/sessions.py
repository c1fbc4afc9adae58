"""A second session on the same lessons, and a model node that is retried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from langgraph.types import RetryPolicy

from cases.drive import Graph, Scenario, fresh_playbook, run
from cases.loader import Case, CaseError
from cases.observe import Record
from cases.plans import Run
from sentry_langgraph.playbook import MemoryPlaybook
from sentry_langgraph.testing import ScriptedChatModel, react_builder


def further(case: Case) -> Iterator[Run]:
    """What a case wants beside its usual runs."""
    words = case.expected.get("variant")
    if words is not None:
        yield Run("variant", lambda mode: run(_retried(case, str(words)), mode))
    if "second_session" in case.input:
        yield Run("second_session", lambda mode: _sessions(case, mode, "", 1))
        yield Run("second_session/loop", lambda mode: _sessions(case, mode, "loop", 1))
        yield Run("second_session/twice", lambda mode: _sessions(case, mode, "loop", 2))
        yield Run("second_session/failed", lambda mode: _sessions(case, mode, "failed", 1))


def _retried(case: Case, words: str) -> Scenario:
    """The model node has a retry policy."""
    from cases.kinds import scripted

    found = re.search(r"retry_policy\(max_attempts=(\d+)\)", words)
    if found is None:
        raise CaseError(f"no rule reads the variant {words!r}; see cases/special/sessions.py")
    policy = RetryPolicy(
        max_attempts=int(found[1]), initial_interval=0.01, jitter=False, retry_on=Exception
    )

    def make(model: ScriptedChatModel, workshop: Any, saver: Any) -> Graph:
        builder = react_builder(model, workshop.tools(case.input["tools"]))
        builder.nodes["agent"].retry_policy = policy
        return builder.compile(checkpointer=saver)

    scenario = scripted.scenario(case, "variant", case.input["model_script"])
    return replace(scenario, make=make, inputs=scenario.inputs[:1])


def _sessions(case: Case, mode: str, form: str, times: int) -> Record:
    """Sessions of the same kind on one store; the record of the last notes those before it.

    In the form `loop` the failing call is made until that is a loop, so that a lesson comes of
    the way out; in the form `failed` there is no way out.
    """
    store = fresh_playbook()
    before = [_session(case, mode, form, store, number) for number in range(1, times + 1)]
    last = _session(case, mode, form, store, times + 1)
    return replace(
        last, extra={**last.extra, "before": before, "form": form}, name=f"second_session/{form}"
    )


def _session(case: Case, mode: str, form: str, store: MemoryPlaybook, number: int) -> Record:
    from cases.kinds import scripted

    turns = list(case.input["model_script"])
    changes: dict[str, Any] = {}
    if form:
        failing, way_out = turns[0], turns[-2:]
        block = {"repeat": 3 if form == "loop" else 9, "turn": _with_ids(failing, "again-{n}")}
        turns = [block, *way_out] if form == "loop" else [block]
        changes["tools"] = [
            _failing_longer(spec, 3 if form == "loop" else 99) for spec in case.input["tools"]
        ]
    made = scripted.scenario(case, f"session {number}", turns, **changes)
    thread = {"configurable": {"thread_id": f"thread {number}"}}
    return run(replace(made, playbook=store, config=thread), mode)


def _with_ids(turn: Any, id_: str) -> dict[str, Any]:
    return {**turn, "tool_calls": [{**call, "id": id_} for call in turn["tool_calls"]]}


def _failing_longer(spec: Any, last: int) -> dict[str, Any]:
    """The tool with its failing outcome for as long as the call is the same."""
    words = spec.get("behaviour", "")
    found = re.match(r"1st-\d+\w+: (.*?), \d+\w+: (.*)$", words, re.DOTALL)
    if found is None:
        raise CaseError(f"no rule reads the behaviour {words!r}; see cases/special/sessions.py")
    return {**spec, "behaviour": f"1st-{last}: {found[1]}, {last + 1}: {found[2]}"}
