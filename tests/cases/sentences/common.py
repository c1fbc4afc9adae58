"""Sentences of forms that say the same in every case."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, SystemMessage

from cases.observe import MARK, Record
from cases.rules import rules
from cases.scene import Scene
from cases.sentences.registry import rule
from sentry_langgraph.testing import (
    answered_calls,
    check_history,
    leading_system_only,
    no_orphan_results,
)

_WORDS = r"(?:the )?(?:run|graph|agent|invoke|call)"


@rule(
    "must", rf"no (?:exception|error|crash).*|{_WORDS} (?:succeeds|ends normally|returns normally)"
)
def _no_exception(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert record.error is None, record.name


@rule("must_not", r"(?:a |an )?(?:crash|exception|hang)(?: .*)?|(?:a |an )?exception reaching .*")
def _never_raises(scene: Scene, found: re.Match[str]) -> None:
    _no_exception(scene, found)


@rule("must", r"no (?P<name>\w+Error)(?: .*)?")
def _no_error(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert type(record.error).__name__ != found["name"]
        assert not any(found["name"] in text for level, _, text in record.logs if level == "ERROR")


@rule("must_not", r"(?P<names>[A-Z]\w*Error(?:(?:/| or |, )[A-Z]\w*Error)*)(?: .*)?")
def _none_of(scene: Scene, found: re.Match[str]) -> None:
    names = re.findall(r"\w+Error", found["names"])
    for record in scene.each():
        assert type(record.error).__name__ not in names
        told = [text for level, _, text in record.logs if level == "ERROR"]
        assert not any(name in text for name in names for text in told)


@rule(
    "must",
    r"(?P<tool>\w+) (?:runs|is run|ran|executes|is executed) (?P<count>\d+|once|twice)(?: times?)?",
)
def _runs(scene: Scene, found: re.Match[str]) -> None:
    wanted = {"once": 1, "twice": 2}.get(found["count"]) or int(found["count"])
    for record in scene.main():
        assert len(record.runs(found["tool"])) == wanted


@rule(
    "must",
    r"(?:tool )?'?(?P<tool>\w+)'? (?:is )?(?:never|not) (?:run|runs|executed|called)",
)
def _never_runs(scene: Scene, found: re.Match[str]) -> None:
    _runs_anyway(scene, found)


@rule("must_not", r"(?:running|executing|calling) (?:tool )?'?(?P<tool>\w+)'?(?: again)?")
def _runs_anyway(scene: Scene, found: re.Match[str]) -> None:
    tools = {spec["name"] for spec in scene.case.input.get("tools", ())}
    assert found["tool"] in tools, f"{found['tool']} is no tool of the case"
    for record in scene.each():
        assert not record.runs(found["tool"])


@rule("must", r"(?:at most|no more than) (?P<count>\d+) model calls")
def _at_most(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.calls <= int(found["count"])


@rule("must_not", r"more than (?P<count>\d+) model calls")
def _more_than(scene: Scene, found: re.Match[str]) -> None:
    _at_most(scene, found)


@rule("must", r"(?:the )?model (?:is )?called (?:exactly )?(?P<count>\d+) times")
def _called(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.calls == int(found["count"])


@rule("must", r"bounded(?: number of)?(?: model calls)?(?: .*)?")
def _bounded(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert record.error is None
        assert record.calls <= 16


@rule(
    "must",
    r"(?:the )?(?:repair|guidance|error)(?: text| message)? (?:mentions|names|contains|says) "
    r"'(?P<text>[^']+)'",
)
def _mentions(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert any(found["text"] in text for text in record.repair_texts())


@rule(
    "must_not",
    r"(?:the )?(?:repair|guidance|error)(?: text| message)? (?:mentions|mentioning|naming|contains|"
    r"containing) '(?P<text>[^']+)'",
)
def _never_mentions(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert not any(found["text"] in text for text in record.repair_texts())


@rule("must", r"'?(?P<name>[a-z_]+)'? (?:is )?(?:reported|recorded|detected)(?: once)?")
def _reported(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        failures = record.failures(found["name"])
        assert failures
        if found[0].endswith("once"):
            assert len({event["key"] for event in failures}) == 1


@rule("must_not", r"(?:a )?'?(?P<name>[a-z_]+)'? (?:is )?(?:failure|reported|recorded|detected)")
def _not_reported(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert not record.reported(found["name"])


@rule("must", r"no (?:behavioural )?failure(?: is)?(?: recorded| reported)?")
def _no_failure(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert not record.reported()


@rule("must", r"exactly one (?P<kind>hard |soft )?repair")
def _one_repair(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        made = record.kinds("repair")
        assert len(made) == 1
        if found["kind"]:
            assert (made[0]["strategy"] == "hard") is (found["kind"] == "hard ")


@rule(
    "must",
    r"(?:every|all|the|each)? ?(?:requests?|messages sent to the model|(?:stored )?history|thread)"
    r"(?: .*)? (?:satisf\w+|pass(?:es)?|keeps?) (?:the )?provider_rules(?: .*)?",
)
def _provider_rules(scene: Scene, found: re.Match[str]) -> None:
    wanted = rules(scene.case.input.get("provider_rules", ()))
    assert wanted
    for record in scene.each():
        assert record.error is None, record.name
        for request in record.requests:
            assert check_history(request, wanted) == []


@rule("must", r"every (?:tool )?call (?:is|has been) answered(?: exactly)?(?: once)?(?: .*)?")
def _answered(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert check_history(record.messages, [answered_calls, no_orphan_results]) == []


@rule(
    "must_not",
    r"(?:a )?SystemMessage (?:in|inserted in|in the) mid-?(?:dle|conversation|history).*",
)
def _system(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        for request in (*record.requests, record.messages):
            assert check_history(request, [leading_system_only]) == []
            assert not [m for m in request if isinstance(m, SystemMessage) and _own(m)]


def _own(message: SystemMessage) -> bool:
    return MARK in message.additional_kwargs


@rule("must", r"(?:a |one )?lesson (?:is )?(?:written|stored)(?: .*)?")
def _lesson(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.lessons


@rule("must_not", r"(?:a )?lesson (?:is |being )?(?:written|stored)(?: .*)?")
def _no_lesson(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert not record.lessons


@rule(
    "must",
    r"(?:the )?recovery (?:is|of \w+ is) (?:verified|recovered)(?: .*)?|recovered|"
    r"recovery verified",
)
def _recovered(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert _verdicts(record)[-1:] == ["recovered"]


@rule(
    "must", r"(?:recovery|verdict)(?: status)? (?:==|is) '?(?P<verdict>failed|relapsed|expired)'?"
)
def _failed(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        verdicts = _verdicts(record)
        assert verdicts
        assert "recovered" not in verdicts


def _verdicts(record: Record) -> list[str]:
    return [event["verdict"] for event in record.kinds("verdict")]


@rule(
    "must_not",
    r"(?:any )?(?:secret|value|text) '?(?P<text>[\w.@-]+)'? in (?:state|lessons?|logs?|.*)",
)
def _never_written(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert not any(found["text"] in text for text in record.own_texts())


@rule("must", r"(?:sentry )?writes no assistant message(?:s)?(?: .*)?")
def _no_assistant(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        made = {message.id for message in record.produced}
        assert all(m.id in made for m in record.messages if isinstance(m, AIMessage))
