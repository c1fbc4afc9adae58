"""The harness itself: what it reads, what it refuses, and that it can fail."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cases import expect
from cases.loader import CaseError, literal, load
from cases.plans import runs_of
from cases.scripts import script
from cases.sentences import checker
from cases.tools import model_of
from cases.words import Situation, ToolFault, behaviour, exception

pytestmark = pytest.mark.shipped_cases


def case_of(tmp_path: Path, **parts: Any) -> Any:
    """A case of one's own."""
    file = tmp_path / "cases.jsonl"
    case = {"id": "X-1", "area": "x", "source_url": "", "symptom": "", **parts}
    file.write_text(json.dumps(case) + "\n")
    return load(file)[0]


LOOK = {
    "name": "look",
    "schema_kind": "pydantic",
    "parameters": {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    },
    "returns": "seen",
}


def scripted(*turns: Any, **given: Any) -> dict[str, Any]:
    """The input of a scripted run."""
    return {
        "kind": "scripted_run",
        "tools": [LOOK],
        "messages": [{"role": "human", "content": "Look."}],
        "model_script": list(turns),
        **given,
    }


def turn(args: Any, id_: str = "c1", name: str = "look") -> dict[str, Any]:
    """A turn with one call."""
    calls = [{"name": name, "args": args, "id": id_}]
    return {"role": "ai", "content": "", "tool_calls": calls}


END = {"role": "ai", "content": "That is all I could find, sorry."}


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ({"verdicts": {"c1": "reject:schema_invalid"}}, "got allow"),
        ({"tool_runs": {"look": []}}, "ran with"),
        ({"tool_runs_count": 2}, "ran 1 times"),
        ({"model_calls": 3}, "called 2 times"),
        ({"failures": ["loop"]}, "not recorded"),
    ],
)
def test_a_wrong_expectation_is_found(tmp_path: Path, expected: dict[str, Any], fault: str) -> None:
    """An expectation that is not met is a problem, so a test that passes says something."""
    case = case_of(tmp_path, input=scripted(turn({"n": 1}), END), expected=expected)
    (run,) = runs_of(case)
    assert any(fault in one for one in expect.all_problems(case, run, run.execute("sync")))


def test_a_right_expectation_is_no_problem(tmp_path: Path) -> None:
    """What happened as expected is no problem."""
    expected = {
        "verdicts": {"c1": "reject:schema_invalid", "c2": "allow"},
        "tool_runs": {"look": [{"n": 1}]},
        "model_calls": 3,
        "failures": ["schema_invalid"],
    }
    turns = [turn({"n": "x"}), turn({"n": 1}, "c2"), END]
    case = case_of(tmp_path, input=scripted(*turns), expected=expected)
    (run,) = runs_of(case)
    for mode in run.modes:
        assert expect.all_problems(case, run, run.execute(mode)) == []


@pytest.mark.parametrize(
    ("form", "turns", "good"),
    [
        ("no failure, run ends", [END], True),
        ("no failure, run ends", [turn({"n": 1}), END], False),
        ("hard repair", [turn({"n": "x"}), END], True),
        ("hard repair", [turn({"n": 1}), END], False),
        ("loop -> model called again", [turn({"n": 1}, f"c{n}") for n in range(3)] + [END], True),
        ("loop -> model called again", [turn({"n": 1}, f"c{n}") for n in range(2)] + [END], False),
        ("reject:unknown_tool or reject:schema_invalid", [turn({"n": "x"}), END], True),
        ("reject (malformed_args or unknown_tool)", [turn({"n": "x"}), END], False),
        ("reject:schema_invalid (wrong type: n)", [turn({"n": "x"}), END], True),
        ("reject:schema_invalid (missing other)", [turn({"n": "x"}), END], False),
    ],
)
def test_forms(tmp_path: Path, form: str, turns: list[Any], good: bool) -> None:
    """A short form holds or does not hold; none is passed over."""
    given = scripted(variants={"one": turns})
    del given["model_script"]
    case = case_of(tmp_path, input=given, expected={"one": form})
    (run,) = runs_of(case)
    assert (expect.all_problems(case, run, run.execute("sync")) == []) is good


def test_a_form_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    """A form that no rule reads fails the test and is not taken for granted."""
    given = scripted(END, variants={"one": END})
    case = case_of(tmp_path, input=given, expected={"one": "shines brightly"})
    run = runs_of(case)[-1]
    with pytest.raises(CaseError, match="no rule reads the form"):
        expect.all_problems(case, run, run.execute("sync"))


def test_what_is_not_read_is_reported(tmp_path: Path) -> None:
    """A key and a sentence that nothing reads are said to be so."""
    case = case_of(tmp_path, input=scripted(END), expected={"glitter": 1, "must": ["it shines"]})
    assert expect.unread(case, runs_of(case)) == ["glitter"]
    assert checker("must", "it shines") is None
    assert checker("must", "final text == 'ok'") is not None


@pytest.mark.parametrize(
    ("words", "outcomes"),
    [
        ("successive results: 'a', 'b'", ["a", "b", "b"]),
        ("always 'queued'", ["queued", "queued"]),
        ("1st-2nd: error 'down', 3rd: ok", [ToolFault, ToolFault, "ok", "ok"]),
        ("returns {'id': 'k1'} for 1st, {'id': 'k2'} for 2nd", [{"id": "k1"}, {"id": "k2"}]),
        ("1st: 'a', then: raise ValueError('no')", ["a", ValueError, ValueError]),
        ("raise TimeoutError('slow')", [TimeoutError]),
        ("always returns ToolMessage status error: NOT_ALLOWED", [ToolFault]),
        ("returns 'x {n}'", ["x 7"]),
        ("return ToolMessage('ok', tool_call_id=id)", ["ok"]),
    ],
)
def test_behaviours(words: str, outcomes: list[Any]) -> None:
    """Words about a tool become what it does at each call."""
    act = behaviour(words)
    for number, wanted in enumerate(outcomes, 1):
        situation = Situation({"n": 7}, "call", number)
        if isinstance(wanted, type):
            with pytest.raises(wanted):
                act(situation)
        else:
            result = act(situation)
            assert getattr(result, "content", result) == wanted


@pytest.mark.parametrize(
    "words", ["dances", "return __import__('os').getcwd()", "return open('x')", ""]
)
def test_a_behaviour_that_is_not_known_is_an_error(words: str) -> None:
    """Words that no rule reads are an error, and Python in them is never run."""
    with pytest.raises(CaseError):
        behaviour(words)(Situation({}, "call", 1))


def test_exceptions_have_their_attributes() -> None:
    """An exception of a library that is not there is made with its name and attributes."""
    error = exception("RateLimitError('429', retry_after=1)")
    assert type(error).__name__ == "RateLimitError"
    assert error.retry_after == 1  # type: ignore[attr-defined]
    assert type(exception("RateLimitError('x')")) is type(error)
    assert type(exception("ValueError('x')")) is ValueError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("datetime.datetime(2026, 1, 2)", datetime.datetime(2026, 1, 2)),
        ("{'a': (1, None)}", {"a": (1, None)}),
        ("'x' * 3", "xxx"),
        ("float('inf')", float("inf")),
        ("2 ** 70", 2**70),
    ],
)
def test_literals(text: str, value: Any) -> None:
    """`$py` holds a literal, a time, or a repetition."""
    assert literal(text) == value


@pytest.mark.parametrize("text", ["open('x')", "__import__('os')", "a.b", "'x' * 10**12", "f()"])
def test_no_other_python_is_read(text: str) -> None:
    """Anything else in `$py` is an error."""
    with pytest.raises(CaseError):
        literal(text)


def test_scripts_count_from_one() -> None:
    """`repeat` writes its turns out, and `{n}` counts."""
    block = {"repeat": 2, "turns": [turn({"n": "{n}"}, "a{n}"), turn({"n": 1}, "b{n}")]}
    ids = [entry.tool_calls[0]["id"] for entry in script([block])]
    assert ids == ["a1", "b1", "a2", "b2"]


def test_models_follow_the_schema() -> None:
    """A pydantic tool takes what its JSON schema describes."""
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "many": {"type": "array", "items": {"type": "integer"}},
            "inner": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
            "some": {"type": ["integer", "null"]},
            "small": {"type": "integer", "minimum": 1, "maximum": 3},
        },
        "required": ["kind", "inner"],
        "additionalProperties": False,
    }
    model = model_of("made", schema)
    model.model_validate({"kind": "a", "inner": {"x": "y"}, "many": [1], "some": None, "small": 3})
    for wrong in (
        {"kind": "c", "inner": {"x": "y"}},
        {"kind": "a", "inner": {}},
        {"kind": "a", "inner": {"x": "y"}, "small": 4},
        {"kind": "a", "inner": {"x": "y"}, "more": 1},
    ):
        with pytest.raises(ValueError, match="validation error"):
            model.model_validate(wrong)


def test_another_file_runs_through_the_same_harness(tmp_path: Path) -> None:
    """`--cases FILE` runs the cases of that file: what holds passes, what does not fails."""
    good = {"id": "Y-1", "input": scripted(turn({"n": 1}), END)}
    good["expected"] = {"verdicts": {"c1": "allow"}, "must": ["it glitters"]}
    bad = {"id": "Y-2", "input": scripted(turn({"n": 1}), END)}
    bad["expected"] = {"verdicts": {"c1": "reject:schema_invalid"}}
    odd = {"id": "Y-3", "input": {"kind": "opera"}, "expected": {}}
    file = tmp_path / "other.jsonl"
    file.write_text("".join(json.dumps({"area": "y", **case}) + "\n" for case in (good, bad, odd)))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", str(Path(__file__).parent), "--cases", str(file), "-rfs"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert re.search(r"FAILED .*\[Y-2\]", done.stdout), done.stdout[-2000:]
    assert re.search(r"FAILED .*\[Y-3\[setting\]\]", done.stdout)
    assert "[Y-1]" not in done.stdout.partition("short test summary")[2]
    assert "not asserted: must: it glitters" in done.stdout
