"""What a judge is shown: quoted data that can't leave its block, short, and complete enough."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from builders import call, finding, proposal, ran, steps, trajectory
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from sentry_langgraph.detect.judge import JudgeOptions
from sentry_langgraph.judge.prompt import (
    LABELS,
    clipped,
    diagnosis_question,
    shown_steps,
    verdict_question,
)
from sentry_langgraph.provenance import Passage, Provenance
from sentry_langgraph.records import Task, Trajectory
from sentry_langgraph.taxonomy import Label, is_hard

from .samples import STEER, drifting

OPTIONS = JudgeOptions()
REQUEST = "Yes, do that."


def asked(seen: Trajectory, **options: Any) -> tuple[str, str]:
    """System text and data of a diagnosis."""
    shown = shown_steps(seen, JudgeOptions(**options))
    made = diagnosis_question(seen, shown, (), boundary="w0rd")
    return made.system, made.data


def block(data: str) -> list[dict[str, Any]]:
    """The objects between the lines of the boundary."""
    first, *inside, last = data.split("\n")
    assert first == "--- data w0rd ---"
    assert last == "--- end of data w0rd ---"
    return [json.loads(line) for line in inside]


def test_the_run_is_data() -> None:
    """One object a line: request, tools, steps; what a tool wrote stays inside of a string."""
    system, data = asked(drifting())
    objects = block(data)
    assert "request_of_the_user" in objects[0]
    assert {"tool": "cancel_order", "reads_only": False} in objects[1]["tools"]
    assert [one["step"] for one in objects[2:]] == ["s1", "s2", "s3"]
    assert objects[2]["results"][0]["result"] == STEER
    assert objects[4]["not_run_yet"] is True
    assert "results" not in objects[4]
    assert STEER not in system


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_no_text_leaves_its_line(texts: list[str], said: str) -> None:
    """Whatever tools, users and the agent write: each line is one object, read by anybody."""
    seen = trajectory(
        steps(*(ran("search", text, q=text) for text in texts)), proposal(call(q=said), text=said)
    )
    _, data = asked(seen)
    assert len(data.splitlines()) == len(data.split("\n"))
    assert len(block(data)) == len(texts) + 3


def test_the_boundary_is_not_known_beforehand() -> None:
    """Two questions about the same run have different boundaries."""
    seen = drifting()
    shown = shown_steps(seen, OPTIONS)
    first, second = (diagnosis_question(seen, shown, ()).data.split("\n")[0] for _ in range(2))
    assert first != second


def test_the_instructions_are_the_same_each_time() -> None:
    """Only the last line differs, so a provider can keep what it has read before."""
    seen = drifting()
    shown = shown_steps(seen, OPTIONS)
    first, second = (diagnosis_question(seen, shown, ()).system for _ in range(2))
    assert first != second
    assert first.rpartition("\n")[0] == second.rpartition("\n")[0]


def test_what_users_said_before_is_shown() -> None:
    """A short yes is no request: the newest texts before it, oldest first, as data and cut."""
    told = [Passage("told", f"Text {n}: {'x' * 900}", user=True) for n in range(6)]
    told += [Passage("told", "a policy"), Passage("told", REQUEST, user=True)]
    seen = replace(drifting(task=Task("u", REQUEST)), provenance=Provenance.of(told))
    _, data = asked(seen)
    *before, request = block(data)[:5]
    assert [one["user_said_before"][:7] for one in before] == [f"Text {n}:" for n in range(2, 6)]
    assert max(len(one["user_said_before"]) for one in before) < 500
    assert request == {"request_of_the_user": REQUEST}
    assert "a policy" not in data


def test_long_texts_are_cut_and_old_steps_left_out() -> None:
    """The data stays within its budget, however long a result is; the newest step is kept."""
    seen = trajectory(
        steps(*(ran("search", "x" * 50_000, q=n) for n in range(30))), proposal(call(q=99))
    )
    shown = shown_steps(seen, JudgeOptions(max_chars=2_000))
    assert sum(len(one.line) for one in shown) <= 2_000
    assert shown[-1].id == "now"
    assert len(shown_steps(seen, JudgeOptions(max_chars=100_000))) == OPTIONS.steps + 1
    assert clipped("a" * 5_000, 100).endswith("a" * 33)
    assert "[…4901 characters…]" in clipped("a" * 5_000, 100)


def test_quotes_are_of_the_agent() -> None:
    """Its text, a tool's name and an argument count; a result and another step don't."""
    first, second, newest = shown_steps(drifting(), OPTIONS)
    assert newest.holds("I like cats")
    assert newest.holds('search {"q": "more cat pictures"}')
    assert newest.holds("  MORE  cat\npictures ")
    assert not newest.holds("order of Ann")
    assert not newest.holds("")
    assert not newest.holds("…")
    assert first.holds("order of Ann")
    assert not first.holds("no failure, confidence 1")
    assert not second.holds("more cat pictures")


def test_rules_give_facts() -> None:
    """A suspicion is told as label, step, counts and names, outside of the data."""
    seen = drifting()
    shown = shown_steps(seen, OPTIONS)
    suspected = finding(Label.HALLUCINATION, step="s1", evidence={"count": 2}, detail="a secret")
    text = diagnosis_question(seen, shown, (suspected,), boundary="w0rd").data
    fact = json.loads(text.splitlines()[-1])
    assert (fact["suspected"], fact["step"]) == ("hallucination", "s2")
    assert "a secret" not in text
    assert text.index("end of data") < text.index("Facts that rules counted")


def test_only_soft_failures_are_asked_for() -> None:
    """What can't run is for rules to say, and every label is explained with its criterion."""
    system, _ = asked(drifting())
    assert not any(is_hard(label) for label in LABELS)
    for label in LABELS:
        assert f"- `{label.value}`: " in system


def test_only_look_ups_can_be_suggested() -> None:
    """A judge that was misled can't push the agent into a change."""
    shown = shown_steps(drifting(), OPTIONS)
    schema = diagnosis_question(drifting(), shown, ()).schema
    assert set(schema["properties"]["next_tool"]["enum"]) == {"", "search", "get_order"}


def test_a_step_that_has_run_is_shown_once() -> None:
    """In a loop without a graph the newest step has its result already."""
    done = steps(ran("search", "one", q=1), ran("search", "two", q=2))
    seen = trajectory(done, proposal(call(q=2), id="s1"))
    shown = shown_steps(seen, OPTIONS)
    assert [one.id for one in shown] == ["s0", "s1"]
    assert "two" in shown[-1].line


def test_a_verdict_needs_the_repaired_step() -> None:
    """Where it has left the view, nothing is asked."""
    from builders import active

    seen = drifting()
    shown = shown_steps(seen, OPTIONS)
    asked = verdict_question(seen, shown, active(step="s0"))
    assert asked is not None
    assert "After step s1 " in asked.system
    assert verdict_question(seen, shown, active(step="gone")) is None
