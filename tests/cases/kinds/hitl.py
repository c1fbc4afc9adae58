"""`hitl`: runs that wait for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from langgraph.types import Command

from cases.agents import agent_of
from cases.assume import settings
from cases.drive import Scenario, run
from cases.loader import Case, CaseError
from cases.plans import Run
from cases.rules import ALWAYS, rules
from cases.scripts import calls_in, messages, script


def runs(case: Case) -> Iterator[Run]:
    """The run with the resumes that the case wants, and one that is resumed three times."""
    given = case.input
    resumes = _resumes(given)
    rounds = {"main": resumes}
    if given.get("resumes") and not given.get("steps"):
        rounds["three_resumes"] = resumes * 3
    for name, answers in rounds.items():
        yield Run(
            name,
            lambda mode, n=name, a=answers: run(_scenario(case, n, a), mode),
            calls=tuple(call for turn in given["model_script"] for call in calls_in(turn)),
        )
    if any("interrupt" in str(tool.get("behaviour", "")) for tool in given["tools"]):
        yield Run("fails_on_replay", lambda mode: run(_failing(case, resumes), mode))


def _scenario(case: Case, name: str, resumes: list[Any], specs: Any = None) -> Scenario:
    given = case.input
    specs = specs or given["tools"]
    return Scenario(
        name,
        agent_of(given, specs),
        script(given["model_script"]),
        [{"messages": messages(given["messages"])}, *resumes],
        settings(given.get("assume")),
        (*ALWAYS, *rules(given.get("provider_rules", ()))),
        saver=given.get("checkpointer", "InMemorySaver"),
    )


def _failing(case: Case, resumes: list[Any]) -> Scenario:
    """The siblings of the interrupted call fail when they are run again."""
    specs = [
        tool
        if "interrupt" in str(tool.get("behaviour", ""))
        else {**tool, "behaviour": "1st: 'fine', 2nd: error 'it fails the second time'"}
        for tool in case.input["tools"]
    ]
    return _scenario(case, "fails_on_replay", resumes, specs)


def _resumes(given: Any) -> list[Any]:
    steps = [step for step in given.get("steps", ()) if "resume" in step]
    if steps:
        return [Command(resume=_decision(step)) for step in steps]
    return [Command(resume="yes") for _ in range(int(given.get("resumes", 1)))]


def _decision(step: str) -> Any:
    found = re.search(r"(?:decision|decisions?:?)\s+(approve|reject|respond)", step)
    if found is not None:
        return {"decisions": [{"type": found[1]}]}
    value = re.search(r"resume(?:\s+with)?\s+['\"](.+)['\"]", step)
    if value is not None:
        return value[1]
    raise CaseError(f"no rule reads the step {step!r}; see cases/kinds/hitl.py")
