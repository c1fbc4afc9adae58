"""When a language model is asked whether something is wrong.

The judge is no rule: what it finds comes from a model, in a node beside the tools. What stands
here decides without I/O whether it is worth asking. Judges that look at every step cost more
than they save, so there are two reasons only: rules saw something that they did not act on, or
an interval has passed that grows while nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sentry_langgraph import ledger
from sentry_langgraph.decisions import Diagnose
from sentry_langgraph.detect.base import DetectorOptions
from sentry_langgraph.options import ModelOptions, PositiveCount, Seconds, Share
from sentry_langgraph.records import Finding, TaskState, Trajectory


class JudgeOptions(DetectorOptions):
    """Options of `judge`.

    Attributes:
        model: The chat model; left out, the one of the section `model`.
        confirm: A second chat model that has to name the same failure; left out, none is asked.
        when: `suspicion` asks where rules saw something that they did not act on; `interval`
            every few steps; `both` does both.
        min_interval: Steps between two diagnoses by interval at first, and after a failure.
        max_interval: Steps that the interval grows to: it doubles with each diagnosis that
            finds nothing.
        confidence: Answers that are less sure count as no failure.
        max_tokens_per_run: Tokens that the judge may use in one task, from one user message to
            the next, prompts and answers of all its work together.
        timeout: Seconds to wait for one diagnosis, with its retries.
        answer: How the answer is asked for: `schema` by the provider's structured output, `text`
            as JSON in a plain answer; `auto` by schema, and as text where the provider
            refuses that.
        steps: Newest steps that it is shown.
        max_chars: Most characters of what it is shown of the run.
    """

    model: ModelOptions | None = None
    confirm: ModelOptions | None = None
    when: Literal["suspicion", "interval", "both"] = "suspicion"
    min_interval: Annotated[PositiveCount, Field(le=200)] = 6
    max_interval: Annotated[PositiveCount, Field(le=200)] = 24
    confidence: Share = 0.7
    max_tokens_per_run: PositiveCount = 20_000
    timeout: Seconds = 30.0
    answer: Literal["auto", "schema", "text"] = "auto"
    steps: Annotated[PositiveCount, Field(le=50)] = 8
    max_chars: Annotated[PositiveCount, Field(ge=1_000, le=200_000)] = 8_000

    @model_validator(mode="after")
    def _interval_grows(self) -> Self:
        if self.max_interval < self.min_interval:
            raise ValueError("max_interval must not be below min_interval")
        return self


class Judge:
    """A language model that is asked where rules are not sure. Off unless it is listed."""

    Options: ClassVar[type[DetectorOptions]] = JudgeOptions

    def __init__(self, options: JudgeOptions) -> None:
        self.options = options

    def detect(self, trajectory: Trajectory) -> Iterable[Finding]:
        """Nothing: its findings come from the model, in a node."""
        return ()

    def due(self, trajectory: Trajectory, suspicions: Sequence[Finding]) -> Diagnose | None:
        """Whether to ask now, and why.

        At a wish to finish there are no tools beside it, so only a suspicion is a reason there.

        Args:
            trajectory: The trajectory.
            suspicions: What rules saw and did not act on.
        """
        state, options = trajectory.state, self.options
        if state.judge_tokens >= options.max_tokens_per_run or _SPENT in state.suppressed:
            return None
        if suspicions and options.when != "interval":
            return Diagnose("suspicion", tuple(suspicions))
        if options.when == "suspicion" or not trajectory.proposal.calls:
            return None
        if _messages_since(trajectory, state.judged_step) >= self.interval(state):
            return Diagnose("interval", tuple(suspicions))
        return None

    def interval(self, state: TaskState) -> int:
        """Steps from the last diagnosis to the next, as things stand."""
        # bounded, so that a long healthy run makes no large numbers
        doubled = self.options.min_interval << min(state.judge_streak, 8)
        return min(self.options.max_interval, doubled)


_SPENT = (ledger.JUDGE, ledger.CEILING)


def _messages_since(trajectory: Trajectory, judged: str | None) -> int:
    """Messages of the task after the judged one, the newest included; of what is in view."""
    count = 1
    for step in reversed(trajectory.steps):
        if step.id == judged:
            break
        count += 1
    return count
