"""A call written as text is recognised where it is the message, and nowhere else."""

from __future__ import annotations

import json

import pytest
from builders import SHOP
from hypothesis import given
from strategies import JSON, TEXTS

from sentry_langgraph.detect.written_call import written_call

CALL = '{"name": "search", "arguments": {"q": 1}}'

WRITTEN = [
    CALL,
    f"\n {CALL} \n",
    '{"tool": "search", "args": {}}',
    '{"tool_name": "search", "parameters": {"q": 1}}',
    '{"action": "search", "action_input": {"q": 1}}',
    '{"name": "search", "arguments": "{\\"q\\": 1}"}',
    '{"type": "function", "function": {"name": "search", "arguments": "{}"}}',
    f"[{CALL}, {CALL}]",
    f"```json\n{CALL}\n```",
    f"```\n{CALL}\n```",
    f"```tool_call\n{CALL}\n```",
    f"I will look it up.\n\n```json\n{CALL}\n```",
    f"<tool_call>{CALL}</tool_call>",
    f"Let me look.\n<tool_call>\n{CALL}\n</tool_call>",
    '<function=search>{"q": 1}</function>',
    '<invoke name="search"><parameter name="q">1</parameter></invoke>',
    "<tool name='search'></tool>",
    f"<function_call>{CALL}</function_call>\n",
]

NOT_WRITTEN = [
    "",
    "The search found order 7.",
    "You can call `search` with a number.",
    "search(q=1) found it.",
    '{"name": "search"}',
    '{"name": "Ana", "arguments": {"against": "it"}}',
    '{"name": "unheard_of", "arguments": {}}',
    '{"orders": [1, 2], "total": 3}',
    '{"name": "search", "arguments": [1]}',
    '{"name": "search", "arguments": "no object"}',
    '{"name": 3, "arguments": {}}',
    "[]",
    "3",
    f"A call looks like this: {CALL} — that is all.",
    f"```json\n{CALL}\n```\nThis is how the tool would be called.",
    f"<tool_call>{CALL}</tool_call> is how it looks.",
    "<invoke name='unheard_of'></invoke>",
    '{"name": "search", "arguments": {"q": 1}',
]


@pytest.mark.parametrize("text", WRITTEN)
def test_calls_in_writing_are_recognised(text: str) -> None:
    """All the forms in which models write calls, alone or at the end of the message."""
    assert written_call(text, SHOP) == "search"


@pytest.mark.parametrize("text", NOT_WRITTEN)
def test_other_texts_are_answers(text: str) -> None:
    """An explanation, an example within a text, data and unknown names are no call."""
    assert written_call(text, SHOP) is None


def test_very_long_messages_are_answers() -> None:
    """A document is not a call, and reading it as one would cost time."""
    assert (
        written_call(json.dumps({"name": "search", "arguments": {"q": "x" * 9_000}}), SHOP) is None
    )


@pytest.mark.parametrize("text", ["[" * 7_000, '{"function":' * 500 + "1" + "}" * 500])
def test_deep_texts_are_answers(text: str) -> None:
    """Depth is no reason to fail."""
    assert written_call(text, SHOP) is None


@given(TEXTS | JSON.map(json.dumps))
def test_any_text_is_read(text: str) -> None:
    """What is returned is a tool of the agent or nothing."""
    assert written_call(text, SHOP) in {None, *SHOP.tools}
