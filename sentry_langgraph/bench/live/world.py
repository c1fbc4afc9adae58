"""What a task of the live benchmark is made of: a small database, tools over it, and a check."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from langchain_core.tools import BaseTool, StructuredTool, ToolException

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, dict[str, Row]]
Kind: TypeAlias = Literal["lookup", "change", "impossible"]
Call: TypeAlias = tuple[str, Mapping[str, Any]]
"""A tool's name and its arguments."""


def code(prefix: str, *parts: str) -> str:
    """An id that the same parts always give and that nobody can guess from them."""
    return f"{prefix}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:6]}"


class Database:
    """Tables of rows, in memory.

    Args:
        tables: Rows by table and id. They are copied.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        self.tables: Tables = copy.deepcopy(
            {name: {id_: dict(row) for id_, row in rows.items()} for name, rows in tables.items()}
        )

    def row(self, table: str, id_: str, noun: str) -> Row:
        """A row.

        Raises:
            ToolException: There is none with this id.
        """
        found = self.tables[table].get(id_)
        if found is None:
            raise ToolException(f"{noun} {id_!r} not found")
        return found

    def where(self, table: str, **wanted: str) -> list[str]:
        """Ids of the rows whose fields have these values, without regard to case."""
        return [
            id_
            for id_, row in self.tables[table].items()
            if all(str(row[key]).lower() == value.strip().lower() for key, value in wanted.items())
        ]

    def records(self) -> dict[tuple[str, str], Row]:
        """Every row by table and id."""
        return {(name, id_): row for name, rows in self.tables.items() for id_, row in rows.items()}


@dataclass(frozen=True, slots=True)
class Task:
    """One request, how it is done, and how it is known to be done.

    Attributes:
        id: Names it within its domain.
        kind: What the request asks for.
        request: The words of the user.
        solution: Calls that do it; the state they lead to is the right one.
        facts: What the answer has to say: of each entry one of the alternatives.
    """

    id: str
    kind: Kind
    request: str
    solution: tuple[Call, ...]
    facts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Domain:
    """One small world.

    Attributes:
        name: Its name.
        about: What the agent is told of its place, one sentence.
        tables: The data at the start.
        functions: The tools over a database, as functions whose docstrings are descriptions.
        tasks: The tasks.
    """

    name: str
    about: str
    tables: Mapping[str, Mapping[str, Mapping[str, Any]]]
    functions: Callable[[Database], Sequence[Callable[..., Any]]]
    tasks: tuple[Task, ...] = field(repr=False)

    def open(self) -> Database:
        """A fresh database."""
        return Database(self.tables)

    def tools(self, database: Database, *, bare: bool = False) -> list[BaseTool]:
        """The tools over `database`.

        Args:
            database: What they read and change.
            bare: Whether descriptions give nothing away: each is the tool's name again.
        """
        return [
            StructuredTool.from_function(
                function,
                name=function.__name__,
                description=function.__name__ if bare else (function.__doc__ or "").strip(),
            )
            for function in self.functions(database)
        ]

    def solved_state(self, task: Task) -> Database:
        """The database as it is after the solution of `task`."""
        database = self.open()
        tools = {tool.name: tool for tool in self.tools(database)}
        for name, arguments in task.solution:
            tools[name].invoke(dict(arguments))
        return database
