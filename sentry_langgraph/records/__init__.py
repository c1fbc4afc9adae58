"""The frozen data that passes through the stages.

Records know nothing of LangGraph, files or clocks. `graph/` and `runner` build them from
messages, the stages read them, and what has to outlive a step becomes a plain-JSON event.
"""

from sentry_langgraph.records.calls import (
    Observation,
    Proposal,
    Status,
    Step,
    ToolCall,
    reads_as_error,
    reads_as_not_there,
)
from sentry_langgraph.records.findings import ActiveRepair, Finding, Judgement, PathStep
from sentry_langgraph.records.lessons import Lesson, LessonQuery, ScoredLesson
from sentry_langgraph.records.tools import ArgumentCheck, Catalog, ToolSpec, Violation, accept_any
from sentry_langgraph.records.trajectory import Event, Task, TaskState, Trajectory

__all__ = [
    "ActiveRepair",
    "ArgumentCheck",
    "Catalog",
    "Event",
    "Finding",
    "Judgement",
    "Lesson",
    "LessonQuery",
    "Observation",
    "PathStep",
    "Proposal",
    "ScoredLesson",
    "Status",
    "Step",
    "Task",
    "TaskState",
    "ToolCall",
    "ToolSpec",
    "Trajectory",
    "Violation",
    "accept_any",
    "reads_as_error",
    "reads_as_not_there",
]
