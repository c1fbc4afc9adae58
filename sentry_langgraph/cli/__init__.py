"""The commands `sentry` and `sentry-validate`."""

from sentry_langgraph.cli.app import main, validate_main

__all__ = ["main", "validate_main"]
