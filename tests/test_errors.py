"""Errors say where, what and what would be right, and survive another process."""

from __future__ import annotations

import copy
import pickle

import pytest

from sentry_langgraph.errors import ConfigError, PlaybookError, SentryError, WiringError

ERRORS = [
    SentryError("it failed"),
    PlaybookError("the store can't be read"),
    ConfigError("must be a number"),
    ConfigError(
        "must be a number",
        file="sentry.yaml",
        line=7,
        key="verify.horizon",
        value=["x"],
        hint="a whole number from 1",
    ),
    WiringError("no tool node was found."),
    WiringError("no tool node was found.", nodes=("agent", "other")),
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_are_picklable(error: SentryError, protocol: int) -> None:
    """With every attribute, so that a worker can report them."""
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_errors_can_be_copied(error: SentryError) -> None:
    """As by tools that retry."""
    assert vars(copy.copy(error)) == vars(error)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ERRORS[2], "must be a number"),
        (ERRORS[3], "sentry.yaml:7: verify.horizon: must be a number (a whole number from 1)"),
        (ConfigError("wrong", line=3), "<config>:3: wrong"),
        (ConfigError("wrong", key="a.b"), "a.b: wrong"),
        (ConfigError("wrong", file="f"), "f: wrong"),
        (ERRORS[4], "no tool node was found."),
        (ERRORS[5], "no tool node was found. Nodes of the graph: agent, other."),
    ],
)
def test_the_text_says_where_and_what(error: SentryError, text: str) -> None:
    """Place first, as editors and people read it."""
    assert str(error) == text


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_one_base_catches_them_all(error: SentryError) -> None:
    """The user's own mistakes are ValueErrors too."""
    assert isinstance(error, SentryError)
    assert isinstance(error, ValueError) is isinstance(error, ConfigError | WiringError)
