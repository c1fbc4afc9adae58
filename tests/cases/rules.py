"""What a strict provider refuses, from the words of `provider_rules`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from cases.loader import CaseError
from sentry_langgraph.testing import (
    Rule,
    answered_calls,
    human_first,
    leading_system_only,
    no_consecutive_assistants,
    no_orphan_results,
    no_trailing_assistant,
    parsable_arguments,
    reasoning_intact,
    unique_call_ids_per_message,
)

ALWAYS: tuple[Rule, ...] = (
    answered_calls,
    no_orphan_results,
    leading_system_only,
    no_trailing_assistant,
    unique_call_ids_per_message,
)
"""Checked in every run, whether a case asks for it or not."""


def no_empty_messages(messages: Sequence[BaseMessage]) -> str | None:
    """No message of the user, and no assistant message without calls, is empty."""
    for index, message in enumerate(messages):
        bare = isinstance(message, AIMessage) and not (
            message.tool_calls or message.invalid_tool_calls
        )
        if (bare or isinstance(message, HumanMessage)) and not message.content:
            return f"message {index}: it is empty"
    return None


_FORMS: tuple[tuple[str, Rule], ...] = (
    (r"thinking|reasoning|signature", reasoning_intact),
    (r"(without|no) (a )?preced|orphan", no_orphan_results),
    (
        r"answered|unanswered|without following|directly after|between AI|needs? a ToolMessage",
        answered_calls,
    ),
    (r"system (message|block)s?", leading_system_only),
    (r"(not )?end with an assistant|prefill|last message", no_trailing_assistant),
    (r"first (non-system )?message|starts? with (a )?(human|user)", human_first),
    (r"consecutive assistant|two assistant|alternat", no_consecutive_assistants),
    (r"duplicate|unique|same id|ids? (must be )?distinct", unique_call_ids_per_message),
    (r"argument.*JSON|valid JSON|JSON object", parsable_arguments),
    (r"empty (content|text|message)|non-empty", no_empty_messages),
)


def rule(sentence: str) -> Rule:
    """The rule that a sentence states.

    Raises:
        CaseError: None is known.
    """
    for form, found in _FORMS:
        if re.search(form, sentence, re.IGNORECASE):
            return found
    raise CaseError(f"no provider rule is known for {sentence!r}; see cases/rules.py")


def rules(sentences: Sequence[str]) -> tuple[Rule, ...]:
    """The rules of a case, each once."""
    return tuple(dict.fromkeys(rule(sentence) for sentence in sentences))
