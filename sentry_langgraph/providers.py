"""Chat models from settings. Keys come from environment variables only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pydantic import SecretStr

from sentry_langgraph.errors import ConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from sentry_langgraph.options import ModelOptions

_NO_KEY = "none"
"""What is sent as the key to a server that asks for none; the client insists on one."""


def chat_model(options: ModelOptions) -> BaseChatModel:
    """The chat model that the section `model` of a config describes.

    Args:
        options: The settings, as in `load_config("configs/providers/openrouter.yaml").model`.

    Returns:
        A LangChain chat model that speaks the chat completions API at `base_url`.

    Raises:
        ConfigError: No model is named, or an environment variable is not set; it is named.
    """
    if options.model is None:
        raise ConfigError(
            "no model is named", key="model.model", hint="give the name that the provider uses"
        )
    key = (
        _from_environment(options.api_key_env, "model.api_key_env")
        if options.api_key_env is not None
        else _NO_KEY
    )
    headers = {
        header: _from_environment(name, f"model.headers.{header}")
        for header, name in options.headers.items()
    }
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - a second of imports

    return ChatOpenAI(
        model=options.model,
        base_url=options.base_url,
        api_key=SecretStr(key),
        timeout=options.timeout,
        max_retries=options.max_retries,
        max_completion_tokens=options.max_tokens,
        temperature=options.temperature,
        default_headers=headers or None,
    )


def _from_environment(name: str, key: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(
            f"the environment variable {name} is not set", key=key, hint=f"export {name}=…"
        )
    return value
