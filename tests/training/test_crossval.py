"""Cross-validation keeps papers apart, goes on after kill -9, and agrees with every other way to the same figures."""

import json
import shutil
import signal
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    DEFAULT_TASKS,
    RunError,
    RunFormatError,
    RunMismatchError,
    SystemFigures,
    SystemSpecError,
    TaskError,
    UndefinedScoreError,
    WorkerError,
    changes_of_seed,
    folds_by,
    make_plan,
    paper_folds,
    read_run,
    trainable,
)
from evidencebench import (
    TASKS,
    CrossValidation,
    Experiment,
    Processes,
    Resampling,
    Threads,
    answers_from,
    cross_validate,
    evaluate,
    execute,
    load_sample,
    make_system,
)
from kit.command_line import start, until
from kit.own_training import OWN_TRAINING

SAMPLE = load_sample()
PAPERS = {query.paper_id for query in SAMPLE.queries()}
FEW = Resampling(n_draws=50)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the name of a training that remembers its papers, and work in an empty folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    module = f"memory_{abs(hash(tmp_path))}"
    Path(f"{module}.py").write_text(OWN_TRAINING)
    return f"{module}:Memory"


def validated(*systems: str, **options: Any) -> list[SystemFigures]:
    of_work = {
        key: options.pop(key) for key in {"jobs", "engine", "journal", "overwrite", "on_progress"} & set(options)
    }
    given: dict[str, Any] = {"n_folds": 3, "n_seeds": 2, "resampling": FEW} | options
    return cross_validate(CrossValidation(systems=systems, **given), SAMPLE, **of_work)


def fits() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("fits.jsonl").read_text().splitlines()]


def untimed(found: Sequence[SystemFigures]) -> list[Any]:
    """Give the figures without the times, which no two calls share."""
    timeless = [replace(one, answer_seconds=0.0, fit_seconds=one.fit_seconds and 1.0) for one in found]
    return [msgspec.to_builtins(one) for one in timeless]


# Folds


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=30), st.integers(2, 8), st.integers(0, 99))
def test_folds_part_the_instances_and_no_paper_is_in_two(papers: list[str], n_folds: int, seed: int) -> None:
    if n_folds > len(set(papers)):
        with pytest.raises(UndefinedScoreError):
            paper_folds(papers, n_folds, np.random.default_rng(seed))
        return
    folds = paper_folds(papers, n_folds, np.random.default_rng(seed))
    assert sorted(place for fold in folds for place in fold) == list(range(len(papers)))
    of_folds = [{papers[place] for place in fold} for fold in folds]
    assert sum(map(len, of_folds)) == len(set(papers))
    assert max(map(len, of_folds)) - min(map(len, of_folds)) <= 1
    assert paper_folds(papers, n_folds, np.random.default_rng(seed)) == folds


def test_a_seed_cuts_the_folds_that_it_always_cut() -> None:
    papers = [f"pmc_{n % 8}" for n in range(10)]
    assert paper_folds(papers, 3, np.random.default_rng(0)) == [(1, 2, 6, 9), (4, 5, 7), (0, 3, 8)]
    assert paper_folds(papers, 3, np.random.default_rng(7)) == [(0, 1, 2, 8, 9), (3, 4, 6), (5, 7)]


def in_order(papers: Sequence[str], n_folds: int, generator: np.random.Generator) -> list[list[int]]:
    """Cut the papers in the order of their names, moved on by a number that the seed draws."""
    names = sorted(set(papers))
    first = int(generator.integers(len(names)))
    fold_of = {name: (place + first) * n_folds // len(names) % n_folds for place, name in enumerate(names)}
    return [[place for place, paper in enumerate(papers) if fold_of[paper] == fold] for fold in range(n_folds)]


@pytest.mark.parametrize("how", [{}, {"jobs": 2}], ids=["one", "two"])
def test_a_splitter_of_ones_own_cuts_the_folds_and_another_is_not_gone_on_with(
    how: dict[str, Any], memory: str
) -> None:
    systems = CrossValidation(systems=memory, n_folds=3, n_seeds=2, resampling=FEW, splitter=in_order)
    papers = [query.paper_id for query in SAMPLE.queries()]
    cross_validate(systems, SAMPLE, journal="own.jsonl", run="run.jsonl", **how)
    expected = {
        seed: {
            tuple(sorted({papers[place] for place in fold}))
            for fold in in_order(papers, 3, np.random.default_rng(seed))
        }
        for seed in (0, 1)
    }
    for seed in (0, 1):
        assert {tuple(sorted(PAPERS - set(fit["papers"]))) for fit in fits() if fit["seed"] == seed} == expected[seed]
    assert read_run(Path("run.jsonl")).name.endswith("[3-fold by in_order, seed 0]")
    n_fits = len(fits())
    cross_validate(systems, SAMPLE, journal="own.jsonl", run="run.jsonl", **how)
    assert len(fits()) == n_fits

    def others(papers: Sequence[str], n_folds: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
        return paper_folds(papers, n_folds, generator)

    for splitter, said in ((others, "splitter was 'in_order', now 'others'; folds"), (None, "now None")):
        with pytest.raises(RunMismatchError, match=said):
            cross_validate(replace(systems, splitter=splitter), SAMPLE, journal="own.jsonl")
    others.__name__ = "in_order"
    with pytest.raises(RunMismatchError, match="folds was"):
        cross_validate(replace(systems, splitter=others), SAMPLE, journal="own.jsonl")


@pytest.mark.parametrize("wrong", [[[0], [1]], [[0, 1], [2], [2]], [[0], [1, 2], []], [[0], [1], [2, 9]]])
def test_folds_that_are_none_are_refused_in_words(wrong: list[list[int]]) -> None:
    def mine(*_: Any) -> list[list[int]]:
        return wrong

    with pytest.raises(ValueError, match=r"'mine': .*3 folds.*0\.\.2.*no paper in two, got \("):
        folds_by(mine, "abc", 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="splitter"):
        folds_by(lambda *_: [[0], [1], [2]], "aab", 3, np.random.default_rng(0))


def test_each_model_is_trained_once_with_and_once_without_the_hypothesis_on_no_paper_that_it_answers(
    memory: str,
) -> None:
    found = validated(memory, f"{memory}:reads=true", "lead")  # two systems answer with the same models
    assert sum(one.n_failed for one in found) == 0  # they fail on any paper that they were trained on
    cuts = []
    for seed, reads in [(0, True), (0, False), (1, True), (1, False)]:
        seen = [fit["papers"] for fit in fits() if (fit["seed"], fit["hypothesis"]) == (seed, reads)]
        held_out = [sorted(PAPERS - set(papers)) for papers in seen]
        assert len(held_out) == 3
        assert sorted(paper for papers in held_out for paper in papers) == sorted(PAPERS)
        cuts.append(sorted(held_out))
    assert cuts[0] == cuts[1] != cuts[2] == cuts[3]


def test_without_the_blind_variant_half_is_trained_and_the_seed_of_the_resampling_is_the_first(memory: str) -> None:
    (found,) = validated(memory, resampling=Resampling(seed=5, n_draws=50), with_blind=False)
    assert len(fits()) == 6
    assert {fit["seed"] for fit in fits()} == {5, 6}
    assert all(figures.blind is None is figures.gain for figures in found.tasks.values())


# Figures


def test_a_system_that_is_not_trained_has_the_figures_that_score_and_the_control_give_it() -> None:
    specs = ("bm25", "random", "lead", "cues", "longest")
    tasks = [TASKS[name] for name in DEFAULT_TASKS]
    scores = evaluate({spec: answers_from(make_system(spec, seed=0)) for spec in specs}, SAMPLE, tasks)
    measured = validated(*specs, "bm25", n_seeds=1)
    for spec, found in zip(specs, measured, strict=True):
        controls = Experiment(spec, SAMPLE, tasks=tasks, draws=50).controls().found
        assert list(found.tasks) == list(DEFAULT_TASKS)
        for (name, figures), control in zip(found.tasks.items(), controls, strict=True):
            compared = control.comparison
            assert compared.task.name == name
            assert figures.recall == scores[spec][name].estimate("aspect_recall", FEW) == compared.first
            assert (figures.wrong, figures.drop, figures.overlap) == (compared.second, compared.test, compared.overlap)
            assert list(figures.per_instance) == list(scores[spec][name].ids)
            assert figures.blind is None
            lead = measured[0].tasks[name].recall.mean - figures.recall.mean
            assert spec == "bm25" or found.lead[name].difference.mean == pytest.approx(lead)
        assert (found.n_tried, found.fit_seconds, found.n_failed) == (0, None, 0)


def test_a_training_gains_by_the_hypothesis_only_where_it_reads_it_and_the_blind_variant_is_not_shown_it(
    memory: str,
) -> None:
    plain, reading = validated(memory, f"{memory}:reads=true")
    assert plain.n_tried == 3
    for name, figures in plain.tasks.items():
        assert figures.gain is not None
        assert figures.gain.difference.mean == figures.drop.difference.mean == 0
        assert (figures.gain.n_better, figures.gain.n_worse) == (0, 0)
        assert figures.blind == figures.recall == figures.wrong == reading.tasks[name].blind
        shares = [one.tasks[name].overlap for one in (plain, reading)]
        assert [share is not None and share.mean == 1 for share in shares] == [True, False]
    assert any(figures.recall != figures.blind for figures in reading.tasks.values())


def test_seeds_are_averaged_within_an_instance_and_their_spread_is_shown(memory: str) -> None:
    (both,) = validated(memory, with_blind=False)
    singles = [validated(memory, n_seeds=1, resampling=Resampling(seed=seed, n_draws=50))[0] for seed in (0, 1)]
    for name, figures in both.tasks.items():
        one, other = (single.tasks[name] for single in singles)
        assert figures.seed_spread == pytest.approx(statistics.stdev([one.recall.mean, other.recall.mean]))
        assert one.seed_spread == 0
        for instance_id, recall in figures.per_instance.items():
            assert recall == pytest.approx((one.per_instance[instance_id] + other.per_instance[instance_id]) / 2)


def test_odd_answers_are_cut_as_score_cuts_them_and_failures_are_counted(memory: str) -> None:
    odd = memory.replace("Memory", "Odd:how=")
    twice, beyond, fails = validated(*(f"{odd}{how}" for how in ("twice", "beyond", "fails")), n_seeds=1)
    scores = evaluate({"own": answers_from(make_system(f"{odd}twice"))}, SAMPLE, [TASKS["er_at_optimal"]])["own"]
    assert twice.tasks["er_at_optimal"].recall == scores["er_at_optimal"].estimate("aspect_recall", FEW)
    n_answers = sum(TASKS[name].applies_to(instance.labels) for name in DEFAULT_TASKS for instance in SAMPLE)
    assert (beyond.n_failed, fails.n_failed) == (2 * n_answers, n_answers)
    assert beyond.tasks["er_at_10"].recall.mean == fails.tasks["er_at_10"].wrong.mean == 0


@pytest.mark.usefixtures("small_forests")
def test_the_finder_is_trained_in_every_fold_with_and_without_the_hypothesis_once_for_all_that_use_it_alike() -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    plain, answers = validated("finder", "finder:goal=answer", n_seeds=1)
    assert plain.n_failed == answers.n_failed == 0
    assert plain.n_tried == 1
    assert plain.fit_seconds == answers.fit_seconds is not None
    figures = plain.tasks["er_at_10"]
    assert figures.gain is not None
    assert figures.blind is not None
    assert figures.recall.mean - figures.blind.mean == pytest.approx(figures.gain.difference.mean)
    assert answers.tasks["er_at_10"].recall.mean != figures.recall.mean


# Journals


@pytest.mark.parametrize("how", [{"jobs": 2}, {"engine": Threads(2)}], ids=["processes", "threads"])
def test_processes_and_threads_find_what_one_process_finds(how: dict[str, Any], memory: str) -> None:
    assert untimed(validated(memory, "random", **how)) == untimed(validated(memory, "random"))


def test_a_killed_cross_validation_goes_on_and_does_nothing_twice(memory: str) -> None:
    spec = f"{memory}:seconds=0.1"
    words = f"crossval {spec} --data sample --folds 3 --seeds 2 --set draws=50 -o cells.jsonl".split()
    process = start(*words)
    journal = Path("cells.jsonl.splits")
    until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    n_kept = journal.read_bytes().count(b"\n") - 1
    with journal.open("ab") as torn:
        torn.write(b'{"cell":{"systems":["')
    n_before = len(fits())
    told: list[tuple[int, int]] = []
    found = validated(spec, journal=journal, on_progress=lambda done, total: told.append((done, total)))
    assert n_kept >= 4
    assert told == [(done, 12) for done in range(n_kept + 1, 13)]
    assert len(fits()) - n_before == 12 - n_kept
    assert untimed(found) == untimed(validated(spec))
    assert untimed(validated(spec, journal=journal)) == untimed(found)
    assert len(fits()) - n_before == 12 - n_kept + 12


def test_a_split_that_kills_its_workers_is_named_and_all_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = (
        "import os\nfrom dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Deadly:\n"
        "    def rank(self, query, task):\n        os._exit(3)\n"
    )
    Path("own.py").write_text(code)
    journal = Path("cells.jsonl")
    words = r"cells\.jsonl: 2 of 4 .*own\.py:Deadly, seed [01]: two workers died .*ended by the code"
    with pytest.raises(WorkerError, match=words):
        validated("lead", "own.py:Deadly", journal=journal, engine=Processes(1))
    assert [json.loads(line)["cell"]["systems"] for line in journal.read_text().splitlines()[1:]] == [["lead"]] * 2


def test_a_journal_of_another_plan_is_refused_and_kept(tmp_path: Path) -> None:
    journal = tmp_path / "cells.jsonl"
    validated("bm25", journal=journal)
    before = journal.read_bytes()
    plans: list[tuple[list[str], dict[str, Any], str]] = [
        (["bm25"], {"n_folds": 4}, "n_folds was 3, now 4"),
        (["bm25"], {"n_seeds": 3}, r"seeds was \(0, 1\), now \(0, 1, 2\)"),
        (["bm25"], {"resampling": Resampling(seed=1, n_draws=50)}, r"seeds was \(0, 1\), now \(1, 2\)"),
        (["bm25"], {"tasks": [TASKS["er_at_10"]]}, r"tasks was .*, now \('er_at_10',\)"),
        (["bm25"], {"with_blind": False}, "with_blind was True, now False"),
        (["bm25", "lead"], {}, r"systems was \('bm25',\), now \('bm25', 'lead'\)"),
    ]
    for systems, options, message in plans:
        with pytest.raises(RunMismatchError, match=f"settings: {message};"):
            validated(*systems, journal=journal, **options)
        assert journal.read_bytes() == before
    validated("bm25", "lead", journal=journal, overwrite=True)


def test_a_journal_made_on_other_data_or_by_another_model_is_refused(
    tmp_path: Path, finder_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    validated("bm25", journal=Path("cells.jsonl"))
    text = Path("cells.jsonl").read_text()
    Path("cells.jsonl").write_text(text.replace(SAMPLE.sha256, "0" * 64))
    with pytest.raises(RunMismatchError, match="data was"):
        validated("bm25", journal=Path("cells.jsonl"))
    shutil.copytree(finder_model, "elsewhere")
    card = json.loads(Path("elsewhere/card.json").read_text())
    Path("elsewhere/card.json").write_text(json.dumps(card | {"data": {"sha256": "that of other data"}}))
    spec = "finder:model=elsewhere"
    validated(spec, journal=Path("model.jsonl"), n_seeds=1)
    Path("model.jsonl").write_text(Path("model.jsonl").read_text().replace('"sha256:', '"sha256:0', 1))
    with pytest.raises(RunMismatchError, match="model elsewhere"):
        validated(spec, journal=Path("model.jsonl"), n_seeds=1)


def test_a_model_that_was_trained_on_the_data_is_refused(finder_model: Path) -> None:
    for spec in (f"finder:model={finder_model}", f"diverse:system=[finder:model={finder_model}]"):
        with pytest.raises(SystemSpecError, match="was trained on this data"):
            validated(spec)


def test_a_damaged_line_and_a_file_of_somebody_else_are_refused(tmp_path: Path) -> None:
    journal = tmp_path / "cells.jsonl"
    validated("bm25", journal=journal)
    lines = journal.read_bytes().splitlines()
    journal.write_bytes(b"\n".join([lines[0], b'{"cell": 3}', *lines[2:]]) + b"\n")
    with pytest.raises(RunFormatError, match=r"cells\.jsonl: line 2: .*--overwrite"):
        validated("bm25", journal=journal)
    journal.write_text("mine\n")
    with pytest.raises(RunError, match="something else"):
        validated("bm25", journal=journal, overwrite=True)


# What cannot be cross-validated


def test_what_cannot_be_measured_is_refused_before_anything_is_trained(memory: str, tmp_path: Path) -> None:
    journal = tmp_path / "cells.jsonl"
    unconstrained = [TASKS["result_er_unconstrained"]]
    execute("bm25", SAMPLE, Path("bm25.jsonl"))
    for systems, options, error, message in [
        ([memory], {"n_folds": 10}, UndefinedScoreError, r"folds: .*2\.\.9.*papers.*10"),
        ([memory], {"n_folds": 1}, UndefinedScoreError, "got 1$"),
        ([memory, "nope"], {}, SystemSpecError, "'nope'"),
        ([memory, "bm25:k9=1"], {}, SystemSpecError, "'k9'"),
        ([memory], {"tasks": unconstrained}, TaskError, "ranks all .*'result_er_unconstrained'"),
        (["bm25"], {"tasks": unconstrained}, TaskError, "'bm25'"),
        ([memory, "stored:run=bm25.jsonl"], {}, RunMismatchError, "bm25.jsonl: .*own queries"),
        ([f"{memory}:reeds=true"], {}, SystemSpecError, "'reeds' .*hypothesis, seconds, answering rea"),
        ([memory], {"n_folds": 9, "control": "two_papers"}, UndefinedScoreError, "mixed"),
        ([f"{memory}:reads=perhaps"], {}, SystemSpecError, "'reads': .*'perhaps'"),
        ([f"{memory}:seconds=long"], {}, SystemSpecError, "'seconds': .*'long'"),
    ]:
        with pytest.raises(error, match=message):
            validated(*systems, journal=journal, **options)  # type: ignore[arg-type]
    assert not journal.exists()
    assert not Path("fits.jsonl").exists()


def test_a_specification_with_its_model_needs_no_training(memory: str) -> None:
    assert trainable("finder:model=somewhere") is None
    assert trainable("bm25") is None
    assert trainable(memory.replace("Memory", "Recall")) is None
    found = trainable(f"{memory}:reads=true,seconds=0.5")
    assert found is not None
    assert found.specification(Path("a,b")) == f"{found.system}:model=[a,b],reads=true"
    blind = found.without("hypothesis")
    assert blind is not None
    assert blind.without("hypothesis") is None


# Changed queries


def test_two_papers_are_both_of_the_fold_so_that_no_model_was_trained_on_either(memory: str) -> None:
    what = CrossValidation(systems=memory, n_folds=3, n_seeds=2, resampling=FEW, control="two_papers")
    plan = make_plan(what, SAMPLE)
    queries = [instance.query for instance in SAMPLE]
    for seed in plan.seeds:
        changes = changes_of_seed(plan, SAMPLE, seed)
        assert changes is not None
        distractors = changes.distractors or {}
        assert set(distractors) == set(SAMPLE.ids)
        folds = paper_folds([query.paper_id for query in queries], 3, np.random.default_rng(seed))
        fold_of = {queries[place].instance_id: number for number, fold in enumerate(folds) for place in fold}
        assert all(fold_of[name] == fold_of[distractor.instance_id] for name, distractor in distractors.items())


def test_two_papers_in_folds_cost_what_they_cost_the_first_sentences() -> None:
    options: dict[str, Any] = {"n_folds": 3, "n_seeds": 1, "tasks": "er_at_10", "control": "two_papers"}
    what = CrossValidation(systems=("lead", "oracle"), resampling=FEW, **options)
    lead, oracle = cross_validate(what, SAMPLE)
    changes = changes_of_seed(make_plan(what, SAMPLE), SAMPLE, 0)
    assert changes is not None
    assert changes.distractors is not None
    own = evaluate({"lead": make_system("lead")}, SAMPLE, "er_at_10")["lead"]["er_at_10"]
    kept = [
        recall * (not changes.distractors[name].is_before) for name, recall in zip(own.ids, own.recalls, strict=True)
    ]
    figures = lead.tasks["er_at_10"]
    assert figures.wrong.mean == pytest.approx(np.mean(kept))
    assert figures.distractor is not None
    assert figures.distractor.mean == np.mean([one.is_before for one in changes.distractors.values()])
    assert oracle.tasks["er_at_10"].drop.difference.mean == 0
