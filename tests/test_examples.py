"""The examples run offline, each as a user would start it, and show what they are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"

SHOWN = {
    "quick_start": (
        "Not executed: `fetch_forecast` — there is no tool named `fetch_forecast`.",
        "Next: call `get_forecast` with city (string, required), days (integer, optional)",
        "`days` must be integer",
        "It stays mild in Oslo for three days.",
        "Sentry report: 2 failures, 2 repairs (2 recovered)",
        "1. unknown_tool, `fetch_forecast`",
        "2. invalid_arguments (type), `get_forecast`",
    ),
    "create_agent": (
        "There were 12 orders in 2025.",
        "1. repetition_or_looping (exact_repeat), `count_orders`",
        "done: advice → recovered: a different call ran with success",
        "Lessons learned:",
        "`count_orders` with other values for table",
    ),
    "async_streaming": (
        "I will read the status page now.",
        "[sentry] failure planning_stall",
        "[sentry] repair planning_stall",
        "All systems are up.",
        "[sentry] verdict planning_stall",
    ),
    "own_detector": (
        "`refund_order` — the order was not looked at",
        "Next: call `get_order`, and refund only what was delivered.",
        "Your lamp, order A7, is refunded.",
        "1. irreversible_action (unseen), `refund_order`",
        "done: held → recovered",
    ),
    "without_langgraph": (
        "[sentry, advise] Observed: this is call 3 of `get_stock` with the same arguments",
        "Original request: How many desk lamps are in stock?",
        "There are 12 desk lamps in stock.",
        "1. repetition_or_looping (exact_repeat), `get_stock`",
        "done: advice → recovered",
    ),
}
"""What each example prints, among other lines, in this order."""

NO_NETWORK = """\
import os
import socket
import sys

_connect = socket.socket.connect

def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        print("something tried to reach", address, file=sys.stderr, flush=True)
        os._exit(3)  # from whichever thread
    _connect(self, address)

socket.socket.connect = connect
"""


def run(code: list[str], directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that can't reach the network, with `directory` as its place."""
    (directory / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(directory), str(EXAMPLES), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-W", "error", *code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=directory,
        env={**environment, **variables},
    )


def test_examples_can_not_reach_the_network(tmp_path: Path) -> None:
    """What would connect ends the process, so the other tests of this file mean something."""
    code = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')"
    done = run(["-c", code], tmp_path)
    assert done.returncode == 3
    assert "127.0.0.1" in done.stderr


def test_every_example_is_listed() -> None:
    """No example goes untested; `models.py` is the part they share."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SHOWN, "models"}


@pytest.mark.parametrize("name", SHOWN)
def test_example_runs_offline(name: str, tmp_path: Path) -> None:
    """Without a key an example follows its script, needs no network, and shows its subject."""
    done = run([str(EXAMPLES / f"{name}.py")], tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    position = 0
    for line in SHOWN[name]:
        position = done.stdout.find(line, position)
        assert position >= 0, f"{line!r} is not shown, or not in this place:\n{done.stdout}"


def test_examples_take_a_real_model(tmp_path: Path) -> None:
    """With a key every example is built on `ChatOpenAI`, and building it calls nobody."""
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    model = importlib.import_module(name).MODEL\n"
        "    model = getattr(model, 'bound', model)\n"
        "    print(name, type(model).__name__, model.model_name)\n"
    )
    done = run(["-c", code, *SHOWN], tmp_path, OPENAI_API_KEY="not-a-key", OPENAI_MODEL="a-model")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name} ChatOpenAI a-model" for name in SHOWN]
