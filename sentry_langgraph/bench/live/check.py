"""Whether a task was solved: by the state of the database and by what the answer says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sentry_langgraph.bench.live.world import Database, Domain, Task

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})


@dataclass(frozen=True, slots=True)
class Score:
    """What came of one run.

    Attributes:
        solved: Whether state and answer are right.
        state_right: Whether every record is as it has to be.
        answer_right: Whether the answer says what it has to say.
        wrong_changes: Records that were changed or added and should not be as they are.
    """

    solved: bool
    state_right: bool
    answer_right: bool
    wrong_changes: int


def score(domain: Domain, task: Task, database: Database, answer: str) -> Score:
    """Compare what a run left behind with what the solution of its task leaves behind.

    Args:
        domain: The domain.
        task: The task.
        database: As the run left it.
        answer: The final answer; empty where the run ended without one.
    """
    before, after = domain.open().records(), database.records()
    wanted = domain.solved_state(task).records()
    keys = before.keys() | after.keys() | wanted.keys()
    wrong = sum(
        after.get(key) != before.get(key) and after.get(key) != wanted.get(key) for key in keys
    )
    state_right = after == wanted
    answer_right = says(answer, task)
    return Score(state_right and answer_right, state_right, answer_right, wrong)


def says(answer: str, task: Task) -> bool:
    """Whether an answer holds every fact that the task asks for."""
    text = " ".join(answer.translate(_APOSTROPHES).lower().split())
    return bool(text) and all(
        any(_stands_in(text, one.lower()) for one in alternatives) for alternatives in task.facts
    )


def _stands_in(text: str, fact: str) -> bool:
    """Whether a fact stands in a text as words of its own: 4 does not stand in 14 or 4.5."""
    return re.search(rf"(?<![\w.]){re.escape(fact)}(?!\w|\.\d)", text) is not None
