"""An agent's own list of todos is told by its shape."""

from __future__ import annotations

from typing import Any

import pytest
from builders import TASK, Ran, call, failed, held, ran, steps, trajectory

from sentry_langgraph.detect.todos import Todos, todos_of
from sentry_langgraph.records import Task


def listed(*items: Any, tool: str = "write_todos", make: Any = ran) -> Ran:
    """A call that writes the list."""
    made: Ran = make(tool)
    return Ran(call(tool, todos=list(items)), made.text, made.error, made.own)


def item(text: str, status: str) -> dict[str, str]:
    """One item as LangChain's middleware has it."""
    return {"content": text, "status": status}


def read(*turns: Ran, task: Task = TASK) -> Todos | None:
    """The list after these turns."""
    return todos_of(trajectory(steps(*turns), task=task))


DONE, DOING, OPEN = item("a", "completed"), item("b", "in_progress"), item("c", "pending")


@pytest.mark.parametrize(
    ("turns", "open_items"),
    [
        ([listed(DONE, DOING, OPEN)], ("b", "c")),
        ([listed(DONE, DONE)], ()),
        ([listed(OPEN), listed(DONE)], ()),
        ([listed(OPEN, OPEN), ran("search"), listed(DONE, OPEN)], ("c",)),
        ([listed(OPEN), listed(OPEN)], ("c",)),
        ([listed(DOING, tool="plan")], ("b",)),
        ([listed({"task": "x", "state": "In Progress"})], ("x",)),
        ([listed({"title": "x", "id": "longer than it", "status": "todo"}, DONE)], ("x",)),
        ([listed(DOING), listed(DONE, make=failed)], ("b",)),
    ],
)
def test_the_latest_list_counts(turns: Any, open_items: tuple[str, ...]) -> None:
    """Whatever the tool and the fields are called."""
    todos = read(*turns)
    assert todos is not None
    assert todos.open == open_items


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [ran("search", q=1)],
        [listed(OPEN)],
        [listed(DOING, make=held)],
        [listed(DOING, make=failed)],
        [listed("a", "b")],
        [listed({"content": "a", "status": "shipped"})],
        [listed(DOING, {"content": "a"})],
        [listed({"status": "pending"}, DOING)],
        [listed()],
        [listed(*[DOING] * 201)],
    ],
)
def test_what_is_no_list_of_todos(turns: Any) -> None:
    """Other lists, new items that nothing has moved, and calls that did not run."""
    assert read(*turns) is None


def test_a_status_that_the_user_asks_for_is_the_work_itself() -> None:
    """Not the agent's own list."""
    task = Task("t", "Set the tasks of Ana to in progress.")
    assert read(listed(DOING), task=task) is None


def test_langchains_own_tool_has_this_shape() -> None:
    """`write_todos` of the middleware, as its schema says."""
    middleware = pytest.importorskip("langchain.agents.middleware.todo")
    (made,) = middleware.TodoListMiddleware().tools
    schema = made.tool_call_schema.model_json_schema()
    assert "todos" in schema["properties"]
    fields = schema["$defs"]["Todo"]["properties"]
    assert {"content", "status"} == set(fields)
    assert set(fields["status"]["enum"]) == {"pending", "in_progress", "completed"}
