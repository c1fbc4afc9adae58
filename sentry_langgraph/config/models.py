"""`SentryConfig`: everything that can be set, closed and frozen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from sentry_langgraph.config.environment import Preset, choose
from sentry_langgraph.config.presets import preset_detectors, with_preset
from sentry_langgraph.detect import build_detectors
from sentry_langgraph.learn import LearnOptions
from sentry_langgraph.options import Count, EnvName, Options, PositiveCount, Seconds, Switch
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


HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,64}$")]
"""The name of an HTTP header."""


class ModelOptions(Options):
    """An OpenAI-compatible chat model, for `sentry_langgraph.providers.chat_model`.

    Attributes:
        base_url: Where the API is; left out, the API of OpenAI. Without user and password.
        model: Name of the model, as the provider writes it.
        api_key_env: Name of the environment variable that holds the key; `null` for a server
            that asks for none. The key itself never stands in a file.
        timeout: Seconds to wait for an answer.
        max_retries: Tries after a failed request.
        max_tokens: Most tokens of one answer; left out, the provider decides.
        temperature: Randomness of the answer; left out, the provider decides.
        headers: HTTP headers to send, each with the name of the environment variable that
            holds its value.
    """

    base_url: (
        Annotated[
            str, StringConstraints(pattern=r"^https?://[A-Za-z0-9\[][^\s@?#]*$", max_length=2_000)
        ]
        | None
    ) = None
    model: Annotated[str, StringConstraints(pattern=r"^\S{1,200}$")] | None = None
    api_key_env: EnvName | None = "OPENAI_API_KEY"
    timeout: Seconds = 60.0
    max_retries: Annotated[Count, Field(le=20)] = 2
    max_tokens: PositiveCount | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0, allow_inf_nan=False)] | None = None
    headers: Mapping[HeaderName, EnvName] = Field(default_factory=dict)


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
        model: A chat model, for programs that build theirs from this file.
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

    def preset_for(self, catalog: Catalog | None = None) -> Preset:
        """The preset in force, and why.

        Args:
            catalog: The tools of the agent, which `auto` looks at.
        """
        if self.preset != "auto":
            return Preset(self.preset, "the settings say so")
        return choose(catalog if catalog is not None else Catalog())

    def pipeline(self, catalog: Catalog | None = None) -> Pipeline:
        """The configured stages.

        Args:
            catalog: The tools of the agent, which the preset `auto` looks at.
        """
        preset = preset_detectors(self.preset_for(catalog).name)
        return Pipeline(
            detectors=build_detectors(with_preset(self.detectors, preset)),
            repair=self.repair,
            verify=self.verify,
            learn=self.learn,
            window=self.window,
            mode="shadow" if self.mode == "shadow" else "active",
        )
