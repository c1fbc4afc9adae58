"""Recorded runs of real agents, read from the common trace format.

One JSON object a line, `.jsonl` or `.jsonl.gz`: `source, id, model, task, tools, messages`, and
where known `outcome` and `annotations`. Messages are OpenAI style: `arguments` is the string as
the model wrote it, and a tool message has `error: true` where the environment said so. `tools`
is a list of function schemas, or `"@toolset:NAME"`: a key of `toolsets.json` in the same
directory, which holds the tools and the policy (the system prompt).

Some environments simulate a user who has tools too. The user's calls, and their results (marked
`requestor: "user"`), are not the agent's and it never saw them: they are left out of its history.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call

Json: TypeAlias = Mapping[str, Any]

TOOLSET = "@toolset:"


class TraceError(ValueError):
    """A trace file can't be read. Says where, and what is wrong."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """What the user said, and what the agent wrote until the user spoke again.

    Attributes:
        user: The user's text. Several messages in a row are joined by an empty line. Where the
            user only used tools of their own, it says so in plain words.
        replies: The agent's messages, without ids.
        steps: The position of each reply in the recorded list of messages, from 0.
        user_calls: Names of the tools the user used before or beside this text.
    """

    user: str
    replies: tuple[AIMessage, ...] = ()
    steps: tuple[int, ...] = ()
    user_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """What the environment answered to one call of the agent.

    Attributes:
        tool: The tool's name.
        arguments: The arguments as the model wrote them.
        content: The answer.
        error: Whether the environment called it an error.
        step: Its position in the recorded list of messages, from 0.
    """

    tool: str
    arguments: str
    content: str
    error: bool
    step: int


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One run.

    Attributes:
        id: Its id within the source.
        source: The benchmark it comes from.
        model: The model that wrote it; empty where unknown.
        task: What the user was to get done, as the benchmark says.
        tools: The function schemas the agent had.
        policy: The system prompt; empty where unknown.
        turns: The turns that the agent answered.
        opening: What the agent said before the user's first text, such as a greeting.
        closing: What the user said last and the agent did not answer; may be empty.
        results: The answers to the agent's calls, in order.
        outcome: What the source says about success.
        annotations: What people say about steps; `step` is a position in the recorded messages.
    """

    id: str
    source: str
    model: str
    task: str
    tools: tuple[Json, ...]
    policy: str
    turns: tuple[RecordedTurn, ...]
    opening: tuple[AIMessage, ...] = ()
    closing: str = ""
    results: tuple[RecordedResult, ...] = ()
    outcome: Json = field(default_factory=dict)
    annotations: tuple[Json, ...] = ()

    @property
    def replies(self) -> tuple[AIMessage, ...]:
        """The agent's messages of all turns."""
        return tuple(reply for turn in self.turns for reply in turn.replies)


def load_runs(path: str | Path, ids: Collection[str] | None = None) -> Iterator[RecordedRun]:
    """The runs of a `.jsonl` or `.jsonl.gz` file, read one at a time.

    Args:
        path: The file. Its directory may hold `toolsets.json`.
        ids: Only these runs; reading stops when all are found.

    Raises:
        TraceError: The file, a line or a toolset is missing or not of the format; or one of
            `ids` isn't in the file.
    """
    path = Path(path)
    wanted = None if ids is None else set(ids)
    toolsets: Json | None = None
    if wanted is not None and not wanted:
        return
    for number, line in _lines(path):
        if wanted is not None and not any(i in line for i in wanted):
            continue
        where = f"{path}:{number}"
        data = _object(line, where)
        if wanted is not None:
            if data.get("id") not in wanted:
                continue
            wanted.discard(data["id"])
        if isinstance(data.get("tools"), str) and toolsets is None:
            toolsets = _toolsets(path.parent / "toolsets.json", where)
        yield parse_run(data, toolsets or {}, where=where)
        if wanted is not None and not wanted:
            return
    if wanted:
        raise TraceError(f"{path}: no run has the id {', '.join(sorted(wanted))}")


def parse_run(data: Json, toolsets: Json | None = None, *, where: str = "run") -> RecordedRun:
    """One run from its JSON object.

    Args:
        data: The object.
        toolsets: Tools and policies by name.
        where: File and line, for errors.

    Raises:
        TraceError: A field is missing or of the wrong kind, or the toolset is unknown.
    """
    try:
        tools, policy = _tools(data["tools"], toolsets or {}, where)
        history = _History()
        for step, message in enumerate(data["messages"]):
            history.read(step, message)
        return RecordedRun(
            id=str(data["id"]),
            source=str(data["source"]),
            model=str(data.get("model") or ""),
            task=str(data.get("task") or ""),
            tools=tools,
            policy=policy,
            turns=tuple(history.turns()),
            opening=tuple(reply for _, reply in history.opening),
            closing=_user_text(history.texts, history.user_calls),
            results=tuple(history.results),
            outcome=dict(data.get("outcome") or {}),
            annotations=tuple(data.get("annotations") or ()),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise TraceError(f"{where}: not a run of the trace format: {error!r}") from error


def parse_reply(message: Json) -> AIMessage:
    """An OpenAI-style assistant message as LangChain reads it, without an id.

    Arguments that are not one JSON object make an invalid call; absent ones are `{}`.
    """
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for raw in message.get("tool_calls") or ():
        try:
            parsed = parse_tool_call(raw, return_id=True)
            problem = None
        except ValueError as error:
            parsed, problem = None, str(error)
        if parsed is not None and isinstance(parsed["args"], dict):
            calls.append(cast("ToolCall", parsed))
        else:
            problem = problem or "The arguments are not one JSON object."
            invalid.append(make_invalid_tool_call(raw, problem))
    return AIMessage(message.get("content") or "", tool_calls=calls, invalid_tool_calls=invalid)


class _History:
    """Sorts recorded messages into turns while they are read."""

    def __init__(self) -> None:
        self.opening: list[tuple[int, AIMessage]] = []
        self.results: list[RecordedResult] = []
        self.texts: list[str] = []
        self.user_calls: list[str] = []
        self._open: list[tuple[str, tuple[str, ...], list[tuple[int, AIMessage]]]] = []
        self._calls: dict[str, tuple[str, str]] = {}

    def read(self, step: int, message: Json) -> None:
        """Take the next message."""
        role = message["role"]
        if role == "user":
            if message.get("content"):
                self.texts.append(str(message["content"]))
            self.user_calls += [str(c["function"]["name"]) for c in message.get("tool_calls") or ()]
        elif role == "assistant":
            self._reply(step, message)
        elif role == "tool" and message.get("requestor") != "user":
            self._result(step, message)

    def turns(self) -> Iterator[RecordedTurn]:
        """The turns so far that have a reply."""
        for user, user_calls, replies in self._open:
            steps = tuple(step for step, _ in replies)
            yield RecordedTurn(user, tuple(reply for _, reply in replies), steps, user_calls)

    def _reply(self, step: int, message: Json) -> None:
        if self.texts or self.user_calls:
            text = _user_text(self.texts, self.user_calls)
            self._open.append((text, tuple(self.user_calls), []))
            self.texts, self.user_calls = [], []
        replies = self._open[-1][2] if self._open else self.opening
        replies.append((step, parse_reply(message)))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            self._calls[str(call.get("id"))] = (function["name"], function["arguments"] or "")

    def _result(self, step: int, message: Json) -> None:
        known = self._calls.get(str(message.get("tool_call_id")))
        if known is not None:
            name, arguments = known
            content, error = str(message.get("content") or ""), bool(message.get("error"))
            self.results.append(RecordedResult(name, arguments, content, error, step))


def _user_text(texts: Sequence[str], user_calls: Sequence[str]) -> str:
    if texts or not user_calls:
        return "\n\n".join(texts)
    return f"(The user used tools of their own: {', '.join(user_calls)}.)"


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: can't be read: {error}") from error


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise TraceError(f"{where}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise TraceError(f"{where}: not a JSON object")
    return data


def _toolsets(path: Path, where: str) -> Json:
    try:
        return _object(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise TraceError(f"{where}: names a toolset, and {path} can't be read: {error}") from error


def _tools(tools: Any, toolsets: Json, where: str) -> tuple[tuple[Json, ...], str]:
    if not isinstance(tools, str):
        return tuple(tools), ""
    name = tools.removeprefix(TOOLSET)
    if name not in toolsets:
        known = ", ".join(sorted(toolsets)) or "none"
        raise TraceError(f"{where}: the toolset {name!r} is not in toolsets.json (known: {known})")
    return tuple(toolsets[name]["tools"]), str(toolsets[name].get("policy") or "")
