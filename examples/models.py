"""The chat model of the examples: a real one where a key is set, else a scripted one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel

from sentry_langgraph.testing import ScriptedChatModel, ScriptEntry


def chat_model(script: Sequence[ScriptEntry]) -> BaseChatModel:
    """`ChatOpenAI` where `OPENAI_API_KEY` is set, else a model that follows `script`.

    The scripted model makes the mistakes that the example is about; a real one may not.
    """
    if os.environ.get("OPENAI_API_KEY"):
        from langchain_openai import ChatOpenAI  # noqa: PLC0415 - slow, and needed with a key only

        return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-4.1-mini"))
    return ScriptedChatModel(script=list(script))
