"""Detectors: pure functions of a trajectory that name failures."""

from sentry_langgraph.detect.base import Detector, DetectorOptions, Threshold
from sentry_langgraph.detect.registry import BUILT_IN, ENTRY_POINTS, build_detectors

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "Detector",
    "DetectorOptions",
    "Threshold",
    "build_detectors",
]
