"""`scripted_run`: tools, messages and what the model says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cases import special
from cases.agents import agent_of
from cases.assume import settings
from cases.drive import BOTH, Scenario, run
from cases.loader import Case, CaseError, listed
from cases.plans import Run
from cases.rules import ALWAYS, rules
from cases.scripts import calls_in, messages, script

ENDS = {"role": "ai", "content": "That is all I could do, sorry."}
REJECTED = "rejected-first"


def runs(case: Case) -> Iterator[Run]:
    """Every run that the input describes."""
    own = special.runs(case)
    if own is not None:
        yield from own
        return
    for name, turns, changes in _variations(case):
        yield planned(case, name, turns, **changes)
    yield from special.further(case)


def planned(case: Case, name: str, turns: Sequence[Any], **changes: Any) -> Run:
    """One run of a case with this script.

    Args:
        case: The case.
        name: The name of the run.
        turns: What the model says.
        changes: Parts of `input` that are different, and fields of `Scenario` under `scenario`.
    """
    calls = [call for turn in turns for call in calls_in(turn)]
    return Run(
        name,
        lambda mode: run(scenario(case, name, turns, **changes), mode),
        modes_of(case),
        calls=tuple(calls),
    )


def scenario(case: Case, name: str, turns: Sequence[Any], **changes: Any) -> Scenario:
    """The scenario of one run."""
    fields = changes.pop("scenario", {})
    given = {**case.input, **changes}
    specs = given.get("tools") or []
    made = Scenario(
        name=name,
        make=agent_of(given, specs),
        script=script(turns),
        inputs=_inputs(given),
        settings=settings(_assumed(given), **_semantics(given)),
        rules=() if given.get("user_node") else rules_of(given),
        config=_config(given),
        saver=listed(given.get("checkpointer", "InMemorySaver"))[0],
    )
    return _replaced(made, fields)


def rules_of(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the model refuses: always the same, and what the case asks for."""
    return tuple(dict.fromkeys((*ALWAYS, *rules(given.get("provider_rules", ())))))


def modes_of(case: Case) -> tuple[str, ...]:
    """The modes that a case names, else `invoke` and `ainvoke`."""
    named = " | ".join(str(mode) for mode in case.input.get("modes", ()))
    if not named:
        return BOTH
    forms = {
        "async": r"\bainvoke\b(?! in parallel)",
        "astream": r"\bastream\b",
        "sync": r"(?<!a)\binvoke\b|\.invoke\b",
        "stream": r"(?<!a)\bstream\b",
        "parallel": r"parallel",
    }
    found = tuple(
        mode
        for mode, form in forms.items()
        if any(re.search(form, part) for part in named.split(" | "))
    )
    if not found:
        raise CaseError(f"no mode is known in {named!r}")
    return found


def _variations(case: Case) -> Iterator[tuple[str, Sequence[Any], dict[str, Any]]]:
    given, then = case.input, list(case.input.get("then", ()))
    if "model_script" in given:
        yield "main", given["model_script"], {}
        if any("endlessly" in sentence for sentence in case.sentences()):
            first = given["model_script"][0]
            yield "endless", [{**first, "repeat": 200}], {}
    for name, said in given.get("variants", {}).items():
        yield name, [*listed(said), *then], {}
        if "also_with_rejected_first_call" in given:
            yield f"{name}/{REJECTED}", [_misnamed(case, said), *listed(said), *then], {}
    for name, (tool, args) in given.get("names", {}).items():
        bad = {"name": tool, "args": args, "id": "named"}
        yield name, [{"role": "ai", "content": "", "tool_calls": [bad]}, *then], {}
    for name, said in given.items():
        if name.endswith("_variant"):
            yield from _named_variant(case, name, said)
    yield from _contrasts(case)


def _misnamed(case: Case, said: Mapping[str, Any]) -> dict[str, Any]:
    """The same message with the tool's name misspelt, as the case says, and other call ids."""
    words = case.input["also_with_rejected_first_call"]
    found = re.search(r"name '(\w+)'", words)
    if found is None:
        raise CaseError(f"no rule reads {words!r}; see cases/kinds/scripted.py")
    names = {call["name"]: found[1] for call in said["tool_calls"]}
    ids = {call["id"]: f"{call['id']}-0" for call in said["tool_calls"]}

    def changed(value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {inner: changed(one, inner) for inner, one in value.items()}
        if isinstance(value, list):
            return [changed(one) for one in value]
        known = names if key == "name" else ids if key == "id" else {}
        return known.get(value, value) if isinstance(value, str) else value

    made: dict[str, Any] = changed(said)
    return made


def _named_variant(
    case: Case, name: str, said: Any
) -> Iterator[tuple[str, Sequence[Any], dict[str, Any]]]:
    if isinstance(said, list):
        yield name, said, {}
        return
    if "call" not in said:
        raise CaseError(f"no rule reads {name}; see cases/kinds/scripted.py")
    tool, args, call_id = said["call"]
    turns = [
        {"role": "ai", "content": "", "tool_calls": [{"name": tool, "args": args, "id": call_id}]},
        ENDS,
    ]
    specs = list(case.input["tools"])
    if all(spec["name"] != tool for spec in specs):
        properties = {key: _guessed(value) for key, value in args.items()}
        specs.append(
            {
                "name": tool,
                "schema_kind": "pydantic",
                "parameters": {
                    "type": "object",
                    "properties": properties,
                    "required": list(args),
                },
                "returns": "ok",
            }
        )
    forms = case.expected.get(name)
    if not isinstance(forms, Mapping):
        yield name, turns, {"tools": specs}
        return
    for kind in forms:
        yield f"{name}/{kind}", turns, {"tools": [_of_kind(kind, spec) for spec in specs]}


def _of_kind(kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The tool with the schema that a name such as `model_config_extra_forbid` describes."""
    parameters = dict(spec["parameters"])
    if "json_schema" in kind:
        if "additionalProperties_false" in kind:
            parameters["additionalProperties"] = False
        return {**spec, "schema_kind": "json_schema", "parameters": parameters}
    if "forbid" in kind:
        return {**spec, "extra": "forbid"}
    if "allow" in kind:
        return {**spec, "extra": "allow"}
    return dict(spec)


def _guessed(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"type": "array", "items": _guessed(value[0]) if value else {}}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}
    return {"type": kinds.get(type(value), "string")}


def _contrasts(case: Case) -> Iterator[tuple[str, Sequence[Any], dict[str, Any]]]:
    wanted = case.expected.get("contrast")
    if isinstance(wanted, Mapping) and "results" in wanted:
        specs = [{**spec, "behaviour": wanted["results"]} for spec in case.input["tools"]]
        yield "contrast", case.input["model_script"], {"tools": specs}
    words = case.input.get("contrast")
    if isinstance(words, str):
        found = re.search(r"after turn (\d+) the user sends HumanMessage\('(.*)'\)", words)
        if found is None:
            raise CaseError(f"no rule reads {words!r}; see cases/kinds/scripted.py")
        turn = int(found[1])
        turns = list(case.input["model_script"])
        paused = [*turns[:turn], {"role": "ai", "content": "I stop here for now."}, *turns[turn:]]
        later = [{"role": "human", "content": found[2]}]
        inputs = [
            {"messages": messages(case.input["messages"])},
            {"messages": messages(later, "later")},
        ]
        yield "contrast", paused, {"scenario": {"inputs": inputs}}


def _inputs(given: Mapping[str, Any]) -> list[Any]:
    inputs: list[Any] = [{"messages": messages(given.get("messages", ()))}]
    for step in given.get("steps", ())[1:]:
        if re.search(r"invoke\(None", step):
            inputs.append(None)
        else:
            raise CaseError(f"no rule reads the step {step!r}; see cases/kinds/scripted.py")
    return inputs


def _assumed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The thresholds that a case assumes, those among the semantics of its settings included."""
    words = given.get("sentry_config_semantics", {})
    after = {name: words[name] for name in ("over_exploration_after",) if name in words}
    return {**given.get("assume", {}), **after}


def _semantics(given: Mapping[str, Any]) -> dict[str, Any]:
    """`sentry_config_semantics`: what a case says of tools, as ours."""
    words = dict(given.get("sentry_config_semantics", {}))
    tools = {name: {"read_only": True} for name in words.pop("read_only_tools", ())}
    words.pop("over_exploration_after", None)
    if words:
        raise CaseError(f"no setting is known for {', '.join(words)}")
    return {"tools": tools} if tools else {}


def _config(given: Mapping[str, Any]) -> dict[str, Any]:
    config = dict(given.get("config", {}))
    config.pop("callbacks", None)
    return config


def _replaced(made: Scenario, fields: Mapping[str, Any]) -> Scenario:
    values = {name: getattr(made, name) for name in Scenario.__slots__}  # type: ignore[attr-defined]
    return Scenario(**{**values, **fields})
