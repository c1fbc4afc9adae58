"""Every task can be solved, and nothing but its solution solves it."""

from __future__ import annotations

import re

import pytest

from sentry_langgraph.bench.live.check import says, score
from sentry_langgraph.bench.live.domains import DOMAINS
from sentry_langgraph.bench.live.names import DOMAIN_NAMES, Protocol
from sentry_langgraph.bench.live.run import run_task
from sentry_langgraph.bench.live.world import Domain, Task

from .oracle import IDS, TASKS, json_model, native_model, right_answer

EVERY = pytest.mark.parametrize(("domain", "task"), TASKS, ids=IDS)
CHANGES = [(d, t) for d, t in TASKS if t.kind == "change"]


def test_the_domains_have_what_was_promised() -> None:
    """Three domains; in each 20 or more tasks, six to eight tools, all three kinds, 1 to 3 hops."""
    assert tuple(DOMAINS) == DOMAIN_NAMES
    for domain in DOMAINS.values():
        assert len(domain.tasks) >= 20
        assert len({task.id for task in domain.tasks}) == len(domain.tasks)
        assert len({task.request for task in domain.tasks}) == len(domain.tasks)
        assert 6 <= len(domain.tools(domain.open())) <= 8
        assert {task.kind for task in domain.tasks} == {"lookup", "change", "impossible"}
        hops = {len(task.solution) for task in domain.tasks if task.kind == "lookup"}
        assert {1, 2, 3} <= hops


def test_no_two_domains_share_a_tool_or_a_request() -> None:
    """What helps in one domain by its wording helps in no other."""
    for one in DOMAINS.values():
        for other in DOMAINS.values():
            if one is not other:
                names = [{tool.name for tool in d.tools(d.open())} for d in (one, other)]
                assert names[0].isdisjoint(names[1])


@EVERY
def test_ids_stand_in_no_request(domain: Domain, task: Task) -> None:
    """An id has to be looked up: none can be read off a request or guessed from a name."""
    ids = {id_ for _, id_ in domain.open().records()}
    assert all(re.fullmatch(r"[a-z]+-[0-9a-f]{6}", id_) for id_ in ids)
    assert not any(id_ in task.request for id_ in ids)


@EVERY
@pytest.mark.parametrize("protocol", ["native", "json"])
def test_the_solution_solves_it(domain: Domain, task: Task, protocol: Protocol) -> None:
    """A real run of the bare agent, in both protocols."""
    made = {"json": json_model, "native": native_model}[protocol]
    model = made(task.solution, right_answer(task))
    found = run_task(domain, task, "off", model, protocol=protocol, max_turns=20)
    assert found.solved
    assert (found.wrong_changes, found.end) == (0, "answer")
    assert found.turns == len(task.solution) + 1
    assert found.tool_calls == len(task.solution)


@EVERY
def test_sentry_leaves_a_good_run_alone(domain: Domain, task: Task) -> None:
    """The right calls in the right order get no repair at all."""
    model = json_model(task.solution, right_answer(task))
    found = run_task(domain, task, "rules", model, protocol="json", max_turns=20)
    assert found.solved
    assert found.repairs == {}
    assert found.turns == len(task.solution) + 1


@EVERY
@pytest.mark.parametrize("answer", ["", "Done.", "I am sorry, I can't do that."])
def test_doing_nothing_solves_nothing(domain: Domain, task: Task, answer: str) -> None:
    """Neither a claim nor an excuse; the state is right only where nothing was to be done."""
    found = score(domain, task, domain.open(), answer)
    assert not found.solved
    assert found.state_right == (task.kind != "change")
    assert found.wrong_changes == 0


@EVERY
def test_an_impossible_task_needs_its_reason(domain: Domain, task: Task) -> None:
    """With the right words and no change an impossible task is solved, a change is not."""
    found = score(domain, task, domain.open(), right_answer(task))
    assert found.solved == (task.kind != "change")


@pytest.mark.parametrize(("domain", "task"), CHANGES)
def test_another_change_is_wrong(domain: Domain, task: Task) -> None:
    """Any other change of the domain fails the task and is counted."""
    for other in domain.tasks:
        wanted, done = domain.solved_state(task), domain.solved_state(other)
        if other.kind == "change" and wanted.records() != done.records():
            found = score(domain, task, done, right_answer(task))
            assert not found.solved
            gone_wrong = {
                key
                for key, row in done.records().items()
                if row != domain.open().records()[key] and row != wanted.records()[key]
            }
            assert found.wrong_changes == len(gone_wrong)


@EVERY
def test_a_change_more_is_wrong(domain: Domain, task: Task) -> None:
    """The solution and one more change is no solution."""
    database = domain.solved_state(task)
    table = next(iter(database.tables.values()))
    row = next(iter(table.values()))
    row[next(iter(row))] = "something else"
    found = score(domain, task, database, right_answer(task))
    assert (found.solved, found.wrong_changes) == (False, 1)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("It has 4 pieces.", True),
        ("It has four pieces.", True),
        ("It has 4.", True),
        ("It has 14 pieces.", False),
        ("It has 4.5 pieces.", False),
        ("The order is or-4abc.", False),
        ("", False),
    ],
)
def test_a_fact_is_a_word_of_its_own(answer: str, right: bool) -> None:
    """4 does not stand in 14, nor in 4.5, nor in an id."""
    task = Task("t", "lookup", "How many?", (), (("4", "four"),))
    assert says(answer, task) is right


def test_bare_descriptions_give_nothing_away() -> None:
    """Each is the name again; with descriptions no two are the same."""
    for domain in DOMAINS.values():
        bare = domain.tools(domain.open(), bare=True)
        assert all(tool.description == tool.name for tool in bare)
        told = [tool.description for tool in domain.tools(domain.open())]
        assert len(set(told)) == len(told)
