"""Provider rules: each refuses what it says, and a good history passes all."""

from __future__ import annotations

from functools import partial

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from sentry_langgraph.testing import (
    STRICT,
    ProviderRefusal,
    Rule,
    ai,
    answered_calls,
    call,
    check_history,
    human_first,
    invalid_call,
    leading_system_only,
    no_consecutive_assistants,
    no_orphan_results,
    no_trailing_assistant,
    parsable_arguments,
    reasoning_intact,
    unique_call_ids_per_message,
)

ALL = (*STRICT, parsable_arguments, reasoning_intact)
U = HumanMessage("hi")
S = SystemMessage("rules")


def result(call_id: str) -> ToolMessage:
    return ToolMessage("ok", tool_call_id=call_id)


def calls(*ids: str) -> AIMessage:
    return ai("", *(call("f", {"a": 1}, id=i) for i in ids))


GOOD: dict[str, list[BaseMessage]] = {
    "plain": [U],
    "system first": [S, SystemMessage("more"), U],
    "answered": [U, calls("a", "b"), result("b"), result("a")],
    "guidance after results": [U, calls("a"), result("a"), HumanMessage("plan", name="sentry")],
    "id used again later": [U, calls("a"), result("a"), calls("a"), result("a")],
    "turns": [U, ai("hello"), U, calls("a"), result("a"), ai("done"), U],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD.keys())
def test_a_good_history_passes_every_rule(messages: list[BaseMessage]) -> None:
    """No rule refuses what every provider accepts."""
    assert check_history(messages, ALL) == []


def _block(kind: str, **fields: object) -> AIMessage:
    return ai([{"type": kind, "name": "f", **fields}])


RAW = {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{a"}}]}

BROKEN: list[tuple[Rule, list[BaseMessage], int]] = [
    (answered_calls, [U, calls("a"), U], 1),
    (answered_calls, [U, calls("a")], 1),
    (answered_calls, [U, calls("a", "b"), result("a"), U, result("b")], 1),
    (answered_calls, [U, calls("a"), result("a"), result("a")], 1),
    (answered_calls, [U, calls("a"), U, result("a")], 1),
    (answered_calls, [U, ai("", invalid_call("f", "{a", id="a")), U], 1),
    (answered_calls, [U, ai("", {"name": "f", "args": {}, "id": None, "type": "tool_call"})], 1),
    (answered_calls, [U, _block("tool_use", id="a", input={}), U], 1),
    (answered_calls, [U, AIMessage("", additional_kwargs=RAW), U], 1),
    (no_orphan_results, [U, result("a")], 1),
    (no_orphan_results, [U, calls("a"), result("a"), result("b")], 3),
    (no_orphan_results, [U, calls("a"), result("a"), U, result("a")], 4),
    (leading_system_only, [U, S], 1),
    (leading_system_only, [S, U, ai("x"), S, U], 3),
    (no_trailing_assistant, [U, ai("prefill")], 1),
    (human_first, [S, ai("hello"), U], 1),
    (human_first, [S], 1),
    (human_first, [], 0),
    (no_consecutive_assistants, [U, ai("a"), ai("b"), U], 2),
    (unique_call_ids_per_message, [U, calls("a", "a"), result("a"), result("a")], 1),
    (unique_call_ids_per_message, [U, ai("", call("f", id="a"), invalid_call("f", "", "a"))], 1),
    (parsable_arguments, [U, ai("", invalid_call("f", "{a", id="a"))], 1),
    (parsable_arguments, [U, ai("", invalid_call("f", "[1]", id="a"))], 1),
    (parsable_arguments, [U, AIMessage("", additional_kwargs=RAW)], 1),
    (parsable_arguments, [U, _block("tool_use", id="a", input="{a")], 1),
    (parsable_arguments, [U, _block("function_call", call_id="a", arguments="{a")], 1),
    (
        reasoning_intact,
        [U, ai([{"type": "text", "text": "x"}, {"type": "thinking"}], call("f", id="a"))],
        1,
    ),
]


@pytest.mark.parametrize(("rule", "messages", "index"), BROKEN)
def test_a_broken_history_is_named(rule: Rule, messages: list[BaseMessage], index: int) -> None:
    """Each rule refuses its fault and says at which message."""
    problem = rule(messages)
    assert problem is not None
    assert problem.startswith(f"message {index}: ")
    assert ProviderRefusal("r", problem).index == index


def test_an_answered_invalid_call_passes_the_strict_rules() -> None:
    """An unparsable call that has its result is fine for all but `parsable_arguments`."""
    history = [U, ai("", invalid_call("f", "{a", id="a")), result("a")]
    assert check_history(history) == []
    assert [p.split(":")[0] for p in check_history(history, ALL)] == ["parsable_arguments"]


def test_an_answer_to_each_of_two_equal_ids_is_no_second_fault() -> None:
    """Two calls with one id need two results; only the id itself is refused."""
    history = [U, calls("a", "a"), result("a"), result("a")]
    assert [p.split(":")[0] for p in check_history(history)] == ["unique_call_ids_per_message"]


def test_a_call_in_block_and_field_counts_once() -> None:
    """A `tool_use` block and the parsed call with its id are one call."""
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}}
    assert check_history([U, ai([block], call("f", {"a": 1}, id="a")), result("a")], ALL) == []


THINKING = {"type": "thinking", "thinking": "t", "signature": "SIG"}
REDACTED = {"type": "redacted_thinking", "data": "XX"}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


def _turn(*blocks: dict[str, object], id: str | None = "m", **kw: object) -> AIMessage:
    return ai(list(blocks) or "", call("f", id="a"), id=id, additional_kwargs=kw)


REASONING = [
    ("same", _turn(THINKING, USE), _turn(THINKING, USE), True),
    ("dropped", _turn(THINKING, USE), _turn(USE), False),
    ("signature changed", _turn(THINKING, USE), _turn({**THINKING, "signature": "X"}, USE), False),
    ("moved", _turn(THINKING, USE), _turn(USE, THINKING), False),
    ("rebuilt with a new id", _turn(THINKING, USE), _turn(USE, id="other"), False),
    ("rebuilt without an id", _turn(REDACTED, USE), _turn(id=None), False),
    ("redacted kept", _turn(REDACTED, USE), _turn(REDACTED, USE), True),
    ("field kept", _turn(reasoning_content="t"), _turn(reasoning_content="t"), True),
    ("field dropped", _turn(reasoning_content="t"), _turn(), False),
    ("text added", _turn(THINKING, USE), _turn(THINKING, {"type": "text", "text": "x"}), True),
    ("never had any", _turn(), _turn(), True),
]


@pytest.mark.parametrize(
    ("original", "sent", "good"), [r[1:] for r in REASONING], ids=[r[0] for r in REASONING]
)
def test_reasoning_has_to_come_back_unchanged(
    original: AIMessage, sent: AIMessage, good: bool
) -> None:
    """A tool turn carries the reasoning that the model wrote, byte for byte, in first place."""
    rule = partial(reasoning_intact, produced={"m": original})
    assert (rule([U, sent, result("a")]) is None) is good
    problems = check_history([U, sent, result("a")], [rule])
    assert [p.split(":")[0] for p in problems] == ([] if good else ["reasoning_intact"])
