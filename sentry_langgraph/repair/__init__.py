"""Repair texts: plans for the model, composed from templates by rule."""

from sentry_langgraph.repair.compose import compose, partial_answer, remind, signature

__all__ = ["compose", "partial_answer", "remind", "signature"]
