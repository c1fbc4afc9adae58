"""`sentry schema`: the JSON Schema of the settings."""

from __future__ import annotations

import json

import typer

from sentry_langgraph.config.schema import json_schema


def schema() -> None:
    """Print the JSON Schema of a settings file, for editors that complete and check YAML."""
    typer.echo(json.dumps(json_schema(), indent=2))
