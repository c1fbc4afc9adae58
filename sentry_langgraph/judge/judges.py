"""The models that are asked, built from settings or given by the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sentry_langgraph.detect.judge import JudgeOptions
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.judge.asking import Asker
from sentry_langgraph.options import ModelOptions
from sentry_langgraph.providers import chat_model

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Judges:
    """The judge of one graph or loop.

    Attributes:
        first: Is asked.
        options: How.
        second: Has to name the same failure, where there is one.
    """

    first: Asker
    options: JudgeOptions
    second: Asker | None = None


def open_judges(
    options: JudgeOptions, shared: ModelOptions, given: BaseChatModel | None = None
) -> Judges:
    """The judges that settings describe.

    Args:
        options: The options of the judge.
        shared: The section `model`, for a judge whose options name no model.
        given: A model of the program's own, instead of what the settings say.

    Raises:
        ConfigError: There is no model, or the environment variable of its key is not set.
    """
    model = given if given is not None else _built(options.model or shared)
    second = _asker(chat_model(options.confirm), options) if options.confirm is not None else None
    return Judges(_asker(model, options), options, second)


def _built(options: ModelOptions) -> BaseChatModel:
    if options.model is None:
        raise ConfigError(
            "the judge has no model",
            key="detectors[judge].model",
            hint="name one in its `model`, or in the section `model`, or pass judge=…",
        )
    return chat_model(options)


def _asker(model: BaseChatModel, options: JudgeOptions) -> Asker:
    return Asker(model, timeout=options.timeout, answer=options.answer)
