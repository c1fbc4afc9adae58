"""The command line: what it prints, how it ends, and that it starts fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from sentry_langgraph.cli import app as cli
from sentry_langgraph.cli.text import plain
from sentry_langgraph.config.starter import starter_text

BAD = 'mod: off\nverify:\n  horizon: "3"\nmodel: {api_key_env: sk-123}\n'


def run(*args: str) -> Result:
    """Run `sentry` with these arguments."""
    return CliRunner().invoke(cli.app, list(args))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A valid and an invalid file."""
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("mode: off\n", encoding="utf-8")
    bad.write_text(BAD, encoding="utf-8")
    return good, bad


def test_validate_names_every_problem(files: tuple[Path, Path]) -> None:
    """Each problem is one line with file, line, key, value and what would be right; exit 1."""
    good, bad = files
    result = run("validate", str(good), str(bad))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == f"ok {good}"
    assert lines[1] == f"{bad}:1: mod: unknown key \"mod\" (did you mean 'mode'?)"
    assert lines[2].startswith(f'{bad}:3: verify.horizon: must be a whole number, got "3" (')
    assert lines[3].startswith(f"{bad}:4: model.api_key_env: ")
    assert len(lines) == 4
    assert "sk-123" not in result.stdout


def test_validate_is_quiet_about_good_files(files: tuple[Path, Path]) -> None:
    """Valid files end with 0."""
    result = run("validate", str(files[0]))
    assert (result.exit_code, result.stdout) == (0, f"ok {files[0]}\n")


def test_validate_as_json(files: tuple[Path, Path]) -> None:
    """`--json` prints one document with the same problems."""
    good, bad = files
    result = run("validate", "--json", str(good), str(bad))
    assert result.exit_code == 1
    first, second = json.loads(result.stdout)
    assert first == {"file": str(good), "ok": True, "problems": []}
    assert [problem["line"] for problem in second["problems"]] == [1, 3, 4]
    assert second["problems"][1]["value"] == "3"


def test_missing_files_and_wrong_usage(tmp_path: Path) -> None:
    """A missing file is a problem (1); no file at all, or an unknown command, is usage (2)."""
    assert run("validate", str(tmp_path / "none.yaml")).exit_code == 1
    assert run("validate").exit_code == 2
    assert run("validat").exit_code == 2
    assert run("init", "--nope").exit_code == 2


def test_output_can_not_steer_the_terminal(tmp_path: Path) -> None:
    """Control characters of a file are printed as escapes, in lines and in JSON."""
    path = tmp_path / "esc.yaml"
    path.write_text('"\\e[31m": 1\nwindow: "\\e]0;x\\a\\n[bold]"\n', encoding="utf-8")
    for args in (("validate",), ("validate", "--json")):
        output = run(*args, str(path)).stdout
        assert "\x1b" not in output
        assert "\x07" not in output
    assert len(run("validate", str(path)).stdout.splitlines()) == 2
    assert "[bold]" in run("validate", str(path)).stdout
    assert plain("a\x1b\n\ud800é") == "a\\x1b\\n\\ud800é"


def test_init_writes_the_starter_file(tmp_path: Path) -> None:
    """`init` writes a valid file, never over one that is there unless told to."""
    path = tmp_path / "sentry.yaml"
    assert run("init", str(path)).exit_code == 0
    assert path.read_text(encoding="utf-8") == starter_text()
    assert run("validate", str(path)).exit_code == 0
    path.write_text("mode: off\n", encoding="utf-8")
    refused = run("init", str(path))
    assert refused.exit_code == 1
    assert "--force" in refused.output
    assert path.read_text(encoding="utf-8") == "mode: off\n"
    assert run("init", "--force", str(path)).exit_code == 0
    assert path.read_text(encoding="utf-8") == starter_text()


def test_init_says_why_it_can_not_write(tmp_path: Path) -> None:
    """A directory that is not there is an error in words."""
    result = run("init", str(tmp_path / "none" / "sentry.yaml"))
    assert result.exit_code == 1
    assert "can't be written" in result.output


def test_schema_is_a_json_schema() -> None:
    """`schema` prints a valid JSON Schema and nothing else."""
    result = run("schema")
    assert result.exit_code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(result.stdout))


def test_version() -> None:
    """`version` names the package and langgraph."""
    result = run("version")
    assert result.exit_code == 0
    assert "sentry-langgraph" in result.stdout
    assert "\nlanggraph " in result.stdout


def test_commands_that_are_not_there_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose module is missing is neither listed nor breaks the others."""
    monkeypatch.setitem(cli.COMMANDS, "ghost", cli.Lazy("sentry_langgraph.none.deep:run", "Boo."))
    assert "ghost" not in run("--help").output
    assert run("ghost").exit_code == 2
    assert run("version").exit_code == 0


def test_every_registered_command_loads() -> None:
    """Each command that is listed can be imported and shows its help."""
    listed = [name for name, lazy in cli.COMMANDS.items() if lazy.installed]
    assert {"init", "validate", "schema", "version"} <= set(listed)
    for name in listed:
        assert run(name, "--help").exit_code == 0, name
        assert name in run("--help").output


def test_help_imports_no_command() -> None:
    """`sentry --help` starts without importing what the commands need."""
    code = (
        "import sys\n"
        "sys.argv = ['sentry', '--help']\n"
        "from sentry_langgraph.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "lazy = [name for name in sys.modules if name.startswith('sentry_langgraph.cli.')]\n"
        "assert lazy == ['sentry_langgraph.cli.app'], lazy\n"
        "assert 'chromadb' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "validate" in done.stdout


def test_sentry_validate_is_the_same_command(files: tuple[Path, Path]) -> None:
    """`sentry-validate FILE` checks files as `sentry validate FILE` does, in any encoding."""
    code = (
        "import sys; sys.argv[0] = 'sentry-validate'\n"
        "from sentry_langgraph.cli import validate_main\nvalidate_main()\n"
    )
    for path, ends in ((files[0], 0), (files[1], 1)):
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
        )
        assert done.returncode == ends, done.stderr
        assert str(path) in done.stdout
