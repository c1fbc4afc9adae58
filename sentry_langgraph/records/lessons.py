"""What the playbook holds, and what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sentry_langgraph.records.findings import PathStep
from sentry_langgraph.taxonomy import Label, type_of


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
