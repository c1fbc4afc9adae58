"""The starter file: every setting with its default and its meaning."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from sentry_langgraph.config.describe import meanings, section, summary
from sentry_langgraph.config.models import SentryConfig
from sentry_langgraph.config.presets import PresetName, preset_detectors
from sentry_langgraph.config.schema import built_in_options, on_request_options
from sentry_langgraph.config.strict_yaml import read_yaml
from sentry_langgraph.detect.registry import BUILT_IN, ON_REQUEST

STARTER = "default.yaml"

_HEAD = """\
# Settings of sentry_langgraph: every key with its default. Keep the lines you change; a key
# that is left out has its default. Check the file with `sentry validate FILE`.
#
# on, off, yes and no are text here; a switch is true or false. A key that stands twice is an
# error. Top-level keys that start with `x-` are passed over: put your YAML anchors there.
"""

_TOOLS = """\
# Such as:
# tools:
#   get_job_status:
#     polling: true        # asking again is its purpose
#   search_web:
#     read_only: true
#     ignore_args: [request_id]
#     exempt: [repetition_or_looping]
"""


def starter_text() -> str:
    """The text of the starter file, as the package ships it."""
    return files("sentry_langgraph.config").joinpath(STARTER).read_text(encoding="utf-8")


def render_starter(preset: PresetName | None = None) -> str:
    """The text of the starter file, made from the models.

    What a preset decides stands there as a comment, because a line of the file would win.

    Args:
        preset: The preset that the file names and whose values it shows; None is `auto`, with
            the detectors' own defaults.
    """
    blocks = [_HEAD]
    for name, text in meanings(SentryConfig).items():
        default = SentryConfig.model_fields[name].get_default(call_default_factory=True)
        head = _comment(text, 0)
        if name == "detectors":
            blocks.append(f"{head}detectors:\n{_detectors(preset)}")
        elif name == "preset":
            blocks.append(f"{head}preset: {preset or default}\n")
        elif isinstance(default, BaseModel):
            blocks.append(f"{head}{name}:\n{_keys(default, 2)}")
        else:
            example = _TOOLS if name == "tools" else ""
            blocks.append(f"{head}{example}{name}: {scalar(default)}\n")
    return "\n".join(blocks)


def scalar(value: Any) -> str:
    """A default as YAML, in one line."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {scalar(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(scalar, value)) + "]"
    text = str(value)
    if isinstance(value, str) and text.replace("_", "").isidentifier():
        reads_same = read_yaml(f"key: {text}").data["key"] == value
        return text if reads_same else json.dumps(text)
    return json.dumps(value)


def _detectors(preset: PresetName | None) -> str:
    blocks = []
    decided = _decided(preset)
    for kind, model in built_in_options().items():
        about = summary(BUILT_IN[kind])  # type: ignore[arg-type]
        keys = _keys(model(), 4, decided.get(kind, {}))
        blocks.append(f"{_comment(about, 2)}  - kind: {kind}\n{keys}")
    blocks += [_left_out(kind, model()) for kind, model in on_request_options().items()]
    return "\n".join(blocks)


def _left_out(kind: str, options: BaseModel) -> str:
    """The entry of a detector that runs only where it is listed, as a comment."""
    about = summary(ON_REQUEST[kind])  # type: ignore[arg-type]
    lines = "".join(
        f"  #   {name}: {scalar(getattr(options, name))}\n" for name in meanings(type(options))
    )
    return f"{_comment(about, 2)}  # - kind: {kind}\n{lines}"


def _decided(preset: PresetName | None) -> dict[str, Mapping[str, Any]]:
    """What presets decide, by kind of detector, with the values of `preset`."""
    return {entry["kind"]: entry for entry in preset_detectors(preset or "chat")}


def _keys(options: BaseModel, indent: int, decided: Mapping[str, Any] | None = None) -> str:
    lines = ""
    space = " " * indent
    for name, text in meanings(type(options)).items():
        value = getattr(options, name)
        lines += _comment(text, indent)
        if decided and name in decided:
            lines += f"{space}# The preset decides; a line of yours wins.\n"
            lines += f"{space}# {name}: {scalar(decided[name])}\n"
        elif section(type(options).model_fields[name].annotation) is not None:
            lines += f"{space}{name}:\n{_keys(value, indent + 2)}"
        else:
            lines += f"{space}{name}: {scalar(value)}\n"
    return lines


def _comment(text: str, indent: int) -> str:
    head = " " * indent + "# "
    return textwrap.fill(text, 96, initial_indent=head, subsequent_indent=head) + "\n"
