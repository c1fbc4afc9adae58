"""Sentences about ids and histories: what the model is sent, and what is stored."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from cases.observe import MARK, Record
from cases.scene import Scene
from cases.sentences.registry import must, must_not, rule
from sentry_langgraph.testing import answered_calls, check_history, no_orphan_results


@must("model call succeeds")
def _model_succeeds(scene: Scene) -> None:
    for record in scene.main():
        assert record.error is None
        assert record.calls >= 1


@must(
    "messages sent to the model: Human, AI(t1,t2), Tool for t1 (status 'error', says not "
    "executed/interrupted), Tool t2 '90% used', Human"
)
def _healed_request(scene: Scene) -> None:
    for record in scene.main():
        human, asked, first, second, new = record.requests[0]
        assert isinstance(human, HumanMessage)
        assert isinstance(asked, AIMessage)
        assert [call["id"] for call in asked.tool_calls] == ["t1", "t2"]
        assert isinstance(first, ToolMessage)
        assert (first.tool_call_id, first.status) == ("t1", "error")
        assert re.search(r"not executed|interrupted", str(first.text), re.IGNORECASE)
        assert isinstance(second, ToolMessage)
        assert (second.tool_call_id, str(second.content)) == ("t2", "90% used")
        assert isinstance(new, HumanMessage)


@must("order of ToolMessages directly after the AI message")
def _results_follow(scene: Scene) -> None:
    for record in scene.main():
        for request in record.requests:
            assert check_history(request, [answered_calls, no_orphan_results]) == []


@must("stored thread afterwards also passes provider_rules")
def _stored_passes(scene: Scene) -> None:
    for record in scene.main():
        assert check_history(record.messages, record.extra["rules"]) == []


@rule("must_not", r"re-running (?P<tool>\w+)")
def _runs_again(scene: Scene, found: re.Match[str]) -> None:
    assert all(not record.runs(found["tool"]) for record in scene.each())


@rule("must_not", r"dropping the real (?P<call>\w+) result")
def _dropped(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert any(MARK not in m.additional_kwargs for m in _answers(record, found["call"]))


def _answers(record: Record, call_id: str) -> list[ToolMessage]:
    return [
        message
        for message in record.messages
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id
    ]


@must("an id that was already answered in an EARLIER turn is not a duplicate_id failure")
def _no_duplicate(scene: Scene) -> None:
    for record in scene.each():
        assert not record.reported("duplicate_id")


@must("model sees 3 tool results in 3 turns")
def _three_results(scene: Scene) -> None:
    for record in scene.main():
        results = [m for m in record.requests[-1] if isinstance(m, ToolMessage)]
        assert [m.tool_call_id for m in results] == ["K"] * 3
        assert [str(m.content) for m in results] == ["ok"] * 3
        assert len({m.id for m in results}) == 3


@must("variant: both calls run (2 < loop threshold 3)")
def _both_run(scene: Scene) -> None:
    for record in scene.each("same_call_twice_variant"):
        assert len(record.tool_runs) == 2
        assert not record.reported()


@must_not(
    "pending-call check pairing turn 2's call with turn 1's result",
    "final history where a tool result is missing",
)
def _each_answered(scene: Scene) -> None:
    for record in scene.each():
        assert check_history(record.messages, [answered_calls, no_orphan_results]) == []
        calls = [m for m in record.messages if isinstance(m, AIMessage) and m.tool_calls]
        assert len(record.tool_runs) == len(calls)


# Trimmed histories


@must(
    "keep_human_ai_only: model receives a request that satisfies provider_rules (synthetic error "
    "result for t1, or the tool_calls of that old AI message removed from the REQUEST only)"
)
def _trimmed_request(scene: Scene) -> None:
    """The old call is answered by an error that says it did not run."""
    for record in scene.each("keep_human_ai_only"):
        assert record.error is None
        assert record.calls == 2
        for request in record.requests:
            (answer,) = [m for m in request if isinstance(m, ToolMessage)]
            assert (answer.tool_call_id, answer.status) == ("t1", "error")


@must("orphan_tool_first: orphan removed from the request")
def _orphan_removed(scene: Scene) -> None:
    for record in scene.each("orphan_tool_first"):
        assert record.error is None
        assert record.calls == 2
        for request in record.requests:
            assert not [m for m in request if isinstance(m, ToolMessage)]


@must("finding dangling_tool_call logged once, not every turn")
def _logged_once(scene: Scene) -> None:
    for record in scene.each():
        assert len(record.failures("dangling_tool_call")) == 1, record.name
        told = [text for _, logger, text in record.logs if "unanswered_call" in text]
        assert len(told) <= 1, told


@must_not("asking the model to re-issue an old, already answered call")
def _no_reissue(scene: Scene) -> None:
    for record in scene.each():
        assert not record.advice()
        assert not any(re.search(r"call .* again", text) for text in record.repair_texts())


@rule("must_not", r"tool '(?P<tool>\w+)' being run again")
def _run_again(scene: Scene, found: re.Match[str]) -> None:
    assert all(not record.runs(found["tool"]) for record in scene.each())


@must_not("deleting stored messages the user still has in state")
def _kept_in_state(scene: Scene) -> None:
    for record in scene.each():
        question = record.extra["kept"][-1]
        texts = [str(message.text) for message in record.messages]
        assert str(question.text) in texts
        assert "and then?" in texts
        if record.name.endswith("middleware"):  # the middleware put them into the state
            for message in record.extra["kept"]:
                if not isinstance(message, ToolMessage):
                    assert message.id in {kept.id for kept in record.messages}


# Messages that others remove


@rule("must", r"(?:the )?run finishes with final text '(?P<text>[^']*)'")
def _final_text(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.error is None
        assert record.final == found["text"]


@rule("must", r"final text == '(?P<text>[^']*)'|final '(?P<also>[^']*)'")
def _final(scene: Scene, found: re.Match[str]) -> None:
    for record in scene.main():
        assert record.error is None
        assert record.final == (found["text"] or found["also"])


@must("if sentry retracts message m1, it checks that m1 is still in state in the same step")
def _retracts(scene: Scene) -> None:
    for record in scene.main():
        assert record.error is None
        assert not [text for level, _, text in record.logs if level == "ERROR"]


@must_not("ValueError about a non-existing message id")
def _no_value_error(scene: Scene) -> None:
    for record in scene.main():
        assert not isinstance(record.error, ValueError)


@must_not("a ToolMessage for c1 surviving after its AI message was removed")
def _no_orphans(scene: Scene) -> None:
    def orphaned(messages: tuple[BaseMessage, ...]) -> list[str]:
        return check_history(messages, [no_orphan_results])

    for record in scene.main():
        assert orphaned(record.messages) == []
        assert all(orphaned(request) == [] for request in record.requests)
