"""Offline models, tools, histories and graphs for tests and demonstrations.

Nothing here needs a key or a network. `sentry_langgraph` itself never imports it.
"""

from sentry_langgraph.testing.graphs import react_builder, react_graph, router, state_class
from sentry_langgraph.testing.messages import (
    ai,
    call,
    guidance_in,
    if_guided,
    invalid_call,
    is_guidance,
)
from sentry_langgraph.testing.provider_rules import (
    STRICT,
    ProviderRefusal,
    Rule,
    answered_calls,
    check_history,
    human_first,
    leading_system_only,
    no_consecutive_assistants,
    no_orphan_results,
    no_trailing_assistant,
    parsable_arguments,
    reasoning_intact,
    unique_call_ids_per_message,
)
from sentry_langgraph.testing.recorded import RecordedChatModel, RecordedTool, recorded_tools
from sentry_langgraph.testing.scripted import ScriptedChatModel, ScriptEntry, ScriptExhausted
from sentry_langgraph.testing.traces import (
    RecordedResult,
    RecordedRun,
    RecordedTurn,
    TraceError,
    load_runs,
    parse_run,
)

__all__ = [
    "STRICT",
    "ProviderRefusal",
    "RecordedChatModel",
    "RecordedResult",
    "RecordedRun",
    "RecordedTool",
    "RecordedTurn",
    "Rule",
    "ScriptEntry",
    "ScriptExhausted",
    "ScriptedChatModel",
    "TraceError",
    "ai",
    "answered_calls",
    "call",
    "check_history",
    "guidance_in",
    "human_first",
    "if_guided",
    "invalid_call",
    "is_guidance",
    "leading_system_only",
    "load_runs",
    "no_consecutive_assistants",
    "no_orphan_results",
    "no_trailing_assistant",
    "parsable_arguments",
    "parse_run",
    "react_builder",
    "react_graph",
    "reasoning_intact",
    "recorded_tools",
    "router",
    "state_class",
    "unique_call_ids_per_message",
]
