"""A turn that ends on the agent's own promise stalls; a conditional or finished one does not."""

from __future__ import annotations

from typing import Any

import pytest
from builders import SHOP, call, catalog, proposal, ran, step, trajectory
from hypothesis import given
from strategies import TEXTS, trajectories

from sentry_langgraph.detect.planning_stall import PlanningStall, PlanningStallOptions, announces
from sentry_langgraph.records import Finding, Trajectory
from sentry_langgraph.taxonomy import Label, Severity

PROMISES = [
    "Let me check the status of your order.",
    "I'll look that up now.",
    "I’ll look that up now.",
    "I will now cancel the order.",
    "I found the customer. Now I'll get the orders.",
    "I need to search the catalogue first.",
    "I am going to update the address.",
    "I'm going to go ahead and process the refund:",
    "Thank you, Ana. Let me first verify your identity…",
    "Your order is eligible.\n\nLet me calculate the refund.",
    "Please hold on while I process the refund.",
    "I will check the flights. One moment.",
    "LET ME RUN THE TESTS.",
    "The file is missing. Let me create it",
    "Understood. I will proceed to book the seat.",
]

NO_PROMISES = {
    "conditional": [
        "Once you confirm, I will cancel the order.",
        "If you give me the order id, I'll look it up.",
        "I will cancel it as soon as you agree.",
        "I can't find it without the id. When you have it, I will search again.",
        "Please provide the order id, and I will check the status.",
        "Before I proceed, please confirm the address. I will update it then.",
        "Let me know which order it is. I'll cancel that one.",
        'Reply "yes" and I will process it.',
        "Please share your e-mail. I will find your account.",
        "Unless you object, I will send it tomorrow.",
        "Which option of the two is it, so that I can proceed.",
    ],
    "question": [
        "Shall I cancel it?",
        "I will cancel the order. Is that right?",
        "Would you like me to proceed? I will process the refund.",
        "Do you want the refund on your card? I will then create it.",
    ],
    "offer": [
        "I will be happy to check anything else.",
        "Let me know if there is anything else. I'll be here.",
        "Feel free to ask. I will look into any other order.",
        "I'd be glad to help. I will check other orders too.",
    ],
    "transfer": [
        "You are being transferred to a human agent. Please hold on while I process this.",
        "You have been transferred. I will add a note.",
    ],
    "refusal": [
        "I can't do that. I will not cancel it.",
        "I'm unable to change the address, so I will leave it.",
        "I cannot share that. Let me add that this is our policy.",
    ],
    "done": [
        "The order was cancelled. The refund is 20 dollars.",
        "I checked the order and cancelled it.",
        "I have sent the e-mail.",
        "Here is what I found: two orders.",
        "I'll keep this brief. The total is 5.",
        "Let me check. The order is on its way.",
        "I needed to search twice.",
        "",
        "   ",
    ],
    "quoted": [
        'The translation is: "I will go to the store."',
        "Here is the sentence: “Let me check the status.”",
        'A friendly reply would be "I\'ll look into it now."',
    ],
}


@pytest.mark.parametrize("text", PROMISES)
def test_a_promise_at_the_end_is_announced(text: str) -> None:
    """The last sentence says what the agent does next, and nothing makes it depend on others."""
    assert announces(text)


@pytest.mark.parametrize(
    "text", [text for texts in NO_PROMISES.values() for text in texts], ids=lambda text: text[:40]
)
def test_what_waits_for_the_user_or_is_done_is_no_promise(text: str) -> None:
    """Conditions, questions, offers, transfers, refusals, reports and quotations are answers."""
    assert not announces(text)


def found(seen: Trajectory, **options: Any) -> list[Finding]:
    """What the detector says."""
    return list(PlanningStall(PlanningStallOptions(**options)).detect(seen))


def test_an_announced_action_without_a_call_is_held() -> None:
    """The turn must not end on a promise."""
    (finding,) = found(trajectory((), proposal(text=PROMISES[0])))
    assert finding.label is Label.PLANNING_STALL
    assert finding.pattern == "announced_not_done"
    assert finding.severity is Severity.HOLD
    assert PROMISES[0] not in str(finding.to_dict())


@pytest.mark.parametrize(
    "seen",
    [
        trajectory((), proposal(call(), text=PROMISES[0])),
        trajectory((), proposal(text=PROMISES[0], structured=True)),
        trajectory((), proposal(text=PROMISES[0]), tools=catalog()),
        trajectory((), proposal(text=PROMISES[0], finish=False)),
    ],
    ids=["with a call", "with a structured answer", "an agent without tools", "the run goes on"],
)
def test_a_promise_that_is_kept_or_can_not_be_is_no_stall(seen: Trajectory) -> None:
    """A call, an accepted answer, no tools at all, or a run that goes on."""
    assert found(seen) == []


@pytest.mark.parametrize(("idle", "wanted"), [(1, False), (2, True), (5, True)])
def test_thinking_without_an_action_is_seen_at_three_steps(idle: int, wanted: bool) -> None:
    """The proposed step counts; a step with a call ends the row."""
    done = [step("s", ran()), *[step(f"t{n}", text="Hm.") for n in range(idle)]]
    findings = found(trajectory(done, proposal(text="Hm.", finish=False)))
    assert bool(findings) is wanted
    if wanted:
        assert findings[0].pattern == "thinking_only"
        assert findings[0].evidence == {"steps": idle + 1}


def test_thinking_can_be_allowed() -> None:
    """`thinking_steps: 0` switches that rule off."""
    done = [step(f"t{n}", text="Hm.") for n in range(9)]
    assert found(trajectory(done, proposal(finish=False)), thinking_steps=0) == []


@given(TEXTS)
def test_any_text_is_read(text: str) -> None:
    """Whatever a model writes, the answer is yes or no."""
    assert announces(text) in {True, False}


@given(trajectories(SHOP))
def test_no_trajectory_makes_it_raise(seen: Trajectory) -> None:
    """At most one finding, and none beside a call."""
    findings = found(seen)
    assert len(findings) <= 1
    assert not (findings and seen.proposal.calls)
