"""From recordings to figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.recorded import (
    COUNTING,
    asks,
    counting,
    gives,
    recording,
    run,
    says,
    turns,
    user,
    write_runs,
)
from sentry_langgraph.bench.detection.goals import goals
from sentry_langgraph.bench.detection.grids import grids, sweep_grids, unmoved
from sentry_langgraph.bench.detection.markdown import BEGIN, END, markdown, write
from sentry_langgraph.bench.detection.people import Pointer, near, people, pointed, read_pointers
from sentry_langgraph.bench.detection.plots import main_target, steps
from sentry_langgraph.bench.detection.report import Report, grouped, measure, recordings
from sentry_langgraph.bench.detection.score import score
from sentry_langgraph.bench.detection.sweep import Variant, around, variants
from sentry_langgraph.bench.detection.targets import SECOND, STEP_LIMIT
from sentry_langgraph.bench.detection.watch import Found, Watched, Watcher, first
from sentry_langgraph.bench.peers import PEERS
from sentry_langgraph.config import SentryConfig
from sentry_langgraph.detect.registry import BUILT_IN
from sentry_langgraph.records import Catalog
from sentry_langgraph.replay.recording import RecordingError

GEMINI = tuple(peer for peer in PEERS if peer.name == "Gemini CLI")
SETTINGS = counting()

LOOP = [user("Find it."), *turns(*[("a", "same")] * 8)]
"""The same call eight times, from message 1 on."""

CLEAN = [user("Find it."), *turns(("a", "1"), ("b", "2")), says("It is 2.")]


def watched(messages: list[Any], **fields: Any) -> Watched:
    """A run, watched by our loop rules and one other."""
    return Watcher(SETTINGS, GEMINI).watch(recording(messages, **fields), "f.jsonl")


def test_first_advice_and_hold() -> None:
    """The message of the third same call is advised, that of the fifth held."""
    seen = watched(LOOP, outcome={"success": False, "termination": "max_steps"})
    assert first(seen.ours, held=False) == 5
    assert first(seen.ours, held=True) == 9
    assert [fire.position for fire in seen.peers["Gemini CLI"]] == [9]
    assert (seen.calls, len(seen.turns), seen.length) == (8, 8, 17)
    assert seen.left_after(5) == 5


def test_figures_of_a_source() -> None:
    """Counts come with their denominators, ours and the others' alike."""
    runs = [
        watched(LOOP, outcome={"success": False, "termination": "max_steps"}),
        watched(LOOP, outcome={"success": True}),
        watched(CLEAN, outcome={"success": True}),
        watched(CLEAN, outcome={"success": True}),
    ]
    found = score("s", runs, GEMINI)
    assert (found.runs, found.succeeded, found.failed, found.calls) == (4, 3, 1, 20)
    by_rule = {(rule.rule, rule.level): rule for rule in found.rules}
    ours = by_rule["Sentry, loops", "advises"]
    assert (ours.flagged.count, ours.flagged.total) == (1, 3)
    limit, second = ours.targets
    assert (limit.target, limit.caught.count, limit.caught.total) == (STEP_LIMIT, 1, 1)
    assert (limit.message.value, limit.left.value) == (5, 5)
    assert (second.target, second.caught.count, second.caught.total) == (SECOND, 0, 2)
    theirs = by_rule["Gemini CLI", "stops"].targets[0]
    assert (theirs.caught.count, theirs.message.value) == (1, 9)
    assert by_rule["Sentry, loops", "holds"].targets[0].message.value == 9
    assert {(one.label, one.act) for one in found.labels} == {
        ("repetition_or_looping", "advised"),
        ("repetition_or_looping", "held"),
    }
    assert all(one.accepted.value == 1 for one in found.about_calls)


def test_refused_calls() -> None:
    """An invalid call is caught before it runs, and valid ones are left alone."""
    messages = [
        user(),
        asks("look_up", id="a"),
        gives("Error: unknown tool", error=True),
        asks(number=1, id="a"),
        gives(number=1),
        asks(number=2, id="zz"),
        gives("Error: not found", number=2, error=True),
    ]
    refused = score("s", [watched(messages)], ()).refused
    assert refused is not None
    assert (refused.visible.count, refused.visible.total) == (1, 1)
    assert set(refused.reasons) == {"unknown tool"}
    assert (refused.valid.count, refused.valid.total) == (0, 1)
    assert refused.other_errors == 1


def note(step: int | None, label: str | None = "repetition_or_looping", **more: Any) -> Any:
    """A label that somebody gave."""
    return {"step": step, "label": label, "map": "direct", "source_label": "loop", **more}


@pytest.mark.parametrize(("step", "hit"), [(1, True), (5, True), (14, True), (0, True)])
def test_labels_count_near_their_step(step: int, hit: bool) -> None:
    """Up to two messages of the agent before or after."""
    run_ = watched(LOOP, annotations=[note(step)])
    (found,) = people("s", [run_])
    assert (found.same.count, found.same.total) == (int(hit), 1)


def test_labels_far_from_every_finding() -> None:
    """A step that is three messages away from our finding isn't caught."""
    seen = watched([user(), says("a"), says("b"), *LOOP], annotations=[note(1)])
    assert first(seen.ours, held=False) == 8
    (found,) = people("s", [seen])
    assert (found.same.count, found.any.count) == (0, 0)


def test_kinds_of_labels() -> None:
    """Unmapped labels have no recall of their own, unplaced ones are counted apart, and an
    invalid action stands for every hard label."""
    invalid = [user(), asks("nothing", id="a"), gives("Error: unknown", error=True)]
    run_ = watched(
        invalid,
        annotations=[
            note(1, "invalid_action", map="partial", root_cause=True),
            note(1, None, map=None, source_label="other"),
            note(None, source_label="nowhere"),
        ],
    )
    by_word = {one.source_label: one for one in people("s", [run_])}
    assert by_word["loop"].same.value == by_word["loop"].root_same.value == 1
    assert by_word["other"].same.value is None
    assert by_word["other"].any.value == 1
    assert (by_word["nowhere"].unplaced, by_word["nowhere"].any.total) == (1, 0)


def test_pointers(tmp_path: Path) -> None:
    """A positive has to be reported; a negative may be advised on and must not be held."""
    runs = [watched(LOOP)]
    positive = Pointer("f.jsonl", "run-1", 5, "repetition_or_looping", True)
    negative = Pointer("f.jsonl", "run-1", 13, "repetition_or_looping", False)
    elsewhere = Pointer("g.jsonl", "run-1", 5, "hallucination", True)
    found = list(pointed([positive, negative, elsewhere], runs))
    assert [one.right for one in found] == [True, False]
    assert found[0].acts == ("advised", "held")
    path = tmp_path / "instances.jsonl"
    path.write_text(json.dumps({"file": "f", "id": "i", "step": 1, "label": "l", "positive": True}))
    assert read_pointers(path) == (Pointer("f", "i", 1, "l", True),)
    path.write_text("{}")
    with pytest.raises(RecordingError, match=r"instances\.jsonl:1"):
        read_pointers(path)
    assert read_pointers(tmp_path / "none.jsonl") == ()


def test_near_names_label_and_act() -> None:
    """What is near a step is label and act."""
    assert near(watched(LOOP), 3) == {("repetition_or_looping", "advised")}
    assert near(watched(LOOP), 16) == {("repetition_or_looping", "held")}


def test_values_around() -> None:
    """Small counts vary by one, bounds by halves, shares by tenths."""
    assert around(3) == [1, 2, 3, 4, 5, 6]
    assert around(1) == [0, 1, 2, 3]
    assert around(6) == [4, 5, 6, 7, 8, 12]
    assert around(2_000) == [1_000, 2_000, 4_000]
    assert around(0.65) == [0.45, 0.55, 0.65, 0.75, 0.85]
    assert around(5.0) == [2.5, 5.0, 10.0]


def test_variants_are_allowed_values() -> None:
    """Each detector comes as it is, then each of its numeric options; bad values are left out."""
    found = [one for one in variants(SETTINGS) if one.kind == COUNTING]
    assert found[0] == Variant(COUNTING)
    advise = [one for one in found if one.option == "advise_at"]
    assert [one.value for one in advise] == [1, 2, 3, 4, 5, 6]
    assert [one.value for one in advise if one.default] == [3]
    assert not [one for one in variants(counting(enabled=False)) if one.kind == COUNTING]
    every = {one.kind for one in variants(SentryConfig())}
    assert every == set(BUILT_IN)


def test_variants_change_one_option() -> None:
    """A variant keeps what the settings say of the other options, and runs alone."""
    varied = Variant(COUNTING, "advise_at", 2)
    watcher = Watcher(SETTINGS, (), (Variant(COUNTING), varied))
    seen = watcher.watch(recording(LOOP))
    as_set, earlier = seen.variants.values()
    assert [first(found, held=False) for found in (as_set, earlier)] == [5, 3]
    assert [first(found, held=True) for found in (as_set, earlier)] == [9, 9]
    pipeline = varied.pipeline(SETTINGS, Catalog())
    assert [kind for kind, _ in pipeline.detectors] == [COUNTING]


def test_stages_follow_the_tools() -> None:
    """Where settings depend on the agent's tools, each run is watched with those that fit it."""
    if "preset" not in SentryConfig.model_fields:
        pytest.skip("the settings have no presets")
    command = {"command": {"type": "string"}}
    shell = {"name": "execute", "parameters": {"type": "object", "properties": command}}
    messages = [user("Find it.")]
    for number in range(6):
        messages += [asks("execute", number=number, command="ls x"), gives("none", number)]
    made = recording(messages, tools=[{"type": "function", "function": shell}])
    found = {
        preset: Watcher(SentryConfig.model_validate({"preset": preset})).watch(made).ours
        for preset in ("auto", "shell", "chat")
    }
    assert found["auto"] == found["shell"] != found["chat"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files: one with two sources, one with another."""
    tmp_path = tmp_path_factory.mktemp("runs")
    looped = {"success": False, "termination": "max_steps"}
    write_runs(
        tmp_path / "one.jsonl.gz",
        [
            run(LOOP, id="a", source="s1", outcome=looped),
            run(CLEAN, id="b", source="s1"),
            run(CLEAN, id="c", source="s2", annotations=[note(1)]),
        ],
    )
    write_runs(tmp_path / "two.jsonl.gz", [run(LOOP, id="d", source="t")])
    pointer = {"file": "one.jsonl.gz", "id": "a", "step": 5, "positive": True}
    (tmp_path / "instances.jsonl").write_text(
        json.dumps({**pointer, "label": "repetition_or_looping", "why": "a | loop"})
    )
    return tmp_path


@pytest.fixture(scope="module")
def report(directory: Path) -> Report:
    """All of it, with every threshold of the loop rule varied."""
    return measure(directory, SETTINGS, sweep=True)


def test_sources_are_not_pooled(report: Report) -> None:
    """Each source has its figures, and so has a file that holds several; files never mix."""
    assert [source.source for source in report.sources] == ["s1", "s2", "t", "all of one"]
    assert [source.runs for source in report.sources] == [2, 1, 1, 3]
    assert [one.source for one in report.people] == ["s2"]
    (pointer,) = report.pointers
    assert pointer.right


def test_progress_and_limits(directory: Path) -> None:
    """A limit holds for each file, sources are told by their beginning, progress ends at all."""
    seen: list[tuple[int, int]] = []
    found = measure(
        directory, limit=1, peers=False, on_progress=lambda done, total: seen.append((done, total))
    )
    assert found.data["runs"] == 2
    assert seen[-1] == (4, 4)
    assert measure(directory, sources=["s"], peers=False).data["runs"] == 3
    with pytest.raises(RecordingError, match="no run of the sources"):
        measure(directory, sources=["x"], peers=False)


def test_no_files(tmp_path: Path) -> None:
    """An empty directory is refused in words."""
    with pytest.raises(RecordingError, match="there are no runs"):
        recordings(tmp_path)


def test_json(report: Report) -> None:
    """Plain JSON with numerators, denominators, versions, settings and who could not run."""
    found = json.loads(json.dumps(report.to_dict()))
    caught = found["sources"][0]["rules"][0]["targets"][0]["caught"]
    assert caught["count"] == caught["total"] == 1
    assert caught["interval"][0] < 1
    assert found["versions"]["sentry_langgraph"]
    assert found["config"]["detectors"][-1] == {"kind": COUNTING}
    assert set(found["peers"]) | set(found["not_run"]) == {peer.name for peer in PEERS}
    assert found["date"].startswith("20")
    assert found["pointers"][0]["right"] is True


def test_grids(report: Report) -> None:
    """Every row has as many cells as the header, and thresholds have their tables."""
    for grid in (*grids(report), *sweep_grids(report)):
        assert all(len(row) == len(grid.header) for row in grid.rows), grid.title
    titles = [grid.title for grid in sweep_grids(report)]
    assert titles == [f"{COUNTING}.advise_at", f"{COUNTING}.hold_at"]
    advise = next(iter(sweep_grids(report)))
    assert [row[0] for row in advise.rows[:4]] == ["as set", "1", "2", "3 (default)"]
    assert advise.header == ("Value", "s1", "s2", "t", "all of one")
    assert not unmoved(report)


def test_markdown_is_put_between_the_marks(report: Report, tmp_path: Path) -> None:
    """A page keeps what stands outside the marks; a new file holds the tables alone."""
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{BEGIN}\noutdated\n{END}\nafter\n", encoding="utf-8")
    write(report, page)
    write(report, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{BEGIN}\n\n4 runs.")
    assert text.endswith(f"{END}\nafter\n")
    assert "outdated" not in text
    assert "a \\| loop" in text
    alone = tmp_path / "alone.md"
    write(report, alone)
    assert alone.read_text(encoding="utf-8") == markdown(report)
    page.write_text(END + BEGIN, encoding="utf-8")
    with pytest.raises(ValueError, match="in this order"):
        write(report, page)


def test_steps_of_the_distribution() -> None:
    """It begins at 0, rises by one run at a time and ends at the share that is caught."""
    assert steps([0.5, 0.25], 4) == ([0.0, 25.0, 50.0, 100.0], [0.0, 25.0, 50.0, 50.0])


def test_main_target(report: Report) -> None:
    """A source's plots show its strongest target; a source without one has none."""
    assert [main_target(source) for source in report.sources] == [
        STEP_LIMIT,
        None,
        SECOND,
        STEP_LIMIT,
    ]


def test_grouped_keeps_files_apart() -> None:
    """Only a file with several sources is taken as a whole."""

    def one(file: str, source: str) -> Watched:
        return Watched(file, source, "i", None, (), 0, 0, ours=(Found(0, "l", "held"),))

    runs = [one("a.jsonl", "s"), one("a.jsonl", "t"), one("b.jsonl", "u")]
    assert {name: len(group) for name, group in grouped(runs).items()} == {
        "s": 1,
        "t": 1,
        "u": 1,
        "all of a": 2,
    }


def test_dialogues_read_again() -> None:
    """Where the user speaks again, the second identical call is no target of the tables."""
    talk = [*LOOP, user("And then?"), says("That is all.")]
    assert score("s", [watched(talk), watched(talk), watched(LOOP)], ()).targets == ()
    assert score("s", [watched(talk), watched(LOOP)], ()).targets == (SECOND,)
    cut = {"termination": "max_steps"}
    assert score("s", [watched(talk, outcome=cut)], ()).targets == (STEP_LIMIT,)


def test_goals() -> None:
    """Each goal is read off the figures, and a better rule of others is named."""
    cut = {"success": False, "termination": "max_steps"}
    runs = [watched(LOOP, outcome=cut), *[watched(CLEAN, id=str(n)) for n in range(3)]]
    found = {goal.figure: goal for goal in goals([score("s", runs, GEMINI)])}
    assert len(found) == 6
    assert all(goal.met for goal in found.values()), found
    watcher = Watcher(counting(advise_at=7, hold_at=8), GEMINI)
    flagged = watcher.watch(recording([*LOOP[:-2], *LOOP[1:]]), "f")
    late = [watcher.watch(recording(LOOP, outcome=cut), "f"), flagged]
    assert [fire.level for fire in flagged.peers["Gemini CLI"]] == ["stop"]
    missed = {goal.figure: goal for goal in goals([score("s", late, GEMINI)])}
    assert not all(goal.met for goal in missed.values())
    limits = [goal for goal in missed.values() if goal.figure.startswith(STEP_LIMIT)]
    assert [goal.met for goal in limits] == [False, False]


def test_domains_of_a_benchmark_are_judged_together() -> None:
    """Where a file is there as a whole, the goals for cut-off runs are its own and no domain's."""
    cut = {"success": False, "termination": "max_steps"}
    runs = [watched(LOOP, outcome=cut), watched(CLEAN)]
    one, whole = score("s", runs, ()), score("all of f", runs, ())
    assert {goal.source for goal in goals([one, whole]) if STEP_LIMIT in goal.figure} == {
        "all of f"
    }
    assert {goal.source for goal in goals([one]) if STEP_LIMIT in goal.figure} == {"s"}


def test_better_rules_are_named() -> None:
    """A rule is better where it catches as many, flags fewer successes and fires earlier."""
    cut = {"success": False, "termination": "max_steps"}
    watcher = Watcher(counting(advise_at=7, hold_at=8), GEMINI)
    loop = watcher.watch(recording(LOOP, outcome=cut), "f")
    quiet = replace(watcher.watch(recording(LOOP), "f"), peers={"Gemini CLI": ()})
    named = [
        goal
        for goal in goals([score("s", [loop, quiet], GEMINI)])
        if "rules of others" in goal.figure
    ]
    assert [goal.met for goal in named] == [False, False]
    assert all(goal.value.startswith("Gemini CLI stops") for goal in named)
