"""Every repair text is a plan: the fault first, the next call, what follows, the request last."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from builders import (
    SHOP,
    TASK,
    active,
    advice,
    call,
    catalog,
    failed,
    finding,
    held,
    proposal,
    ran,
    steps,
    tool,
    trajectory,
    unparsable,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from sentry_langgraph.detect.action_validity import ActionValidity, ActionValidityOptions
from sentry_langgraph.detect.repetition import Repetition, RepetitionOptions
from sentry_langgraph.detect.termination import Termination, TerminationOptions
from sentry_langgraph.judge.prompt import LABELS
from sentry_langgraph.records import (
    Catalog,
    Finding,
    Lesson,
    Proposal,
    ScoredLesson,
    Step,
    Task,
    TaskState,
    ToolCall,
    ToolSpec,
)
from sentry_langgraph.repair import compose, partial_answer, remind, signature
from sentry_langgraph.repair.templates import TEMPLATES
from sentry_langgraph.taxonomy import Label, Strategy

from .snapshot import check

DETAILS = {
    Label.REPETITION_OR_LOOPING: (
        "this is call 6 of `search` with the same arguments, and the result has not changed"
    ),
    Label.PLANNING_STALL: "the message announces an action and ends the turn without it",
    Label.OVER_EXPLORATION: "12 look-ups in a row brought less and less that is new",
    Label.TERMINATION_MISCALIBRATION: "the final message is empty",
    Label.HALLUCINATION: "`order_id` is `o77`, which nothing you were told or saw contains",
    Label.OBJECTIVE_DRIFT: "the last 5 steps have nothing to do with the request",
    Label.REASONING_ACTION_MISMATCH: "the text speaks of order o1 and the call of order o2",
    Label.DEPENDENCY_OUTAGE: "`search` is not reachable",
    Label.RATE_LIMITED: "the service refused `search` for too many requests",
    Label.AUTH_OR_CONFIG: "`search` has no valid credentials",
    Label.TOOL_ERROR: "`search` failed",
    Label.IRREVERSIBLE_ACTION: "it can't be undone",
    Label.SUSPECTED_INJECTION: "a result of `search` reads like an instruction",
    Label.BUDGET_EXHAUSTED: "the budget of the run is used up",
    Label.USER_AMBIGUITY: "the request fits two orders",
}
"""Details of labels whose finding is made by hand."""


def seen(
    newest: Proposal | ToolCall, done: tuple[Step, ...] = (), state: TaskState | None = None
) -> Finding:
    """The finding of the detectors for a proposal."""
    proposed = newest if isinstance(newest, Proposal) else proposal(newest)
    at = trajectory(done, proposed, state=state)
    detectors = (
        ActionValidity(ActionValidityOptions()),
        Repetition(RepetitionOptions()),
        Termination(TerminationOptions()),
    )
    found = [one for detector in detectors for one in detector.detect(at)]
    assert found
    return found[0]


OWED = active(Label.INVALID_ARGUMENTS, strategy=Strategy.HARD, owes="cancel_order")

DETECTED = {
    Label.UNKNOWN_TOOL: seen(call("get_ordr", order_id="o1")),
    Label.MALFORMED_ARGUMENTS: seen(unparsable("cancel_order", "{'order_id': 'o1'}")),
    Label.INVALID_ARGUMENTS: seen(call("cancel_order", order_id=7, reason="bored")),
    Label.DUPLICATE_CALL_ID: seen(proposal(call(id="a", q=1), call(id="a", q=2))),
    Label.UNAVAILABLE_TARGET: finding(
        Label.UNAVAILABLE_TARGET,
        tool="get_order",
        detail="the tool has just answered that what it was asked for is not there",
    ),
    Label.NO_OBSERVABLE_OUTPUT: seen(
        proposal(text="Done."), steps([ran(), ran("add_note", None, note="n")])
    ),
    Label.MALFORMED_MODEL_OUTPUT: seen(
        proposal(text='{"name": "get_order", "arguments": {"order_id": "o1"}}')
    ),
    Label.STRUCTURED_OUTPUT_INVALID: finding(
        Label.STRUCTURED_OUTPUT_INVALID,
        tool="Answer",
        detail="the answer given through `Answer` was refused",
    ),
    Label.REPETITION_OR_LOOPING: seen(call(q=1), steps(*[ran(q=1)] * 5)),
}


def of_label(label: Label) -> Finding:
    """A finding as it comes about for a label."""
    return DETECTED.get(label) or finding(label, tool="search", detail=DETAILS.get(label, ""))


def lesson(text: str) -> ScoredLesson:
    """A lesson as the playbook gives it."""
    return ScoredLesson(Lesson(text, Label.REPETITION_OR_LOOPING, text), 0.9)


LESSONS = (
    lesson(
        "When the same calls come back with the same results (`search`) [exact_repeat], this "
        "helped: `get_order` with order_id."
    ),
    lesson("When the same calls come back with the same results, this helped: `add_note`."),
)
MANY = catalog(*[tool(f"tool_{n:02}", a="string") for n in range(30)])
LONG = Task("t", "Cancel the order that I made last week, please. " * 40)
LOOP = of_label(Label.REPETITION_OR_LOOPING)


def special() -> dict[str, str]:
    """The texts of every special case, by name."""
    failing = seen(
        call("get_order", order_id="o9"),
        steps(*[[failed("get_order", f"error: no order {n}", order_id=f"o{n}")] for n in range(3)]),
    )
    cases: dict[str, tuple[Finding, dict[str, Any]]] = {
        "repetition: advice": (seen(call(q=1), steps(ran(q=1), ran(q=1))), {}),
        "repetition: a cycle": (seen(call(q=1), steps(*[ran(q=1), ran(q=2)] * 3)), {}),
        "repetition: the same error": (failing, {}),
        "termination: an open action": (
            seen(proposal(text="All done."), state=TaskState(active=(OWED,))),
            {},
        ),
        "termination: refused": (seen(proposal(text="No.", stop_reason="refusal")), {}),
        "termination: cut off": (seen(proposal(text="The", stop_reason="length")), {}),
        "hard: the last attempt": (
            of_label(Label.INVALID_ARGUMENTS),
            {"attempt": 4, "last_attempt": True},
        ),
        "unknown tool: no suggestion": (seen(call("weather", city="Rome")), {}),
        "unknown tool: another spelling": (seen(call("Cancel-Order", order_id="o1")), {}),
        "unknown tool: no name": (seen(ToolCall("x", "", {})), {}),
        "unknown tool: 30 tools": (
            finding(Label.UNKNOWN_TOOL, tool="weather", detail="there is no tool named `weather`"),
            {"catalog": MANY},
        ),
        "unknown tool: no tools": (
            finding(Label.UNKNOWN_TOOL, tool="weather", detail="there is no tool named `weather`"),
            {"catalog": Catalog()},
        ),
        "malformed: empty": (seen(unparsable("cancel_order", "")), {}),
        "invalid: a wrong name": (seen(call("get_order", line_id="o1")), {}),
        "with lessons": (LOOP, {"lessons": LESSONS}),
        "with a long request": (LOOP, {"task": LONG}),
        "without a request": (LOOP, {"task": Task()}),
        "one of several": (of_label(Label.INVALID_ARGUMENTS), {"with_request": False}),
        "in little room": (LOOP, {"lessons": LESSONS, "max_chars": 300}),
    }
    texts = {}
    for name, (one, options) in cases.items():
        tools, task = options.pop("catalog", SHOP), options.pop("task", TASK)
        texts[name] = compose(one, tools, task, **options)
    texts["reminder"] = remind((OWED,), SHOP, TASK)
    texts["partial answer: a loop"] = partial_answer(
        LOOP, steps(*[ran(q=1)] * 3, ran("get_order", order_id="o1"), held(q=1)), TASK
    )
    texts["partial answer: invalid calls"] = partial_answer(
        of_label(Label.INVALID_ARGUMENTS), (), TASK
    )
    texts["partial answer: nothing known"] = partial_answer(LOOP, (), Task())
    return texts


def test_the_texts_of_all_labels(pytestconfig: pytest.Config) -> None:
    """Each label's text is read by people before it changes."""
    texts = {label.value: compose(of_label(label), SHOP, TASK) for label in Label}
    check("labels", texts, write=pytestconfig.getoption("write_snapshots"))


def test_the_texts_of_special_cases(pytestconfig: pytest.Config) -> None:
    """So does the text of each special case."""
    check("special", special(), write=pytestconfig.getoption("write_snapshots"))


PUSHES = re.compile(
    r"now!|immediately|right away|at once!|you must (?:act|call)|you have to act|"
    r"take action|act now|hurry|call it now|stop planning|!",
    re.IGNORECASE,
)
"""General pushes to act: they make models change what nobody asked to be changed."""


@pytest.mark.parametrize("label", list(Label))
def test_no_text_is_a_general_push(label: Label) -> None:
    """A plan names the call and what follows; it does not shout."""
    assert not PUSHES.search(compose(of_label(label), SHOP, TASK))


@pytest.mark.parametrize("text", special().values(), ids=special().keys())
def test_no_special_text_is_a_general_push(text: str) -> None:
    """Neither does a reminder, a last attempt or a partial answer."""
    assert not PUSHES.search(text)


@pytest.mark.parametrize("label", list(Label))
def test_the_fault_is_first_and_the_request_last(label: Label) -> None:
    """Between them stand the next call and what follows it."""
    text = compose(of_label(label), SHOP, TASK)
    lines = text.splitlines()
    assert re.match(
        r"Not executed: |Not accepted: |Not done yet: |Not finished: |Observed: ", lines[0]
    )
    assert lines[1].startswith("Next: ")
    assert lines[2].startswith("Then: ")
    assert lines[-1] == f"Original request: {TASK.objective}"
    assert len(text) <= 1_200
    assert "{" not in lines[1] + lines[2], "a field of the template is not filled"


def test_every_label_has_a_template() -> None:
    """A label without words could not be repaired."""
    assert set(TEMPLATES) == set(Label)


@pytest.mark.parametrize(
    "label",
    [Label.MALFORMED_ARGUMENTS, Label.INVALID_ARGUMENTS, Label.UNKNOWN_TOOL],
)
def test_the_next_call_stands_with_its_parameters(label: Label) -> None:
    """The model needs not look the schema up."""
    text = compose(of_label(label), SHOP, TASK)
    assert "order_id (string, required)" in text


def test_the_second_attempt_shows_the_arguments_to_be_filled_in() -> None:
    """Of the tool that the next step calls, by its schema."""
    bad = of_label(Label.INVALID_ARGUMENTS)
    assert "of this form" not in compose(bad, SHOP, TASK)
    spec = tool(
        "book",
        required=["guest", "nights", "rooms", "kind"],
        guest="string",
        nights="integer",
        rooms={"type": "array", "items": {"type": "string"}},
        kind={"enum": ["single", "double"]},
        note="string",
    )
    text = compose(replace(bad, tool="book"), catalog(spec), TASK, attempt=2)
    assert (
        'Its arguments are one JSON object of this form: {"guest": "...", "nights": 0, "rooms": '
        '["..."], "kind": "single"}.'
    ) in text
    other = replace(bad, tool="book", advice="call `get_order` with order_id (string, required).")
    assert 'form: {"order_id": "..."}.' in compose(other, SHOP, TASK, attempt=2)


def test_the_last_attempt_says_something_else() -> None:
    """The same words a fourth time would get the same call."""
    usual = compose(of_label(Label.INVALID_ARGUMENTS), SHOP, TASK)
    last = compose(of_label(Label.INVALID_ARGUMENTS), SHOP, TASK, attempt=4, last_attempt=True)
    assert last != usual
    assert "failed 4 times" in last
    assert "Then: " not in last


def test_lessons_are_advice() -> None:
    """They are marked as such, stand before the request, and go first where room is short."""
    text = compose(LOOP, SHOP, TASK, lessons=LESSONS)
    lines = text.splitlines()
    heading = lines.index("What helped before (advice, not an instruction):")
    assert [f"- {scored.lesson.text}" for scored in LESSONS] == lines[heading + 1 : -1]
    short = compose(LOOP, SHOP, TASK, lessons=LESSONS, max_chars=400)
    assert "What helped before" not in short
    assert short.startswith("Observed: ")
    assert short.endswith(TASK.objective)


@given(
    label=st.sampled_from(list(Label)),
    detail=TEXTS,
    request=st.text(max_size=3_000),
    lessons=st.lists(TEXTS, max_size=3),
    max_chars=st.integers(200, 3_000),
    last=st.booleans(),
)
def test_every_text_keeps_its_length(
    label: Label, detail: str, request: str, lessons: list[str], max_chars: int, last: bool
) -> None:
    """Whatever stands in the finding, the request and the lessons."""
    one = finding(label, tool="search", detail=detail)
    text = compose(
        one,
        SHOP,
        Task("t", request),
        lessons=[lesson(words) for words in lessons],
        last_attempt=last,
        max_chars=max_chars,
    )
    assert 0 < len(text) <= max_chars


@given(request=st.text(max_size=2_000), count=st.integers(0, 40))
def test_reminders_keep_their_length(request: str, count: int) -> None:
    """A reminder is shorter still."""
    owed = [active(Label.INVALID_ARGUMENTS, owes=f"tool_{n % 30:02}") for n in range(count)]
    assert len(remind(owed, MANY, Task("t", request))) <= 600


def test_a_reminder_names_each_owed_call_once() -> None:
    """Two repairs of one call are one thing to do."""
    text = remind((OWED, OWED), SHOP, TASK)
    assert text.count("cancel_order") == 1
    assert text.splitlines()[-1] == f"Original request: {TASK.objective}"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "`t` without arguments"),
        ({"a": "string"}, "`t` with a (string, optional)"),
        ({"a": {"enum": ["x", "y"]}}, "`t` with a (one of x, y, optional)"),
        ({"a": {"const": 3}}, "`t` with a (integer 3, optional)"),
        ({"a": {"type": ["string", "null"]}}, "`t` with a (string or null, optional)"),
        ({"a": {"type": "array"}}, "`t` with a (array, optional)"),
        (
            {"a": {"type": "array", "items": {"type": "integer"}}},
            "`t` with a (array of integer, optional)",
        ),
        (
            {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            "`t` with a (integer or null, optional)",
        ),
        ({"a": {"$ref": "#/x"}}, "`t` with a (optional)"),
        ({"a": {"anyOf": True, "type": None}}, "`t` with a (optional)"),
    ],
)
def test_a_signature_shows_names_kinds_and_values(schema: dict[str, Any], text: str) -> None:
    """Whatever the schema looks like; required arguments come first."""
    properties = {
        name: {"type": kind} if isinstance(kind, str) else kind for name, kind in schema.items()
    }
    assert signature(ToolSpec("t", parameters={"properties": properties})) == text


def test_required_arguments_come_first_and_many_are_cut() -> None:
    """Ten are shown."""
    spec = tool("t", required=["z"], **{f"a{n}": "string" for n in range(12)}, z="string")  # type: ignore[arg-type]
    text = signature(spec)
    assert text.startswith("`t` with z (string, required), a0 (")
    assert text.count("(") == 10


def test_a_partial_answer_is_honest() -> None:
    """It counts what ran with success, and nothing that was held or failed."""
    done = steps(ran(q=1), ran(q=2), held("cancel_order"), failed("add_note", "error", note="n"))
    text = partial_answer(LOOP, done, TASK)
    assert "Done so far: `search` 2 times." in text
    assert "cancel_order" not in text
    assert "add_note" not in text
    assert LOOP.label.value in text
    assert TASK.objective in text


def test_a_partial_answer_to_a_question_says_what_was_seen() -> None:
    """By the field that the question names; nothing of it where a change was asked for."""
    done = steps(ran("search", '{"fees_due": 12}', q=1))
    text = partial_answer(LOOP, done, Task("t", "What does she owe us in fees?"))
    assert "Done so far: `search`. In the results: `fees_due` is 12 (`search`)." in text
    assert "In the results" not in partial_answer(LOOP, done, Task("t", "Waive all her fees."))


def test_advice_and_hold_say_the_same() -> None:
    """How far a repair goes is the ladder's choice, not the text's."""
    one, other = finding(tool="search", detail="d"), advice(tool="search", detail="d")
    assert compose(one, SHOP, TASK) == compose(other, SHOP, TASK)


def test_what_a_judge_found_did_run() -> None:
    """Its text never says "not executed", whatever the label, and suggests a look-up as an if."""
    for label in LABELS:
        found = advice(label, pattern="judge", detail="the steps drift", suggestion="get_order")
        first, next_, *_ = compose(found, SHOP, TASK).splitlines()
        assert first == "Observed: the steps drift."
        assert next_.startswith("Next: if the request needs it, call `get_order` with order_id")
        without = compose(advice(label, pattern="judge", detail="d", tool="search"), SHOP, TASK)
        assert "if the request needs it" not in without
