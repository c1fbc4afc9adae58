"""Detectors are built in, imported or registered, and a wrong entry is an error in words."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from builders import call, proposal, trajectory

from sentry_langgraph.detect import BUILT_IN, build_detectors
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.taxonomy import Label

SAMPLES = "detect.samples"


def built(*entries: dict[str, Any]) -> dict[str, Any]:
    """The detectors by kind."""
    return dict(build_detectors(entries))


def refused(*entries: dict[str, Any]) -> ConfigError:
    """The error of a wrong entry."""
    with pytest.raises(ConfigError) as caught:
        build_detectors(entries)
    return caught.value


def test_the_built_in_detectors_run_by_default() -> None:
    """In their order, without any entry."""
    assert list(built()) == list(BUILT_IN)


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_each_can_be_switched_off(kind: str) -> None:
    """`enabled: false` leaves one out and keeps the others."""
    assert set(built({"kind": kind, "enabled": False})) == set(BUILT_IN) - {kind}


def test_a_class_is_found_by_its_import_path() -> None:
    """It gets its own options, checked by its own model."""
    kind = f"{SAMPLES}:TooManyCalls"
    detector = built({"kind": kind, "limit": 1})[kind]
    assert detector.limit == 1
    seen = trajectory((), proposal(call(), call()))
    assert [one.label for one in detector.detect(seen)] == [Label.OVER_EXPLORATION]
    assert list(built({"kind": kind})) == [*BUILT_IN, kind]


def test_a_function_is_a_detector_too() -> None:
    """It needs no options and no class."""
    kind = f"{SAMPLES}:shouting"
    detector = built({"kind": kind})[kind]
    assert [one.key for one in detector.detect(trajectory((), proposal(text="HELP")))] == [
        "shouting"
    ]
    assert list(detector.detect(trajectory((), proposal(text="Help")))) == []


def test_a_class_without_options_gets_the_common_ones() -> None:
    """`enabled` works for every detector."""
    kind = f"{SAMPLES}:Plain"
    assert kind in built({"kind": kind})
    assert kind not in built({"kind": kind, "enabled": False})


@pytest.mark.parametrize(
    ("entry", "key", "says"),
    [
        ({}, "detectors[0].kind", "needs a kind"),
        ({"kind": 3}, "detectors[0].kind", "needs a kind"),
        ({"kind": "loop"}, "detectors[0].kind", "repetition_or_looping"),
        ({"kind": "gone.module:X"}, "detectors[0].kind", "can't be imported"),
        ({"kind": f"{SAMPLES}:Gone"}, "detectors[0].kind", "can't be imported"),
        ({"kind": ":X"}, "detectors[0].kind", "can't be imported"),
        ({"kind": f"{SAMPLES}:NoDetect"}, "detectors[0].kind", "neither a class"),
        ({"kind": f"{SAMPLES}:NUMBER"}, "detectors[0].kind", "neither a class"),
        ({"kind": f"{SAMPLES}:waiting"}, "detectors[0].kind", "async"),
        ({"kind": f"{SAMPLES}:NoOptions"}, "detectors[0].kind", "options"),
        ({"kind": f"{SAMPLES}:TooManyCalls", "limit": 0}, "detectors[0].limit", "greater"),
        ({"kind": f"{SAMPLES}:TooManyCalls", "limt": 1}, "detectors[0].limt", "not permitted"),
        ({"kind": f"{SAMPLES}:shouting", "loud": 1}, "detectors[0].loud", "not permitted"),
        ({"kind": "repetition_or_looping", "hold_at": "x"}, "detectors[0].hold_at", "integer"),
        ({"kind": "planning_stall", "enabled": "yes"}, "detectors[0].enabled", "boolean"),
    ],
)
def test_a_wrong_entry_says_which_key_and_why(entry: dict[str, Any], key: str, says: str) -> None:
    """Key, reason, and what would be right."""
    error = refused(entry)
    assert error.key == key
    assert says in str(error)


def test_a_kind_listed_twice_is_refused() -> None:
    """The second one would win without a word."""
    error = refused({"kind": "planning_stall"}, {"kind": "planning_stall"})
    assert error.key == "detectors[1].kind"


PROGRAM = """
    from sentry_langgraph.detect import build_detectors
    from sentry_langgraph.errors import ConfigError

    print([kind for kind, _ in build_detectors([{"kind": "politeness", "enabled": True}])][-1])
    print(type(dict(build_detectors([{"kind": "shy"}]))["shy"]).__name__)
    for kind in ("broken", "unheard_of"):
        try:
            build_detectors([{"kind": kind}])
        except ConfigError as error:
            print(error.key, "|", error)
"""


def test_an_installed_package_can_register_detectors(tmp_path: Path) -> None:
    """Through the entry-point group, by name; one that does not load is an error in words."""
    info = tmp_path / "polite-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polite\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[sentry_langgraph.detectors]\n"
        "politeness = polite:Politeness\n"
        "shy = polite:shy\n"
        "broken = polite_gone:X\n"
    )
    (tmp_path / "polite.py").write_text(
        textwrap.dedent("""
            class Politeness:
                def __init__(self, options): pass
                def detect(self, trajectory): return ()

            def shy(trajectory):
                return ()
        """)
    )
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env={"PYTHONPATH": ":".join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert out[0] == "politeness"
    assert out[1] == "FunctionDetector"
    assert out[2].startswith("detectors[0].kind | ")
    assert "polite_gone" in out[2]
    assert "unheard_of" in out[3]
    assert "politeness" in out[3]
