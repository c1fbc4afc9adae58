"""The JSON Schema of a settings file, for editors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from sentry_langgraph.config.describe import entries, meanings, section, summary
from sentry_langgraph.config.models import SentryConfig
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.detect.registry import BUILT_IN, ON_REQUEST

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a settings file.

    Each entry of `detectors` is one of the built-in kinds with its options, or another kind
    with any options. Keys at the root that start with `x-` are allowed.
    """
    kinds = {**built_in_options(), **on_request_options()}
    models: list[type[BaseModel]] = [SentryConfig, *kinds.values()]
    refs, shared = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    definitions: dict[str, Any] = shared["$defs"]
    for model in _with_sections(models):
        _describe(definitions[model.__name__], model)
    root = definitions.pop(SentryConfig.__name__)
    for kind, model in kinds.items():
        options = definitions[model.__name__]
        options["properties"] = {"kind": {"const": kind}, **options["properties"]}
        options["required"] = ["kind", *options.get("required", [])]
    other = {
        "type": "object",
        "description": "A detector of an installed package, or `package.module:Class`.",
        "properties": {
            "kind": {"type": "string", "not": {"enum": list(kinds)}},
            "enabled": {"type": "boolean", "default": True},
        },
        "required": ["kind"],
    }
    of_kind = [refs[(model, "validation")] for model in kinds.values()]
    root["properties"]["detectors"] |= {"items": {"oneOf": [*of_kind, other]}}
    return {
        "$schema": DIALECT,
        "title": "sentry_langgraph settings",
        **{name: value for name, value in root.items() if name != "title"},
        "patternProperties": {"^x-": {}},
        "$defs": definitions,
    }


def built_in_options() -> dict[str, type[DetectorOptions]]:
    """The options model of each built-in detector, by kind."""
    return {kind: made.Options for kind, made in BUILT_IN.items()}  # type: ignore[attr-defined]


def on_request_options() -> dict[str, type[DetectorOptions]]:
    """The options model of each detector that runs only where it is listed, by kind."""
    return {kind: made.Options for kind, made in ON_REQUEST.items()}  # type: ignore[attr-defined]


def sections(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The fields of a model that hold settings of their own, alone or by name."""
    found = {}
    for name, info in model.model_fields.items():
        inside = section(info.annotation) or entries(info.annotation)
        if inside is not None:
            found[name] = inside
    return found


def _with_sections(models: list[type[BaseModel]]) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    for model in models:
        found.append(model)
        found += _with_sections(list(sections(model).values()))
    return found


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    schema["description"] = summary(model)
    for name, text in meanings(model).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = text
