"""`ScriptedChatModel`: the script, what it records, its ids, and its rules."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import ValidationError

from sentry_langgraph.testing import (
    STRICT,
    ProviderRefusal,
    ScriptedChatModel,
    ScriptExhausted,
    ai,
    call,
    invalid_call,
    react_graph,
    reasoning_intact,
)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_entries_are_answered_in_order() -> None:
    """A message, a text and a function of the request are answers; an exception is raised."""

    def count(messages: list[BaseMessage]) -> str:
        return f"{len(messages)} messages"

    model = ScriptedChatModel(script=["one", ai("two"), count, RuntimeError("down")])
    assert [model.invoke("hi").text for _ in range(2)] == ["one", "two"]
    assert model.invoke([HumanMessage("a"), HumanMessage("b")]).text == "2 messages"
    with pytest.raises(RuntimeError, match="down"):
        model.invoke("hi")
    assert (model.calls, model.position) == (4, 4)


def test_an_entry_of_another_kind_is_refused_at_once() -> None:
    """What can't be an answer is an error when the model is made, and names the entry."""
    with pytest.raises(ValidationError, match="entry 1 is a int"):
        ScriptedChatModel(script=["one", 2])


def test_after_the_script_it_raises_and_says_how_many_calls_were_made() -> None:
    """A run that goes on longer than its test expects fails, and the error survives pickling."""
    model = ScriptedChatModel(script=["only"])
    model.invoke("hi")
    with pytest.raises(AssertionError, match="2 calls were made and it has 1 entries") as caught:
        model.invoke("hi")
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, ScriptExhausted)
    assert (again.calls, again.entries) == (2, 1)


def test_repeat_gives_the_last_entry_with_a_new_message_id() -> None:
    """A repeated entry is another message that makes the same call."""
    loop = ai("", call("add", {"a": 1}, id="c1"), id="m1")
    model = ScriptedChatModel(script=[loop], on_end="repeat")
    answers = [model.invoke("hi") for _ in range(3)]
    assert answers[0].id == "m1"
    assert len({m.id for m in answers}) == 3
    assert [m.tool_calls[0]["id"] for m in answers] == ["c1"] * 3


def test_fresh_call_ids_renames_used_ids_wherever_they_stand() -> None:
    """With `fresh_call_ids` a call that is made again gets a new id, also in content blocks."""
    blocks = [{"type": "tool_use", "id": "c1", "name": "add", "input": {}}]
    raw = [{"id": "c1", "function": {"name": "add", "arguments": "{}"}}]
    loop = ai(blocks, call("add", id="c1"), additional_kwargs={"tool_calls": raw})
    model = ScriptedChatModel(script=[loop], on_end="repeat", fresh_call_ids=True)
    first, second = model.invoke("hi"), model.invoke("hi")
    assert first.tool_calls[0]["id"] == "c1"
    new = second.tool_calls[0]["id"]
    assert new != "c1"
    assert second.content[0]["id"] == new
    assert second.additional_kwargs["tool_calls"][0]["id"] == new
    assert loop.tool_calls[0]["id"] == "c1"


def test_a_message_can_be_the_ending() -> None:
    """`on_end` may be a message that is said from then on, each time with a new id."""
    model = ScriptedChatModel(script=["one"], on_end=ai("The recording ends here."))
    answers = [model.invoke("hi") for _ in range(3)]
    assert [m.text for m in answers[1:]] == ["The recording ends here."] * 2
    assert answers[1].id != answers[2].id


def test_fresh_ids_differ_and_given_ids_stay() -> None:
    """Every answer has an id; the one a script gives is kept."""
    same = ai("x")
    model = ScriptedChatModel(script=[same, same, ai("y", id="mine")])
    ids = [model.invoke("hi").id for _ in range(3)]
    assert len(set(ids)) == 3
    assert ids[2] == "mine"
    assert same.id is None


def test_requests_are_kept_as_they_were() -> None:
    """Changing a message after the call changes neither the record nor the script."""
    asked = HumanMessage("before", additional_kwargs={"k": [1]})
    model = ScriptedChatModel(script=[ai("", call("add", {"a": 1}))], on_end="repeat")
    answer = model.invoke([asked])
    asked.content = "after"
    asked.additional_kwargs["k"].append(2)
    answer.tool_calls[0]["args"]["a"] = 99
    kept = model.requests[0][0]
    assert (kept.content, kept.additional_kwargs) == ("before", {"k": [1]})
    assert model.invoke("hi").tool_calls[0]["args"] == {"a": 1}


def test_an_artifact_that_cannot_be_copied_does_not_break_the_record() -> None:
    """A tool result may carry anything as its artifact; it is shared and not copied."""
    artifact = (n for n in range(3))
    result = ToolMessage("ok", tool_call_id="c1", artifact=artifact)
    model = ScriptedChatModel(script=["done"])
    model.invoke([result])
    kept = model.requests[0][0]
    assert isinstance(kept, ToolMessage)
    assert kept is not result
    assert kept.artifact is result.artifact is artifact


def test_record_false_keeps_no_requests() -> None:
    """Benchmarks can switch the copies off; calls are still counted."""
    model = ScriptedChatModel(script=["x"], on_end="repeat", record=False)
    model.invoke("hi")
    assert (model.requests, model.calls) == ([], 1)


def test_bind_tools_shares_the_position_and_records_the_tools() -> None:
    """The bound model draws on the same script, and so does a copy of the model."""
    model = ScriptedChatModel(script=["one", "two", "three"])
    bound = model.bind_tools([add], tool_choice="any")
    assert bound.invoke("hi").text == "one"
    assert model.model_copy().invoke("hi").text == "two"
    assert copy.deepcopy(model).invoke("hi").text == "three"
    assert len(model.requests) == 3
    assert [t["function"]["name"] for t in model.bound_tools] == ["add"]


def test_threads_share_one_position() -> None:
    """From many threads each entry is answered exactly once."""
    model = ScriptedChatModel(script=[str(n) for n in range(120)])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: model.invoke("hi").text, range(120)))
    assert sorted(answers, key=int) == [str(n) for n in range(120)]
    assert model.calls == len(model.requests) == 120


def test_a_broken_rule_is_refused_before_an_answer() -> None:
    """The refusal names rule and message, is a ValueError, and uses up no entry."""
    model = ScriptedChatModel(script=["fine"], rules=STRICT)
    request = [HumanMessage("hi"), SystemMessage("late")]
    with pytest.raises(ValueError, match="leading_system_only") as caught:
        model.invoke(request)
    refusal = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(refusal, ProviderRefusal)
    assert (refusal.rule, refusal.index) == ("leading_system_only", 1)
    assert (model.calls, model.position) == (1, 0)
    assert model.invoke("hi").text == "fine"


async def test_rules_hold_for_async_and_streams_too() -> None:
    """Every way to call the model checks the request."""
    model = ScriptedChatModel(script=["fine"], rules=STRICT)
    bad = [HumanMessage("hi"), AIMessage("prefill")]
    with pytest.raises(ProviderRefusal):
        await model.ainvoke(bad)
    with pytest.raises(ProviderRefusal):
        list(model.stream(bad))
    with pytest.raises(ProviderRefusal):
        [piece async for piece in model.astream(bad)]
    assert model.position == 0


@pytest.mark.parametrize("keep", [True, False])
def test_reasoning_is_compared_with_what_the_model_wrote(keep: bool) -> None:
    """The model knows its own messages: dropped reasoning is refused, kept reasoning passes."""
    thought = [{"type": "thinking", "thinking": "add", "signature": "S"}]
    model = ScriptedChatModel(
        script=[ai(list(thought), call("add", id="c1")), "done"], rules=(reasoning_intact,)
    )
    first = model.invoke("hi")
    sent = first if keep else first.model_copy(update={"content": ""})
    request = [HumanMessage("hi"), sent, ToolMessage("3", tool_call_id="c1")]
    if keep:
        assert model.invoke(request).text == "done"
    else:
        with pytest.raises(ProviderRefusal, match="reasoning_intact is broken at message 1"):
            model.invoke(request)


def test_a_repaired_history_in_a_real_graph_reaches_the_model() -> None:
    """In a graph the record shows what the model was sent after each tool result."""
    model = ScriptedChatModel(
        script=[ai("", call("add", {"a": 1, "b": 2}, id="c1")), "It is 3."], rules=STRICT
    )
    out = react_graph(model, [add], system="Be brief.").invoke({"messages": [("user", "1 + 2?")]})
    assert [m.type for m in out["messages"]] == ["human", "ai", "tool", "ai"]
    assert [m.type for m in model.requests[1]] == ["system", "human", "ai", "tool"]
    assert model.requests[1][-1].text == "3"


def test_ai_sorts_valid_and_invalid_calls() -> None:
    """`ai` takes both kinds together; calls without an id get one of their own."""
    message = ai("t", call("add"), invalid_call("add", "{a"), call("add"))
    assert [c["name"] for c in message.tool_calls] == ["add", "add"]
    assert message.invalid_tool_calls[0]["args"] == "{a"
    assert len({c["id"] for c in (*message.tool_calls, *message.invalid_tool_calls)}) == 3
    assert call("add", id="")["id"] == ""
