"""Presets are valid settings, fit the tools they are taken for, and give way to the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from builders import SHOP, catalog, tool

from sentry_langgraph.config import SentryConfig
from sentry_langgraph.config.environment import choose
from sentry_langgraph.config.presets import PRESETS, PresetName, preset_text, with_preset
from sentry_langgraph.config.starter import render_starter
from sentry_langgraph.config.strict_yaml import read_yaml
from sentry_langgraph.detect.registry import BUILT_IN
from sentry_langgraph.detect.repetition import RepetitionOptions
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.records import Catalog

FINISH = tool("finish", answer="string")
SHELL = catalog(tool("execute", command="string"))


def options(stages: Pipeline) -> Any:
    """The options of the loop detector."""
    return dict(stages.detectors)["repetition_or_looping"]._options  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_file_of_settings(name: PresetName) -> None:
    """It loads, names itself, and setting it by hand gives the same detectors."""
    config = SentryConfig.from_yaml_text(preset_text(name))
    assert config.preset == name
    assert options(config.pipeline()) == options(SentryConfig(preset=name).pipeline())


def test_the_preset_for_all_else_is_the_detectors_defaults() -> None:
    """Without tools that say more, nothing is set."""
    assert options(SentryConfig().pipeline()) == RepetitionOptions()
    assert options(SentryConfig(preset="chat").pipeline()) == RepetitionOptions()


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        ([], "chat"),
        ([tool("execute", command="string"), tool("submit")], "shell"),
        ([tool("run_sql", sql="string")], "shell"),
        ([tool("python", code="string"), FINISH], "shell"),
        (
            [tool("bash", script="string"), tool("read_file", path="string", read_only=True)],
            "shell",
        ),
        ([tool("Search", arg="string", read_only=True), FINISH], "search"),
        ([tool("web_search", query="string", read_only=True), FINISH], "search"),
        ([tool("web_search", query="string", read_only=True)], "chat"),
        ([tool("get_order", order_id="string", read_only=True), FINISH], "chat"),
        (list(SHOP.tools.values()), "api"),
        ([tool("cancel", booking_code="string", read_only=False)], "api"),
        ([tool("edit", path="string", new="string", read_only=False)], "chat"),
        ([*SHOP.tools.values(), tool("run_sql", sql="string")], "api"),
    ],
)
def test_auto_takes_what_fits_the_tools(tools: Sequence[Any], name: str) -> None:
    """And says why, in the names of tools and arguments."""
    chosen = choose(catalog(*tools))
    assert chosen.name == name
    assert chosen.why


def test_names_of_tools_do_not_decide_alone() -> None:
    """Arguments and what a tool does say it; a renamed shop is a shop."""
    renamed = catalog(
        tool("alpha", order_id="string", read_only=True),
        tool("beta", order_id="string", read_only=False),
    )
    assert choose(renamed).name == "api"
    assert choose(catalog(tool("alpha", command="string"))).name == "shell"


@pytest.mark.parametrize("tools", [SHELL, SHOP, Catalog()])
def test_a_named_preset_is_taken_whatever_the_tools(tools: Catalog) -> None:
    """`auto` is the only one that looks at them."""
    config = SentryConfig(preset="search")
    assert config.preset_for(tools).name == "search"
    assert options(config.pipeline(tools)).advise_at == 2


@pytest.mark.parametrize(
    ("own", "advise_at", "hold_at", "advise_reads_at"),
    [
        ({}, 2, 3, None),
        ({"max_period": 3}, 2, 3, None),
        ({"advise_at": 4}, 4, 5, None),
        ({"advise_at": 4, "hold_at": 4}, 4, 4, None),
        ({"hold_at": 9}, 2, 9, None),
        ({"advise_reads_at": 4}, 2, 3, 4),
    ],
)
def test_what_the_user_sets_wins(
    own: dict[str, Any], advise_at: int, hold_at: int, advise_reads_at: int | None
) -> None:
    """Option by option; what the preset holds stays behind the user's advice."""
    entries = [{"kind": "repetition_or_looping", **own}]
    made = options(SentryConfig(detectors=entries).pipeline(SHELL))
    assert (made.advise_at, made.hold_at, made.advise_reads_at) == (
        advise_at,
        hold_at,
        advise_reads_at,
    )


def test_the_users_count_is_the_one_for_look_ups_too() -> None:
    """Else the preset would overrule what the user asked for."""
    own = [{"kind": "repetition_or_looping", "advise_at": 3}]
    assert options(SentryConfig().pipeline(SHOP)).advise_reads_at == 5
    assert options(SentryConfig(detectors=own).pipeline(SHOP)).advise_reads_at is None


def test_other_entries_stay_as_they_are() -> None:
    """A preset adds to the list and takes nothing away."""
    own = [{"kind": "planning_stall", "enabled": False}]
    preset = [{"kind": "repetition_or_looping", "advise_at": 2}]
    assert list(with_preset(own, preset)) == [*own, *preset]
    kinds = [kind for kind, _ in SentryConfig(detectors=own).pipeline(SHELL).detectors]
    assert kinds == [kind for kind in BUILT_IN if kind != "planning_stall"]


@pytest.mark.parametrize("name", PRESETS)
def test_the_starter_of_a_preset_leaves_its_settings_to_it(name: PresetName) -> None:
    """The file names the preset, shows its values, and none of its lines overrules them."""
    text = render_starter(name)
    config = SentryConfig.from_yaml_text(text)
    assert config.preset == name
    assert options(config.pipeline()) == options(SentryConfig(preset=name).pipeline())
    for entry in read_yaml(preset_text(name)).data["detectors"]:
        shown = entry["advise_at"]
        assert f"    # advise_at: {shown}\n" in text
