"""Recorded runs, looked at as the gate would have: reading, replaying, calibrating."""

from sentry_langgraph.replay.catalogs import Catalogs, read_tools
from sentry_langgraph.replay.engine import Hit, Level, Replay, Replayed
from sentry_langgraph.replay.prefixes import Prefix, prefixes
from sentry_langgraph.replay.read import Format, read_runs
from sentry_langgraph.replay.recording import Message, Recording, RecordingError

__all__ = [
    "Catalogs",
    "Format",
    "Hit",
    "Level",
    "Message",
    "Prefix",
    "Recording",
    "RecordingError",
    "Replay",
    "Replayed",
    "prefixes",
    "read_runs",
    "read_tools",
]
