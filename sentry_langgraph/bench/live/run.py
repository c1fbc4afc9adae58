"""One task in one arm: the same agent with and without Sentry."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver

from sentry_langgraph import with_sentry
from sentry_langgraph.bench.live.check import score
from sentry_langgraph.bench.live.model import MeteredModel, TurnLimit
from sentry_langgraph.bench.live.names import Arm, Protocol
from sentry_langgraph.bench.live.world import Domain, Task
from sentry_langgraph.testing import react_graph

SETTINGS = {"playbook": {"kind": "none"}}
"""Sentry's defaults without a playbook: no task learns from another."""

_SUPERSTEPS_PER_TURN = 6


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one task in one arm. Plain JSON through `to_dict`.

    Attributes:
        domain: The domain.
        task: The task's id.
        kind: `lookup`, `change` or `impossible`.
        arm: The arm.
        solved: Whether state and answer are right.
        state_right: Whether the state is.
        answer_right: Whether the answer is.
        wrong_changes: Records that are not as they should be after a change.
        turns: Calls of the model.
        tool_calls: Calls of tools that reached a tool.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        approximate: Whether the tokens are partly guessed from characters.
        repairs: Repairs by label.
        end: `answer`, `turn_limit`, `stopped` (by Sentry) or `error`.
        answer: The final answer.
        seconds: Wall-clock time.
        transcript: What was said, where it was asked for.
    """

    domain: str
    task: str
    kind: str
    arm: str
    solved: bool
    state_right: bool
    answer_right: bool
    wrong_changes: int
    turns: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    approximate: bool
    repairs: dict[str, int]
    end: str
    answer: str
    seconds: float
    transcript: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the inverse of `Result(**data)`."""
        return asdict(self)


def run_task(
    domain: Domain,
    task: Task,
    arm: Arm,
    model: BaseChatModel,
    *,
    protocol: Protocol,
    max_turns: int,
    transcript: bool = False,
) -> Result:
    """Let the agent do one task, and score what it left behind.

    Args:
        domain: The domain.
        task: The task.
        arm: With what.
        model: The model that is measured.
        protocol: How it is told of tools.
        max_turns: Calls of the model after which the run ends.
        transcript: Whether to keep what was said.

    Raises:
        Exception: What the model's client raises, such as a refused connection: such a run
            counts for nothing and is done again.
    """
    database = domain.open()
    metered = MeteredModel(inner=model, protocol=protocol, about=domain.about, max_turns=max_turns)
    graph: Any = react_graph(
        metered,
        domain.tools(database, bare=arm == "rules-bare"),
        checkpointer=InMemorySaver(),
        handle_tool_errors=_told,
    )
    if arm != "off":
        graph = with_sentry(graph, SETTINGS)
    config: Any = {
        "configurable": {"thread_id": "task"},
        "recursion_limit": _SUPERSTEPS_PER_TURN * max_turns + 10,
    }
    started, end = time.perf_counter(), "answer"
    try:
        graph.invoke({"messages": [("user", task.request)]}, config)
    except TurnLimit:
        end = "turn_limit"
    values = graph.get_state(config).values
    messages = values.get("messages", [])
    answer = ""
    if end == "answer" and messages:
        answer = messages[-1].text
        if messages[-1].additional_kwargs.get("sentry"):
            end = "stopped"
    scored, meter = score(domain, task, database, answer), metered.meter
    return Result(
        domain=domain.name,
        task=task.id,
        kind=task.kind,
        arm=arm,
        solved=scored.solved,
        state_right=scored.state_right,
        answer_right=scored.answer_right,
        wrong_changes=scored.wrong_changes,
        turns=meter.calls,
        tool_calls=_ran(messages),
        prompt_tokens=meter.prompt_tokens,
        completion_tokens=meter.completion_tokens,
        approximate=meter.approximate,
        repairs=_repairs(values.get("sentry", ())),
        end=end,
        answer=answer,
        seconds=round(time.perf_counter() - started, 2),
        transcript=[_line(message) for message in messages] if transcript else [],
    )


def _told(error: Exception) -> str:
    """What the model sees of an error."""
    return f"Error: {error}"


def _ran(messages: list[Any]) -> int:
    return sum(
        message.type == "tool" and "sentry" not in message.additional_kwargs for message in messages
    )


def _repairs(events: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for event in events:
        if event["kind"] == "repair":
            counts[event["label"]] = counts.get(event["label"], 0) + 1
    return counts


def _line(message: Any) -> dict[str, Any]:
    calls = [
        {"tool": call["name"], "args": call["args"]}
        for call in (
            *getattr(message, "tool_calls", ()),
            *getattr(message, "invalid_tool_calls", ()),
        )
    ]
    said = {"role": message.name or message.type, "text": message.text}
    return {**said, "calls": calls} if calls else said
