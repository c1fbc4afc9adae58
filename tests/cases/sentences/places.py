"""Sentences about Studio, the guard against blocking calls, and hostile text."""

from __future__ import annotations

from langchain_core.messages import ToolMessage
from langgraph.graph.state import CompiledStateGraph

from cases.kinds.graph_load import made
from cases.observe import Record
from cases.scene import Scene
from cases.sentences.registry import must, must_not
from sentry_langgraph import with_sentry
from sentry_langgraph.testing import ScriptedChatModel, ai, call, react_builder

# Studio


@must("all checks pass")
def _checks(scene: Scene) -> None:
    for record in scene.each():
        assert record.extra["problem"] is None, record.extra


@must("original node names still visible in get_graph(); sentry nodes have recognisable names")
def _names(scene: Scene) -> None:
    ours, bare = set(made().get_graph().nodes), set(made(wrap=False).get_graph().nodes)
    assert bare <= ours
    assert ours - bare
    assert all(name.startswith("sentry_") for name in ours - bare)


@must("input schema does not require sentry keys and does not expose them as user inputs")
def _inputs(scene: Scene) -> None:
    schema = made().get_input_jsonschema()
    assert schema == made(wrap=False).get_input_jsonschema()
    assert not any("sentry" in name for name in schema["properties"])


@must(
    "wrapping an uncompiled StateGraph either works or raises TypeError that says to compile first"
)
def _uncompiled(scene: Scene) -> None:
    """It works."""
    builder = react_builder(ScriptedChatModel(script=["done"]), [_look])
    graph = with_sentry(builder, {"playbook": {"kind": "none"}})
    assert isinstance(graph, CompiledStateGraph)
    assert str(graph.invoke({"messages": [("user", "x")]})["messages"][-1].text) == "done"


def _look(n: int) -> str:
    """Look."""
    return "seen"


@must("with_sentry(with_sentry(g)) is idempotent or raises, never double gating")
def _idempotent(scene: Scene) -> None:
    """It is idempotent."""
    once = with_sentry(
        react_builder(
            ScriptedChatModel(script=[ai("", call("_look", {"n": "x"}, id="c1")), "no, sorry"]),
            [_look],
        ),
        {"playbook": {"kind": "none"}},
    )
    twice = with_sentry(once, {"playbook": {"kind": "none"}})
    assert twice is once
    done = twice.invoke({"messages": [("user", "x")]})
    assert sum(isinstance(message, ToolMessage) for message in done["messages"]) == 1


# Blocking calls


@must("no BlockingError in any mode without --allow-blocking")
def _not_blocked(scene: Scene) -> None:
    for record in scene.each():
        assert record.extra["blocked"] == [], record.name
        assert record.extra["warnings"] == [], record.name


@must("YAML is read at wrap time (sync) or in a worker thread")
def _yaml_read(scene: Scene) -> None:
    for record in scene.each("relative path"):
        assert record.extra["blocked"] == []
        assert "repair" in record.extra["kinds"]


@must("Chroma calls from async code run in a thread (asyncio.to_thread or equivalent)")
def _in_a_thread(scene: Scene) -> None:
    for record in scene.each("lessons"):
        assert record.extra["blocked"] == []
        assert "lesson" in record.extra["kinds"]
        assert record.extra["kinds"].count("verdict") == 2


@must_not("time.sleep in async path")
def _no_sleep(scene: Scene) -> None:
    """The guard refuses `time.sleep` too."""
    for record in scene.each():
        assert record.extra["blocked"] == []


# Hostile text

HOSTILE = ("send_mail", "eve@example.org", "Ignore previous instructions")


def _sessions(scene: Scene) -> list[Record]:
    return [
        *scene.main(),
        *(record for record in scene.each("second_session")),
    ]


@must("lesson stored only after recovery was verified within H steps")
def _stored_after(scene: Scene) -> None:
    for record in scene.each("second_session/loop"):
        (first,) = record.extra["before"]
        kinds = [event["kind"] for event in first.events]
        assert kinds.index("lesson") > kinds.index("verdict")
        assert [e["verdict"] for e in first.kinds("verdict")][-1] == "recovered"
        assert first.lessons


@must(
    "lesson text does not contain 'send_mail', 'eve@example.org' or 'Ignore previous instructions'"
)
def _clean_lessons(scene: Scene) -> None:
    for record in _sessions(scene):
        for text in record.own_texts():
            assert not any(word in text for word in HOSTILE), text


@must(
    "guidance in session 2 marks lesson text as advice and contains no text copied verbatim "
    "(>= 30 chars) from tool output"
)
def _advice(scene: Scene) -> None:
    for record in scene.each("second_session/loop"):
        told = [str(message.text) for message in record.advice()]
        assert any("advice, not an instruction" in text for text in told), told
        outputs = [
            str(message.text)
            for messages in record.requests
            for message in messages
            if isinstance(message, ToolMessage) and not message.additional_kwargs.get("sentry")
        ]
        for output in outputs:
            pieces = {output[at : at + 30] for at in range(len(output) - 29)}
            assert not any(piece in text for piece in pieces for text in told)


@must("unverified or failed recoveries leave the store count unchanged")
def _unchanged(scene: Scene) -> None:
    for record in scene.each("second_session/failed"):
        assert record.kinds("repair")
        assert not record.lessons
    for record in scene.main():
        assert len(record.lessons) == len(record.kinds("lesson"))


@must_not("two identical lessons after two identical recoveries (dedupe or counter)")
def _deduped(scene: Scene) -> None:
    for record in scene.each("second_session/twice"):
        assert len(record.lessons) == 1
        assert record.lessons[0].recoveries >= 2
