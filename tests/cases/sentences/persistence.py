"""Sentences about checkpointers and about the store of lessons."""

from __future__ import annotations

import datetime
import json
import re

from langgraph.errors import GraphRecursionError

from cases.kinds.store import lesson_of
from cases.observe import Record, ours, plain
from cases.scene import Scene
from cases.sentences.registry import must, must_not, rule

# State


@must("run and resume succeed with both savers and both envs")
def _resumes(scene: Scene) -> None:
    records = list(scene.each())
    assert len(records) == 4
    for record in records:
        answers = [text for one in record.extra["processes"] for text in one["answers"]]
        assert answers == ["mild", "Still the same."], record.name
        assert record.runs() == [{"city": "Oslo"}]
        assert record.extra["processes"][-1]["messages"] == 8
        kinds = [event["kind"] for event in record.events]
        assert kinds == ["failure", "repair", "verdict"]


@must("every value under sentry's state keys consists of dict/list/str/int/float/bool/None only")
def _plain_values(scene: Scene) -> None:
    for record in scene.each():
        assert all(one["plain"] for one in record.extra["processes"])
        assert all(one["keys"] == ["messages", "sentry"] for one in record.extra["processes"])


@must("no 'Deserializing unregistered type' log line naming a sentry_langgraph class")
def _registered(scene: Scene) -> None:
    for record in scene.each():
        warned = [text for one in record.extra["processes"] for text in one["warnings"]]
        assert not [text for text in warned if "sentry_langgraph" in text]


@must_not("locks, clients, compiled schemas, exceptions or dataclasses in state")
def _no_objects(scene: Scene) -> None:
    _plain_values(scene)


SECRETS = ("SECRET-1", "SECRET-2", "hunter2")


@must(
    "records WRITTEN BY SENTRY (state keys, lessons in Chroma, logs at INFO, callback events) "
    "contain none of SECRET-1, SECRET-2, hunter2"
)
def _no_secrets(scene: Scene) -> None:
    for record in scene.main():
        assert record.kinds("repair"), "nothing was recorded, so nothing is shown"
        for text in record.own_texts():
            assert not any(secret in text for secret in SECRETS), text
    for event in _callback_events(scene):
        assert not any(secret in event for secret in SECRETS), event


def _callback_events(scene: Scene) -> list[str]:
    """What `SentryCallback` keeps of the same run."""
    from dataclasses import replace

    from cases.drive import run
    from cases.kinds import scripted
    from sentry_langgraph import SentryCallback

    callback = SentryCallback()
    made = scripted.scenario(scene.case, "callback", scene.case.input["model_script"])
    run(replace(made, config={**made.config, "callbacks": [callback]}))
    assert callback.events
    return [json.dumps(event, default=str) for event in map(_as_data, callback.events)]


def _as_data(event: object) -> object:
    return event if isinstance(event, dict) else repr(event)


@must("argument values in lessons are redacted or replaced by types")
def _redacted(scene: Scene) -> None:
    """The same loop with a way out, so that a lesson comes of it."""
    from cases.kinds import scripted

    given = scene.case.input
    tools = [
        *given["tools"],
        {
            "name": "reset",
            "schema_kind": "pydantic",
            "parameters": {
                "type": "object",
                "properties": {"user": {"type": "string"}},
                "required": ["user"],
            },
            "returns": "a link was sent",
        },
    ]
    out = {
        "role": "ai",
        "content": "",
        "tool_calls": [{"name": "reset", "args": {"user": "ann"}, "id": "r"}],
    }
    turns = [*given["model_script"][:-1], out, given["model_script"][-1]]
    record = scripted.planned(scene.case, "a way out", turns, tools=tools).execute("sync")
    (lesson,) = record.lessons
    text = json.dumps(lesson.to_dict())
    assert "reset" in text
    assert not any(value in text for value in (*SECRETS, '"ann"'))


@must_not("sentry adding further configurable keys that hold user data")
def _configurable(scene: Scene) -> None:
    from cases.special.config_keys import added_keys

    assert added_keys(scene.case) == set()


@rule("must", r"no InvalidStateError, finishes < (?P<seconds>[\d.]+) s in each mode")
def _finishes(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.each():
        assert record.error is None
        assert record.seconds < float(found["seconds"])


@must(
    "callback obtains thread_id, checkpoint_ns and step from the event metadata/config or via "
    "aget_state"
)
def _callback_place(scene: Scene) -> None:
    import asyncio

    from cases.agents import react
    from cases.assume import settings
    from cases.savers import opened
    from cases.tools import Workshop
    from sentry_langgraph import SentryCallback, with_sentry
    from sentry_langgraph.testing import ScriptedChatModel, ai, call

    async def run() -> list[dict[str, object]]:
        callback = SentryCallback()
        async with opened("AsyncSqliteSaver") as saver:
            model = ScriptedChatModel(
                script=[
                    ai("", call("forcast", {"city": "Oslo"}, id="c0")),
                    ai("", call("forecast", {"city": "Oslo"}, id="c1")),
                    "mild",
                ]
            )
            bare = react(scene.case.input["tools"])(model, Workshop(), saver)
            graph = with_sentry(bare, settings())
            config = {"configurable": {"thread_id": "t-7"}, "callbacks": [callback]}
            await graph.ainvoke({"messages": [("user", "w")]}, config)
        return list(callback.events)

    events = asyncio.run(run())
    assert events
    for event in events:
        assert event["thread_id"] == "t-7"
        assert "checkpoint_ns" in event
        assert event["step"]


@must_not("sync checkpointer calls in the event loop thread")
def _no_sync_calls(scene: Scene) -> None:
    """`AsyncSqliteSaver` refuses them by an exception, and logs would show one that was caught."""
    for record in scene.each():
        assert record.error is None
        assert not [text for level, _, text in record.logs if level in ("WARNING", "ERROR")]


@must("lessons/telemetry carry thread_id and checkpoint_ns")
def _carries_place(scene: Scene) -> None:
    """The longer run of the shared agent: a loop, so that there are events."""
    from cases.special.nested import looping

    record = looping(scene.case)
    assert record.seen
    for event in record.seen:
        assert event["thread_id"] == "case"
        assert event["checkpoint_ns"].startswith(("r1:", "r2:"))


@must("wrapping parent AND subgraph does not gate the same call twice (one verdict per call id)")
def _gated_once(scene: Scene) -> None:
    from cases.special.nested import looping

    for both in (False, True):
        record = looping(scene.case, both=both)
        ids = [event["id"] for event in record.seen]
        assert ids
        assert len(ids) == len(set(ids))


# Limits


@must("finishes without GraphRecursionError")
def _no_limit(scene: Scene) -> None:
    for name in ("given", "bound", "nested", "nested_bound"):
        for record in scene.each(name):
            assert record.error is None, name
            assert record.final == "the answer"
            assert len(record.tool_runs) == 20


@must("callbacks, tags, metadata, configurable arrive in nodes unchanged")
def _arrives(scene: Scene) -> None:
    for name in ("given", "nested"):
        for record in scene.each(name):
            given = record.extra["given"]
            for seen in record.extra["seen"]:
                assert set(given["tags"]) <= set(seen["tags"])
                assert seen["configurable"] == given["configurable"]
                assert {k: seen["metadata"].get(k) for k in given["metadata"]} == given["metadata"]
            assert record.extra["callback"].models >= record.calls


@must(
    "super-steps of a failure-free run with sentry <= unwrapped + documented constant factor "
    "(state it; the limit of 60 must suffice or the docs say what to set)"
)
def _supersteps(scene: Scene) -> None:
    """A healthy run has the same number of supersteps."""
    for name in ("given", "nested"):
        for record in scene.each(name):
            bare: Record = record.extra["bare"]
            assert record.error is bare.error is None
            assert [m.id for m in record.messages][:1] == [m.id for m in bare.messages][:1]
    from cases.special.nested import supersteps

    assert supersteps(wrapped=True) == supersteps(wrapped=False)


@must("when the limit IS hit the GraphRecursionError is raised to the caller as without sentry")
def _limit_hit(scene: Scene) -> None:
    for record in scene.each("too_low"):
        bare: Record = record.extra["bare"]
        assert isinstance(record.error, GraphRecursionError)
        assert str(record.error) == str(bare.error)


# Lessons


@must("zero outgoing connections")
def _no_connections(scene: Scene) -> None:
    for record in scene.main():
        made = [address for address in record.extra["connections"] if isinstance(address, tuple)]
        assert made == []
        assert record.extra["count"] == 1


@must("zero ERROR records from chromadb.telemetry*")
def _no_errors(scene: Scene) -> None:
    for record in scene.main():
        assert not [
            text
            for level, logger, text in record.logs
            if level == "ERROR" and logger.startswith("chromadb")
        ]


@must("telemetry disabled by default in the client settings")
def _no_telemetry(scene: Scene) -> None:
    assert all(record.extra["telemetry"] is False for record in scene.main())


@must_not("sentry muting the root logger")
def _root_logger(scene: Scene) -> None:
    assert all(record.extra["root"] for record in scene.main())


@must("readers in another process see lessons within one re-open")
def _elsewhere(scene: Scene) -> None:
    for record in scene.each("threads", "processes"):
        assert record.extra["elsewhere"] == record.extra["count"]


@must("adding the same lesson twice keeps count (stable id)")
def _twice(scene: Scene) -> None:
    for record in scene.each("threads", "processes"):
        assert record.extra["again"] == record.extra["count"]


@must_not("exception reaching the agent run")
def _reaches_run(scene: Scene) -> None:
    for record in scene.each():
        assert not [text for level, _, text in record.logs if level == "ERROR"]
    for record in scene.each("two_wrappers"):
        assert record.extra["answers"] == ["found it", "found it"]


@must("add succeeds")
def _added(scene: Scene) -> None:
    for record in scene.main():
        assert len(record.lessons) == 1
        assert record.extra["found"] == list(record.lessons)


@must("round trip gives equal values for all fields (None, list, dict, bool, datetime as ISO text)")
def _equal(scene: Scene) -> None:
    for record in scene.main():
        (back,) = record.lessons
        assert back == lesson_of(record.extra["given"])
        for key, value in record.extra["given"].items():
            if key == "failure":
                assert back.label.value in ours(value)
            elif isinstance(value, datetime.date):
                assert getattr(back, key) == value.isoformat()
            elif hasattr(back, key):
                assert getattr(back, key) == value
            else:
                assert back.extra[key] == value


@must("bool stays bool, not 1")
def _bool(scene: Scene) -> None:
    for record in scene.main():
        (back,) = record.lessons
        for key, value in record.extra["given"].items():
            if isinstance(value, bool):
                assert back.extra[key] is value


@must_not("field dropped without notice")
def _dropped(scene: Scene) -> None:
    for record in scene.main():
        (back,) = record.lessons
        text = back.to_dict()
        held = {**text, **text["extra"], "failure": text["label"]}
        assert set(record.extra["given"]) <= set(held)
        assert plain(back.extra) or back.extra
