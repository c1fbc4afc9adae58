"""The generated files: the configuration reference and the starter file.

`python -m sentry_langgraph.config.reference` in the root of the repository writes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sentry_langgraph.config.describe import meanings, summary
from sentry_langgraph.config.models import SentryConfig
from sentry_langgraph.config.schema import (
    built_in_options,
    json_schema,
    on_request_options,
    sections,
)
from sentry_langgraph.config.starter import STARTER, render_starter, scalar
from sentry_langgraph.detect.registry import BUILT_IN, ON_REQUEST
from sentry_langgraph.options import ModelOptions
from sentry_langgraph.taxonomy import DEFINITIONS, Label

_HEAD = """\
# Configuration

`with_sentry`, `SentryRunner` and `load_config` take a YAML file, a mapping or a `SentryConfig`.
Every key has a default: an empty file is valid. This page is generated from the models.

```python
from sentry_langgraph.config import SentryConfig

config = SentryConfig.from_yaml_text(
    \"\"\"
mode: shadow
tools:
  get_job_status: {polling: true}
\"\"\"
)
assert config.mode == "shadow"
```

## How the file is read

- Unknown keys are errors, and so is a key that stands twice. An error names the file, the line,
  the key, the value and what would be right. `sentry validate FILE` lists all of them.
- `true` and `false` are switches. `on`, `off`, `yes` and `no` are text, so `mode: off` is the
  mode and `polling: yes` is an error.
- Numbers are decimal. `010`, `0x10`, `1_000` and `12:30` are text, and an error where a number
  is wanted. A number in quotes is text. A whole number has no point. `1e3` is 1000.0.
- A key without a value is an error; a section or a list of which every line is left out has its
  defaults. `null` is a value where the table says so.
- Anchors, aliases and merge keys (`<<`) work, and each place gets a copy of its own. Templates
  stand in top-level keys that start with `x-`, which are passed over. So is any other unknown
  top-level key whose value an alias uses, unless its name is close to a setting.
- One document of at most 1 MB in UTF-8, or in UTF-16 with a byte order mark. No tags beyond
  YAML's own, at most 20,000 values with aliases expanded, at most 40 levels.
- A secret never stands in the file. Keys that end in `_env` take the name of an environment
  variable.
- `detectors` and `playbook.embeddings` may name Python code that is imported. Load only files
  that you trust.
"""


_WORDS = {
    "boolean": "`true`, `false`",
    "null": "`null`",
    "object": "mapping of names",
    "integer": "whole number",
    "number": "number",
}


def render_reference() -> str:
    """The text of `docs/configuration.md`."""
    schema = json_schema()
    parts = [_HEAD, "## Top level\n", _table(SentryConfig, schema, "")]
    for name, model in sections(SentryConfig).items():
        parts += _section(name if name != "tools" else "tools.NAME", model, schema)
        if name == "tools":
            labels = ", ".join(f"`{label}`" for label in Label if label in DEFINITIONS)
            parts.append(f"Labels for `exempt`: {labels}.\n")
    parts.append("## detectors\n")
    parts.append(
        "A list. Each entry has a `kind` and options. A built-in detector that isn't listed runs "
        "with its defaults; `judge` runs only where it is listed.\n"
    )
    made = {**BUILT_IN, **ON_REQUEST}
    for kind, model in {**built_in_options(), **on_request_options()}.items():
        about = summary(made[kind])  # type: ignore[arg-type]
        table = _table(model, schema["$defs"][model.__name__], "")
        parts += [f"### {kind}\n", f"{about}\n", table]
    return "\n".join(parts)


def write(root: Path) -> list[Path]:
    """Write the generated files under `root`, the repository; returns their paths."""
    starter = render_starter()
    texts = {
        root / "docs" / "configuration.md": render_reference(),
        root / "configs" / STARTER: starter,
        root / "sentry_langgraph" / "config" / STARTER: starter,
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def _section(name: str, model: type[BaseModel], schema: Mapping[str, Any]) -> list[str]:
    own = schema["$defs"][model.__name__]
    parts = [f"## {name}\n", f"{summary(model)}\n", _table(model, own, name)]
    for inner, inside in sections(model).items():
        parts += _section(f"{name}.{inner}", inside, schema)
    return parts


def _table(model: type[BaseModel], schema: Mapping[str, Any], name: str) -> str:
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    inside = sections(model)
    for key, text in meanings(model).items():
        default = model.model_fields[key].get_default(call_default_factory=True)
        if key in inside:
            place = f"{name}.{key}" if name else key
            place += ".NAME" if isinstance(default, Mapping) else ""
            place = "model" if inside[key] is ModelOptions else place
            anchor = place.lower().replace(".", "")
            if default is None:
                value, shown = f"as section [`{place}`](#{anchor})", "`null`"
            else:
                value, shown = f"section [`{place}`](#{anchor})", ""
        elif key == "detectors":
            value, shown = "list, see [`detectors`](#detectors)", "the built-in ones"
        else:
            value, shown = _kind(schema["properties"][key]), f"`{scalar(default)}`"
        rows.append(f"| `{key}` | {value} | {shown} | {text.replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def _kind(schema: Mapping[str, Any]) -> str:
    """The values that a schema allows, in words."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items", {})
        return "list of labels" if "$ref" in items else f"list of {_kind(items)}"
    return _WORDS.get(str(kind), "text") + _range(schema)


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    parts = [f" from {low:,g}"] if low is not None else []
    for key, word in (("exclusiveMinimum", "above"), ("exclusiveMaximum", "below")):
        if key in schema:
            parts.append(f" {word} {schema[key]:,g}")
    if high is not None and high < 1_000_000:
        parts.append(f" to {high:,g}")
    return "".join(parts)


if __name__ == "__main__":
    write(Path.cwd())
