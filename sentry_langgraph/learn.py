"""What a verified recovery teaches.

Only soft repairs that recovered teach. A lesson is a path of names: tools, arguments. Text of
tools and users never enters it, so it can't carry an instruction or a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sentry_langgraph.options import Options, Switch
from sentry_langgraph.records import Catalog, Judgement, Lesson, PathStep
from sentry_langgraph.signature import digest
from sentry_langgraph.taxonomy import DEFINITIONS, Label, Verdict

_NAME = re.compile(r"[A-Za-z_][\w-]{0,63}\Z")
_LONGEST_PATH = 6


class LearnOptions(Options):
    """Whether recoveries become lessons.

    Attributes:
        enabled: Write lessons after verified recoveries.
        wording: Who words the sentence of a lesson: `rule`, or `judge`, which is given names
            only, and whose sentence is taken where it holds nothing but words and those names.
    """

    enabled: Switch = True
    wording: Literal["rule", "judge"] = "rule"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a lesson comes from.

    Attributes:
        at: ISO 8601, UTC.
        agent: The agent node.
        thread_id: The thread.
        checkpoint_id: The checkpoint before the failure.
        checkpoint_ns: Its namespace.
        model: The chat model.
        owner: Whose playbook it is.
    """

    at: str = ""
    agent: str | None = None
    thread_id: str | None = None
    checkpoint_id: str | None = None
    checkpoint_ns: str | None = None
    model: str | None = None
    owner: str | None = None


def learn(judgement: Judgement, catalog: Catalog, where: Provenance) -> Lesson | None:
    """The lesson of a verdict, or None where it teaches nothing.

    A hard repair teaches nothing: the schema already says it. Neither does a recovery without
    a call, since "answer now" is a general push and pushes into wrong actions. A lesson that the
    repair had shown is not learned again: its recovery is counted with the outcome.
    """
    repair = judgement.repair
    if judgement.verdict is not Verdict.RECOVERED or repair.hard or not judgement.path:
        return None
    path = judgement.path[-_LONGEST_PATH:]
    names = [step.tool for step in path] + [name for step in path for name in step.arguments]
    names += [step.gives for step in path if step.gives]
    if not all(_NAME.match(name) for name in names):
        return None
    tool = repair.tool if repair.tool in catalog.tools else None
    argument = repair.argument if repair.argument and _NAME.match(repair.argument) else None
    trigger = "|".join(
        str(part or "") for part in (repair.label.value, tool, argument, repair.pattern)
    )
    route = ";".join(f"{step.tool}({','.join(step.arguments)})" for step in path)
    id_ = digest(f"{trigger}>{route}")
    if id_ in repair.lessons:
        return None
    return Lesson(
        id=id_,
        label=repair.label,
        text=render(repair.label.value, tool, repair.pattern, path),
        tool=tool,
        argument=argument,
        pattern=repair.pattern,
        agent=where.agent,
        path=path,
        uses=0,
        recoveries=1,
        created=where.at,
        last_used=where.at,
        thread_id=where.thread_id,
        checkpoint_id=where.checkpoint_id,
        checkpoint_ns=where.checkpoint_ns,
        model=where.model,
        tool_fingerprint=fingerprint(catalog, [step.tool for step in path]),
        owner=where.owner,
    )


def render(label: str, tool: str | None, pattern: str | None, path: tuple[PathStep, ...]) -> str:
    """The lesson as one sentence, from names alone."""
    meaning = next(d.meaning for known, d in DEFINITIONS.items() if known.value == label)
    about = f" (`{tool}`)" if tool else ""
    loop = label == Label.REPETITION_OR_LOOPING
    did = ", then ".join(_did(step, tool if loop else None) for step in path)
    kind = f" [{pattern}]" if pattern else ""
    return f"When {meaning}{about}{kind}, this helped: {did}."


def _did(step: PathStep, looped: str | None) -> str:
    gave = f" → {step.gives}" if step.gives else ""
    if not step.arguments:
        return f"`{step.tool}`{gave}"
    how = "with other values for" if step.tool == looped else "with"
    return f"`{step.tool}` {how} {', '.join(step.arguments)}{gave}"


def fingerprint(catalog: Catalog, tools: list[str]) -> str:
    """A digest of the schemas of `tools`, which changes when one of them does."""
    parts = []
    for name in sorted(set(tools)):
        spec = catalog.tools.get(name)
        shape = _shape(spec.parameters) if spec is not None else "?"
        parts.append(f"{name}:{shape}")
    return digest("\n".join(parts))


def _shape(parameters: Mapping[str, object]) -> str:
    properties = parameters.get("properties")
    required = parameters.get("required")
    names = sorted(properties) if isinstance(properties, Mapping) else []
    return f"{names}{sorted(required) if isinstance(required, list) else []}"
