"""`sentry bench detect`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.recorded import run, turns, user, write_runs
from sentry_langgraph.bench.command import app
from sentry_langgraph.bench.detection import plots
from sentry_langgraph.bench.detection.report import measure
from sentry_langgraph.detect import BUILT_IN


def words(output: str) -> str:
    """What is printed, without frames and line breaks."""
    return " ".join(output.replace("│", " ").split())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """One file with ten loops and a clean run."""
    made = tmp_path / "data"
    made.mkdir()
    loop = [user("Find it."), *turns(*[("a", "same")] * 8)]
    clean = [user("Find it."), *turns(("a", "1"), ("b", "2"))]
    looped = {"success": False, "termination": "max_steps"}
    loops = [run(loop, id=f"a{number}", outcome=looped) for number in range(10)]
    write_runs(made / "runs.jsonl.gz", [*loops, run(clean, id="b")])
    return made


def test_writes_what_is_asked_for(directory: Path, tmp_path: Path) -> None:
    """Tables on the terminal; JSON, Markdown and plots where they are asked for."""
    pytest.importorskip("matplotlib")
    json_file, page, drawn = tmp_path / "out.json", tmp_path / "out.md", tmp_path / "plots"
    written = ["--json", str(json_file), "--markdown", str(page), "--plots", str(drawn)]
    done = CliRunner().invoke(app, ["detect", "--data", str(directory), "--no-peers", *written])
    assert done.exit_code == 0, done.output
    assert "Loops in test_source" in done.output
    assert "What this does not show" in done.output
    found = json.loads(json_file.read_text(encoding="utf-8"))
    assert found["sources"][0]["runs"] == 11
    assert found["sources"][0]["variants"]
    assert "## Thresholds" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in drawn.iterdir()) == [plots.RECALL, plots.WHERE]
    assert all(path.read_text("utf-8").startswith("<?xml") for path in drawn.iterdir())


def test_settings_and_sources(directory: Path, tmp_path: Path) -> None:
    """Settings come from a file; a source that nothing has is refused."""
    settings = tmp_path / "sentry.yaml"
    off = "".join(f"  - {{kind: {kind}, enabled: false}}\n" for kind in BUILT_IN)
    settings.write_text(f"detectors:\n{off}")
    base = ["detect", "--data", str(directory), "--no-peers"]
    done = CliRunner().invoke(app, [*base, "--config", str(settings)])
    assert done.exit_code == 0, done.output
    assert "What we report" not in done.output
    refused = CliRunner().invoke(app, [*base, "--source", "elsewhere"])
    assert refused.exit_code == 2
    assert "no run of the sources" in words(refused.output)


def test_too_few_runs_for_a_plot(directory: Path, tmp_path: Path) -> None:
    """Where no source has ten runs with a loop there is no plot, and that is said."""
    pytest.importorskip("matplotlib")
    options = ["--limit", "3", "--no-peers", "--plots", str(tmp_path / "plots")]
    done = CliRunner().invoke(app, ["detect", "--data", str(directory), *options])
    assert done.exit_code == 0, done.output
    assert "No plot" in done.output
    assert not (tmp_path / "plots").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--json", "/nowhere/x.json"], "no directory"),
        (["--markdown", "/nowhere/x.md"], "no directory"),
        (["--config", "/nowhere/x.yaml"], "--config"),
        (["--limit", "0"], "--limit"),
        (["--judge"], "the judge has no model"),
        (["--judge-runs", "1"], "--judge-runs"),
    ],
)
def test_mistakes_are_named(directory: Path, arguments: list[str], says: str) -> None:
    """Before anything is measured, with the option that is wrong."""
    done = CliRunner().invoke(app, ["detect", "--data", str(directory), *arguments])
    assert done.exit_code == 2
    assert says in words(done.output)


def test_plots_need_matplotlib(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is missing, the message says what to install."""
    monkeypatch.setattr(plots, "available", lambda: False)
    done = CliRunner().invoke(app, ["detect", "--data", str(directory), "--plots", "p"])
    assert done.exit_code == 2
    assert "sentry-langgraph[bench]" in words(done.output)


def test_empty_directory(tmp_path: Path) -> None:
    """A directory without runs is no success."""
    done = CliRunner().invoke(app, ["detect", "--data", str(tmp_path)])
    assert done.exit_code == 2
    assert "there are no runs" in words(done.output)


@pytest.mark.skipif(
    "SENTRY_TRACES" not in os.environ, reason="SENTRY_TRACES names no directory of recorded runs"
)
def test_recorded_runs_of_real_agents() -> None:
    """Some runs of each file go through, and no valid call is refused."""
    found = measure(Path(os.environ["SENTRY_TRACES"]), limit=40)
    assert len(found.sources) >= 4
    for source in found.sources:
        if source.refused is not None:
            assert source.refused.valid.count == 0, source.source
