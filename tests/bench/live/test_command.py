"""`sentry bench live` against a scripted API on loopback: both protocols, and going on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sentry_langgraph.bench.command import app

from .oracle import Oracle, served


def bench(url: str, *options: str) -> Any:
    """A small measurement of one domain."""
    wanted = ["live", "--base-url", url, "--model", "oracle", "--domain", "library", *options]
    return CliRunner().invoke(app, wanted, catch_exceptions=False)


@pytest.mark.parametrize("protocol", ["native", "json"])
def test_it_measures_in_both_protocols(protocol: str, tmp_path: Path) -> None:
    """An oracle solves every task in every arm, with its tokens as the API reports them."""
    oracle, figures = Oracle(), tmp_path / "figures.json"
    with served(oracle) as url:
        done = bench(url, "--protocol", protocol, "--tasks", "3", "--json", str(figures))
    assert done.exit_code == 0, done.output
    data = json.loads(figures.read_text("utf-8"))
    assert (data["model"], data["protocol"], data["temperature"]) == ("oracle", protocol, 0.0)
    assert [(one["arm"], one["solved"], one["tasks"]) for one in data["figures"]] == [
        ("off", 3, 3),
        ("rules", 3, 3),
        ("rules-bare", 3, 3),
    ]
    assert sum(one["tokens"] for one in data["figures"]) == 110 * len(oracle.requests)
    assert not any(one["approximate"] for one in data["figures"])
    for request in oracle.requests:
        assert request["temperature"] == 0
        assert request["messages"][0]["role"] == "system"
        assert ("tools" in request) == (protocol == "native")
    assert "3/3" in done.output


def test_tokens_are_guessed_where_none_are_reported(tmp_path: Path) -> None:
    """And the figures say so."""
    figures = tmp_path / "figures.json"
    with served(Oracle(usage=False)) as url:
        done = bench(url, "--tasks", "2", "--arms", "off", "--json", str(figures))
    assert done.exit_code == 0, done.output
    only = json.loads(figures.read_text("utf-8"))["figures"][0]
    assert only["approximate"]
    assert only["tokens"] > 0
    assert "≈" in done.output


def test_it_goes_on_where_it_ended(tmp_path: Path) -> None:
    """A failing API ends it with what is done kept; the next run makes the rest only."""
    out = tmp_path / "results.jsonl"
    options = ("--tasks", "4", "--arms", "off,rules", "--out", str(out), "--protocol", "json")
    tired = Oracle(limit=10)
    with served(tired) as url:
        stopped = bench(url, *options)
    assert stopped.exit_code == 1
    assert "the oracle is tired" in stopped.output
    assert "run it again to go on" in " ".join(stopped.output.split())
    kept = out.read_text("utf-8").splitlines()[1:]
    assert 0 < len(kept) < 8
    out.write_text(out.read_text("utf-8") + '{"domain": "libr', "utf-8")  # a cut-off line
    fresh = Oracle()
    with served(fresh) as url:
        done = bench(url, *options)
        again = bench(url, *options)
    assert done.exit_code == again.exit_code == 0, done.output
    assert f"{len(kept)} results of" in done.output
    rows = [json.loads(row) for row in out.read_text("utf-8").splitlines()[1:]]
    assert len(rows) == len({(row["task"], row["arm"]) for row in rows}) == 8
    left = sum(row["turns"] for row in rows[len(kept) :])
    assert len(fresh.requests) == left, "what was done is not done again"


def test_other_settings_start_anew(tmp_path: Path) -> None:
    """Results of other settings are kept aside and said to be."""
    out = tmp_path / "results.jsonl"
    options = ("--tasks", "1", "--arms", "off", "--out", str(out))
    with served(Oracle()) as url:
        bench(url, *options)
        changed = bench(url, *options, "--max-turns", "9")
    assert changed.exit_code == 0, changed.output
    assert "other settings (max_turns): starting anew" in " ".join(changed.output.split())
    assert (tmp_path / "results.jsonl.old1").exists()
    assert json.loads(out.read_text("utf-8").splitlines()[0])["settings"]["max_turns"] == 9


# while LangChain makes a tool it ignores this for all threads, until another one puts it back
@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20")
def test_runs_can_be_made_at_the_same_time(tmp_path: Path) -> None:
    """The figures are the same, in the order of the plan."""
    figures = [tmp_path / "one.json", tmp_path / "four.json"]
    with served(Oracle()) as url:
        bench(url, "--tasks", "4", "--arms", "off,rules", "--json", str(figures[0]))
        done = bench(
            url, "--tasks", "4", "--arms", "off,rules", "--json", str(figures[1]), "--parallel", "4"
        )
    assert done.exit_code == 0, done.output
    one, four = (json.loads(file.read_text("utf-8"))["figures"] for file in figures)
    for alone, beside in zip(one, four, strict=True):
        assert {**alone, "seconds": 0} == {**beside, "seconds": 0}


def test_transcripts_are_kept_where_asked_for(tmp_path: Path) -> None:
    """What was said, with the calls."""
    out = tmp_path / "results.jsonl"
    with served(Oracle()) as url:
        bench(url, "--tasks", "1", "--arms", "off", "--out", str(out), "--transcripts")
    said = json.loads(out.read_text("utf-8").splitlines()[1])["transcript"]
    assert [line["role"] for line in said] == ["human", "ai", "search_catalogue", "ai"]
    assert said[1]["calls"][0]["tool"] == "search_catalogue"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--arms", "on"), "'on' is not one of off, rules, rules-bare"),
        (("--domain", "zoo"), "'zoo' is not one of shop, library, fleet"),
        (("--protocol", "xml"), "'xml' is not one of native, json"),
        (("--arms", ","), "give one of off"),
        (("--json", "nowhere/x.json"), "there is no directory"),
        (("--api-key-env", "SENTRY_NO_SUCH_KEY"), "SENTRY_NO_SUCH_KEY is not set"),
        (("--api-key-env", "sk-123"), "--api-key-env"),
        (("--base-url", "ftp://x"), "--base-url"),
    ],
)
def test_wrong_options_are_said_in_words(options: tuple[str, ...], says: str) -> None:
    """Before anything is asked of the API."""
    done = bench("http://127.0.0.1:9/v1", *options)
    assert done.exit_code == 2
    assert says in " ".join(done.output.replace("│", " ").split())


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """It is not overwritten."""
    out = tmp_path / "notes.jsonl"
    out.write_text('{"note": 1}\n', "utf-8")
    done = bench("http://127.0.0.1:9/v1", "--out", str(out))
    assert done.exit_code == 2
    assert out.read_text("utf-8") == '{"note": 1}\n'
