"""A report in plain text, for terminals and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentry_langgraph.graph.report import ReportRow, SentryReport

_SHOWN_VIOLATIONS = 4


def report_text(report: SentryReport) -> str:
    """The whole report, a few lines for each failure."""
    if not report.rows and not report.lessons and not report.notices:
        return "\n".join(["Sentry report: no failure seen.", *_judge(report)])
    lines = [_headline(report)]
    for number, row in enumerate(report.rows, 1):
        lines += _row(number, row)
    if report.stop_reason:
        lines.append(f"Stopped: {report.stop_reason}.")
    if report.lessons:
        lines.append("Lessons learned:")
        lines += [
            f"  - {lesson.text}" + ("" if lesson.stored else " (not stored)")
            for lesson in report.lessons
        ]
    if report.unstored:
        lines.append(
            f"{_count(len(report.unstored), 'lesson')} not stored: still in the ledger only."
        )
    lines += _judge(report)
    if report.notices:
        listed = ", ".join(f"{what} ({count})" for what, count in report.notices.items())
        lines.append(f"Notices: {listed}.")
    return "\n".join(printable(line) for line in lines)


def _headline(report: SentryReport) -> str:
    counts = report.counts
    verdicts = ", ".join(
        f"{counts[name]} {name}"
        for name in ("recovered", "relapsed", "expired", "open")
        if counts[name]
    )
    return (
        f"Sentry report: {_count(counts['failures'], 'failure')}, "
        f"{_count(counts['repairs'], 'repair')}"
        + (f" ({verdicts})" if verdicts else "")
        + f", about {report.tokens} tokens of guidance"
    )


def _judge(report: SentryReport) -> list[str]:
    """What the judge did and cost; nothing where it was not asked."""
    if not report.judge_calls and not report.diagnoses:
        return []
    found = ", ".join(f"{count} {what}" for what, count in report.diagnoses.items())
    cost = "some of them estimated" if report.judge_estimated else "as its models report them"
    return [
        f"Judge: {_count(report.judge_calls, 'request')}"
        + (f" ({found})" if found else "")
        + f", {report.judge_tokens} tokens of prompts and answers, {cost}."
    ]


def _row(number: int, row: ReportRow) -> list[str]:
    name = f"{row.label} ({row.pattern})" if row.pattern else row.label
    about = f", `{row.tool}`" if row.tool else ""
    lines = [f"{number:3}. {name}{about}", f"     message: {row.step}"]
    if row.evidence:
        lines.append(f"     evidence: {evidence_line(row.evidence)}")
    lines.append(f"     done: {done_line(row)}")
    if row.lessons:
        lines.append(f"     lessons shown: {', '.join(row.lessons)}")
    return lines


def done_line(row: ReportRow) -> str:
    """What was done and what became of it, in one line for people."""
    words = {
        "hard": "hard repair",
        "advise": "advice",
        "hold": "held",
        "stopped": "run stopped with a partial answer",
        "continue": "a human let it go on",
        "suppressed": f"nothing, recorded only ({row.reason})",
        "recorded": "nothing, recorded only",
    }
    text = words.get(row.done, row.done)
    if not row.repaired:
        return text
    return f"{text} → {row.verdict or 'open'}" + (f": {row.why}" if row.why else "")


def evidence_line(evidence: Mapping[str, Any]) -> str:
    """The facts of a finding in one line for people."""
    parts = []
    for key, value in evidence.items():
        if key == "tool":  # stands beside the label
            continue
        if key == "violations" and isinstance(value, Sequence):
            parts += [_violation(one) for one in value[:_SHOWN_VIOLATIONS]]
        elif value is not False and value not in (None, "", [], {}):
            parts.append(f"{key}: {_fact(value)}")
    return "; ".join(parts)


def _violation(one: Any) -> str:
    if not isinstance(one, Mapping):
        return str(one)
    text = f"{one.get('argument') or 'arguments'}: {one.get('problem')}"
    if one.get("expected"):
        text += f", expected {one['expected']}"
    if one.get("found"):
        text += f", found {one['found']}"
    return text


def _fact(value: Any) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """The text without anything that a terminal would obey: names in it are the model's."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )
