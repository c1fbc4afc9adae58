"""`SentryRunner`: the pipeline in a loop without LangGraph."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentry_langgraph.errors import ConfigError, PlaybookError, SentryError
from sentry_langgraph.playbook import open_playbook
from sentry_langgraph.playbook.memory import MemoryPlaybook
from sentry_langgraph.playbook.options import PlaybookOptions
from sentry_langgraph.records import LessonQuery
from sentry_langgraph.runner import AgentStep, Repair, SentryRunner, agent_step_from_parts
from sentry_langgraph.runner.schemas import catalog_of
from sentry_langgraph.taxonomy import Label, Strategy

FORECAST = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = [
    {"type": "function", "function": {"name": "forecast", "parameters": FORECAST}},
    {"type": "function", "function": {"name": "book_train", "parameters": FORECAST}},
    {"name": "find_city", "input_schema": {"type": "object", "properties": {"q": {}}}},
]
SILENT = {"playbook": {"kind": "none"}}
OBJECTIVE = "What is the weather in Oslo?"


def runner(**config: Any) -> SentryRunner:
    """A runner whose lessons stay in memory, with an open task."""
    made = SentryRunner({"playbook": {"kind": "memory"}, **config})
    made.start_task(objective=OBJECTIVE, action_schema=TOOLS)
    return made


def ran(
    id_: str | int, city: Any = "Oslo", result: Any = "mild", tool: str = "forecast", **parts: Any
) -> AgentStep:
    """A step that called a tool and got a result."""
    return agent_step_from_parts(
        id_, tool_name=tool, tool_args={"city": city}, observation=result, **parts
    )


def said(id_: str | int, text: str, **parts: Any) -> AgentStep:
    """A step that only said something."""
    return agent_step_from_parts(id_, reasoning=text, **parts)


def steps_of(sentry: SentryRunner, steps: Sequence[AgentStep]) -> list[Repair | None]:
    """What each step brings."""
    return [sentry.step(step) for step in steps]


# What the environment says


@pytest.mark.parametrize(
    ("parts", "label", "hold"),
    [
        (
            {"tool_name": "forecast", "raw_action": "{", "parsed_ok": False},
            "malformed_arguments",
            True,
        ),
        ({"tool_name": "forecast", "tool_args": "[1]"}, "malformed_arguments", True),
        ({"raw_action": "~~", "parsed_ok": False}, "malformed_model_output", True),
        (
            {"tool_name": "forecast", "tool_args": {"city": "X"}, "schema_valid": False},
            "invalid_arguments",
            True,
        ),
        ({"tool_name": "forecast", "tool_args": {"days": 1}}, "invalid_arguments", True),
        ({"tool_name": "forcast", "tool_args": {"city": "X"}}, "unknown_tool", True),
        (
            {
                "tool_name": "forecast",
                "tool_args": {"city": "X"},
                "observation": "closed",
                "schema_valid": True,
                "accepted_by_environment": False,
            },
            "unavailable_target",
            True,
        ),
        (
            {"tool_name": "forecast", "tool_args": {"city": "X"}, "accepted_by_environment": True},
            "no_observable_output",
            False,
        ),
    ],
)
def test_flags_become_labels(parts: dict[str, Any], label: str, hold: bool) -> None:
    """What the environment says of an action is named as the paper names it."""
    repair = runner().step(agent_step_from_parts(1, **parts))
    assert repair is not None
    assert repair.label == label
    assert repair.hold is hold
    assert repair.type == "action_validity_failure"
    assert repair.prompt_text.endswith(f"Original request: {OBJECTIVE}")


def test_one_failure_has_one_finding() -> None:
    """Where the schema says what is wrong, the flag adds nothing."""
    step = ran(1, city=3, result="bad", schema_valid=False, accepted_by_environment=False)
    repair = runner().step(step)
    assert repair is not None
    assert [finding.label for finding in repair.findings] == [Label.INVALID_ARGUMENTS]
    assert "`city` must be string" in repair.prompt_text


def test_action_that_the_environment_took_is_not_invalid() -> None:
    """The environment knows better than a schema, and its word that it ran stands."""
    sentry = runner()
    taken = {"schema_valid": True, "accepted_by_environment": True}
    assert sentry.step(ran(1, city=3, **taken)) is None
    assert sentry.step(ran(2, tool="undocumented", **taken)) is None


def test_schema_valid_overrules_the_schema() -> None:
    """`schema_valid=True` is believed; the name of the tool is looked at all the same."""
    sentry = runner()
    assert sentry.step(ran(1, city=3, schema_valid=True)) is None
    repair = sentry.step(ran(2, tool="forcast", schema_valid=True))
    assert repair is not None
    assert repair.label is Label.UNKNOWN_TOOL


def test_without_a_schema_nothing_is_unknown() -> None:
    """A task without an action schema checks neither names nor arguments."""
    sentry = SentryRunner(SILENT)
    sentry.start_task(objective=OBJECTIVE)
    assert sentry.step(ran(1, tool="anything", city=None)) is None


def test_disabled_detector_stays_disabled() -> None:
    """Flags are part of `action_validity`: who switches it off gets none of it."""
    sentry = runner(detectors=[{"kind": "action_validity", "enabled": False}])
    assert sentry.step(ran(1, accepted_by_environment=False, result="closed")) is None


# Values from nowhere

ORDERS = {"get_order": {"type": "object", "properties": {"order_id": {"type": "string"}}}}


def order(id_: str, order_id: str, result: str) -> AgentStep:
    """A look at an order."""
    return agent_step_from_parts(
        id_, tool_name="get_order", tool_args={"order_id": order_id}, observation=result
    )


def test_a_made_up_value_is_named_when_the_call_failed() -> None:
    """What the environment took exists; what instructions hold is known."""
    sentry = SentryRunner({"playbook": {"kind": "none"}})
    sentry.start_task("Where is my lamp?", ORDERS, instructions="The test order is W1000.")
    assert sentry.step(order("1", "W1000", "Error: it is locked")) is None
    assert sentry.step(order("2", "W2000", "open")) is None
    assert sentry.step(order("3", "W2000", "Error: it is locked")) is None
    repair = sentry.step(order("4", "W3000", "Error: no such order"))
    assert repair is not None
    assert [found.pattern for found in repair.findings] == ["ungrounded"]
    assert "'W3000'" in repair.prompt_text


# Loops


def test_loop_climbs_the_ladder() -> None:
    """The third identical step brings advice, the sixth a hold, and going on ends the task."""
    sentry = runner()
    found = steps_of(sentry, [ran(number) for number in range(1, 11)])
    strategies = [repair.strategy if repair else None for repair in found]
    assert strategies[:6] == [None, None, Strategy.ADVISE, None, None, Strategy.HOLD]
    end = next(repair for repair in found if repair is not None and repair.stop)
    assert "Done so far: `forecast`" in end.answer
    assert "another tool" in end.prompt_text
    assert [event["outcome"] for event in sentry.events if event["kind"] == "escalation"]


def test_changing_result_is_no_loop() -> None:
    """Polling that moves is never a loop, and neither is the call that ends the waiting."""
    sentry = runner()
    assert not any(steps_of(sentry, [ran(n, result=f"{n} %") for n in range(12)]))
    sentry.start_task(OBJECTIVE, TOOLS)
    waiting = [ran(1, result="pending"), ran(2, result="pending")]
    assert not any(steps_of(sentry, [*waiting, ran(3, result="done")]))


def test_success_after_errors_is_no_loop() -> None:
    """The same error again and again brings advice; the success after it none."""
    errors = [
        ran(n, city=f"C{n}", result="Error: no station", accepted_by_environment=None)
        for n in range(3)
    ]
    assert any(steps_of(runner(), [*errors, ran(9, city="C9", result="Error: no station")]))
    assert not any(steps_of(runner(), [*errors, ran(9, city="C9", result="mild")]))


# The end of a task


@pytest.mark.parametrize(
    ("step", "label"),
    [
        (said(1, "Let me now look up the weather."), Label.PLANNING_STALL),
        (said(1, ""), Label.TERMINATION_MISCALIBRATION),
        (said(1, "It is mild in", stop_reason="Length"), Label.TERMINATION_MISCALIBRATION),
    ],
)
def test_terminal_step_is_looked_at(step: AgentStep, label: Label) -> None:
    """A task does not end on a promise or on nothing."""
    repair = runner().step(step, terminal=True)
    assert repair is not None
    assert (repair.label, repair.hold) == (label, True)


def test_good_answer_ends_the_task() -> None:
    """An answer is an answer."""
    sentry = runner()
    assert sentry.step(ran(1)) is None
    assert sentry.step(said(2, "It is mild in Oslo."), terminal=True) is None


def test_terminal_call_with_something_owed_is_held() -> None:
    """A refused call that was never made again is still owed when the finish action runs."""
    sentry = runner()
    sentry.start_task("Book the train to Oslo", TOOLS)
    first = sentry.step(ran(1, city=3, tool="book_train"))
    assert first is not None
    repair = sentry.step(ran(2, tool="find_city"), terminal=True)
    assert repair is not None
    assert repair.label is Label.TERMINATION_MISCALIBRATION
    assert "`book_train`" in repair.prompt_text


def test_terminal_call_that_pays_what_is_owed_passes() -> None:
    """The last action may itself be the one that was owed, and the verdict is given."""
    sentry = runner()
    sentry.start_task("Book the train to Oslo", TOOLS)
    sentry.step(ran(1, city=3, tool="book_train"))
    assert sentry.step(ran(2, tool="book_train"), terminal=True) is None
    assert [event["verdict"] for event in sentry.finalize().verdicts] == ["recovered"]


# Plans, verdicts, lessons


def test_owed_call_is_reminded_of() -> None:
    """While a refused call is owed, other steps bring the rest of the plan."""
    sentry = runner()
    sentry.start_task("Book the train to Oslo", TOOLS)
    sentry.step(ran(1, city=3, tool="book_train"))
    repair = sentry.step(ran(2, tool="find_city"))
    assert repair is not None
    assert (repair.reminder, repair.hold, repair.label) == (True, False, None)
    assert repair.owed == ("book_train",)
    assert "Still to do: `book_train`" in repair.prompt_text
    assert sentry.step(ran(3, tool="book_train")) is None


def looping_then_recovering(sentry: SentryRunner) -> list[Repair | None]:
    """Three identical calls, and then another one that works."""
    return steps_of(sentry, [ran(1), ran(2), ran(3), ran(4, tool="find_city", result="Oslo, NO")])


def test_recovery_is_verified_and_learned() -> None:
    """A verified recovery of a soft repair is a lesson, with names of tools and no values."""
    playbook = MemoryPlaybook(PlaybookOptions(kind="memory"))
    sentry = SentryRunner(
        {"playbook": {"kind": "none"}}, playbook=playbook, agent="loop", model="m"
    )
    sentry.start_task(OBJECTIVE, TOOLS, task_id="t1")
    looping_then_recovering(sentry)
    summary = sentry.finalize()
    assert [event["verdict"] for event in summary.verdicts] == ["recovered"]
    (learned,) = playbook.find()
    assert (learned.thread_id, learned.agent, learned.model) == ("t1", "loop", "m")
    assert "`find_city`" in learned.text
    assert "Oslo" not in json.dumps(learned.to_dict())
    assert summary.lessons[0]["stored"] is True
    assert summary.open == ()


def test_lesson_is_shown_in_the_next_task_and_counted_once() -> None:
    """The next task with the same failure shows the lesson, and its outcome is counted."""
    playbook = MemoryPlaybook(PlaybookOptions(kind="memory"))
    sentry = SentryRunner(SILENT, playbook=playbook)
    for _ in range(2):
        sentry.start_task(OBJECTIVE, TOOLS)
        shown = looping_then_recovering(sentry)[2]
        sentry.finalize()
    assert shown is not None
    assert [lesson.tool for lesson in shown.lessons] == ["forecast"]
    assert "What helped before" in shown.prompt_text
    (stored,) = playbook.find()
    assert (stored.uses, stored.recoveries) == (1, 2)


def test_hard_repair_teaches_nothing() -> None:
    """A schema already says what a hard repair would teach."""
    sentry = runner()
    steps_of(sentry, [ran(1, city=3), ran(2), ran(3, city="Bergen")])
    summary = sentry.finalize()
    assert [event["verdict"] for event in summary.verdicts] == ["recovered"]
    assert summary.lessons == ()


def test_relapse_is_recorded() -> None:
    """The same failure after its repair is a relapse."""
    sentry = runner()
    steps_of(sentry, [ran(1, city=3), ran(2, city=4)])
    assert [event["verdict"] for event in sentry.finalize().verdicts] == ["relapsed"]


class BrokenPlaybook(MemoryPlaybook):
    """A store that can't be reached."""

    def search(self, *args: Any, **kwargs: Any) -> Any:
        """Fails."""
        raise PlaybookError("down")

    def add(self, *args: Any, **kwargs: Any) -> Any:
        """Fails in a way that the port does not promise."""
        raise OSError("disk full")


def test_playbook_never_breaks_a_run() -> None:
    """Repairs go without lessons, and a lesson that finds no store stays in the ledger."""
    broken = BrokenPlaybook(PlaybookOptions(kind="memory"))
    sentry = SentryRunner(SILENT, playbook=broken)
    sentry.start_task(OBJECTIVE, TOOLS)
    assert looping_then_recovering(sentry)[2] is not None
    summary = sentry.finalize()
    assert summary.lessons[0]["stored"] is False
    assert "fault:playbook" in [event.get("what") for event in summary.events]


# Budgets, modes, faults


def test_hard_attempts_are_bounded() -> None:
    """Invalid actions in a row are told differently at last, and then the task ends."""
    sentry = runner(repair={"max_hard_attempts": 2})
    found = steps_of(sentry, [ran(n, city=n) for n in range(5)])
    assert [repair.strategy if repair else None for repair in found[:3]] == [Strategy.HARD] * 3
    assert found[2] is not None
    assert "Do not send it in this form again" in found[2].prompt_text
    assert found[3] is not None
    assert found[3].stop


def test_person_may_let_it_go_on() -> None:
    """With `escalation: human` a person is asked, and `resume` gives the agent new attempts."""
    sentry = runner(repair={"max_hard_attempts": 1, "escalation": "human"})
    found = steps_of(sentry, [ran(n, city=n) for n in range(3)])
    asked = found[2]
    assert asked is not None
    assert asked.strategy is Strategy.HUMAN
    sentry.resume(asked)
    after = sentry.step(ran(4, city=9))
    assert after is not None
    assert after.strategy is Strategy.HARD
    with pytest.raises(ValueError, match="asks a person"):
        sentry.resume(after)


def test_shadow_mode_records_and_says_nothing() -> None:
    """Shadow mode touches nothing and keeps what would have happened."""
    sentry = runner(mode="shadow")
    assert not any(steps_of(sentry, [ran(1, city=3), ran(2), ran(3), ran(4), ran(5)]))
    summary = sentry.finalize()
    assert {event["reason"] for event in summary.suppressed} == {"shadow"}
    assert {event["label"] for event in summary.suppressed} == {
        "invalid_arguments",
        "repetition_or_looping",
    }


def test_mode_off_does_nothing() -> None:
    """Switched off, nothing is looked at."""
    sentry = runner(mode="off")
    assert not any(steps_of(sentry, [ran(n, city=3) for n in range(9)]))
    assert sentry.finalize().events == ()


def failing_clock() -> Any:
    """A clock that is broken."""
    raise RuntimeError("no time")


def test_own_fault_is_not_the_loops() -> None:
    """A fault in a repair is logged, and the loop goes on."""
    sentry = SentryRunner(SILENT, clock=failing_clock)
    sentry.start_task(OBJECTIVE, TOOLS)
    assert sentry.step(ran(1, city=3)) is None
    assert sentry.step(ran(2)) is None


def broken_detector(_: Any) -> Any:
    """A detector with a fault."""
    raise KeyError("oops")


def test_broken_detector_is_recorded_once() -> None:
    """A user's detector that raises does not end the loop, and is named in the ledger once."""
    sentry = runner(detectors=[{"kind": f"{__name__}:broken_detector"}])
    assert not any(steps_of(sentry, [ran(1), ran(2, city="Bergen")]))
    notices = [event for event in sentry.events if event["kind"] == "notice"]
    assert len(notices) == 1
    assert notices[0]["error"] == "KeyError"


def test_no_value_enters_the_ledger() -> None:
    """Arguments, observations and the request stay out of events."""
    sentry = SentryRunner({"playbook": {"kind": "memory"}})
    sentry.start_task("my secret-objective", TOOLS)
    steps_of(
        sentry,
        [
            ran(1, city={"secret-arg": 1}, result="secret-result"),
            ran(2, city="secret-city", result="secret-result", accepted_by_environment=False),
            agent_step_from_parts(3, raw_action="secret-raw", parsed_ok=False),
            *[ran(n, city="secret-city", result="secret-result") for n in range(4, 12)],
        ],
    )
    assert "secret-" not in json.dumps(sentry.finalize().events)


# Using it


def test_loop_of_the_paper(tmp_path: Path) -> None:
    """`from_yaml`, `start_task`, `step`, `finalize`: the loop as the paper writes it."""
    file = tmp_path / "sentry.yaml"
    file.write_text("playbook:\n  kind: memory\nverify:\n  horizon: 5\n", encoding="utf-8")
    sentry = SentryRunner.from_yaml(file)
    sentry.start_task(objective=OBJECTIVE, action_schema={"forecast": FORECAST})
    context: list[str] = []
    plan = [{"days": 1}, {"city": "Oslo"}]
    for number, args in enumerate(plan):
        repair = sentry.step(
            agent_step_from_parts(
                step_id=f"s{number}",
                reasoning="",
                raw_action=f"forecast({args})",
                tool_name="forecast",
                tool_args=args,
                observation="mild" if "city" in args else "error: city",
                parsed_ok=True,
                schema_valid="city" in args,
                accepted_by_environment="city" in args,
            )
        )
        if repair:
            context.append(repair.prompt_text)
    assert sentry.step(said("end", "It is mild."), terminal=True) is None
    summary = sentry.finalize()
    assert len(context) == 1
    assert "`city` is missing" in context[0]
    assert (summary.steps, len(summary.failures), len(summary.repairs)) == (3, 1, 1)
    assert json.loads(json.dumps(summary.to_dict()))["verdicts"][0]["verdict"] == "recovered"


def test_settings_that_are_wrong_are_named(tmp_path: Path) -> None:
    """A wrong key is said with file and key; a missing file too."""
    file = tmp_path / "sentry.yaml"
    file.write_text("verify:\n  horizn: 5\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="horizn"):
        SentryRunner.from_yaml(file)
    with pytest.raises(ConfigError, match="can't be read"):
        SentryRunner.from_yaml(tmp_path / "missing.yaml")


def test_step_needs_a_task() -> None:
    """Before `start_task` there is nothing to judge a step by, and the error says so."""
    sentry = SentryRunner(SILENT)
    with pytest.raises(SentryError, match="start_task"):
        sentry.step(ran(1))
    with pytest.raises(SentryError, match="start_task"):
        sentry.finalize()


def test_new_task_starts_again() -> None:
    """Window, budgets and ledger belong to one task; an open one is finalized."""
    sentry = runner()
    steps_of(sentry, [ran(1), ran(2)])
    sentry.start_task("another", TOOLS)
    assert sentry.events == ()
    assert sentry.step(ran(1)) is None
    assert sentry.finalize().steps == 1


def test_new_task_keeps_what_the_open_one_learned() -> None:
    """A task that nobody finalized is judged when the next one starts."""
    playbook = MemoryPlaybook(PlaybookOptions(kind="memory"))
    sentry = SentryRunner(SILENT, playbook=playbook)
    sentry.start_task(OBJECTIVE, TOOLS)
    looping_then_recovering(sentry)
    assert playbook.count() == 0
    sentry.start_task("another", TOOLS)
    assert playbook.count() == 1


def test_context_manager_finalizes() -> None:
    """The verdicts of the last steps are given when the block ends, by an error too."""

    def fail() -> None:
        with sentry:
            looping_then_recovering(sentry)
            raise ValueError("the loop broke")

    sentry = runner()
    with pytest.raises(ValueError, match="the loop broke"):
        fail()
    assert [event["kind"] for event in sentry.events][-2:] == ["verdict", "lesson"]
    assert sentry.finalize() is sentry.finalize()


def comparable(events: Sequence[dict[str, Any]], task: str) -> list[dict[str, Any]]:
    """Events without what differs from task to task and from moment to moment."""
    plain = json.loads(json.dumps(list(events)).replace(task, "task"))
    for event in plain:
        for name in ("at", "seconds", "lesson"):
            event.pop(name, None)
    return list(plain)


async def test_async_does_the_same() -> None:
    """The async twins give the same repairs and the same ledger."""
    steps = [ran(1, city=3), ran(2), ran(3), ran(4), ran(5, tool="find_city", result="NO")]
    one = SentryRunner({"playbook": {"kind": "memory"}})
    one.start_task(OBJECTIVE, TOOLS, task_id="t-sync")
    expected = steps_of(one, steps)
    async with SentryRunner({"playbook": {"kind": "memory"}}) as two:
        await two.astart_task(OBJECTIVE, TOOLS, task_id="t-async")
        found = [await two.astep(step) for step in steps]
        await two.afinalize()
    assert [r and r.prompt_text for r in found] == [r and r.prompt_text for r in expected]
    assert comparable(two.events, "t-async") == comparable(one.finalize().events, "t-sync")


def test_repeated_step_ids_are_told_apart() -> None:
    """A loop that counts its steps anew loses no event."""
    sentry = runner()
    found = steps_of(sentry, [ran("s", city=3), ran("s", city=4)])
    assert [repair.step for repair in found if repair] == ["s", "s#2"]
    assert len(sentry.finalize().failures) == 2


def test_long_tasks_keep_the_window_and_the_counts() -> None:
    """Beyond the horizon only the outline of a step is kept, and the end still counts it."""
    sentry = runner()
    steps_of(sentry, [ran(n, city=f"City {n}", result="x" * 1_000) for n in range(60)])
    found = steps_of(sentry, [ran(100 + n) for n in range(14)])
    end = next(repair for repair in found if repair is not None and repair.stop)
    done = end.answer.split("Done so far: `forecast` ")[1]
    assert int(done.split(" times")[0]) > 60


# Action schemas


@pytest.mark.parametrize(
    "schema",
    [
        [{"type": "function", "function": {"name": "forecast", "parameters": FORECAST}}],
        [{"name": "forecast", "parameters": FORECAST}],
        [{"name": "forecast", "input_schema": FORECAST}],
        [{"name": "forecast", "inputSchema": FORECAST, "annotations": {"readOnlyHint": True}}],
        {"forecast": FORECAST},
        {"forecast": {"name": "forecast", "parameters": FORECAST}},
        {"name": "forecast", "parameters": FORECAST},
    ],
)
def test_forms_of_an_action_schema(schema: Any) -> None:
    """Every usual form gives the same tool with the same check."""
    catalog = catalog_of(schema, {})
    assert list(catalog.tools) == ["forecast"]
    assert catalog.tools["forecast"].required == ("city",)
    assert catalog.tools["forecast"].check({})
    assert not catalog.tools["forecast"].check({"city": "Oslo"})
    assert not catalog.knows("other")


def test_names_alone_are_a_schema() -> None:
    """Names without schemas: an unknown name is found, arguments are free."""
    for schema in (["go", "take"], {"go": None, "take": None}):
        catalog = catalog_of(schema, {})
        assert catalog.knows("go")
        assert not catalog.knows("fly")
        assert catalog.tools["go"].check({"anything": 1}) == ()


def test_tool_named_like_a_property_is_not_mixed_up() -> None:
    """A mapping with a tool called `name` is a mapping from names to schemas."""
    catalog = catalog_of({"name": FORECAST, "function": FORECAST}, {})
    assert set(catalog.tools) == {"name", "function"}


@pytest.mark.parametrize(
    ("schema", "key"),
    [
        ([{"parameters": FORECAST}], "action_schema[0].name"),
        (["go", "go"], "action_schema[1]"),
        ([3], "action_schema[0]"),
        ({"go": 3}, "action_schema.go"),
        ("go", "action_schema"),
    ],
)
def test_wrong_schema_is_named(schema: Any, key: str) -> None:
    """What is no action schema is said, with the place."""
    with pytest.raises(ConfigError) as caught:
        catalog_of(schema, {})
    assert caught.value.key == key


def test_broken_json_schema_checks_nothing() -> None:
    """A schema that is itself wrong leaves the check to the environment."""
    sentry = SentryRunner(SILENT)
    sentry.start_task(OBJECTIVE, {"forecast": {"type": "nonsense"}})
    assert sentry.step(ran(1)) is None


# Steps


@pytest.mark.parametrize(
    ("args", "kept", "readable"),
    [
        ({"a": 1}, {"a": 1}, True),
        ('{"a": 1}', {"a": 1}, True),
        ("", {}, True),
        (None, {}, True),
        ("[1]", None, False),
        ("{'a': 1}", None, False),
        ("[" * 5_000, None, False),
    ],
)
def test_arguments_are_read_and_never_guessed(args: Any, kept: Any, readable: bool) -> None:
    """JSON text is read; what is no object counts as unreadable."""
    step = agent_step_from_parts(1, tool_name="forecast", tool_args=args)
    assert (step.tool_args, step.parsed_ok) == (kept, readable)


def test_observation_of_any_kind_is_text() -> None:
    """A structure is written with sorted keys, so that equal results are equal."""
    one = agent_step_from_parts(1, observation={"b": 1, "a": [2]})
    two = agent_step_from_parts(1, observation={"a": [2], "b": 1})
    assert one.observation == two.observation == '{"a": [2], "b": 1}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
any_step = st.builds(
    agent_step_from_parts,
    step_id=st.integers(0, 3) | st.text(max_size=2),
    reasoning=st.none() | st.text(st.characters(exclude_categories=()), max_size=20),
    raw_action=st.none() | st.text(max_size=10),
    tool_name=st.sampled_from([None, "forecast", "find_city", "forcast", "", "\ud800"]),
    tool_args=(
        st.none()
        | st.text(max_size=8)
        | st.dictionaries(st.text(max_size=4), json_values, max_size=3)
    ),
    observation=st.none() | json_values | st.just("x" * 30_000),
    parsed_ok=st.booleans(),
    schema_valid=st.sampled_from([None, True, False]),
    accepted_by_environment=st.sampled_from([None, True, False]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(any_step, st.booleans()), max_size=12))
def test_any_steps_go_through(steps: list[tuple[AgentStep, bool]]) -> None:
    """No sequence of steps raises, every id of the ledger is unique, and nothing of ours fails."""
    sentry = SentryRunner(SILENT)
    sentry.start_task(OBJECTIVE, TOOLS)
    for step, terminal in steps:
        repair = sentry.step(step, terminal=terminal)
        assert repair is None or repair.prompt_text
    summary = sentry.finalize()
    ids = [event["id"] for event in summary.events]
    assert len(set(ids)) == len(ids)
    assert not [e for e in summary.events if str(e.get("what", "")).startswith("fault")]


def test_runner_needs_no_langgraph() -> None:
    """A loop without LangGraph does not import it, nor chromadb."""
    code = (
        "import sys; from sentry_langgraph.runner import SentryRunner; "
        "SentryRunner({'playbook': {'kind': 'none'}}); "
        "print([m for m in ('langgraph.graph', 'langchain', 'chromadb') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert done.stdout.strip() == "[]"


def test_default_playbook_is_the_configured_one(tmp_path: Path) -> None:
    """Lessons lie where the configuration says: in Chroma, and are found again from there."""
    place = {"kind": "chroma", "path": str(tmp_path / "playbook"), "embeddings": "hashed"}
    with SentryRunner({"playbook": place}) as sentry:
        sentry.start_task(OBJECTIVE, TOOLS)
        looping_then_recovering(sentry)
    again = open_playbook(PlaybookOptions(**place))
    assert again is not None
    assert len(again.search(LessonQuery(Label.REPETITION_OR_LOOPING, tool="forecast"))) == 1
