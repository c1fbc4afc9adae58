"""Failure management for a loop without LangGraph."""

from sentry_langgraph.runner.records import Repair, Summary
from sentry_langgraph.runner.session import SentryRunner
from sentry_langgraph.runner.step import AgentStep, agent_step_from_parts

__all__ = ["AgentStep", "Repair", "SentryRunner", "Summary", "agent_step_from_parts"]
