"""`sentry replay` and `sentry calibrate`: what they print and write, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from replay.histories import TOOLS, run_of, write
from typer.testing import CliRunner, Result

from sentry_langgraph.cli import app as cli

SECRET = "W-2468"


def run(*args: object) -> Result:
    """Run `sentry` with these arguments."""
    return CliRunner().invoke(cli.app, list(map(str, args)))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A quiet run, one that gets advice, one that is held, and one with a bad call."""
    found = [run_of("ab", "quiet"), run_of("aaaa", "again"), run_of("a" * 8, "loop")]
    return write(tmp_path / "runs.jsonl", [*found, run_of("a!", "bad")])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--fail-on", "hard"], 1),
        (["--fail-on", "hard", "--limit", "3"], 0),
        (["--limit", "2"], 0),
        (["--limit", "2", "--fail-on", "advise"], 1),
        (["--limit", "1", "--fail-on", "info"], 0),
        (["--label", "objective_drift", "--fail-on", "info"], 0),
        (["--label", "invalid_arguments", "--label", "objective_drift"], 1),
    ],
)
def test_the_exit_code(runs: Path, options: list[str], code: int) -> None:
    """0 where nothing reaches --fail-on, 1 where something does."""
    assert run("replay", runs, *options).exit_code == code


def test_the_table(runs: Path) -> None:
    """A line for each finding of a run, sums by label, and a last line with the totals."""
    result = run("replay", runs)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[1][:4] == ["again", "repetition_or_looping", "(exact_repeat)", "advise"]
    assert lines[1][4:] == ["get_order", "5", "2"]
    assert lines[2][:4] == ["loop", "repetition_or_looping", "(exact_repeat)", "hold"]
    assert lines[3] == ["bad", "invalid_arguments", "(missing)", "hard", "get_order", "3", "1"]
    assert ["repetition_or_looping", "2", "50.00", "%", "2", "8"] in lines
    assert lines[-1] == "4 runs, 20 steps, 16 calls; 3 runs with findings".split()


def test_json(runs: Path, tmp_path: Path) -> None:
    """One document, or lines; to a file or to stdout, where nothing else is printed."""
    whole = tmp_path / "out.json"
    run("replay", runs, "--json", whole)
    document = json.loads(whole.read_text(encoding="utf-8"))
    assert json.loads(run("replay", runs, "--json", "-").stdout) == document
    assert document["version"] == 1
    assert [one["level"] for one in document["runs"]] == [None, "advise", "hold", "hard"]
    again = document["runs"][1]
    assert (again["id"], again["where"], again["steps"]) == ("again", f"{runs}:2", 5)
    (finding,) = again["findings"]
    assert finding | {"key": "", "confidence": 0} == {
        "label": "repetition_or_looping",
        "type": "progress_failure",
        "pattern": "exact_repeat",
        "level": "advise",
        "confidence": 0,
        "tool": "get_order",
        "argument": None,
        "key": "",
        "message": 5,
        "step": 3,
        "times": 2,
        "evidence": {"count": 3, "tool": "get_order", "failing": False},
        "last_evidence": {"count": 4, "tool": "get_order", "failing": False},
    }
    assert document["totals"]["levels"] == {"info": 0, "advise": 1, "hold": 1, "hard": 1}
    lines = tmp_path / "out.jsonl"
    run("replay", runs, "--json", lines)
    *entries, totals = map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    assert [{"kind": "run", **one} for one in document["runs"]] == entries
    assert totals == {"kind": "totals", "version": 1, **document["totals"]}


def test_junit(runs: Path, tmp_path: Path) -> None:
    """A case for each run; those at --fail-on or above fail, and what can't be read errs."""
    path = tmp_path / "junit.xml"
    with runs.open("a", encoding="utf-8") as stream:
        stream.write("{oops\n")
    run("replay", runs, "--junit", path, "--fail-on", "hold")
    suite = ElementTree.parse(path).getroot()[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "2",
        "errors": "1",
    }
    failed = {case.get("name"): [child.tag for child in case] for case in suite}
    assert failed["quiet"] == failed["again"] == []
    assert failed["loop"] == failed["bad"] == ["failure"]
    assert failed[f"{runs}:5"] == ["error"]


def test_bad_input(runs: Path, tmp_path: Path) -> None:
    """2 where nothing could be read, or with --strict not everything; the place is named."""
    bad = write(tmp_path / "bad.jsonl", ["{oops", '{"messages": 3}'])
    nothing = run("replay", bad)
    assert nothing.exit_code == 2
    assert f"{bad}:2: expected a run" in nothing.stderr
    assert run("replay", tmp_path / "none.jsonl").exit_code == 2
    assert run("replay", bad, runs, "--fail-on", "hard", "--limit", "3").exit_code == 0
    assert run("replay", bad, runs, "--limit", "3", "--strict").exit_code == 2
    twice = write(tmp_path / "twice.jsonl", [{**run_of("a"), "tools": TOOLS * 2}, run_of("a")])
    listed = run("replay", twice)
    assert listed.exit_code == 0
    assert "twice.jsonl:1: tools: the tool is listed twice" in listed.stderr
    config = tmp_path / "sentry.yaml"
    config.write_text("windw: 3\n", encoding="utf-8")
    refused = run("replay", runs, "--config", config)
    assert refused.exit_code == 2
    assert "windw" in refused.stderr
    assert run("replay", runs, "--tools", runs).exit_code == 2
    assert run("replay", runs, "--json", tmp_path / "no" / "out.json").exit_code == 2


def test_settings_and_tools_of_the_user(tmp_path: Path) -> None:
    """The configuration decides what is found; --tools gives the schemas a dump lacks."""
    bare = {"messages": run_of("a!aaaa")["messages"]}
    path = write(tmp_path / "runs.jsonl", [bare])
    assert "invalid_arguments" not in run("replay", path).stdout
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), encoding="utf-8")
    assert "invalid_arguments" in run("replay", path, "--tools", tools).stdout
    config = tmp_path / "sentry.yaml"
    config.write_text("tools:\n  get_order: {polling: true}\n", encoding="utf-8")
    assert "repetition_or_looping" in run("replay", path).stdout
    assert "repetition_or_looping" not in run("replay", path, "--config", config).stdout


def hostile() -> dict[str, Any]:
    """A run whose names and values would like to steer a terminal or an XML reader."""
    name = "\x1b[31m]]><a>&\x00\n[bold]x"
    call = {"id": "c", "function": {"name": name, "arguments": json.dumps({"id": SECRET})}}
    bad = {"id": "d", "function": {"name": "get_order", "arguments": json.dumps({"id": [SECRET]})}}
    messages = [
        {"role": "user", "content": f"Cancel {SECRET}."},
        {"role": "assistant", "content": f"As to {SECRET}", "tool_calls": [call, bad]},
    ]
    return {"id": f"{name}", "source": "<s>", "tools": TOOLS, "messages": messages}


def test_untrusted_text_stays_text(tmp_path: Path) -> None:
    """Nothing of a recording is obeyed, and values are shown only where --show-details asks."""
    path = write(tmp_path / "runs.jsonl", [hostile()])
    junit, document, lines = (tmp_path / name for name in ("j.xml", "d.json", "l.jsonl"))
    written = ""
    for file, option in ((document, "--json"), (lines, "--json"), (junit, "--junit")):
        result = run("replay", path, option, file)
        assert result.exit_code == 1
        written += result.output + file.read_text(encoding="utf-8")
    assert "\x1b" not in written
    assert "\x00" not in written
    assert SECRET not in written
    ElementTree.parse(junit)
    shown = run("replay", path, "--show-details", "--junit", junit, "--json", document)
    for text in (shown.stdout, junit.read_text("utf-8"), document.read_text("utf-8")):
        assert SECRET in text
        assert "\x1b" not in text
    ElementTree.parse(junit)


def test_timings(runs: Path) -> None:
    """`--timings` names every detector."""
    assert "µs a step  action_validity" in run("replay", runs, "--timings").stdout


def test_calibrate_writes_settings(tmp_path: Path) -> None:
    """A valid file, that starts from the user's, with a header that says what it promises."""
    good = write(tmp_path / "good.jsonl", [run_of("aaaa", f"r{one}") for one in range(19)])
    config = tmp_path / "base.yaml"
    config.write_text("window: 30\n", encoding="utf-8")
    out = tmp_path / "sentry.yaml"
    result = run("calibrate", good, "--alpha", 0.05, "-o", out, "--config", config)
    assert result.exit_code == 0, result.output
    text = out.read_text(encoding="utf-8")
    assert "from 19 good runs" in text
    assert "alpha = 0.05" in text
    assert "advise_at: 5" in text
    assert "window: 30" in text
    assert run("validate", out).exit_code == 0
    assert run("replay", good, "--fail-on", "info", "--config", out).exit_code == 0
    again = run("calibrate", good, "--alpha", 0.05, "-o", out)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert out.read_text(encoding="utf-8") == text
    assert run("calibrate", good, "--alpha", 0.05, "-o", out, "--force").exit_code == 0
    assert "kind: repetition_or_looping" in run("calibrate", good, "--alpha", 0.05).stdout


def test_calibrate_refuses(tmp_path: Path) -> None:
    """Too few runs end with 1 and how many are needed; bad input and shares with 2."""
    some = [run_of("ab", f"r{one}", success=one % 2 == 0) for one in range(20)]
    path = write(tmp_path / "runs.jsonl", some)
    few = run("calibrate", path)
    assert few.exit_code == 1
    assert "20 good runs are too few" in few.stderr
    assert "at least 99" in few.stderr
    half = run("calibrate", path, "--alpha", 0.05, "--success-only")
    assert half.exit_code == 1
    assert "10 runs are left out" in half.stderr
    assert run("calibrate", path, "--alpha", 0.1, "--success-only").exit_code == 0
    assert run("calibrate", path, "--alpha", 0).exit_code == 2
    assert run("calibrate", path, "--alpha", 0.1, "--hold-alpha", 1).exit_code == 2
    assert run("calibrate", tmp_path / "none").exit_code == 2
    bad = write(tmp_path / "bad.jsonl", [*some, "{oops"])
    assert run("calibrate", bad, "--alpha", 0.1).exit_code == 0
    assert run("calibrate", bad, "--alpha", 0.1, "--strict").exit_code == 2
