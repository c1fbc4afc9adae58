"""Finding Sentry's guidance in a request, and a scripted agent that follows it."""

from __future__ import annotations

import subprocess
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END

from sentry_langgraph import testing
from sentry_langgraph.testing import (
    STRICT,
    ScriptedChatModel,
    ai,
    call,
    guidance_in,
    if_guided,
    react_builder,
)

ADVICE = HumanMessage("advice", name="sentry")


def _refusal(text: str = "refused", *, status: str = "error", own: bool = True) -> ToolMessage:
    kwargs = {"sentry": {}} if own else {}
    return ToolMessage(text, tool_call_id="c", status=status, additional_kwargs=kwargs)


def test_guidance_is_a_human_message_named_sentry_or_a_marked_refusal() -> None:
    """Users, tools and other errors are not guidance; the newest guidance wins."""
    assert guidance_in([HumanMessage("hi"), _refusal(own=False)]) is None
    assert guidance_in([_refusal(status="success")]) is None
    assert guidance_in([HumanMessage("x", name="bob")]) is None
    assert guidance_in([ADVICE, _refusal()]) == "refused"
    assert guidance_in([_refusal(), ADVICE, HumanMessage("hi")]) == "advice"


def test_fresh_guidance_came_after_the_newest_answer() -> None:
    """With `fresh`, what the model has answered already no longer counts."""
    assert guidance_in([ADVICE, ai("ok"), HumanMessage("hi")]) == "advice"
    assert guidance_in([ADVICE, ai("ok"), HumanMessage("hi")], fresh=True) is None
    assert guidance_in([ai("ok"), ADVICE], fresh=True) == "advice"


def test_an_agent_follows_guidance_only_when_it_is_there() -> None:
    """The same scripted agent loops without guidance and finishes with it, in a real graph."""

    @tool
    def look() -> str:
        """Look."""
        return "nothing new"

    def run(*, advise: bool) -> list[str]:
        loop = if_guided(lambda text: f"Stopped, because: {text}", ai("", call("look")))
        model = ScriptedChatModel(script=[loop], on_end="repeat", rules=STRICT, fresh_call_ids=True)
        builder = react_builder(model, [look])
        builder.add_node("advise", lambda state: {"messages": [ADVICE]} if advise else {})
        builder.edges.discard(("tools", "agent"))
        builder.add_conditional_edges(
            "tools", lambda state: "advise" if model.calls < 4 else END, ["advise", END]
        )
        builder.add_edge("advise", "agent")
        out = builder.compile().invoke({"messages": [("user", "look")]})
        return [m.text for m in out["messages"] if m.type == "ai"]

    assert run(advise=True) == ["", "Stopped, because: advice"]
    assert run(advise=False) == ["", "", "", ""]


def test_the_package_is_imported_by_nobody_and_imports_no_langchain() -> None:
    """`import sentry_langgraph` leaves it alone; it needs neither langchain nor chromadb."""
    code = (
        "import sys, sentry_langgraph\n"
        "assert 'sentry_langgraph.testing' not in sys.modules\n"
        "import sentry_langgraph.testing\n"
        "heavy = {'langchain', 'chromadb', 'langchain_openai'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_exist() -> None:
    """Every name in `__all__` can be imported."""
    assert all(hasattr(testing, name) for name in testing.__all__)
