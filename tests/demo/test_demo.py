"""What `sentry demo` shows is what happened."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from sentry_langgraph.cli.app import app
from sentry_langgraph.demo.recordings import shipped_runs
from sentry_langgraph.playbook import PlaybookOptions, open_playbook

from .conftest import Shown

BILL = "ed66fbbc"
CUSTOMER = "0b8401ae"
NULL = "34f84f82"
WRONG_NAME = "b140c8ef"


def _demo(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["demo", *arguments])


# Part one


@pytest.mark.parametrize(
    ("run", "tool"), [(BILL, "get_details_by_id"), (CUSTOMER, "get_customer_by_phone")]
)
def test_a_loop_is_caught_at_the_third_call(shown: Shown, run: str, tool: str) -> None:
    """The third identical call with the same result is advised against, and a later one held."""
    caught = shown.run(run)["caught"]
    first = caught[0]
    assert (first["label"], first["pattern"]) == ("repetition_or_looping", "exact_repeat")
    assert (first["tool"], first["done"]) == (tool, "advise")
    assert first["evidence"]["count"] == 3
    assert [one["done"] for one in caught if one["done"] != "suppressed"][-2:] == [
        "hold",
        "stopped",
    ]


@pytest.mark.parametrize("run", [BILL, CUSTOMER])
def test_a_loop_ends_early_with_an_honest_answer(shown: Shown, run: str) -> None:
    """With Sentry the run stops, says why, and has cost less in every respect."""
    one = shown.run(run)
    bare, guarded = one["without"], one["with"]
    assert guarded["stopped"]
    assert not bare["stopped"]
    assert one["report"]["stop_reason"] == "repetition_or_looping"
    for key in ("graph_steps", "model_calls", "tool_runs", "tokens", "same_call"):
        assert guarded[key] < bare[key], key
    assert guarded["tokens"] * 3 < bare["tokens"]
    assert guarded["calls_beyond_recording"] == 0


def test_the_bare_runs_go_to_the_end_of_the_recording(shown: Shown) -> None:
    """Without Sentry every recorded message is proposed, and the bill is read 91 times."""
    recorded = {run.id: len(run.replies) for run, _ in shipped_runs()}
    for one in shown.figures["reenacted"]:
        bare = one["without"]
        assert bare["model_calls"] - bare["calls_beyond_recording"] == recorded[one["id"]]
    assert shown.run(BILL)["without"]["same_call"] >= 91


@pytest.mark.parametrize(
    ("run", "tool", "argument"),
    [(NULL, "refuel_data", "gb_amount"), (WRONG_NAME, "get_details_by_id", "id")],
)
def test_a_wrong_argument_never_reaches_the_tool(
    shown: Shown, run: str, tool: str, argument: str
) -> None:
    """A null, or a wrong name of an argument, is refused before the tool runs, and named."""
    one = shown.run(run)
    first = next(seen for seen in one["caught"] if seen["label"] == "invalid_arguments")
    assert first["message"] == "31"
    assert (first["tool"], first["done"]) == (tool, "hard")
    assert argument in [v["argument"] for v in first["evidence"]["violations"]]
    assert any(f"`{argument}`" in text for text in one["injected"])
    assert one["with"]["tool_runs"] < one["without"]["tool_runs"]


def test_a_stop_is_the_end(shown: Shown) -> None:
    """A stop is the last thing in its run; without one every recorded turn is played."""
    turns = {run.id: len(run.turns) for run, _ in shipped_runs()}
    for one in shown.figures["reenacted"]:
        if one["with"]["stopped"]:
            assert one["caught"][-1]["done"] == "stopped"
        else:
            assert one["with"]["turns"] == turns[one["id"]]


def test_a_recording_teaches_nothing(shown: Shown) -> None:
    """A recorded model cannot hear, so its runs leave no lessons; and the output says so."""
    assert all(not one["report"]["lessons"] for one in shown.figures["reenacted"])
    assert "cannot hear" in " ".join(shown.output.split())


# Part two


@pytest.mark.parametrize(
    ("label", "done"),
    [
        ("unknown_tool", "hard"),
        ("invalid_arguments", "hard"),
        ("repetition_or_looping", "advise"),
        ("planning_stall", "hold"),
    ],
)
def test_each_failure_is_repaired_and_solved(shown: Shown, label: str, done: str) -> None:
    """The database holds what the user asked for with Sentry, and does not without."""
    task = shown.task(label)
    row = task["report"]["rows"][0]
    assert (row["done"], row["verdict"]) == (done, "recovered")
    assert task["with"]["solved"]
    assert not task["without"]["solved"]
    assert task["with"]["database"] != task["without"]["database"]


def test_the_databases_are_real(shown: Shown) -> None:
    """The two files differ by the changes that the agent made, and by nothing else."""
    rows = {}
    for name in ("with", "without"):
        with sqlite3.connect(shown.directory / f"shop_{name}_sentry.sqlite") as db:
            rows[name] = set(db.execute("SELECT order_id, quantity, status, note FROM orders"))
        db.close()
    assert rows["with"] - rows["without"] == {
        ("O-1001", 1, "cancelled", "gift wrap"),
        ("O-1002", 2, "open", ""),
        ("O-1003", 1, "cancelled", ""),
    }
    assert ("O-1004", 3, "shipped", "") in rows["with"] & rows["without"]


def test_the_lesson_comes_back_in_the_second_task(shown: Shown) -> None:
    """What the first loop taught is shown in the second one's repair, which then needs less."""
    first, *_, second = [
        task
        for task in shown.figures["recovering"]
        if task["report"]["rows"][0]["label"] == "repetition_or_looping"
    ]
    (lesson,) = first["report"]["lessons"]
    assert lesson["stored"]
    assert first["thread"] != second["thread"]
    assert first["report"]["rows"][0]["lessons"] == []
    assert second["report"]["rows"][0]["lessons"] == [lesson["id"]]
    assert lesson["text"] in second["injected"][0]
    assert lesson["text"] not in first["injected"][0]
    assert second["with"]["model_calls"] < first["with"]["model_calls"]


def test_the_lessons_lie_in_chroma(shown: Shown) -> None:
    """The playbook that the demo names holds the lessons, and names only, no values."""
    where = shown.figures["lessons"]
    playbook = open_playbook(PlaybookOptions(path=where["path"]))
    assert playbook is not None
    lessons = playbook.find()
    assert len(lessons) == where["count"] >= 2
    assert Path(where["path"]).is_relative_to(shown.directory)
    assert not any("Ana" in lesson.text or "lamp" in lesson.text for lesson in lessons)
    looped = next(one for one in lessons if one.label == "repetition_or_looping")
    assert [step.tool for step in looped.path] == ["find_customer"]
    assert looped.uses >= 1


def test_the_scripted_agent_is_called_scripted(shown: Shown) -> None:
    """Nobody takes part two for a language model."""
    assert "scripted agent, no language model" in " ".join(shown.output.split())


# The whole


def test_nothing_is_written_elsewhere_and_no_connection_opened(shown: Shown) -> None:
    """The demo writes into the directory that it names, and stays offline."""
    assert shown.elsewhere == []
    assert shown.connections == []
    assert str(shown.directory) in "".join(shown.output.split())


def test_the_picture_is_made(shown: Shown) -> None:
    """SVG and Mermaid text of the wrapped graph lie in the directory."""
    svg = ElementTree.parse(shown.figures["picture"]).getroot()
    assert "sentry_hard_repair" in "".join(svg.itertext())
    assert "sentry_hard_repair" in (shown.directory / "graph.mmd").read_text()


def test_the_output_is_plain_and_fits(shown: Shown) -> None:
    """Without a terminal there are no control characters; prose and tables keep to 100 columns."""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown.output)
    mermaid = (shown.directory / "graph.mmd").read_text().expandtabs(2).splitlines()
    wide = [line for line in shown.output.splitlines() if len(line) > 100]
    assert all(line in mermaid or str(shown.directory) in line for line in wide)


def test_every_run_has_its_report(shown: Shown) -> None:
    """The reports that are printed are those of the figures."""
    reports = shown.figures["reenacted"] + shown.figures["recovering"]
    assert shown.output.count("Sentry report: ") == len(reports) == 9


# Options


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A file of two runs of the common format: a turn that loops, and a turn after it."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Is it open?"}]
    for _ in range(9):
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "closed"},
        ]
    messages.append({"role": "user", "content": "And now?"})
    messages.append({"role": "assistant", "content": "It is closed."})
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    common = {"source": "own", "model": "m", "task": "", "tools": tools, "messages": messages}
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps({**common, "id": i}) + "\n" for i in ("run-aa1", "run-ab1")))
    return path


@pytest.mark.parametrize("agent", ["react", "create_agent"])
def test_any_run_of_the_common_format_is_re_enacted(
    trace: Path, tmp_path: Path, agent: str
) -> None:
    """`--trace FILE --id ID` plays that run alone, with either kind of agent."""
    measured = tmp_path / "figures.json"
    result = _demo(
        "--trace", str(trace), "--id", "run-ab1", "--agent", agent,
        "--dir", str(tmp_path / "out"), "--json", str(measured),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    figures = json.loads(measured.read_text())
    (one,) = figures["reenacted"]
    assert one["id"] == "run-ab1"
    assert one["caught"][0]["evidence"]["count"] == 3
    assert one["with"]["stopped"]
    assert one["without"]["same_call"] == 9
    # after a stop no further recorded turn is played
    assert (one["without"]["turns"], one["with"]["turns"]) == (2, 1)
    assert figures["recovering"] == []


def test_an_id_may_be_shortened(trace: Path, tmp_path: Path) -> None:
    """The beginning of an id will do where it fits one run only."""
    result = _demo("--trace", str(trace), "--id", "run-a", "--dir", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "run-aa1, run-ab1" in result.output
    result = _demo("--trace", str(trace), "--id", "run-ab", "--dir", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "run run-ab1" in result.output


def test_wrong_options_are_clear_errors(trace: Path, tmp_path: Path) -> None:
    """Exit code 1, one line that says what is wrong, and no traceback."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no json")
    full = tmp_path / "full"
    full.mkdir()
    (full / "kept").write_text("mine")
    for arguments, words in (
        (["--trace", str(tmp_path / "none.jsonl"), "--id", "x"], "there is no such file"),
        (["--trace", str(trace), "--id", "nope"], "run-aa1, run-ab1"),
        (["--trace", str(broken), "--id", "x"], "not JSON"),
        (["--trace", str(trace)], "belong together"),
        (["--id", "x"], "belong together"),
        (["--dir", str(full)], "not empty"),
        (["--dir", str(full / "kept")], "can't be used"),
    ):
        result = _demo(*arguments)
        assert result.exit_code == 1, arguments
        assert words in result.output
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
    assert [path.name for path in full.iterdir()] == ["kept"]


def test_a_missing_langchain_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--agent create_agent` without the extra names what to install, before anything runs."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "langchain"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(
        "sentry_langgraph.demo.agents.find_spec", lambda name: None if name == "langchain" else 1
    )
    result = _demo("--agent", "create_agent")
    assert result.exit_code == 1
    assert "sentry-langgraph[langchain]" in result.output


def test_the_recordings_are_small_and_name_their_source() -> None:
    """What the package carries stays below 250 kB, and says where it comes from."""
    import sentry_langgraph.demo as package

    data = Path(str(package.__file__)).parent / "data"
    assert sum(path.stat().st_size for path in data.iterdir()) < 250_000
    notice = (data / "README.md").read_text()
    for path in data.glob("*.jsonl"):
        assert json.loads(path.read_text())["meta"]["licence"] == "MIT"
        assert path.name in notice
    assert "Permission is hereby granted" in notice
