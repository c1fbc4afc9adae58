"""How long one decision of the gate takes."""

from __future__ import annotations

import time

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from cases.agents import react
from cases.assume import settings
from cases.tools import Workshop
from sentry_langgraph import with_sentry
from sentry_langgraph.testing import ScriptedChatModel, ai, call

SPEC = {
    "name": "look",
    "schema_kind": "json_schema",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "returns": "seen",
}


def gate_seconds(turns: int = 200) -> float:
    """CPU seconds of one superstep with its gate, on a history of `turns` turns: the best of 5."""
    model = ScriptedChatModel(script=["x"], on_end="repeat")
    graph = with_sentry(react([SPEC])(model, Workshop(), None), settings())
    history: list[AnyMessage] = [HumanMessage("go", id="go")]
    for turn in range(turns):
        history += [
            AIMessage("", tool_calls=[call("look", {"n": turn}, id=f"c{turn}")], id=f"a{turn}"),
            ToolMessage("seen", tool_call_id=f"c{turn}", name="look", id=f"t{turn}"),
        ]
    history.append(ai("the answer", id="end"))
    taken = []
    for _ in range(5):
        started = time.process_time()
        graph.invoke({"messages": history})
        taken.append(time.process_time() - started)
    return min(taken)
