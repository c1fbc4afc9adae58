"""Sentences about calls that are refused: their arguments, their names, their schemas."""

from __future__ import annotations

import re
from pathlib import Path

from langchain_core.messages import ToolMessage

import sentry_langgraph
from cases.agents import react, unbound
from cases.assume import settings
from cases.drive import Scenario, run
from cases.kinds import gate, raw
from cases.kinds.store import connections
from cases.loader import literal
from cases.observe import Record
from cases.scene import Scene
from cases.sentences.registry import must, must_not, rule
from sentry_langgraph.testing import ai, call, check_history, parsable_arguments

# Arguments


@must(
    "after repair, no message sent to the model carries the broken raw string inside an "
    "assistant tool call"
)
def _no_raw_string(scene: Scene) -> None:
    for record in scene.each():
        assert record.calls >= 2
        for request in record.requests[1:]:
            assert check_history(request, [parsable_arguments]) == []


@must("repair text shows at most 500 characters of the raw string")
def _short_raw(scene: Scene) -> None:
    spec = scene.case.input["tool"]
    text = '{"labels": ["' + "q" * 20_000 + '"]} and then continue'
    message = raw.delivered("invalid_tool_calls", spec["name"], text)["unparsed"]
    record = run(
        Scenario(
            "long",
            react([spec]),
            [message, gate.GIVES_UP],
            [{"messages": [("user", "Do it.")]}],
            settings(),
        )
    )
    told = record.verdict(gate.CALL).text
    assert 0 < max(map(len, re.findall("q+", told)), default=0) <= 500


@must_not("silently running the first object of 'two_objects'")
def _first_object(scene: Scene) -> None:
    assert all(not record.tool_runs for record in scene.each("two_objects"))


@must_not("any change to the apostrophes of an allowed call")
def _apostrophes(scene: Scene) -> None:
    for name, form in scene.case.expected.items():
        if isinstance(form, dict) and form.get("verdict") == "allow":
            for record in scene.each(name):
                assert record.runs() == [form["args"]]


@must_not("use of eval on model text")
def _no_eval(scene: Scene) -> None:
    package = Path(sentry_langgraph.__file__).parent
    for file in package.rglob("*.py"):
        found = re.search(
            r"(?<![\w.])(?:eval|exec|literal_eval)\(|ast\.literal_eval", file.read_text()
        )
        assert found is None, f"{file.name}: {found}"


@must("error reason mentions the fence/JSON, not 'missing city'")
def _mentions_fence(scene: Scene) -> None:
    for record in scene.main():
        told = record.verdict("c1").text
        assert "fence" in told
        assert "JSON" in told
        assert "missing" not in told


@rule("must", r"tool_runs == (?P<runs>\[.*\])")
def _tool_runs(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.runs() == literal(found["runs"])


@rule("must_not", r"reason (?P<name>\w+) for (?P<call>\S+)")
def _reason(scene: Scene, found: re.Match[str]) -> None:
    from cases.observe import ours

    for record in scene.main():
        assert record.verdict(found["call"]).label not in ours(found["name"])


@must_not("re-serialising args in a way that double-escapes the newline")
def _double_escapes(scene: Scene) -> None:
    for record in scene.each():
        for args in record.runs():
            assert not any("\\n" in value for value in args.values() if isinstance(value, str))


@must("a str in tool_calls[i]['args'] is handled by the gate without TypeError/AttributeError")
def _string_args(scene: Scene) -> None:
    for record in scene.each("direct_attribute_bypass"):
        assert record.error is None
        assert record.verdict(gate.CALL).outcome == "reject"
        assert not [text for level, _, text in record.logs if level == "ERROR"]


@rule("must_not", r"tool called with (?P<args>\{.*\})")
def _called_with(scene: Scene, found: re.Match[str]) -> None:
    assert all(literal(found["args"]) not in record.runs() for record in scene.each())


@rule("must_not", r"(?:an )?exception (?:escaping|out of|from) invoke\(\)")
def _exception_escapes(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert record.error is None, record.name


@must("tool ends up being run once per input, with {}")
def _once_per_input(scene: Scene) -> None:
    for record in scene.each():
        assert record.runs() == [{}], record.name


@rule("must", r"(?:the )?repair text does not claim that '(?P<field>\w+)' is missing")
def _not_missing(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        told = " ".join(record.repair_texts())
        assert told
        assert f"`{found['field']}` is missing" not in told


@rule(
    "must",
    r"recovery of (?P<bad>\S+) counted as verified only after (?P<good>\S+) ran with status "
    r"success",
)
def _verified_after(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        verdicts = record.kinds("verdict")
        assert [event["verdict"] for event in verdicts] == ["recovered"]
        position = {str(message.id): at for at, message in enumerate(record.messages)}
        result = next(
            at
            for at, message in enumerate(record.messages)
            if isinstance(message, ToolMessage) and message.tool_call_id == found["good"]
        )
        assert position[verdicts[0]["step"]] > result


@rule("must", r"no lesson is written.*")
def _no_lesson(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert not record.lessons
        assert not record.kinds("lesson")


# Names


@must("repair text lists exactly the registered names ['read','stat']")
def _lists_names(scene: Scene) -> None:
    names = {spec["name"] for spec in scene.case.input["tools"]}
    for record in scene.each():
        told = record.verdict("named").text
        after = told.partition("Next:")[2]
        listed = re.search(r"(?:tools you have|All tools): ((?:`[^`]+`(?:, )?)+)", after)
        assert listed is not None, told
        assert set(re.findall(r"`([^`]+)`", listed[1])) == names


@must(
    "close names get a suggestion: functions.read, default_api:read, Read, raed, 'read ' -> 'read'"
)
def _suggestions(scene: Scene) -> None:
    close = ("functions.read", "default_api:read", "Read", "raed", "read ")
    for name, (called, _) in scene.case.input["names"].items():
        for record in scene.each(name):
            told = record.verdict("named").text
            assert ("Next: call `read` with" in told) is (called in close), called


@must("tool_runs after repair == read(a), read(b) once each")
def _runs_after(scene: Scene) -> None:
    for record in scene.each():
        assert sorted(args["path"] for args in record.runs("read")) == ["a", "b"]
        assert len(record.tool_runs) == 2


@must_not("executing nested tool_uses of the wrapper without gating each of them")
def _nested_uses(scene: Scene) -> None:
    for record in scene.each("wrapper"):
        assert record.verdict("named").outcome == "reject"
        assert len(record.tool_runs) == 2


@must(
    "with_sentry(graph) (or the first gated call) raises ValueError or emits a WARNING-level log "
    "naming 'vault_op' as ambiguous"
)
def _ambiguous(scene: Scene) -> None:
    for record in scene.each():
        assert any(
            level == "WARNING" and "vault_op" in text and "ambiguous" in text
            for level, _, text in record.logs
        )


@must_not("silence")
def _silence(scene: Scene) -> None:
    _ambiguous(scene)


@must("validation schema used by the gate is the one of the tool that will really run")
def _schema_that_runs(scene: Scene) -> None:
    """The later of two tools of one name runs, and it requires more."""
    for record in scene.each("call_1"):
        assert record.verdict("call_1").outcome == "reject"
        assert "`confirm` is missing" in record.verdict("call_1").text
    for record in scene.each("call_2"):
        assert record.verdict("call_2").outcome == "allow"
        assert str(record.results("call_2")[0].content) == "WIPED"


# Schemas


@must("repair text contains both 'doc_uri' (missing) and 'uri' (unexpected)")
def _both_fields(scene: Scene) -> None:
    for record in scene.main():
        told = record.verdict("c1").text
        assert "`doc_uri` is missing" in told
        assert "`uri` is not an argument of this tool" in told


@rule("must_not", r"(?P<name>[A-Z]\w*Error)")
def _no_error_named(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert type(record.error).__name__ != found["name"]
        assert not any(found["name"] in text for text in _complaints(record)), record.name


def _complaints(record: Record) -> list[str]:
    return [text for level, _, text in record.logs if level in ("WARNING", "ERROR")]


@must_not("a $ref fetched over the network")
def _no_fetch(scene: Scene) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json#/a"}},
    }
    spec = {"name": "far", "schema_kind": "json_schema", "parameters": schema, "returns": "ok"}
    turns = [ai("", call("far", {"a": 1}, id="far")), gate.GIVES_UP]
    far = Scenario("far", unbound([spec]), turns, [{"messages": [("user", "x")]}], settings())
    with connections() as made:
        record = run(far)
        for one in scene.runs:
            one.execute("sync")
    assert record.error is None
    assert [address for address in made if isinstance(address, tuple)] == []
