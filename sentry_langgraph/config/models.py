"""`SentryConfig`: everything that can be set, closed and frozen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sentry_langgraph.config.environment import Preset, choose
from sentry_langgraph.config.presets import preset_detectors, with_preset
from sentry_langgraph.detect import build_detectors
from sentry_langgraph.detect.judge import Judge, JudgeOptions
from sentry_langgraph.learn import LearnOptions
from sentry_langgraph.options import ModelOptions, Options, PositiveCount, Switch
from sentry_langgraph.pipeline import Pipeline
from sentry_langgraph.playbook.options import PlaybookOptions
from sentry_langgraph.records import Catalog
from sentry_langgraph.route import RepairOptions
from sentry_langgraph.taxonomy import Label
from sentry_langgraph.verify import VerifyOptions


class ToolOptions(Options):
    """What you know of one tool that its schema does not say.

    Attributes:
        read_only: True for a look-up, False for a change. Left out, MCP hints decide, then the
            name.
        mutating: True is the same as `read_only: false`.
        polling: Asking again is its purpose; it is never a loop.
        batch: Many calls that differ little are its normal use.
        finish: Its success ends the task.
        exempt: Failure labels that never apply to it.
        ignore_args: Arguments that don't count when calls are compared.
        free_args: Arguments whose values the agent may make up, such as the id of something
            new.
        advise_at: Identical calls before advice; left out, what the detector says.
        hold_at: Identical calls before one is held; left out, what the detector says.
    """

    read_only: Switch | None = None
    mutating: Switch | None = None
    polling: Switch = False
    batch: Switch = False
    finish: Switch = False
    exempt: tuple[Label, ...] = ()
    ignore_args: tuple[str, ...] = ()
    free_args: tuple[str, ...] = ()
    advise_at: Annotated[PositiveCount, Field(ge=2)] | None = None
    hold_at: Annotated[PositiveCount, Field(ge=2)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.read_only is not None and self.read_only == self.mutating:
            raise ValueError("a tool is read_only or mutating: leave one of the two out")
        return self


class SentryConfig(Options):
    """The settings of `with_sentry` and `SentryRunner`.

    Attributes:
        mode: `active` repairs; `shadow` records what would have happened and touches nothing;
            `off` wires nothing.
        window: Steps that detectors look back.
        preset: Settings of the detectors for a kind of environment; `auto` takes the one that
            fits the tools, and logs which and why.
        detectors: Entries with `kind` and options. An entry changes a default detector or adds
            one; `enabled: false` switches one off.
        repair: The ladder and its budgets.
        verify: How recovery is judged.
        learn: Whether verified recoveries become lessons.
        playbook: Where lessons lie.
        tools: What you know of your tools, by name. A name that no tool node has is taken as
            served elsewhere, and is never unknown.
        model: A chat model: that of the judge where its entry names none, and for programs
            that build theirs from this file.
    """

    mode: Literal["active", "shadow", "off"] = "active"
    window: Annotated[PositiveCount, Field(le=200)] = 20
    preset: Literal["auto", "chat", "api", "shell", "search"] = "auto"
    detectors: tuple[dict[str, Any], ...] = ()
    repair: RepairOptions = RepairOptions()
    verify: VerifyOptions = VerifyOptions()
    learn: LearnOptions = LearnOptions()
    playbook: PlaybookOptions = PlaybookOptions()
    tools: Mapping[str, ToolOptions] = Field(default_factory=dict)
    model: ModelOptions = ModelOptions()

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> SentryConfig:
        """The settings of a YAML file.

        Raises:
            ConfigError: It can't be read or is wrong, with file, line, key and value.
        """
        from sentry_langgraph.config import load  # noqa: PLC0415 - it imports this module

        return load.load_config(os.fspath(path))

    @classmethod
    def from_yaml_text(cls, text: str | bytes, file: str | None = None) -> SentryConfig:
        """The settings that YAML text holds; an empty text holds the defaults.

        Args:
            text: The text, or its bytes in UTF-8 or UTF-16.
            file: The name that errors give.

        Raises:
            ConfigError: The text is wrong, with line, key and value.
        """
        from sentry_langgraph.config import load  # noqa: PLC0415 - it imports this module

        return load.load_text(text, file)

    @field_validator("detectors")
    @classmethod
    def _known_detectors(cls, entries: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        build_detectors(entries)
        return entries

    @property
    def judge_options(self) -> JudgeOptions:
        """The options of the entry `judge`, or its defaults where it isn't listed."""
        entry = next((one for one in self.detectors if one.get("kind") == "judge"), {})
        return JudgeOptions.model_validate({k: v for k, v in entry.items() if k != "kind"})

    @property
    def asks_judge(self) -> bool:
        """Whether anything in these settings asks a language model."""
        listed = any(one.get("kind") == "judge" for one in self.detectors)
        return (
            (listed and self.judge_options.enabled)
            or self.verify.judge
            or self.learn.wording == "judge"
        )

    def preset_for(self, catalog: Catalog | None = None) -> Preset:
        """The preset in force, and why.

        Args:
            catalog: The tools of the agent, which `auto` looks at.
        """
        if self.preset != "auto":
            return Preset(self.preset, "the settings say so")
        return choose(catalog if catalog is not None else Catalog())

    def pipeline(self, catalog: Catalog | None = None, *, judge: bool = False) -> Pipeline:
        """The configured stages.

        Args:
            catalog: The tools of the agent, which the preset `auto` looks at.
            judge: Whether the program gives a model for the judge, which then runs without
                being listed; with `enabled: false` in its entry it still does not look for
                failures.
        """
        preset = preset_detectors(self.preset_for(catalog).name)
        built = build_detectors(with_preset(self.detectors, preset))
        found = next((one for _, one in built if isinstance(one, Judge)), None)
        if found is None and judge and self.judge_options.enabled:
            found = Judge(self.judge_options)
        return Pipeline(
            judge=found,
            detectors=tuple(pair for pair in built if not isinstance(pair[1], Judge)),
            repair=self.repair,
            verify=self.verify,
            learn=self.learn,
            window=self.window,
            mode="shadow" if self.mode == "shadow" else "active",
        )
