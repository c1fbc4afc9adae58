"""Messages become records: from the tail, with every form of content that providers send."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from strategies import TEXTS

from sentry_langgraph.graph.messages import (
    MARK,
    calls_of,
    is_own,
    last_ai,
    observation_of,
    proposal_of,
    steps_before,
    task_at,
    text_of,
)
from sentry_langgraph.records import Task, ToolCall
from sentry_langgraph.testing import ai, call, invalid_call

OURS = {MARK: {"kind": "guidance"}}


def result(id: str, text: Any = "ok", **more: Any) -> ToolMessage:
    """A tool message with an id of its own."""
    return ToolMessage(text, tool_call_id=id, name="search", id=f"r-{id}-{len(str(text))}", **more)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello.", "Hello."),
        ("", ""),
        (["Hello.", "And."], "Hello.\nAnd."),
        ([{"type": "text", "text": "Hello."}], "Hello."),
        ([{"type": "output_text", "text": "Hello."}], "Hello."),
        ([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hello."}], "Hello."),
        ([{"type": "reasoning", "summary": []}, {"type": "text", "text": "Hi"}], "Hi"),
        ([{"type": "tool_use", "id": "1", "name": "x", "input": {}}], ""),
        ([{"type": "image_url", "image_url": "data:…"}], ""),
        ([{"type": "text"}], ""),
    ],
)
def test_the_text_is_what_the_agent_says(content: Any, text: str) -> None:
    """Without reasoning, calls and images."""
    assert text_of(AIMessage(content)) == text


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (result("a", "three orders"), "success"),
        (result("a", "no", status="error"), "error"),
        (result("a", "Error: no such order"), "error"),
        (result("a", " error invoking tool"), "error"),
        (result("a", "Exception: boom"), "error"),
        (result("a", "Traceback (most recent call last):\n"), "error"),
        (result("a", "Errors were found in 3 files"), "success"),
        (result("a", "No error."), "success"),
        (result("a", ""), "success"),
    ],
)
def test_whether_a_call_worked(message: ToolMessage, status: str) -> None:
    """The status, or a text that begins as an error does."""
    assert observation_of(message).status == status


def test_equal_results_have_equal_digests() -> None:
    """Whatever their ids; blocks count by content, without the ids that providers give."""
    assert observation_of(result("a")).digest == observation_of(result("b")).digest
    assert observation_of(result("a")).digest != observation_of(result("a", "no")).digest
    one = result("a", [{"type": "image", "data": "x", "id": "1"}])
    other = result("b", [{"type": "image", "data": "x", "id": "2"}])
    another = result("b", [{"type": "image", "data": "y", "id": "2"}])
    assert observation_of(one).digest == observation_of(other).digest
    assert observation_of(one).digest != observation_of(another).digest
    assert observation_of(one).text.startswith("[image ")


def test_long_results_are_cut_and_their_digests_are_not() -> None:
    """Two results that differ at their far end are two results."""
    one, other = result("a", "x" * 100_000 + "a"), result("a", "x" * 100_000 + "b")
    assert len(observation_of(one).text) < 50_000
    assert observation_of(one).digest != observation_of(other).digest


def test_what_we_wrote_is_marked() -> None:
    """By the key in `additional_kwargs`, not by the name, which anyone may use."""
    assert is_own(HumanMessage("x", additional_kwargs=OURS))
    assert not is_own(HumanMessage("x", name=MARK))
    assert observation_of(result("a", additional_kwargs=OURS)).own


def test_calls_are_numbered_over_valid_and_unparsable_ones() -> None:
    """Valid ones first; unparsable arguments stand as text."""
    message = ai("", invalid_call("search", "{q", id="b"), call("search", {"q": 1}, id="a"))
    assert calls_of(message) == (
        ToolCall("a", "search", {"q": 1}, 0),
        ToolCall("b", "search", None, 1, "{q"),
    )


@pytest.mark.parametrize(
    ("args", "raw"),
    [
        ("{q", "{q"),
        (None, "null"),
        ("", ""),
        ('{"q": 1}', '"{\\"q\\": 1}"'),
        ("[1]", "[1]"),
        ('{"a":' * 3_000, ('{"a":' * 3_000)[:4_000]),
    ],
)
def test_unparsable_arguments_are_kept_as_text(args: str | None, raw: str) -> None:
    """As they were written, up to a length, however deep."""
    message = AIMessage(
        "",
        invalid_tool_calls=[
            {"name": "search", "args": args, "id": "a", "error": None, "type": "invalid_tool_call"}
        ],
    )
    assert calls_of(message)[0].raw == raw


def test_the_newest_message_of_the_agent() -> None:
    """None where there is none."""
    assert last_ai([]) is None
    assert last_ai([HumanMessage("x")]) is None
    assert last_ai([AIMessage("a"), AIMessageChunk(content="b"), HumanMessage("x")]) == 1


def test_a_proposal_holds_the_calls_without_a_result() -> None:
    """Answered ones stand beside it."""
    message = ai("Hm.", call("search", {}, id="a"), call("search", {}, id="b"), id="m")
    made = proposal_of([message, result("a", "no", status="error")], 0, finish=False)
    assert [one.id for one in made.calls] == ["b"]
    assert [one.call_id for one in made.answered] == ["a"]
    assert (made.id, made.text, made.finish) == ("m", "Hm.", False)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"response_metadata": {"finish_reason": "LENGTH"}}, "length"),
        ({"response_metadata": {"stop_reason": "max_tokens"}}, "max_tokens"),
        ({"response_metadata": {"done_reason": "stop"}}, "stop"),
        ({"response_metadata": {"finish_reason": None}}, ""),
        ({"additional_kwargs": {"refusal": "I can't."}}, "refusal"),
        ({}, ""),
    ],
)
def test_why_the_provider_stopped(fields: dict[str, Any], reason: str) -> None:
    """In the words of each provider, lower case."""
    assert proposal_of([AIMessage("x", **fields)], 0, finish=True).stop_reason == reason


def history(*turns: str) -> list[AnyMessage]:
    """A history from letters: u user, c call, r result, g guidance, a answer, o ours, s system."""
    made: list[AnyMessage] = []
    for position, letter in enumerate("".join(turns)):
        id_ = f"{letter}{position}"
        if letter == "u":
            made.append(HumanMessage(f"request {position}", id=id_))
        elif letter == "c":
            made.append(ai("", call("search", {"q": position}, id=f"call{position}"), id=id_))
        elif letter == "r":
            made.append(ToolMessage("ok", tool_call_id=f"call{position - 1}", id=id_))
        elif letter == "g":
            made.append(HumanMessage("plan", id=id_, additional_kwargs=OURS))
        elif letter == "o":
            made.append(AIMessage("stopped", id=id_, additional_kwargs=OURS))
        elif letter == "s":
            made.append(SystemMessage("rules", id=id_))
        else:
            made.append(AIMessage("answer", id=id_))
    return made


@pytest.mark.parametrize(
    ("turns", "depth", "steps", "task"),
    [
        ("uc", 5, [], "u0"),
        ("ucrc", 5, ["c1"], "u0"),
        ("ucrcrc", 5, ["c1", "c3"], "u0"),
        ("ucrcrcrc", 2, ["c3", "c5"], "u0"),
        ("ucragc", 5, ["c1", "a3"], "u0"),
        ("ucrauc", 5, [], "u4"),
        ("ucrgcrc", 5, ["c1", "c4"], "u0"),
        ("sucroc", 5, ["c2"], "u1"),
        ("crc", 5, ["c0"], ""),
        ("c", 5, [], ""),
        ("ucrcrc", 0, [], "u0"),
    ],
)
def test_steps_and_task_before_a_message(
    turns: str, depth: int, steps: list[str], task: str
) -> None:
    """Back to the user's last message, guidance and our own answers left out."""
    messages = history(turns)
    opened, done = steps_before(messages, len(messages) - 1, depth)
    assert [one.id for one in done] == steps
    assert opened.id == task


def test_several_user_messages_in_a_row_are_one_request() -> None:
    """The task is named by the last of them; the objective holds them all."""
    messages = history("uuc")
    assert task_at(messages) == Task("u1", "request 0\nrequest 1")


def test_an_empty_history_has_no_task() -> None:
    """Nothing was asked."""
    assert task_at([]) == Task()


def test_the_task_is_found_however_long_its_run_is() -> None:
    """What is remembered of an earlier turn does not hide a later one."""
    messages = history("uca")
    assert task_at(messages).id == "u0"
    messages = history("uca", "u", "cr" * 100, "c")
    assert steps_before(messages, len(messages) - 1, 5)[0].id == "u3"
    assert task_at(messages[:3]).id == "u0"
    assert task_at(messages).id == "u3"


def test_a_trimmed_history_is_read_anew() -> None:
    """Positions that were remembered no longer hold."""
    messages = history("uca", "u", "cr" * 20, "c")
    assert task_at(messages).id == "u3"
    assert task_at(messages[2:]).id == "u3"
    assert task_at(messages[5:]).id == ""


def test_steps_follow_a_result_that_was_replaced() -> None:
    """A reducer may put another result in the place of one; the step is read anew."""
    messages = history("ucrc")
    assert steps_before(messages, 3, 5)[1][0].observations[0].text == "ok"
    messages[2] = ToolMessage("replaced", tool_call_id="call1", id="r2")
    assert steps_before(messages, 3, 5)[1][0].observations[0].text == "replaced"


def test_results_belong_to_the_message_before_them() -> None:
    """A call id that comes again in a later turn has its own result."""
    messages: list[AnyMessage] = [
        HumanMessage("x", id="u"),
        ai("", call("search", {}, id="same"), id="m1"),
        result("same", "first"),
        ai("", call("search", {}, id="same"), id="m2"),
        result("same", "second"),
        ai("", call("search", {}, id="same"), id="m3"),
    ]
    _, done = steps_before(messages, 5, 5)
    assert [one.observations[0].text for one in done] == ["first", "second"]


def test_messages_without_ids_are_named_by_position() -> None:
    """A plain list has no reducer that gives ids."""
    messages: list[AnyMessage] = [HumanMessage("x"), AIMessage("a"), AIMessage("b")]
    opened, done = steps_before(messages, 2, 5)
    assert opened.id == "message-0"
    assert [one.id for one in done] == ["message-1"]


@given(st.text("ucra", min_size=1, max_size=30), st.integers(1, 8), st.data())
def test_a_look_that_goes_on_sees_what_a_fresh_one_sees(
    turns: str, depth: int, data: st.DataObject
) -> None:
    """Looks one after the other at a growing history, whose newest message may be edited."""
    messages = history(turns)
    for position in (n for n, one in enumerate(messages) if one.type == "ai" and not is_own(one)):
        fresh = [one.model_copy(update={"id": f"f-{one.id}"}) for one in messages[: position + 1]]
        gone_on = steps_before(messages[: position + 1], position, depth)
        read = steps_before(fresh, position, depth)
        assert gone_on[0].objective == read[0].objective
        assert [(s.text, len(s.calls), len(s.observations)) for s in gone_on[1]] == [
            (s.text, len(s.calls), len(s.observations)) for s in read[1]
        ]
        if data.draw(st.booleans()):
            messages[position] = messages[position].model_copy(update={"content": "edited"})


@given(st.text("ucrgaos", max_size=30), st.integers(0, 8))
def test_any_history_is_read(turns: str, depth: int) -> None:
    """Any sequence of messages gives a task of the history and at most `depth` steps."""
    messages = history(turns)
    opened, done = steps_before(messages, len(messages), depth)
    assert len(done) <= depth
    users = [one.id for one in messages if one.type == "human" and not is_own(one)]
    assert opened.id == (users[-1] if users else "")
    starts = turns.rfind("u")
    expected = [one.id for one in messages[starts + 1 :] if one.type == "ai" and not is_own(one)]
    assert [one.id for one in done] == expected[len(expected) - len(done) :]


@given(TEXTS, TEXTS)
def test_any_text_is_read(text: str, name: str) -> None:
    """Lone surrogates and NUL included."""
    message = ToolMessage(text, tool_call_id="a", name=name)
    assert observation_of(message).digest == observation_of(message).digest
    assert text_of(AIMessage(text)) == text
