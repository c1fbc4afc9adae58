"""`sentry_report`: what Sentry saw and did in a run, read from its ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot

from sentry_langgraph import ledger
from sentry_langgraph.graph.report_text import report_text
from sentry_langgraph.graph.state import CHANNEL
from sentry_langgraph.records import Event

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from rich.text import Text

ReportSource: TypeAlias = Pregel[Any, Any, Any, Any] | StateSnapshot | Mapping[str, Any] | Any


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One failure, and what became of it.

    Attributes:
        label: The failure.
        pattern: Its finer name.
        step: The id of the message that shows it.
        tool: The tool concerned.
        evidence: Short facts: names and counts, no values.
        done: `hard`, `advise` or `hold`; `stopped` or `continue` at the end of the ladder;
            `suppressed`; or `recorded` where nothing was done.
        reason: Why it was suppressed.
        verdict: `recovered`, `relapsed` or `expired`; None while it is open.
        why: What the verdict rests on.
        lessons: Ids of the lessons that were shown.
        tokens: Approximate tokens of the text.
        task: The id of the user message of its task.
        checkpoint_id: The checkpoint before the failure.
    """

    label: str
    step: str
    done: str
    pattern: str | None = None
    tool: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    verdict: str | None = None
    why: str | None = None
    lessons: tuple[str, ...] = ()
    tokens: int = 0
    task: str = ""
    checkpoint_id: str | None = None

    @property
    def repaired(self) -> bool:
        """Whether a repair was made."""
        return self.done in ("hard", "advise", "hold")


@dataclass(frozen=True, slots=True)
class ReportLesson:
    """A lesson that the run taught.

    Attributes:
        id: Its id in the playbook.
        label: The failure that makes it worth showing.
        text: Its sentence.
        stored: Whether the playbook took it. Where not, it stays in the ledger.
    """

    id: str
    label: str
    text: str
    stored: bool


@dataclass(frozen=True, slots=True)
class SentryReport:
    """What Sentry saw and did. `str` gives it as plain text.

    Attributes:
        rows: The failures, oldest first, suppressed ones included.
        lessons: What was learned.
        stop_reason: The label with which the last stopped task ended.
        tokens: Approximate tokens of all guidance, reminders included, each counted once: what a
            repair adds to a prompt. The agent's own tokens are not counted.
        judge_tokens: Tokens that the judge has used, prompts and answers of all its work.
        judge_estimated: Whether some of those are estimated, four characters each, since the
            model did not report them.
        judge_calls: Requests to the judge's models.
        diagnoses: How often the judge looked for failures, by outcome.
        seconds: Time spent in repairs; waiting for the judge is not counted.
        notices: What else people should know, such as faults of our own, with their counts.
    """

    rows: tuple[ReportRow, ...] = ()
    lessons: tuple[ReportLesson, ...] = ()
    stop_reason: str | None = None
    tokens: int = 0
    judge_tokens: int = 0
    judge_estimated: bool = False
    judge_calls: int = 0
    diagnoses: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    notices: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many failures, repairs, verdicts of each kind, suppressions, stops and lessons."""
        done = Counter(row.done for row in self.rows)
        verdicts = Counter(row.verdict for row in self.rows if row.repaired)
        return {
            "failures": sum(1 for row in self.rows if row.done != "suppressed"),
            "repairs": sum(1 for row in self.rows if row.repaired),
            "hard": done["hard"],
            "advise": done["advise"],
            "hold": done["hold"],
            "recovered": verdicts["recovered"],
            "relapsed": verdicts["relapsed"],
            "expired": verdicts["expired"],
            "open": verdicts[None],
            "suppressed": done["suppressed"],
            "stopped": done["stopped"],
            "lessons": len(self.lessons),
            "lessons_not_stored": len(self.unstored),
        }

    @property
    def labels(self) -> dict[str, int]:
        """How often each failure was seen, most frequent first; without suppressed ones."""
        return dict(
            Counter(row.label for row in self.rows if row.done != "suppressed").most_common()
        )

    @property
    def unstored(self) -> tuple[ReportLesson, ...]:
        """Lessons that the playbook could not take."""
        return tuple(lesson for lesson in self.lessons if not lesson.stored)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "counts": self.counts,
            "labels": self.labels,
            "rows": [
                {**asdict(row), "evidence": dict(row.evidence), "lessons": list(row.lessons)}
                for row in self.rows
            ],
            "lessons": [asdict(lesson) for lesson in self.lessons],
            "stop_reason": self.stop_reason,
            "tokens": self.tokens,
            "judge": {
                "tokens": self.judge_tokens,
                "estimated": self.judge_estimated,
                "requests": self.judge_calls,
                "diagnoses": dict(self.diagnoses),
            },
            "seconds": round(self.seconds, 4),
            "notices": dict(self.notices),
        }

    def __str__(self) -> str:
        return report_text(self)

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415 - only who prints needs it

        return Text(str(self))


def sentry_report(source: ReportSource, config: Any = None) -> SentryReport:
    """What Sentry saw and did.

    Args:
        source: A wrapped graph that has a checkpointer; or what `get_state` or `aget_state`
            gives; or its values; or a list of events, such as a callback collects.
        config: Where `source` is a graph: the config with the `thread_id`.

    Raises:
        ValueError: A graph came without a config, or has no checkpointer.
        TypeError: `source` is something else.
    """
    return report_of(_events(source, config))


def report_of(events: Iterable[Event]) -> SentryReport:
    """The report of these events, which may belong to several tasks."""
    listed = list(events)
    repairs = {e["failure"]: e for e in listed if e["kind"] == "repair"}
    verdicts = {e["repair"]: e for e in listed if e["kind"] == "verdict"}
    ends = {(e["step"], e["key"]): e for e in listed if e["kind"] == "escalation"}
    rows = []
    for event in listed:
        if event["kind"] == "failure":
            made = repairs.get(event["id"])
            judged = verdicts.get(made["id"]) if made is not None else None
            end = ends.get((event["step"], event["key"]))
            rows.append(_failure_row(event, made, judged, end))
        elif event["kind"] == "suppressed":
            rows.append(_suppressed_row(event))
    stops = [e["label"] for e in listed if e["kind"] == "escalation" and e["outcome"] == "stopped"]
    return SentryReport(
        rows=tuple(rows),
        lessons=tuple(
            ReportLesson(e["lesson"]["id"], e["label"], e["lesson"]["text"], bool(e["stored"]))
            for e in listed
            if e["kind"] == "lesson"
        ),
        stop_reason=stops[-1] if stops else None,
        tokens=sum(e.get("tokens", 0) for e in listed),
        judge_tokens=sum(e.get("judge_tokens", 0) for e in listed),
        judge_estimated=any(e.get("judge_estimated") for e in listed),
        judge_calls=sum(e.get("judge_calls", 0) for e in listed),
        diagnoses=dict(Counter(e["outcome"] for e in listed if e["kind"] == "diagnosis")),
        seconds=sum(e.get("seconds", 0.0) for e in listed),
        notices=dict(Counter(e["what"] for e in listed if e["kind"] == "notice")),
    )


def _events(source: ReportSource, config: Any) -> list[Event]:
    values: Any = source
    if isinstance(source, Pregel):
        if config is None:
            raise ValueError(
                "sentry_report of a graph needs the config of the run: "
                'sentry_report(graph, {"configurable": {"thread_id": …}})'
            )
        return _graph_events(source, config)
    if isinstance(source, StateSnapshot):
        values = source.values
    if isinstance(values, Mapping):
        values = values.get(CHANNEL) or []
    return _checked(values, source)


def _graph_events(graph: Pregel[Any, Any, Any, Any], config: Any) -> list[Event]:
    """The ledger of a thread, and those of agents that are subgraphs, oldest visit first."""
    ledgers = [graph.get_state(config).values]
    saver = graph.checkpointer
    nested = any(
        CHANNEL in getattr(inner, "channels", ()) for _, inner in graph.get_subgraphs(recurse=True)
    )
    if nested and isinstance(saver, BaseCheckpointSaver):
        thread = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
        newest: dict[str, Mapping[str, Any]] = {}
        for saved in saver.list(cast("RunnableConfig", thread)):
            space = saved.config["configurable"].get("checkpoint_ns") or ""
            if space and space not in newest:  # the newest of a namespace comes first
                newest[space] = saved.checkpoint
        visits = sorted(newest.values(), key=lambda checkpoint: str(checkpoint["ts"]))
        ledgers += [checkpoint["channel_values"] for checkpoint in visits]
    merged: list[Event] = []
    for values in ledgers:
        merged = ledger.append(merged, _checked(values.get(CHANNEL) or [], graph))
    return merged


def _checked(values: Any, source: object) -> list[Event]:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise TypeError(
            "sentry_report takes a wrapped graph with a config, a state snapshot, its values or "
            f"a list of events, not {type(source).__name__}"
        )
    for event in values:
        if not isinstance(event, Mapping) or "kind" not in event:
            raise TypeError(f"not an event of Sentry's ledger: {type(event).__name__}")
    return list(values)


def _failure_row(
    event: Event, made: Event | None, judged: Event | None, end: Event | None
) -> ReportRow:
    return ReportRow(
        label=event["label"],
        step=event["step"],
        done=made["strategy"] if made else end["outcome"] if end else "recorded",
        pattern=event.get("pattern"),
        tool=event.get("tool"),
        evidence=dict(event.get("evidence") or {}),
        verdict=judged["verdict"] if judged else None,
        why=judged["why"] if judged else None,
        lessons=tuple(made["lessons"]) if made else (),
        tokens=made["tokens"] if made else 0,
        task=event["task"],
        checkpoint_id=event.get("checkpoint_id"),
    )


def _suppressed_row(event: Event) -> ReportRow:
    return ReportRow(
        label=event["label"],
        step=event["step"],
        done="suppressed",
        pattern=event.get("pattern"),
        tool=event.get("tool"),
        evidence=dict(event.get("evidence") or {}),
        reason=event["reason"],
        task=event["task"],
        checkpoint_id=event.get("checkpoint_id"),
    )
