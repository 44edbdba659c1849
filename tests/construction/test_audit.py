"""An audit: which misses are drawn, who decides on them, and the corrected score, also where the truth is known."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    Answering,
    AuditedMiss,
    AuditedRun,
    AuditReport,
    DecisionAnswer,
    Floats,
    MissesFile,
    PeopleError,
    RunFormatError,
    RunMismatchError,
    UndefinedScoreError,
    UnreadableError,
    audit_report,
    bootstrap,
    corrected_score,
    draw_in_proportion,
    misses_of,
    proportion,
    read_misses,
    sample_misses,
    verdict_folder,
    write_misses,
)
from evidencebench import (
    TASKS,
    Instance,
    Kind,
    Labels,
    Query,
    Ranking,
    Resampling,
    answers_from,
    evaluate,
    execute,
    load_sample,
    make_system,
    open_dataset,
    task_named,
    write_dataset,
)
from kit.command_line import Command
from measure_audits import World

SAMPLE = load_sample()
TASK = TASKS["er_at_optimal"]
TOO_MANY = {instance.id: Ranking(sentences=tuple(range(0, 40, 2)), ordered=False) for instance in SAMPLE}
ANSWERS: dict[str, Answering] = {
    **{name: answers_from(make_system(name)) for name in ("bm25", "lead", "random")},
    "sets over the budget, cut by chance": TOO_MANY,
    "nothing for most": {SAMPLE.ids[0]: [3]},
}
losses = st.lists(st.floats(0.01, 1), min_size=1, max_size=30).map(np.array)


@pytest.fixture
def bm25(tmp_path: Path) -> Path:
    execute("bm25", SAMPLE, tmp_path / "bm25.jsonl")
    return tmp_path / "bm25.jsonl"


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("task", ["er_at_optimal", "er_at_10", "result_er_at_5"])
def test_recall_and_what_the_misses_take_from_it_are_what_can_be_covered(name: str, task: str) -> None:
    scores = evaluate({name: ANSWERS[name]}, SAMPLE, task)[name][task]
    found = scores.recalls.copy()
    for miss in misses_of(scores, SAMPLE):
        found[miss.position] += miss.loss
    labels = [SAMPLE[instance_id].labels for instance_id in scores.ids]
    wanted = [(one, one.that_count(scores.task.scope)) for one in labels]
    coverable = [sum(bool(one.sources.get(aspect)) for aspect in aspects) / len(aspects) for one, aspects in wanted]
    assert found == pytest.approx(np.array(coverable))


@given(losses, st.integers(1, 40), st.integers(0, 99))
def test_what_is_drawn_stands_for_everything(losses: Floats, n: int, seed: int) -> None:
    places, stands_for = draw_in_proportion(losses, n, np.random.default_rng(seed))
    assert len(places) == min(n, len(losses))
    assert sorted(set(places)) == places
    assert stands_for.sum() == pytest.approx(losses.sum())
    assert (stands_for >= losses[places] * (1 - 1e-6)).all()


def test_each_is_drawn_in_proportion_to_what_it_takes_and_the_largest_for_sure() -> None:
    losses = np.array([5.0, 0.5, 1.0, 1.5, 2.0])
    drawn = Counter(
        place for seed in range(4_000) for place in draw_in_proportion(losses, 3, np.random.default_rng(seed))[0]
    )
    chances = np.array([drawn[place] / 4_000 for place in range(5)])
    assert chances == pytest.approx(np.array([1, 0.2, 0.4, 0.6, 0.8]), abs=0.035)  # over four standard errors


def test_the_same_seed_draws_the_same_misses_and_the_file_keeps_them(bm25: Path, tmp_path: Path) -> None:
    header, misses = sample_misses(bm25, SAMPLE, TASK, n=20, seed=1)
    write_misses(tmp_path / "misses.jsonl", header, misses)
    read = read_misses(tmp_path / "misses.jsonl")
    assert sample_misses(bm25, SAMPLE, TASK, n=20, seed=1) == (header, misses) == (read.header, read.records)
    assert sample_misses(bm25, SAMPLE, TASK, n=20, seed=2) != (header, misses)
    assert sum(miss.stands_for for miss in misses) == pytest.approx(header.loss)
    assert header.score + header.loss == pytest.approx(1)
    assert (header.n_misses, header.n_drawn) == (73, 20)


def test_a_drawn_miss_is_one(bm25: Path) -> None:
    header, misses = sample_misses(bm25, SAMPLE, TASK, n=1_000, seed=0)
    assert len(misses) == header.n_misses
    for miss in misses:
        assert miss.sources == tuple(sorted(SAMPLE[miss.instance_id].labels.sources[miss.aspect_id]))
        assert not set(miss.sources) & set(miss.selected)
        assert len(miss.selected) <= TASK.budget_for(SAMPLE[miss.instance_id])  # type: ignore[operator]
        assert miss.stands_for == miss.loss  # all are drawn


@pytest.mark.parametrize(
    ("picked", "limits"),
    [
        ([1, 2], {"a": "2 sentences can cover at most 4 of 5 aspects, as many as the selected ones do."}),
        ([0, 3], {"c": ""}),  # 1 and 2 would be better
        ([0, 2], {"b": "", "c": ""}),
        ([2, 4], {"a": "2 sentences can cover at most 4 of 5 aspects, and 3 with this aspect among them."}),
    ],
)
def test_a_miss_that_no_selection_could_do_without_is_told_to_the_auditor(
    tmp_path: Path, command: Command, picked: list[int], limits: dict[str, str]
) -> None:
    texts = {name: name for name in "abcde"}
    sources = {"a": (0,), "b": (1, 3), "c": (1,), "d": (2,), "e": (2,)}
    labels = Labels(aspects=tuple(texts), sources=sources, texts=texts)
    query = replace(paper("one", 4).query, sentences=tuple("vwxyz"), kinds=(Kind.BODY,) * 5)
    write_dataset(tmp_path / "data.json", [Instance(query=query, labels=labels)])
    (tmp_path / "run.json").write_text(json.dumps({"one": picked}))
    header, misses = sample_misses(
        tmp_path / "run.json", open_dataset(tmp_path / "data.json"), task_named("er_at_2"), n=9, seed=0
    )
    found = {miss.aspect: miss.limit for miss in misses}
    assert {name: found[name] for name in limits} == limits
    assert not any(miss.is_result for miss in misses)
    run, data = tmp_path / "run.json", tmp_path / "data.json"
    write_misses(tmp_path / "misses.jsonl", header, misses)
    drawn = read_misses(tmp_path / "misses.jsonl")
    for miss in misses:
        verdict_folder(tmp_path / "audit", drawn).save("Ada", DecisionAnswer(id=miss.id, choice="missed"))
    n_limited = audit_report(drawn, tmp_path / "audit", run, open_dataset(data)).n_limited
    assert n_limited == sum(bool(limit) for limit in found.values())
    call = f"audit report {drawn.path} --folder {tmp_path / 'audit'} --run {run} --data {data} --set draws=200"
    told = f"{n_limited} of these misses cannot be avoided by a selection of that size"
    assert (told in " ".join(command(call).out.split())) == (n_limited > 0)


def test_a_run_without_misses_or_that_was_asked_two_papers_is_refused(tmp_path: Path) -> None:
    execute("oracle", SAMPLE, tmp_path / "oracle.jsonl")
    with pytest.raises(UndefinedScoreError, match="'er_at_optimal'"):
        sample_misses(tmp_path / "oracle.jsonl", SAMPLE, TASK, n=5, seed=0)
    execute("lead", SAMPLE, tmp_path / "two.jsonl", control="two_papers")
    with pytest.raises(RunMismatchError, match="two papers"):
        sample_misses(tmp_path / "two.jsonl", SAMPLE, TASK, n=5, seed=0)


def test_a_damaged_file_of_misses_is_refused_with_its_line(bm25: Path, tmp_path: Path) -> None:
    path = tmp_path / "misses.jsonl"
    header, misses = sample_misses(bm25, open_dataset("sample"), TASK, n=3, seed=0)
    write_misses(path, header, misses)
    lines = path.read_text().splitlines()
    broken = {
        "\n".join([lines[0], re.sub(r'"sources":\[\d+', '"sources":[9999', lines[1])]): "line 2: .*9999",
        "\n".join([lines[0], re.sub(r'"kinds":\["\w+",', '"kinds":[', lines[1])]): "line 2: .*kind",
    }
    for content, message in broken.items():
        path.write_text(content)
        with pytest.raises(RunFormatError, match=message):
            read_misses(path)


Judge = Callable[[str, dict[str, str]], None]


def paper(name: str, n_aspects: int) -> Instance:
    """Make a paper whose sentence 1 + n is the only source of aspect n."""
    return Instance(
        query=Query(
            instance_id=name,
            paper_id=name,
            hypothesis="Tea lowers blood pressure.",
            sentences=("Results", *(f"Sentence {number}." for number in range(n_aspects))),
            kinds=(Kind.HEADING, *n_aspects * (Kind.BODY,)),
        ),
        labels=Labels(
            aspects=tuple(f"{name}_{number}" for number in range(n_aspects)),
            sources={f"{name}_{number}": (1 + number,) for number in range(n_aspects)},
            texts={f"{name}_{number}": f"Aspect {number} of {name}." for number in range(n_aspects)},
        ),
    )


@pytest.fixture
def misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MissesFile:
    """Give all misses of a run that covers 1 of 2 aspects of a paper, and 1 of 4 of another."""
    monkeypatch.chdir(tmp_path)
    write_dataset("data.json", [paper("two", 2), paper("four", 4)])
    Path("run.json").write_text(json.dumps({"two": [1], "four": [1]}))
    write_misses(
        Path("misses.jsonl"),
        *sample_misses(Path("run.json"), open_dataset("data.json"), TASKS["er_at_10"], n=50, seed=0),
    )
    return read_misses("misses.jsonl")


@pytest.fixture
def judge(misses: MissesFile) -> Judge:
    """Give a function by which an auditor says the causes of misses, named by their aspects."""
    verdicts = verdict_folder(Path("audit"), misses)

    def said(auditor: str, causes: dict[str, str]) -> None:
        for miss in misses.records:
            if miss.aspect_id in causes:
                verdicts.save(auditor, DecisionAnswer(id=miss.id, choice=causes[miss.aspect_id], note="Why."))

    return said


def report(misses: MissesFile) -> AuditReport:
    return audit_report(misses, Path("audit"), Path("run.json"), open_dataset("data.json"), FEW)


def test_aspects_that_are_not_the_systems_fault_count_as_covered(misses: MissesFile, judge: Judge) -> None:
    judge("Ada", {"two_1": "missed", "four_1": "missed", "four_2": "label_lacks_sentence", "four_3": "other_fault"})
    found = report(misses)
    assert misses.header.score == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert (found.excused.n, found.excused.k) == (4, 1)
    assert found.corrected.covered.mean == pytest.approx((1 / 2 + 2 / 4) / 2)
    seen = [one for one in found.causes if one.share.k]
    assert {one.cause.name: one.share.k for one in seen} == {"missed": 2, "label_lacks_sentence": 1, "other_fault": 1}
    assert [one.points for one in seen] == pytest.approx([1 / 4 + 1 / 8, 1 / 8, 1 / 8])


def test_most_auditors_decide_and_a_tie_is_the_systems_fault(misses: MissesFile, judge: Judge) -> None:
    judge("Ada", {"two_1": "no_single_sentence", "four_1": "missed"})
    judge("Bo", {"two_1": "missed", "four_1": "missed"})
    tied = report(misses)
    judge("Cy", {"two_1": "not_about_hypothesis"})
    found = report(misses)
    by_aspect = {miss.aspect_id: miss.id for miss in misses.records}
    assert (tied.tied, tied.excused.k) == ((by_aspect["two_1"],), 0)
    assert (found.tied, found.excused.k) == ((), 1)
    assert [one.cause.name for one in found.causes if one.share.k] == ["missed", "no_single_sentence"]
    pairs = {(pair.first, pair.second): (pair.n_both, pair.n_same_cause) for pair in found.pairs}
    assert pairs == {("Ada", "Bo"): (2, 1), ("Ada", "Cy"): (1, 0), ("Bo", "Cy"): (1, 0)}


def test_kappa_of_two_auditors_is_that_of_a_worked_example(misses: MissesFile, judge: Judge) -> None:
    ada = {"two_1": "missed", "four_1": "missed", "four_2": "reading_error", "four_3": "reading_error"}
    judge("Ada", ada)
    judge("Bo", {**ada, "four_2": "missed"})
    (pair,) = report(misses).pairs
    # They agree on 3 of 4; by chance they would on 2/4 * 3/4 + 2/4 * 1/4 = 1/2.
    assert pair.kappa_fault == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))


def test_another_run_or_other_data_are_refused_and_so_is_an_empty_folder(misses: MissesFile, judge: Judge) -> None:
    with pytest.raises(UnreadableError, match=r"audit: .*'evidencebench audit"):
        report(misses)
    judge("Ada", {"two_1": "missed"})
    Path("run.json").write_text(json.dumps({"two": [2], "four": [1]}))
    with pytest.raises(RunMismatchError, match=r"run\.json .*checksum \w+"):
        report(misses)
    Path("run.json").write_text(json.dumps({"two": [1], "four": [1]}))
    write_dataset("data.json", [paper("two", 3), paper("four", 4)])
    with pytest.raises(RunMismatchError, match=r"data\.json"):
        report(misses)


def test_verdicts_that_do_not_fit_are_refused(misses: MissesFile) -> None:
    verdicts = verdict_folder(Path("audit"), misses)
    first = misses.records[0].id
    wrong = [
        (DecisionAnswer(id="miss_99", choice="missed"), "'miss_99'.*look like"),
        (DecisionAnswer(id=first, choice="mised"), "'mised'.*'missed'"),
        (DecisionAnswer(id=first, choice="other_fault", note=" "), "needs a note"),
        (DecisionAnswer(id=first, choice="missed", note="a" * 5_001), "5001"),
    ]
    for verdict, message in wrong:
        with pytest.raises(PeopleError, match=message):
            verdicts.save("Ada", verdict)
    verdicts.save("Ada", DecisionAnswer(id=first, choice="missed"))
    verdicts.save("Ada", DecisionAnswer(id=first, revision=2))
    assert verdicts.answers_of("Ada")[first].choice == ""  # taken back


def test_the_commands_say_what_is_audited_and_what_is_not(misses: MissesFile, judge: Judge, command: Command) -> None:
    judge("Ada", {"two_1": "label_lacks_sentence", "four_1": "missed"})
    judge("Bo", {"two_1": "missed"})
    call = "audit report misses.jsonl --folder audit --run run.json --data data.json --set draws=200"
    told = command(call)
    assert "2 audited misses of 4, by Ada (2), Bo (1)" in told.out
    assert "aspect recall, corrected" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    assert "2 of 4 drawn misses have a verdict; the others are assumed to be similar" in told.err
    (two_1,) = (miss.id for miss in misses.records if miss.aspect_id == "two_1")
    assert f"auditors are split evenly on 1 miss ('{two_1}',)" in told.err
    found = command(f"{call} --json").json
    assert found["excused"] == {"k": 0, "n": 2, "low": 0.0, "high": pytest.approx(1 - 0.025**0.5)}
    assert found["corrected"]["covered"]["mean"] == pytest.approx(0.375)
    assert len(found["warnings"]) == 2
    assert (found["n_limited"], "a selection of that size" in told.out) == (0, False)


@pytest.mark.usefixtures("misses")
def test_sample_says_what_there_is_to_audit_and_refuses_what_is_there(command: Command) -> None:
    without_texts = [replace(one, labels=replace(one.labels, texts={})) for one in open_dataset("data.json")]
    write_dataset("data.json", without_texts)
    call = "audit sample run.json -d data.json -t er_at_10 -o misses.jsonl"
    assert "misses.jsonl: exists" in command(call).refusal
    made = command(f"{call} -n 2 --overwrite")
    assert "misses.jsonl: 2 misses of 4, which cost 62.5 points of" in made.out
    assert "warning: the data has no texts of aspects" in made.err
    assert [miss.aspect for miss in read_misses("misses.jsonl").records] == ["", ""]
    assert command(f"{call} --overwrite --json").json["n_drawn"] == 4
    assert "expected one --task" in command(f"{call} -t er_at_5 --overwrite").refusal


FEW = Resampling(n_draws=400)
WORLD = World(n_papers=60, excused=0.2, likeness=0.2)


def test_where_every_miss_is_audited_the_interval_is_the_bootstrap_of_the_true_scores() -> None:
    papers = WORLD.draw(np.random.default_rng(0))
    audited, all_audited = papers.audit(10_000, np.random.default_rng(1))
    found = corrected_score(papers.run, audited, all_audited=all_audited, resampling=Resampling(n_draws=50_000))
    covered = found.covered
    expected = bootstrap((papers.n_covered + papers.n_excused) / papers.n_aspects, papers.run.clusters)
    assert all_audited
    assert covered.mean == pytest.approx(papers.covered) == pytest.approx(expected.mean)
    assert covered.interval == pytest.approx(expected.interval, abs=0.004)
    assert found.plain.mean == pytest.approx((papers.n_covered / papers.n_aspects).mean())
    assert found.plain.mean < found.covered.mean


@pytest.mark.parametrize("k", [0, 1, 10, 49, 50])
def test_where_each_paper_holds_one_miss_the_share_has_the_exact_interval(k: int) -> None:
    n_papers = 500
    nothing = np.zeros(n_papers)
    run = AuditedRun(recalls=nothing, losses=nothing + 1, clusters=[str(n) for n in range(n_papers)])
    audited = [AuditedMiss(place=place, stands_for=1 / 50, excused=float(place < k)) for place in range(50)]
    found = corrected_score(run, audited, all_audited=False, resampling=Resampling(n_draws=3_000))
    exact = proportion(k, 50)
    assert found.excused.mean == k / 50
    assert found.excused.interval == pytest.approx((exact.low, exact.high), abs=0.02)
    assert found.covered.interval == found.excused.interval  # nothing else is covered


def test_no_excused_miss_leaves_the_score_as_it_is_but_not_the_upper_end() -> None:
    papers = World(n_papers=60, excused=0.0).draw(np.random.default_rng(0))
    audited, _ = papers.audit(50, np.random.default_rng(1))
    found = corrected_score(papers.run, audited, all_audited=False, resampling=FEW)
    reading = found.covered
    assert reading.mean == found.plain.mean
    assert reading.low == found.plain.low
    assert reading.high > found.plain.high  # type: ignore[operator]


def test_one_paper_has_no_interval_and_no_audited_miss_no_score() -> None:
    run = AuditedRun(recalls=np.array([0.5]), losses=np.array([0.5]), clusters=["the only paper"])
    found = corrected_score(run, [AuditedMiss(place=0, stands_for=0.5, excused=1.0)], all_audited=True)
    assert found.covered.mean == 1
    assert found.covered.interval is None
    with pytest.raises(UndefinedScoreError):
        corrected_score(run, [], all_audited=False)


@pytest.mark.parametrize("world", [World(n_papers=40, excused=0.2, likeness=0.3), World(n_papers=100, excused=0.03)])
def test_the_interval_holds_the_score_of_the_world(world: World) -> None:
    """A small look; `tools/measure_audits.py` has the table of docs/construction-results.md."""
    truth = World(n_papers=5_000, excused=world.excused, likeness=world.likeness).draw(np.random.default_rng(7)).covered
    held = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        papers = world.draw(generator)
        audited, all_audited = papers.audit(50, generator)
        found = corrected_score(papers.run, audited, all_audited=all_audited, resampling=FEW).covered
        assert found.interval is not None
        held += found.interval[0] <= truth <= found.interval[1]
    assert held >= 51  # 95 % give fewer once in 300 times
