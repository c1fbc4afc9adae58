"""A loop of your own, without LangGraph: after each step, ask what Sentry has to say.

The loop calls the model, runs the action and keeps the context. `SentryRunner` looks at each step
after it ran.
"""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from models import chat_model

from sentry_langgraph import SentryRunner, agent_step_from_parts, sentry_report
from sentry_langgraph.runner import AgentStep
from sentry_langgraph.testing import ai, call

STOCK = {"desk-lamp": 12, "floor-lamp": 3}


def get_stock(item: str) -> str:
    """How many pieces of an item are in stock. Items are named like `floor-lamp`."""
    return str(STOCK[item]) if item in STOCK else f"Error: there is no item {item}"


TOOLS = {"get_stock": get_stock}

MODEL = chat_model(
    [
        *[ai("", call("get_stock", {"item": "lamp for a desk"})) for _ in range(3)],
        ai("", call("get_stock", {"item": "desk-lamp"})),
        "There are 12 desk lamps in stock.",
    ]
).bind_tools(list(TOOLS.values()), parallel_tool_calls=False)


def act(message: AIMessage) -> ToolMessage | None:
    """Run the call of a message, as the loop's environment does."""
    if not message.tool_calls:
        return None
    wanted = message.tool_calls[0]
    try:
        result, status = TOOLS[wanted["name"]](**wanted["args"]), "success"
    except (KeyError, TypeError) as error:
        result, status = f"Error: {error}", "error"
    return ToolMessage(result, tool_call_id=wanted["id"], status=status)


def step_of(number: int, message: AIMessage, result: ToolMessage | None) -> AgentStep:
    """The step as Sentry reads it."""
    wanted = message.tool_calls[0] if message.tool_calls else None
    return agent_step_from_parts(
        step_id=number,
        reasoning=message.text,
        tool_name=wanted["name"] if wanted else None,
        tool_args=wanted["args"] if wanted else None,
        observation=result.content if result else None,
    )


def run(request: str, sentry: SentryRunner, max_steps: int = 20) -> str:
    """The loop: its answer, or the honest partial answer where repairs did not help."""
    context: list[AnyMessage] = [HumanMessage(request)]
    sentry.start_task(
        objective=request, action_schema=[*map(convert_to_openai_tool, TOOLS.values())]
    )
    for number in range(max_steps):
        message = MODEL.invoke(context)
        result = act(message)
        context += [message, result] if result else [message]
        repair = sentry.step(step_of(number, message, result), terminal=result is None)
        if repair is None:
            if result is None:
                return message.text
            continue
        print(f"[sentry, {repair.strategy}] {repair.prompt_text}\n")
        if repair.stop:
            return repair.answer
        context.append(HumanMessage(repair.prompt_text))
    return "The loop has used up its steps."


def main() -> None:
    """Run it and show what Sentry did."""
    sentry = SentryRunner({"playbook": {"kind": "memory"}}, agent="stock")
    print(run("How many desk lamps are in stock?", sentry))
    print()
    print(sentry_report(sentry.finalize().events))


if __name__ == "__main__":
    main()
