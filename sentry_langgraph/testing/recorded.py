"""A recorded run acted again: a model that proposes, and tools that answer, what was recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import InstanceOf, PrivateAttr

from sentry_langgraph.testing.scripted import ScriptedChatModel
from sentry_langgraph.testing.traces import RecordedResult, RecordedRun


class RecordedChatModel(ScriptedChatModel):
    """Proposes the recorded assistant messages of one run, the next one on each call.

    **It cannot hear.** Whatever the request says, guidance included, it proposes the next
    recorded message, also when that message belongs to a later turn. So it shows what is
    detected and what would be said, never whether an agent recovers.

    A message's id is `RUN:STEP`: the run's id and the position in the recorded messages.

    Args:
        run: The run.
        options: Those of `ScriptedChatModel`, except `script`.
    """

    run: InstanceOf[RecordedRun]

    def __init__(self, run: RecordedRun, **options: Any) -> None:
        script = [
            reply.model_copy(update={"id": f"{run.id}:{step}"})
            for turn in run.turns
            for reply, step in zip(turn.replies, turn.steps, strict=True)
        ]
        options.setdefault("model_name", run.model or "recorded")
        super().__init__(run=run, script=script, **options)

    def open_turn(self, index: int) -> str:
        """Go on with the first message of a turn, from 0. Returns what the user says there."""
        self.seek(sum(len(turn.replies) for turn in self.run.turns[:index]))
        return self.run.turns[index].user

    @property
    def _llm_type(self) -> str:
        return "recorded"


class _Answers:
    """The recorded answers of one tool, by canonical arguments."""

    def __init__(self, results: Sequence[RecordedResult]) -> None:
        self._lock = threading.Lock()
        self._results: dict[str, list[RecordedResult]] = {}
        self._given: dict[str, int] = {}
        for result in results:
            self._results.setdefault(canonical(result.arguments), []).append(result)

    def next(self, arguments: Mapping[str, Any]) -> RecordedResult | None:
        """The next answer to these arguments; the last one again when they are used up."""
        key = canonical(arguments)
        results = self._results.get(key)
        if not results:
            return None
        with self._lock:
            given = self._given.get(key, 0)
            self._given[key] = given + 1
        return results[min(given, len(results) - 1)]


class RecordedTool(BaseTool):
    """Answers what was recorded for the same arguments, in order of occurrence.

    After the last recorded answer it gives that one again. A recorded error, and arguments that
    were never recorded, make an error result.
    """

    handle_tool_error: Any = True

    _answers: _Answers = PrivateAttr()

    def __init__(self, results: Sequence[RecordedResult], **fields: Any) -> None:
        super().__init__(**fields)
        self._answers = _Answers(results)

    def _run(self, /, **arguments: Any) -> str:
        result = self._answers.next(arguments)
        if result is None:
            raise ToolException(f"No answer of {self.name} was recorded for these arguments.")
        if result.error:
            raise ToolException(result.content)
        return result.content

    async def _arun(self, /, **arguments: Any) -> str:
        return self._run(**arguments)


def recorded_tools(run: RecordedRun) -> list[BaseTool]:
    """The run's tools, with the JSON schemas its model was shown, and the recorded answers."""
    tools: list[BaseTool] = []
    for schema in run.tools:
        function = schema.get("function", schema)
        name = str(function["name"])
        parameters = {"type": "object", "properties": {}, **(function.get("parameters") or {})}
        tools.append(
            RecordedTool(
                [result for result in run.results if result.tool == name],
                name=name,
                description=str(function.get("description") or name),
                args_schema=parameters,
            )
        )
    return tools


def canonical(arguments: str | Mapping[str, Any]) -> str:
    """Arguments as one text: equal texts mean equal arguments. Unparsable text stays as it is."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False) if arguments else {}
        except ValueError:
            return str(arguments)
    return json.dumps(arguments or {}, sort_keys=True)
