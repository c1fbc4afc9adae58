"""Public bug reports as tests; `pytest tests/cases --cases FILE` runs any file of the form."""

from __future__ import annotations

import warnings

import pytest

from cases.expect import all_problems, unread
from cases.expected_failures import REASONS
from cases.items import Item, items_of
from cases.loader import SHIPPED, listed, load
from cases.scene import scene_of
from cases.sentences import checker, known

pytestmark = pytest.mark.filterwarnings(
    # a call whose arguments are a text is what some models make; pydantic warns when it is stored
    "ignore:Pydantic serializer warnings:UserWarning"
)


class UnreadExpectation(UserWarning):
    """A file of cases says something that no rule turns into an assertion."""


def test_case(item: Item) -> None:
    """A run does what `expected` says of it, and a sentence holds for all runs of its case."""
    if item.broken:
        pytest.fail(item.broken, pytrace=False)
    scene = scene_of(item.case)
    if item.run:
        _check_run(item)
        return
    check = checker(item.side, item.sentence)
    if check is None:
        _unread(item.case.id, f"{item.side}: {item.sentence}")
        return
    check(scene)


def _check_run(item: Item) -> None:
    scene = scene_of(item.case)
    (run,) = [run for run in scene.runs if run.name == item.run]
    for key in unread(item.case, scene.runs):
        _unread(item.case.id, key)
    for mode in run.modes:
        record = scene.record(run, mode)
        found = all_problems(item.case, run, record)
        assert not found, f"{item.id}, {mode}: " + "; ".join(found)


def _unread(case: str, what: str) -> None:
    """In the shipped file everything is read; of another file the report lists what is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(UnreadExpectation(f"{case}: not asserted: {what}"), stacklevel=2)
    pytest.skip(f"not asserted: {what}")


@pytest.mark.shipped_cases
def test_every_sentence_of_the_shipped_file_has_a_checker() -> None:
    """Nothing that the shipped cases list under `must` and `must_not` goes unasserted."""
    missing = [
        f"{case.id}: {side}: {sentence}"
        for case in load(SHIPPED)
        for side in ("must", "must_not")
        for sentence in listed(case.expected.get(side))
        if checker(side, sentence) is None
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.shipped_cases
def test_every_structured_expectation_of_the_shipped_file_is_read() -> None:
    """No key of `expected` goes unread."""
    found = {case.id: keys for case in load(SHIPPED) if (keys := unread(case, scene_of(case).runs))}
    assert found == {}


@pytest.mark.shipped_cases
def test_every_registered_sentence_stands_in_the_shipped_file() -> None:
    """A checker whose sentence has changed would assert nothing."""
    there = {
        (side, sentence)
        for case in load(SHIPPED)
        for side in ("must", "must_not")
        for sentence in listed(case.expected.get(side))
    }
    assert [one for one in known() if one not in there] == []


@pytest.mark.shipped_cases
def test_every_expected_failure_names_a_test() -> None:
    """The table of expected failures has no entry that is for nothing."""
    ids = {item.id for item in items_of()}
    assert [name for name in REASONS if name not in ids] == []
