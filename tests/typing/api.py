"""The public surface as users write it: checked by mypy --strict, never run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.graph.message import MessagesState
from langgraph.graph.state import CompiledStateGraph

from sentry_langgraph import (
    ConfigError,
    Playbook,
    PlaybookError,
    RepairBranch,
    SentryCallback,
    SentryConfig,
    SentryError,
    SentryReport,
    SentryRunner,
    WiringError,
    afork_before,
    agent_step_from_parts,
    arepair_branches,
    fork_before,
    repair_branches,
    sentry_report,
    with_sentry,
)
from sentry_langgraph.detect import BUILT_IN, Detector, DetectorOptions, build_detectors
from sentry_langgraph.options import PositiveCount
from sentry_langgraph.playbook import ChromaPlaybook, MemoryPlaybook, open_playbook
from sentry_langgraph.records import (
    Event,
    Finding,
    Lesson,
    LessonQuery,
    ScoredLesson,
    Trajectory,
)
from sentry_langgraph.taxonomy import Label, Severity, Verdict
from sentry_langgraph.testing import ScriptedChatModel, ai, react_builder
from sentry_langgraph.testing import call as tool_call

# Wrapping: a builder, a compiled graph, every form of configuration.


def wrap_builder(builder: StateGraph[MessagesState, None, MessagesState, MessagesState]) -> None:
    """A builder that is not compiled."""
    graph: CompiledStateGraph[Any, Any, Any, Any] = with_sentry(builder)
    graph.invoke({"messages": []})


def wrap_compiled(
    graph: CompiledStateGraph[MessagesState, None, MessagesState, MessagesState],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A compiled graph, as `create_react_agent` and `create_agent` give it."""
    return with_sentry(graph)


def every_form_of_config(builder: StateGraph[Any, Any, Any, Any], config: SentryConfig) -> None:
    """None, a path, a mapping, and the object."""
    with_sentry(builder, None)
    with_sentry(builder, "sentry.yaml")
    with_sentry(builder, Path("sentry.yaml"))
    with_sentry(builder, {"mode": "shadow", "playbook": {"kind": "memory"}})
    with_sentry(builder, config)
    with_sentry(builder, SentryConfig.from_yaml("sentry.yaml"))
    with_sentry(builder, SentryConfig.from_yaml_text("mode: shadow"))


def every_option(
    builder: StateGraph[Any, Any, Any, Any], tools: Sequence[BaseTool], playbook: Playbook
) -> None:
    """What structure does not show."""
    with_sentry(builder, agent="agent", tool_nodes=["tools"], tools=tools)
    with_sentry(builder, agent=["planner", "worker"], messages_key="history")
    with_sentry(builder, tools=["search", {"name": "x"}, len], playbook=playbook)


def with_a_judge(builder: StateGraph[Any, Any, Any, Any], model: BaseChatModel) -> SentryRunner:
    """Any chat model, for a graph and for a loop without one."""
    with_sentry(builder, {"verify": {"judge": True}}, judge=model)
    return SentryRunner({"detectors": [{"kind": "judge", "when": "both"}]}, judge=model)


# Hearing what happened.


def on_event(event: Event) -> None:
    """A sink of events."""
    kind: str = event["kind"]
    event["label"] = kind.upper()


async def run_with_callback(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Event:
    """The callback in a run's config."""
    callback = SentryCallback(on_event=on_event)
    config: RunnableConfig = {"callbacks": [callback], "configurable": {"thread_id": "1"}}
    await graph.ainvoke({"messages": []}, config)
    silent = SentryCallback()
    return [*callback.events, *silent.events][0]


def branches(graph: CompiledStateGraph[Any, Any, Any, Any]) -> RunnableConfig | None:
    """Repair branches and a fork."""
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    found: list[RepairBranch] = repair_branches(graph, config)
    for branch in found:
        label: str = branch.failure["label"]
        verdict: str | None = branch.verdict["verdict"] if branch.verdict else None
        print(label, verdict, branch.repair, branch.config)
        graph.invoke(None, fork_before(graph, config, branch.failure["id"], guidance="Try b."))
    return found[0].config if found else None


async def abranches(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> None:
    """The same for async checkpointers."""
    found: list[RepairBranch] = await arepair_branches(graph, config)
    start: RunnableConfig = await afork_before(graph, config, found[0].failure["id"])
    await graph.ainvoke(None, start)


def report(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> str:
    """The report of a thread."""
    found: SentryReport = sentry_report(graph, config)
    return str(found)


# A loop without LangGraph.


def own_loop(config: SentryConfig) -> list[str]:
    """The runner between the agent and its environment."""
    said: list[str] = []
    with SentryRunner(config, agent="loop") as sentry:
        sentry.start_task("Cancel my order.", action_schema={"search": {"type": "object"}})
        step = agent_step_from_parts("s1", tool_name="search", tool_args={"q": 1}, observation="x")
        repair = sentry.step(step, terminal=True)
        if repair is not None:
            said.append(repair.prompt_text)
        summary = sentry.finalize()
        said.append(str(summary.to_dict()))
    return said


# A detector of one's own: a class with options, and a function.


class ShoutingOptions(DetectorOptions):
    """Options of `Shouting`."""

    characters: PositiveCount = 20


class Shouting:
    """A detector as a class."""

    Options: ClassVar[type[DetectorOptions]] = ShoutingOptions

    def __init__(self, options: ShoutingOptions) -> None:
        self._characters = options.characters

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """One finding for a message in capitals."""
        text = trajectory.proposal.text
        if len(text) >= self._characters and text.isupper():
            yield Finding(
                Label.OBJECTIVE_DRIFT,
                trajectory.proposal.id,
                key="shouting",
                severity=Severity.ADVISE,
                detail="the message is written in capitals",
            )


def shouting(trajectory: Trajectory) -> list[Finding]:
    """A detector as a function."""
    return list(Shouting(ShoutingOptions()).detect(trajectory))


def detectors() -> tuple[tuple[str, Detector], ...]:
    """A class that fits the protocol, and the registry."""
    own: Detector = Shouting(ShoutingOptions(characters=10))
    built = build_detectors([{"kind": "my.detectors:Shouting", "characters": 10}])
    made: Detector = BUILT_IN["planning_stall"](DetectorOptions())
    return (("own", own), ("made", made), *built)


# Playbooks: ours, and one of the user's.


class RedisPlaybook:
    """A store of the user's own."""

    def search(
        self,
        query: LessonQuery,
        k: int = 3,
        *,
        fingerprint: Callable[[Lesson], str | None] | None = None,
    ) -> list[ScoredLesson]:
        """The lessons of the label."""
        return [ScoredLesson(lesson, 1.0) for lesson in self.find({"label": query.label})][:k]

    def add(self, lesson: Lesson) -> Lesson:
        """Keep it."""
        return lesson.counted(recoveries=1)

    def record(self, ids: Sequence[str], verdict: Verdict, *, at: str) -> None:
        """Count."""
        if not ids:
            raise PlaybookError(f"nothing to count at {at}: {verdict}")

    def get(self, ids: Sequence[str]) -> list[Lesson]:
        """By id."""
        return [lesson for lesson in self.find() if lesson.id in ids]

    def find(
        self, where: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[Lesson]:
        """By field."""
        return []

    def delete(self, ids: Sequence[str]) -> None:
        """Forget."""

    def count(self) -> int:
        """How many."""
        return 0


def playbooks(config: SentryConfig) -> list[Playbook]:
    """All of them fit the port."""
    opened: Playbook | None = open_playbook(config.playbook)
    memory: Playbook = MemoryPlaybook()
    chroma: Playbook = ChromaPlaybook(config.playbook)
    own: Playbook = RedisPlaybook()
    return [memory, chroma, own, *([opened] if opened is not None else [])]


# Errors have attributes.


def explain(error: Exception) -> tuple[str | None, int | None]:
    """Where a mistake stands."""
    try:
        raise error
    except ConfigError as wrong:
        return wrong.file, wrong.line
    except WiringError as wrong:
        return ", ".join(wrong.nodes), None
    except SentryError as other:
        return str(other), None


# Testing an agent without a model.


def scripted(tools: Sequence[BaseTool]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A scripted model in a small graph."""
    model: BaseChatModel = ScriptedChatModel(
        script=[ai("", tool_call("search", {"q": 1})), "Done."]
    )
    return with_sentry(react_builder(model, tools).compile(checkpointer=InMemorySaver()))
