"""The table of labels in `docs/concepts/failures.md`, from the taxonomy.

`python -m tests.docs.labels` in the root of the repository writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from sentry_langgraph.taxonomy import DEFINITIONS, FailureType, Label

PAGE = Path(__file__).resolve().parents[2] / "docs/concepts/failures.md"
START, END = "<!-- labels: generated -->\n", "<!-- labels: end -->\n"

FOUND_BY = {
    Label.UNKNOWN_TOOL: "`action_validity`",
    Label.MALFORMED_ARGUMENTS: "`action_validity`",
    Label.INVALID_ARGUMENTS: "`action_validity`",
    Label.DUPLICATE_CALL_ID: "`action_validity`",
    Label.UNANSWERED_CALL: "the healer, before the model",
    Label.UNAVAILABLE_TARGET: "`action_validity`",
    Label.NO_OBSERVABLE_OUTPUT: "`action_validity`",
    Label.MALFORMED_MODEL_OUTPUT: "`action_validity`",
    Label.STRUCTURED_OUTPUT_INVALID: "`action_validity`",
    Label.REPETITION_OR_LOOPING: "`repetition_or_looping`",
    Label.PLANNING_STALL: "`planning_stall`",
    Label.TERMINATION_MISCALIBRATION: "`termination_miscalibration`",
    Label.HALLUCINATION: "`hallucination`",
}
"""What finds a label; those that are not here have no detector yet."""


def render() -> str:
    """One table for each type, in the order of the taxonomy."""
    parts = []
    for kind in FailureType:
        labels = [label for label in Label if DEFINITIONS[label].type is kind]
        rows = [_row(label) for label in labels]
        head = f"### `{kind.value}`\n\n| label | what it means | recovered when | found by |\n"
        parts.append(head + "|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(label: Label) -> str:
    known = DEFINITIONS[label]
    found = FOUND_BY.get(label, "no detector yet")
    return f"| `{label.value}` | {known.meaning} | {known.resolved_when} | {found} |"


def current() -> str:
    """The table as the page has it."""
    return PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0].strip("\n")


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n{render()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
