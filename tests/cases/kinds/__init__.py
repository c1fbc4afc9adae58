"""One module for each `input.kind`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cases.kinds import (
    concurrency,
    gate,
    graph_load,
    history,
    hitl,
    raw,
    scripted,
    store,
    wrapping,
    yaml_docs,
)
from cases.loader import Case
from cases.plans import Run

KINDS: Mapping[str, Callable[[Case], Iterable[Run]]] = {
    "scripted_run": scripted.runs,
    "history_run": history.runs,
    "hitl": hitl.runs,
    "raw_args_matrix": raw.runs,
    "gate_matrix": gate.runs,
    "store_ops": store.runs,
    "yaml_load": yaml_docs.runs,
    "wrap": wrapping.runs,
    "concurrency": concurrency.runs,
    "graph_load": graph_load.runs,
}
