"""The frozen data that passes through the stages.

Records know nothing of LangGraph, files or clocks. `graph/` and `runner` build them from
messages, the stages read them, and what has to outlive a step becomes a plain-JSON event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from sentry_langgraph.provenance import Provenance
from sentry_langgraph.taxonomy import (
    Label,
    Origin,
    Severity,
    Strategy,
    Verdict,
    is_hard,
    type_of,
)

Event: TypeAlias = dict[str, Any]
"""One entry of the ledger: plain JSON, at most a few kilobytes, no argument values."""

Status: TypeAlias = Literal["success", "error"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the agent wrote it.

    Attributes:
        id: The call id; may be empty, and may repeat in a broken message.
        name: The tool's name as written.
        args: The arguments, or None where they are not one JSON object.
        index: Position in the message, from 0, over valid and unparsable calls together.
        raw: The unparsable arguments as text; empty where `args` is set.
        keys: What `call_key` has computed for this call, by ignored arguments. A cache: it is
            no part of what the call is.
    """

    id: str
    name: str
    args: Mapping[str, Any] | None
    index: int = 0
    raw: str = ""
    keys: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)


_ERROR_TEXT = re.compile(r"\s*(?:error\b|exception\b|traceback \(most recent)", re.IGNORECASE)


def reads_as_error(text: str) -> bool:
    """Whether a result says in its first words that it is an error, where no status does."""
    return _ERROR_TEXT.match(text[:64]) is not None


_NOT_THERE = re.compile(
    r"\b(?:not found|no such|does(?:n't| not) exist|not available|unavailable|"
    r"unknown (?:id|key|name)|(?:there is|has) no\b|no longer exists?)\b",
    re.IGNORECASE,
)


def reads_as_not_there(text: str) -> bool:
    """Whether an error says that what was asked for does not exist."""
    return _NOT_THERE.search(text[:2_000]) is not None


@dataclass(frozen=True, slots=True)
class Observation:
    """What came back for one call.

    Attributes:
        call_id: The id of the call it answers.
        name: The tool's name.
        text: The result's text; images and other blocks stand as a digest.
        status: Whether the environment said that the call worked.
        digest: A digest of the complete result: equal digests mean equal results.
        own: Whether Sentry wrote it, so that the tool never ran.
    """

    call_id: str
    name: str
    text: str
    status: Status
    digest: str
    own: bool = False

    @property
    def worked(self) -> bool:
        """Whether the tool ran, and with success."""
        return not self.own and self.status == "success"

    @property
    def found_nothing(self) -> bool:
        """Whether the tool ran, and its error says that what was asked for does not exist."""
        return not self.own and self.status == "error" and reads_as_not_there(self.text)


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the agent that has run: what it said, called and saw."""

    id: str
    text: str
    calls: tuple[ToolCall, ...]
    observations: tuple[Observation, ...]

    def observation_of(self, call: ToolCall) -> Observation | None:
        """The result of `call`, or None where none came back."""
        for seen in self.observations:
            if seen.call_id == call.id:
                return seen
        return None


@dataclass(frozen=True, slots=True)
class Proposal:
    """The newest message of the agent, not yet executed.

    Attributes:
        id: The message's id.
        text: What it says, without reasoning blocks.
        calls: The calls that still have no result, unparsable ones included.
        finish: Whether the run is about to end with this message.
        stop_reason: What the provider says about why it stopped, lower case, or empty.
        answered: Results that the framework gave in the same step, such as the refusal of a
            structured answer.
        structured: Whether a structured answer has been accepted.
        wants_structured: Whether the agent owes a structured answer at the end.
    """

    id: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: bool = False
    stop_reason: str = ""
    answered: tuple[Observation, ...] = ()
    structured: bool = False
    wants_structured: bool = False


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which arguments break a schema.

    Attributes:
        path: The field, such as `root.kids[0].v`; empty for the object itself.
        problem: `missing`, `unexpected`, `type` or `value`.
        expected: What the schema wants, in words that hold nothing of the input.
        found: The kind of what was found, such as `string` or `null`.
        note: What a validator of the tool's own says; it may quote the input, so it is shown
            to the model and not stored.
    """

    path: str
    problem: Literal["missing", "unexpected", "type", "value"]
    expected: str = ""
    found: str = ""
    note: str = ""


ArgumentCheck: TypeAlias = Callable[[Mapping[str, Any]], tuple[Violation, ...]]


def accept_any(_: Mapping[str, Any]) -> tuple[Violation, ...]:
    """The check of a tool that has no schema."""
    return ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What is known of one tool.

    Attributes:
        name: The name the model calls.
        description: What the model was shown.
        parameters: JSON Schema of the arguments that the model was shown.
        check: Says how arguments break the tool's own schema.
        read_only: True for a look-up, False for a change, None where nothing says so.
        polling: Whether asking again is its purpose; it is never a loop.
        exempt: Labels that never apply to it.
        ignore_args: Arguments that don't count when calls are compared.
        batch: Whether many calls that differ little are its normal use.
        finish: Whether its success ends the task.
        destructive: True where a change can't be undone, None where nothing says so.
        idempotent: True where the same change twice is the same as once, None where nothing
            says so.
        free_args: Arguments whose values the agent may make up.
        advise_at: Identical calls before advice, for this tool; None is the detector's.
        hold_at: Identical calls before one is held, for this tool; None is the detector's.
        known_by: How `read_only` is known: `configuration`, `hint`, `name`, or empty.
        required: The names of the arguments that the schema demands.
        arguments: The schema of each argument, by name.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    check: ArgumentCheck = accept_any
    read_only: bool | None = None
    polling: bool = False
    exempt: frozenset[Label] = frozenset()
    ignore_args: frozenset[str] = frozenset()
    batch: bool = False
    finish: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None
    free_args: frozenset[str] = frozenset()
    advise_at: int | None = None
    hold_at: int | None = None
    known_by: Literal["configuration", "hint", "name", ""] = ""
    required: tuple[str, ...] = field(init=False, repr=False, compare=False)
    arguments: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        required = self.parameters.get("required")
        listed = required if isinstance(required, list | tuple) else ()
        properties = self.parameters.get("properties")
        given = properties if isinstance(properties, Mapping) else {}
        object.__setattr__(self, "required", tuple(n for n in listed if isinstance(n, str)))
        object.__setattr__(self, "arguments", given)


_NOTHING_KNOWN = ToolSpec("")


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tools an agent has.

    Attributes:
        tools: By name.
        declared: Names that exist outside the tool node (structured output, provider tools,
            tools that a middleware serves): never unknown, and not checked.
        complete: Whether these are all; where False, no name is unknown.
        finishing: Names of the tools that end a task.
    """

    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()
    complete: bool = True
    finishing: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(name for name, spec in self.tools.items() if spec.finish)
        object.__setattr__(self, "finishing", names)

    def spec(self, name: str) -> ToolSpec:
        """What is known of a tool; of one that is not there, nothing."""
        return self.tools.get(name, _NOTHING_KNOWN)

    def knows(self, name: str) -> bool:
        """Whether a call to `name` can be served."""
        return name in self.tools or name in self.declared or not self.complete


@dataclass(frozen=True, slots=True)
class Task:
    """The stretch from one user message to the next.

    Attributes:
        id: The id of the user message that opened it.
        objective: The text of that message.
    """

    id: str = ""
    objective: str = ""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One call of a plan or of a remembered path: names only, never values.

    Attributes:
        tool: The tool.
        arguments: The names of the arguments it is given.
        gives: The field of its result that the next call needs; empty where none is known.
    """

    tool: str
    arguments: tuple[str, ...] = ()
    gives: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the inverse of `from_dict`."""
        data: dict[str, Any] = {"tool": self.tool, "arguments": list(self.arguments)}
        return {**data, "gives": self.gives} if self.gives else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PathStep:
        """Rebuild a step from `to_dict`."""
        return cls(data["tool"], tuple(data["arguments"]), data.get("gives", ""))


@dataclass(frozen=True, slots=True)
class Finding:
    """One failure that a detector sees.

    Attributes:
        label: What it is.
        step: The id of the message that shows it.
        key: Names this failure within the task, so that its return is recognised. Holds
            names and digests, never values.
        confidence: From 0 to 1.
        severity: How far a repair may go.
        detail: One line for the model: what was wrong, field and value. Not stored.
        advice: The next step in words, instead of the label's own; for detectors of yours.
            Not stored.
        evidence: Short facts for people and the ledger: names, counts, step ids.
        calls: Positions of the calls concerned, in the message.
        tool: The tool concerned.
        argument: The argument concerned.
        pattern: A finer name within the label.
        suggestion: The tool to call instead, where one is known.
        origin: Who caused it.
        intention: Whether the held action stays owed until it is done or given up.
        related: Keys of the calls that make up the failure, for verification.
        plan: Calls that lead to the held one, in order, where they are known.
    """

    label: Label
    step: str
    key: str
    confidence: float = 1.0
    severity: Severity = Severity.HOLD
    detail: str = ""
    advice: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[int, ...] = ()
    tool: str | None = None
    argument: str | None = None
    pattern: str | None = None
    suggestion: str | None = None
    origin: Origin = Origin.MODEL
    intention: bool = False
    related: tuple[str, ...] = ()
    plan: tuple[PathStep, ...] = ()

    @property
    def hard(self) -> bool:
        """Whether the invalid action has to be redone."""
        return is_hard(self.label)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the inverse of `from_dict`."""
        data = asdict(self)
        for name in ("label", "severity", "origin"):
            data[name] = str(data[name])
        for name in ("calls", "related"):
            data[name] = list(data[name])
        data["plan"] = [step.to_dict() for step in self.plan]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """Rebuild a finding from `to_dict`."""
        return cls(
            **{
                **data,
                "label": Label(data["label"]),
                "severity": Severity(data["severity"]),
                "origin": Origin(data["origin"]),
                "calls": tuple(data["calls"]),
                "related": tuple(data["related"]),
                "plan": tuple(map(PathStep.from_dict, data.get("plan", ()))),
            }
        )


@dataclass(frozen=True, slots=True)
class ActiveRepair:
    """A repair whose verdict is open.

    Attributes:
        id: The repair event's id.
        label: The failure it answers.
        key: The failure's key.
        step: The id of the message it answered.
        strategy: What was done.
        tool: The tool concerned, or the one suggested.
        argument: The argument concerned.
        pattern: The finer name.
        related: Keys of the calls that made up the failure.
        lessons: Ids of the lessons that were shown.
        owes: The tool that still has to run with success: the intention of the held call.
        plan: The calls that lead to the held one.
    """

    id: str
    label: Label
    key: str
    step: str
    strategy: Strategy
    tool: str | None = None
    argument: str | None = None
    pattern: str | None = None
    related: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    owes: str | None = None
    plan: tuple[PathStep, ...] = ()

    @property
    def hard(self) -> bool:
        """Whether it asked for an invalid action to be redone."""
        return self.strategy is Strategy.HARD

    def rest(self, done: Set[str]) -> tuple[PathStep, ...]:
        """The steps of the plan after the last one whose tool is in `done`."""
        last = max((at for at, step in enumerate(self.plan) if step.tool in done), default=-1)
        return self.plan[last + 1 :]


@dataclass(frozen=True, slots=True)
class TaskState:
    """What the ledger says about the current task: the fold of its events.

    Attributes:
        active: Repairs whose verdict is open, oldest first.
        soft_repairs: How many soft repairs the task has had.
        failed: How often a repair failed, by failure key.
        hard_steps: Ids of the messages that hard repairs answered.
        last_soft_step: The message id that the last soft repair answered.
        suppressed: Keys and reasons of what is already recorded and need not be again.
        tokens: Approximate tokens of guidance so far.
        seconds: Time spent in repairs so far.
        guidance: Ids of our messages that are still in the context, by failure key.
        judged_step: The message id that the last diagnosis of the judge was about.
        judge_streak: Diagnoses in a row that found nothing, since the last repair.
        judge_tokens: Tokens that the judge has used so far.
    """

    active: tuple[ActiveRepair, ...] = ()
    soft_repairs: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    hard_steps: frozenset[str] = frozenset()
    last_soft_step: str | None = None
    suppressed: frozenset[tuple[str, str]] = frozenset()
    tokens: int = 0
    seconds: float = 0.0
    guidance: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    judged_step: str | None = None
    judge_streak: int = 0
    judge_tokens: int = 0

    @property
    def owed(self) -> tuple[ActiveRepair, ...]:
        """Repairs whose held action is still owed."""
        return tuple(repair for repair in self.active if repair.owes)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What the gate sees: the current task up to the newest message.

    Attributes:
        task: The task.
        steps: The steps that have run, oldest first, at most the window.
        proposal: The newest message.
        catalog: The tools.
        state: The fold of the ledger.
        provenance: Where values come from: all that the agent was told and saw, of every task.
    """

    task: Task
    steps: tuple[Step, ...]
    proposal: Proposal
    catalog: Catalog = field(default_factory=Catalog)
    state: TaskState = field(default_factory=TaskState)
    provenance: Provenance = field(default_factory=Provenance)

    def done_since(self, step: str) -> frozenset[str]:
        """Tools that ran with success after the message `step`."""
        found: set[str] = set()
        for one in reversed(self.steps):
            if one.id == step:
                break
            found |= {seen.name for seen in one.observations if seen.worked}
        return frozenset(found)

    @property
    def given_values(self) -> frozenset[str]:
        """The values that the calls of the steps were given, as texts; not those inside others."""
        return frozenset(
            str(value)
            for step in self.steps
            for call in step.calls
            for value in (call.args or {}).values()
        )

    @property
    def hard_streak(self) -> int:
        """How many messages in a row, up to the last one, were answered by a hard repair."""
        return sum(1 for _ in self._hard_in_a_row())

    def attempt_at(self, tool: str | None) -> int:
        """Which attempt the newest message is, of those in a row that were answered by a hard
        repair and called a tool, from 1. None counts every call."""
        failed = 0
        for step in self._hard_in_a_row():
            if tool is not None and all(call.name != tool for call in step.calls):
                break
            failed += 1
        return failed + 1

    def _hard_in_a_row(self) -> Iterator[Step]:
        """The messages that were answered by a hard repair, newest first, up to another one."""
        for step in reversed(self.steps):
            if step.id not in self.state.hard_steps:
                return
            yield step


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one repair, and why.

    Attributes:
        repair: The repair.
        verdict: What the steps say.
        why: One clause for people.
        path: The calls that led to the recovery: what a lesson is made of.
        undecided: Whether the steps ran out without a sign either way.
    """

    repair: ActiveRepair
    verdict: Verdict
    why: str
    path: tuple[PathStep, ...] = ()
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Lesson:
    """Conditional knowledge: what helped after this failure.

    Attributes:
        id: Derived from trigger and path, so that the same lesson is one record.
        label: The failure that makes it worth showing.
        text: The sentence shown, rendered from the path by rule.
        tool: The tool concerned.
        argument: The argument concerned.
        pattern: The finer name of the failure.
        agent: The agent node that learned it.
        path: What the agent did to recover.
        uses: How often it was shown.
        recoveries: How often a repair that showed it recovered; the first one counts.
        relapses: How often it did not.
        status: `active`, or `quarantined` when it keeps failing.
        created: ISO 8601, UTC.
        last_used: ISO 8601, UTC.
        thread_id: The thread it was learned in.
        checkpoint_id: The checkpoint before the failure.
        checkpoint_ns: The namespace of that checkpoint.
        model: The chat model that recovered.
        tool_fingerprint: Digest of the schemas of the tools on the path.
        owner: Whose lesson it is, for shared playbooks.
        extra: Further fields of the user's own, plain JSON.
    """

    id: str
    label: Label
    text: str
    tool: str | None = None
    argument: str | None = None
    pattern: str | None = None
    agent: str | None = None
    path: tuple[PathStep, ...] = ()
    uses: int = 0
    recoveries: int = 0
    relapses: int = 0
    status: Literal["active", "quarantined"] = "active"
    created: str = ""
    last_used: str = ""
    thread_id: str | None = None
    checkpoint_id: str | None = None
    checkpoint_ns: str | None = None
    model: str | None = None
    tool_fingerprint: str | None = None
    owner: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The coarse kind of the failure."""
        return type_of(self.label).value

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the inverse of `from_dict`."""
        data = asdict(self)
        data["label"] = self.label.value
        data["path"] = [step.to_dict() for step in self.path]
        data["extra"] = dict(self.extra)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lesson:
        """Rebuild a lesson from `to_dict`.

        Raises:
            KeyError: A required field is missing.
            ValueError: The label is not one of the taxonomy.
            TypeError: A field is unknown.
        """
        fields = dict(data)
        fields["label"] = Label(fields["label"])
        fields["path"] = tuple(map(PathStep.from_dict, fields.get("path", ())))
        return cls(**fields)

    def counted(self, *, uses: int = 0, recoveries: int = 0, relapses: int = 0) -> Lesson:
        """The lesson with its counts raised."""
        return replace(
            self,
            uses=self.uses + uses,
            recoveries=self.recoveries + recoveries,
            relapses=self.relapses + relapses,
        )


@dataclass(frozen=True, slots=True)
class LessonQuery:
    """What a repair asks the playbook.

    Attributes:
        label: The failure; only its lessons are considered.
        text: What happened, in words, for the ranking by similarity.
        tool: The tool concerned.
        agent: The agent node.
        tools: Names of the tools the agent has; a path through others is of no use.
        model: The chat model in use.
    """

    label: Label
    text: str = ""
    tool: str | None = None
    agent: str | None = None
    tools: frozenset[str] = frozenset()
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredLesson:
    """A lesson and how well it fits, from 0 to 1."""

    lesson: Lesson
    score: float
