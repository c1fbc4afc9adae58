"""The structured expectations of a case, as what is wrong with a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cases import forms, words_yaml
from cases.choices import CHOICES
from cases.loader import Case, CaseError
from cases.observe import Record, ours
from cases.plans import Run

PROSE = ("must", "must_not", "note", "rule")
"""Keys of `expected` that hold sentences, or say again what others say."""


def problems(case: Case, run: Run, record: Record) -> list[str]:
    """What in the record of a run is not as `expected` says.

    Raises:
        CaseError: An expectation can't be read.
    """
    found: list[str] = []
    contrast = run.name.startswith("contrast")
    for key, wanted in case.expected.items():
        if key in PROSE:
            continue
        handler = _HANDLERS.get(key)
        if handler is not None:
            if not contrast and _applies(case, key, run):
                found += handler(wanted, record, run)
        elif contrast and key == "contrast":
            found += _contrast(wanted, record, run)
        elif _first(run) == key or key == run.name:
            found += _own(case, run, record)
    return found


def unread(case: Case, runs: tuple[Run, ...]) -> list[str]:
    """Keys of `expected` that no rule reads, and verdicts of calls that no run makes."""
    names = {_first(run) for run in runs} | {run.name for run in runs}
    if case.kind == "store_ops":
        names |= set(case.input.get("queries", ()))
    if case.kind == "scripted_run":
        names |= set(_MODES) & set(case.expected)
    ids = {call for run in runs for call in run.calls}
    ids |= {run.name.rpartition("/")[2] for run in runs}
    verdicts = [
        f"{key}.{name}"
        for key in ("verdicts", "verdict_or_failure")
        for name in case.expected.get(key, ())
        if name not in ids | names
    ]
    return verdicts + [
        key
        for key in case.expected
        if key not in PROSE and key not in _HANDLERS and key not in names
    ]


def form_of(case: Case, run: Run) -> Any:
    """The form that `expected` has for a run, where it has one."""
    if (case.id, run.name) in CHOICES:
        return CHOICES[case.id, run.name]
    found: Any = case.expected
    for part in run.name.split("/"):
        if not isinstance(found, Mapping) or part not in found:
            break
        found = found[part]
    return None if found is case.expected else found


def _first(run: Run) -> str:
    return run.name.partition("/")[0]


def _applies(case: Case, key: str, run: Run) -> bool:
    """Whether an expectation of the whole case speaks of this run."""
    if key in ("each", "each_name", "each_error", "wrap"):
        return True
    if key == "tool_runs_when_repaired":
        return forms.repairs(form_of(case, run))
    if key in ("verdicts", "verdict_or_failure"):
        return True
    if "model_script" in case.input or "stored_messages" in case.input:
        return run.name == "main"
    return True


# Expectations of the whole case


def _verdicts(wanted: Mapping[str, Any], record: Record, run: Run) -> list[str]:
    """The verdicts of the calls of this run, by call id, or by the name of a run of one call."""
    made = {call["id"] for m in record.produced for call in (*m.tool_calls, *m.invalid_tool_calls)}
    found: list[str] = []
    for name, form in wanted.items():
        if name in made or name in run.calls:
            found += forms.problems(form, record, name)
        elif name in (run.name, run.name.rpartition("/")[2]):
            found += forms.problems(form, record, run.calls[0] if run.calls else None)
    return found


def _each(wanted: str, record: Record, run: Run) -> list[str]:
    return forms.problems(wanted, record, run.calls[0] if run.calls else None)


def _tool_runs(wanted: Mapping[str, Any], record: Record, run: Run) -> list[str]:
    found = []
    for tool, args in wanted.items():
        made = record.runs(tool)
        good = len(made) == args if isinstance(args, int) else made == args
        if not good:
            found.append(f"{tool} ran with {made}, not {args}")
    return found


def _count(wanted: int, record: Record, run: Run) -> list[str]:
    made = len(record.tool_runs)
    return [] if made == wanted else [f"tools ran {made} times, not {wanted}"]


def _model_calls(wanted: int, record: Record, run: Run) -> list[str]:
    return [] if record.calls == wanted else [f"the model was called {record.calls} times"]


def _failures(wanted: list[str], record: Record, run: Run) -> list[str]:
    labels = [event["label"] for event in record.reported()]
    if not wanted:
        return [f"failures: {labels}"] if labels else []
    missing = [name for name in wanted if not ours(name) & set(labels)]
    return [f"not recorded: {missing}, but {labels}"] if missing else []


def _no_exception(wanted: str, record: Record, run: Run) -> list[str]:
    return [] if record.error is None else [f"it raised {record.error!r}"]


def _each_error(wanted: str, record: Record, run: Run) -> list[str]:
    return words_yaml.each_error(record)


_HANDLERS: Mapping[str, Callable[[Any, Record, Run], list[str]]] = {
    "verdicts": _verdicts,
    "verdict_or_failure": _verdicts,
    "each": _each,
    "each_name": _each,
    "tool_runs": _tool_runs,
    "tool_runs_count": _count,
    "tool_runs_when_repaired": _tool_runs,
    "model_calls": _model_calls,
    "failures": _failures,
    "wrap": _no_exception,
    "each_error": _each_error,
}


# Expectations of one run


def _own(case: Case, run: Run, record: Record) -> list[str]:
    form = form_of(case, run)
    if case.kind == "yaml_load":
        return words_yaml.problems(str(form), record)
    if case.kind == "store_ops":
        return _answers(form, record)
    if run.name == "variant":
        return _words(str(form), record)
    if isinstance(form, str) and (found := _counted(form, record)) is not None:
        return found
    if isinstance(form, str) and "checkpointer" in _first(run):
        return _words(form, record)
    return forms.problems(form, record, run.calls[0] if run.calls else None)


def _counted(form: str, record: Record) -> list[str] | None:
    """`count == 80`, or an exception that must not come."""
    number = re.match(r"count == (\d+)", form)
    if number is not None:
        count = record.extra["count"]
        return [] if count == int(number[1]) else [f"the count is {count}, not {number[1]}"]
    if re.match(r"no \w*(?:Error|exception)", form):
        return [] if record.error is None else [f"it raised {record.error!r}"]
    return None


def _words(form: str, record: Record) -> list[str]:
    """A run that has to come to its end, in words."""
    if record.error is not None:
        return [f"it raised {record.error!r}"]
    found = []
    if re.search(r"no loop reported", form) and [
        event for event in record.seen if event.get("label") in ours("loop")
    ]:
        found.append("a loop was reported")
    if "without duplicated guidance" in form and record.guidance():
        found.append("guidance was given")
    if re.match(r"succeeds", form) and record.extra.get("left"):
        found.append("the script was not used up")
    return found


def _answers(form: Any, record: Record) -> list[str]:
    """What a run on a store, or on an empty one, answered."""
    if record.name == "empty_collection":
        full = {name: ids for name, ids in record.extra["answers"].items() if ids}
        warned = [text for _, _, text in record.logs if "n_results" in text]
        return [f"not empty: {full}"] * bool(full) + warned
    return []


def queries(case: Case, record: Record) -> list[str]:
    """What the queries of a case answered."""
    found = []
    for name, query in case.input.get("queries", {}).items():
        wanted = case.expected.get(name)
        answer = record.extra["answers"][name]
        if isinstance(wanted, list):
            if sorted(answer) != sorted(map(str, wanted)):
                found.append(f"{name}: {answer}, not {wanted}")
            continue
        number = re.match(r"(\d+) ids", str(wanted))
        if number is not None:
            if len(answer) != int(number[1]):
                found.append(f"{name}: {answer}, not {wanted}")
        elif "bounds" in str(wanted):
            (bounds,) = [value for value in query["filter"].values() if isinstance(value, Mapping)]
            values = record.extra["bounded"][name]
            every = [n / 10 for n in range(11)]
            good = [n for n in every if bounds["gte"] <= n <= bounds["lte"]]
            if sorted(values) != good:
                found.append(f"{name}: {values}, not {good}")
        else:
            raise CaseError(f"no rule reads {name}: {wanted!r}; see cases/expect.py")
    return found


def _contrast(wanted: Any, record: Record, run: Run) -> list[str]:
    """The same case with something changed, which changes what is right."""
    if isinstance(wanted, Mapping) and "each" in wanted:
        return forms.problems(wanted["each"], record, run.calls[0])
    words = str(wanted["expected"] if isinstance(wanted, Mapping) else wanted)
    none = re.match(r"no (\w+)", words)
    if none is not None:
        later = record.reported(none[1])
        return [f"{none[1]} was recorded"] if later else []
    named = re.match(r"([\w ]+?) reported at the (\d+)(?:st|nd|rd|th) unchanged result", words)
    if named is None:
        raise CaseError(f"no rule reads the contrast {words!r}; see cases/expect.py")
    names = re.split(r"\s+or\s+", named[1])
    events = [event for name in names for event in record.failures(name)]
    steps = [str(message.id) for message in record.produced]
    first = min((steps.index(event["step"]) + 1 for event in events), default=None)
    if first != int(named[2]):
        return [f"{named[1]} was first reported at step {first}, not {named[2]}"]
    return []


_MODES: Mapping[str, str] = {
    "ainvoke": "async",
    "astream": "astream",
    "invoke": "sync",
    "stream": "stream",
}


def modes(case: Case, record: Record) -> list[str]:
    """What a case says of a mode, such as `tool_runs 1, final 'hi'`."""
    own = next((name for name, mode in _MODES.items() if mode == record.mode), "")
    words = str(case.expected.get(own, ""))
    if words.startswith("same as") or words == "same":
        words = str(case.expected.get("ainvoke", ""))
    if not words:
        return []
    known = re.search(r"same (\w+Error) as the unwrapped graph \(or works\)", words)
    if known is not None and record.error is not None:
        name = type(record.error).__name__
        found = [] if name == known[1] else [f"it raised {record.error!r}"]
        unknown = record.reported("unknown_tool")
        return found + (["unknown_tool was recorded"] if unknown else [])
    found = [] if record.error is None else [f"it raised {record.error!r}"]
    runs = re.search(r"tool_runs (\d+)", words)
    if runs is not None and len(record.tool_runs) != int(runs[1]):
        found.append(f"tools ran {len(record.tool_runs)} times")
    final = re.search(r"final '([^']*)'", words)
    if final is not None and record.final != final[1]:
        found.append(f"the end is {record.final!r}")
    return found


def all_problems(case: Case, run: Run, record: Record) -> list[str]:
    """Everything structured that is wrong with a record."""
    found = problems(case, run, record)
    if case.kind == "store_ops" and run.name == "queries":
        found += queries(case, record)
    if case.kind == "graph_load" and (problem := record.extra["problem"]):
        found.append(f"{record.extra['check']}: {problem}")
    return found + modes(case, record)
