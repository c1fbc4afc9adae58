"""A recorded run is seen as the gate sees the run itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from sentry_langgraph.content import MARK
from sentry_langgraph.graph.messages import is_own, proposal_of, steps_before
from sentry_langgraph.graph.passages import provenance_of
from sentry_langgraph.provenance import Passage
from sentry_langgraph.records import Catalog, Trajectory
from sentry_langgraph.replay import Recording, prefixes
from sentry_langgraph.replay.messages import read_messages
from sentry_langgraph.testing.traces import parse_reply

OURS = {MARK: {"kind": "guidance"}}
POLICY = "Be kind."

_texts = st.sampled_from(["", "hello", "error: no", '{"order_id": "O1"}', "x" * 5_000])
_ids = st.sampled_from(["a", "b", "c"])
_calls = st.builds(
    lambda id, name, args: {"id": id, "name": name, "args": args},
    _ids,
    st.sampled_from(["find", "pay"]),
    st.sampled_from([{}, {"q": "shoes"}, {"n": 1, "deep": {"x": [1, None]}}]),
)
_bad = st.builds(
    lambda id, args: InvalidToolCall(id=id, name="find", args=args, error=None),
    _ids,
    st.sampled_from(["{", "[1]", None]),
)
_own = st.sampled_from([{}, {}, {}, OURS])
_blocks = st.lists(
    st.sampled_from(
        [{"type": "text", "text": "seen"}, {"type": "image_url", "image_url": "u"}, "plain"]
    ),
    max_size=3,
)
_messages = st.one_of(
    st.builds(lambda text, own: HumanMessage(text, additional_kwargs=own), _texts, _own),
    st.builds(
        lambda text, calls, bad, own: AIMessage(
            text, tool_calls=calls, invalid_tool_calls=bad, additional_kwargs=own
        ),
        _texts,
        st.lists(_calls, max_size=2),
        st.lists(_bad, max_size=1),
        _own,
    ),
    st.builds(
        lambda text, id, status, own: ToolMessage(
            text, tool_call_id=id, name="find", status=status, additional_kwargs=own
        ),
        st.one_of(_texts, _blocks),
        _ids,
        st.sampled_from(["success", "success", "error"]),
        _own,
    ),
    st.builds(SystemMessage, _texts),
)


def named(messages: list[Any]) -> list[AnyMessage]:
    """The messages with ids of their own."""
    return [one.model_copy(update={"id": f"m{place}"}) for place, one in enumerate(messages)]


def as_the_gate(
    messages: list[Any], position: int, window: int
) -> tuple[Trajectory, list[Passage]]:
    """What the gate builds when the message at `position` is the newest."""
    held = messages[: position + 1]
    newest = messages[position]
    after = messages[position + 1] if position + 1 < len(messages) else None
    goes_on = after is not None and after.type == "ai" and not is_own(after)
    task, steps = steps_before(held, position, window)
    proposal = proposal_of(held, position, finish=not newest.tool_calls and not goes_on)
    past = provenance_of(held, position, [POLICY])
    return Trajectory(task, steps, proposal), list(past.passages())


def check(messages: list[Any], window: int, dumped: list[Any]) -> None:
    """Every prefix of the dump is what the gate builds from the messages."""
    recording = Recording("r", read_messages(dumped), instructions=(POLICY,))
    seen = list(prefixes(recording, Catalog(), window))
    wanted = [place for place, one in enumerate(messages) if one.type == "ai" and not is_own(one)]
    assert [prefix.position for prefix in seen] == wanted
    for prefix in seen:
        trajectory, passages = as_the_gate(messages, prefix.position, window)
        assert prefix.trajectory.task == trajectory.task
        assert prefix.trajectory.steps == trajectory.steps
        assert prefix.trajectory.proposal == trajectory.proposal
        assert list(prefix.trajectory.provenance.passages()) == passages
        assert prefix.trajectory.provenance.users == sum(passage.user for passage in passages)


@settings(max_examples=200)
@given(st.lists(_messages, max_size=14).map(named), st.integers(1, 4), st.booleans())
def test_as_the_gate_sees_it(messages: list[Any], window: int, constructors: bool) -> None:
    """Task, steps, proposal and provenance are equal at every message of the agent."""
    check(
        messages, window, list(map(dumpd, messages)) if constructors else messages_to_dict(messages)
    )


_asks = [HumanMessage(f"Part {part}.") for part in range(6)]
_acts = AIMessage("", tool_calls=[{"id": "a", "name": "find", "args": {"q": 1}}])
_ours = HumanMessage("Mind this.", name="sentry", additional_kwargs=OURS)
_ends = AIMessage("Done.")


def _found(text: str, **more: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id="a", name="find", **more)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([*_asks, _ends], id="one request in many messages"),
        pytest.param([_asks[0], _ours, _asks[1], _ends], id="guidance between requests"),
        pytest.param([_asks[0], _acts, _found("one"), _found("two"), _ends], id="two results"),
        pytest.param([_asks[0], _acts, _found("one"), _ours, _found("two"), _ends], id="late"),
        pytest.param([_asks[0], _acts, _asks[1], _found("one"), _ends], id="too late"),
        pytest.param(
            [_asks[0], _acts, _found("No.", additional_kwargs=OURS), _ends], id="held call"
        ),
        pytest.param(
            [_asks[0], _acts, AIMessage("I stop.", additional_kwargs=OURS), _found("x"), _ends],
            id="result after an answer of ours",
        ),
        pytest.param([*[_acts, _found("one")] * 6, _ends], id="more steps than the window"),
        pytest.param(
            [
                AIMessage("", response_metadata={"finish_reason": "LENGTH"}),
                AIMessage("", additional_kwargs={"refusal": "no"}),
            ],
            id="stop reasons",
        ),
    ],
)
def test_unusual_histories(messages: list[Any]) -> None:
    """The same where messages come in unusual order or number."""
    messages = named(messages)
    check(messages, 3, messages_to_dict(messages))


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.sampled_from(
                [
                    "",
                    "{}",
                    "[]",
                    "null",
                    "{",
                    '{"a": NaN}',
                    '{"a": "x\ny"}',
                    "[1]",
                    '{"a": "\\ud800"}',
                ]
            ),
            st.integers(10**16, 10**40).map(lambda number: f'{{"a": {number}, "b": -{number}}}'),
            st.floats(allow_nan=False, allow_infinity=False).map(lambda one: f'{{"a": {one!r}}}'),
            st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)).map(
                json.dumps
            ),
        ),
        max_size=3,
    )
)
def test_arguments_are_read_as_langchain_reads_them(written: list[str | None]) -> None:
    """The calls of an OpenAI-style message are those that LangChain makes of it."""
    calls = [
        {"id": f"c{place}", "function": {"name": "find", "arguments": arguments}}
        for place, arguments in enumerate(written)
    ]
    raw = {"role": "assistant", "content": "ok", "tool_calls": calls}
    (message,) = read_messages([raw])
    expected = proposal_of([parse_reply(raw)], 0, finish=False)
    assert repr(message.calls) == repr(expected.calls)  # NaN is not equal to itself


def test_open_loop_and_turns() -> None:
    """A message without calls finishes, unless the agent goes on by itself; own ones don't."""
    recording = Recording(
        "r",
        read_messages(
            [
                {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": "Do it."},
                {"role": "assistant", "content": "Let me think."},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "You did not.", "name": "sentry"},
                {"role": "assistant", "content": "Now it is."},
            ]
        ),
    )
    seen = [prefix.trajectory for prefix in prefixes(recording, Catalog(), 20)]
    assert [one.proposal.finish for one in seen] == [True, False, True, True]
    assert [one.task.objective for one in seen] == ["", "Do it.", "Do it.", "Do it."]
    assert [len(one.steps) for one in seen] == [0, 0, 1, 2]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_a_simulated_user_does_is_not_the_agents(role: str) -> None:
    """Its calls and their results are left out; its words stay."""
    raw = [
        {"role": "user", "content": "Help."},
        {"role": "user", "content": None, "tool_calls": [{"id": "u", "function": {"name": "x"}}]},
        {"role": "tool", "tool_call_id": "u", "content": "on", "requestor": "user"},
        {"role": role, "content": "It is on."},
    ]
    read = read_messages(raw)
    assert [message.position for message in read] == [0, 3]
