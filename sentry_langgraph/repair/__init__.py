"""Repair texts: plans for the model, composed from templates by rule."""

from sentry_langgraph.repair.compose import compose, partial_answer, remind
from sentry_langgraph.repair.prepare import prepared, remembered
from sentry_langgraph.repair.signatures import signature

__all__ = ["compose", "partial_answer", "prepared", "remembered", "remind", "signature"]
