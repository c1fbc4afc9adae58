"""Settings: closed pydantic models, and YAML that is read without its traps."""

from sentry_langgraph.config.load import check_file, check_yaml, load_config
from sentry_langgraph.config.models import SentryConfig, ToolOptions
from sentry_langgraph.options import ModelOptions

__all__ = [
    "ModelOptions",
    "SentryConfig",
    "ToolOptions",
    "check_file",
    "check_yaml",
    "load_config",
]
