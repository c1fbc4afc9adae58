"""The few places where LangGraph has no public way, each behind one name.

Read against langgraph 1.2. A version that changes them makes the tests of this module fail,
not a user's run: the gate fails open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._constants import (
    CONF,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_READ,
    CONFIG_KEY_RUNTIME,
)
from langgraph._internal._runnable import RunnableCallable
from langgraph.graph._branch import BranchSpec
from langgraph.graph._node import StateNodeSpec

DEFAULT_ERROR_HANDLER = "__default_error_handler__"

__all__ = [
    "DEFAULT_ERROR_HANDLER",
    "BranchSpec",
    "StateNodeSpec",
    "has_checkpointer",
    "read_channels",
    "routing_callable",
    "where",
]


def read_channels(config: RunnableConfig, names: Sequence[str], *, fresh: bool) -> dict[str, Any]:
    """Channel values in the step that `config` belongs to.

    Args:
        config: The config of a running node or edge.
        names: The channels; those without a value are left out.
        fresh: Whether the writes of the running task are applied first.
    """
    read: Callable[[list[str], bool], dict[str, Any]] | None = config.get(CONF, {}).get(
        CONFIG_KEY_READ
    )
    return {} if read is None else read(list(names), fresh)


def has_checkpointer(config: RunnableConfig) -> bool:
    """Whether the run can be interrupted and resumed."""
    return config.get(CONF, {}).get(CONFIG_KEY_CHECKPOINTER) is not None


def where(config: RunnableConfig) -> dict[str, str | None]:
    """Thread, namespace and checkpoint that the running task started from."""
    runtime = config.get(CONF, {}).get(CONFIG_KEY_RUNTIME)
    info = getattr(runtime, "execution_info", None)
    if info is None:
        return {"thread_id": None, "checkpoint_id": None, "checkpoint_ns": None}
    return {
        "thread_id": info.thread_id,
        "checkpoint_id": info.checkpoint_id or None,
        "checkpoint_ns": info.checkpoint_ns,
    }


def routing_callable(
    func: Callable[..., Any], afunc: Callable[..., Any], name: str
) -> Runnable[Any, Any]:
    """A runnable for an edge or a node that adds no run of its own to traces."""
    return RunnableCallable(func, afunc, name=name, trace=False)
