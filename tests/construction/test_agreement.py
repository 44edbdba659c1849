"""Agreement of people and the model: measures and intervals against libraries, loops and laws; reports."""

import itertools
import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from doors import (
    CRITERIA,
    EQUIVALENCE_ALPHA,
    LABELS,
    MISSING,
    TOGETHER,
    Annotations,
    AnnotationTask,
    FileDigest,
    Labelled,
    Marks,
    MarksAnswer,
    PairSort,
    PairStatistic,
    PeopleError,
    RatingsAnswer,
    RunMismatchError,
    StudentisedDraws,
    TasksFile,
    TasksHeader,
    UndefinedScoreError,
    ValidationReport,
    agreement_of,
    annotation_folder,
    collect_marks,
    compare_raters,
    disagreements_in,
    draw_counts,
    equivalence_at,
    jackknife,
    marked_aspects,
    read_labels,
    read_tasks,
    report_answers,
    studentised,
    write_tasks,
)
from evidencebench import Dataset, Instance, Kind, Resampling, open_dataset, write_dataset
from kit.examples import IS_THOROUGH, examples
from kit.labelled_papers import marked_papers
from make_agreement_table import MARGIN, WORLDS, studied, with_difference

tables = st.tuples(*[st.integers(0, 60)] * 4).map(lambda cells: np.array(cells, dtype=np.float64))


def answers_of(table: np.ndarray) -> tuple[list[int], list[int]]:
    """Return what two raters say, from how often each combination occurs."""
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    both = [pair for pair, n in zip(pairs, table.astype(int), strict=True) for _ in range(n)]
    return [one for one, _ in both], [other for _, other in both]


@given(tables)
@examples(300)
def test_accuracy_f1_kappa_and_the_correlation_are_those_of_scikit_learn_and_scipy(table: np.ndarray) -> None:
    from scipy import stats  # noqa: PLC0415 - slow to import, as the next
    from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score  # noqa: PLC0415

    assume(table.sum() > 1)
    first, second = answers_of(table)
    for measure, is_defined, theirs in (
        ("accuracy", True, accuracy_score),
        ("f1", any(first) or any(second), f1_score),
        ("kappa", len({*first, *second}) > 1, cohen_kappa_score),
        ("spearman", len(set(first)) > 1 and len(set(second)) > 1, lambda *both: stats.spearmanr(*both).statistic),
    ):
        found = agreement_of(measure, table)
        if is_defined:
            assert math.isclose(found, theirs(first, second), abs_tol=1e-9)
        else:
            assert np.isnan(found)


def test_alpha_of_two_raters_is_that_of_a_table_worked_by_hand() -> None:
    # 100 sentences: 90 marked by neither, 2 by the second alone, 3 by the first alone, 5 by both.
    # Pooled: 15 marks of 200; by chance 2 x 15 x 185 / (200 x 199) differ.
    expected = 1 - 0.05 / (2 * 15 * 185 / (200 * 199))
    assert math.isclose(agreement_of("alpha", np.array([90.0, 2.0, 3.0, 5.0])), expected)


FEW = Resampling(seed=3, n_draws=300)


Answers = Mapping[str, Sequence[Sequence[int] | None]]
"""Rater -> of each task the marked sentences, or None where the task is not done."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Papers as a data set, and tasks on their first aspect, in their order."""

    dataset: Dataset
    tasks: TasksFile

    def annotations(self, answers: Answers) -> Annotations:
        """Return what people said."""
        return Annotations(
            by_annotator={
                name: {
                    task.id: MarksAnswer(id=task.id, sentences=tuple(sorted(marked)), is_done=True)
                    for task, marked in zip(self.tasks.records, given, strict=True)
                    if marked is not None
                }
                for name, given in answers.items()
            }
        )

    @property
    def labels(self) -> Labelled:
        """Read the labels."""
        return read_labels(str(self.dataset.path))

    def report(self, answers: Answers, *, with_model: bool = True) -> ValidationReport:
        """Return the report of what people said."""
        labels = self.labels if with_model else None
        return report_answers(self.tasks, self.annotations(answers), labels, resampling=FEW, margin=0.05)

    def marks(self, answers: Answers, *, with_model: bool = True) -> Marks:
        """Return the marks of people, and of the labels."""
        return collect_marks(self.tasks.records, self.annotations(answers), labels=self.labels if with_model else None)


def study_at(folder: Path, papers: Sequence[Instance]) -> Study:
    """Write papers and tasks into a folder."""
    write_dataset(folder / "papers.json", papers)
    dataset = open_dataset(folder / "papers.json")
    header = TasksHeader(sort="sentences", seed=0, data=FileDigest(name=dataset.name, sha256=dataset.sha256))
    tasks = [
        AnnotationTask(
            id=f"task_{number}",
            instance_id=one.id,
            paper_id=one.query.paper_id,
            hypothesis=one.query.hypothesis,
            aspect_id=one.labels.aspects[0],
            aspect=one.labels.texts[one.labels.aspects[0]],
            sentences=one.query.sentences,
            kinds=one.query.kinds,
        )
        for number, one in enumerate(papers)
    ]
    write_tasks(folder / "tasks.jsonl", header, tasks)
    return Study(dataset=dataset, tasks=read_tasks(folder / "tasks.jsonl"))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_at(tmp_path, marked_papers(4))


def made(values: np.ndarray, n_papers: int = 3) -> Marks:
    """Return marks of people and, as the last rater, a model."""
    people = tuple(f"person {n}" for n in range(len(values) - 1))
    n = values.shape[1]
    return Marks(
        tasks=(),
        people=people,
        raters=(*people, "model"),
        values=values,
        task_of=np.arange(n) % n_papers,
        paper_of=np.arange(n) % n_papers,
    )


answers = st.lists(st.lists(st.sampled_from([MISSING, 0, 0, 1]), min_size=4, max_size=4), min_size=3, max_size=40)


@given(answers)
@examples(60)
def test_counts_are_those_of_a_loop(drawn: list[list[int]]) -> None:
    marks = made(np.array(drawn, dtype=np.int8).T)
    for first, second in itertools.combinations(range(4), 2):
        expected = np.zeros((3, 4))
        for number, column in enumerate(drawn):
            if MISSING not in {column[first], column[second]}:
                expected[number % 3, 2 * column[first] + column[second]] += 1
        found = marks.tables(first, second)
        np.testing.assert_array_equal(found, expected[: len(found)])


@given(answers)
@examples(200)
def test_alpha_of_several_raters_is_that_of_krippendorffs_library(drawn: list[list[int]]) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="needs krippendorff, of the extra test")
    paired = [judged for column in drawn if len(judged := [one for one in column if one != MISSING]) > 1]
    assume(len({one for judged in paired for one in judged}) == 2)
    values = np.array(drawn, dtype=np.int8).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = np.where(values == MISSING, np.nan, values)
        expected = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
    found = agreement_of("alpha", made(values).coincidences(range(4)).sum(0))
    assert math.isclose(found, expected, abs_tol=1e-9)


def test_people_and_the_model_are_compared_on_what_both_judged(study: Study) -> None:
    given = study.annotations({"Ada": [(2,), (2,), (2,), None], "Bo": [(2,), (3,), None, None]})
    drafted = MarksAnswer(id="task_3", sentences=(1,), is_done=False)  # which counts nothing
    by_annotator = {**given.by_annotator, "Bo": {**given.by_annotator["Bo"], "task_3": drafted}}
    marks = collect_marks(study.tasks.records, Annotations(by_annotator=by_annotator), labels=study.labels)
    found = compare_raters(marks, FEW, 0.05)
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert {names: (pair.sort, pair.n_tasks) for names, pair in pairs.items()} == {
        ("Ada", "Bo"): ("human-human", 2),
        ("Ada", "model"): ("human-model", 3),
        ("Bo", "model"): ("human-model", 2),
        (TOGETHER, "model"): ("together-model", 3),
    }
    assert pairs["Ada", "model"].measures["kappa"].value == 1.0
    assert pairs["Ada", "Bo"].measures["f1"].value == 0.5
    (f1,) = (one for one in found.contrasts if one.measure == "f1")
    assert (f1.human_human.value, f1.human_model.value, f1.difference.value) == (0.5, 0.75, 0.25)


def test_a_team_marks_what_at_least_half_of_its_members_mark(study: Study) -> None:
    given = study.annotations(
        {"Ada": [(1, 2), (2,), None, None], "Bo": [(2,), (2,), (5,), None], "Cleo": [(2, 3), (), (), ()]}
    )
    marks = collect_marks(study.tasks.records, given, teams={"pair": ["Ada", "Bo"]})
    assert marks.people == ("pair", "Cleo")
    team = marks.values[0].reshape(4, 8)
    assert [np.flatnonzero(row == 1).tolist() for row in team] == [[1, 2], [2], [5], []]
    assert (team[3] == MISSING).all()
    for teams, words in (
        ({"pair": ["Ada", "Dan"]}, "no annotator 'Dan'"),
        ({"a": ["Ada"], "b": ["Ada"]}, "two teams"),
        ({"Cleo": ["Ada"]}, "'Cleo' is named"),
    ):
        with pytest.raises(PeopleError, match=words):
            collect_marks(study.tasks.records, given, teams=teams)


def test_what_people_say_together_is_compared_with_the_model(study: Study) -> None:
    given = study.annotations({"Ada": [(2,), (2,), (1, 5), (2,)], "Bo": [(2,), (3,), (1,), None]})
    decision = MarksAnswer(id="task_1", sentences=(2,), is_done=True, by="Cleo")
    adjudicated = replace(given, adjudicated={"task_1": decision})
    marks = collect_marks(study.tasks.records, adjudicated, labels=study.labels)
    found = compare_raters(marks, FEW, 0.05)
    (together,) = (pair for pair in found.pairs if pair.sort == "together-model")
    assert (together.first, together.n_tasks) == (TOGETHER, 4)
    # The decision counts; of two who differ neither has the majority; the last task was seen by one alone.
    said = marks.values[marks.raters.index(TOGETHER)].reshape(4, 8)
    assert [np.flatnonzero(row == 1).tolist() for row in said] == [[2], [2], [1], [2]]
    namesake = study.annotations({TOGETHER: [(2,), (2,), (1,), (2,)]})
    with pytest.raises(PeopleError, match=TOGETHER):
        collect_marks(study.tasks.records, namesake)
    without = compare_raters(collect_marks(study.tasks.records, given, labels=study.labels), FEW, 0.05)
    assert [one.human_model.value for one in found.contrasts] == [one.human_model.value for one in without.contrasts]


def test_what_is_undefined_is_no_number(study: Study) -> None:
    (nothing,) = study.report({"Ada": [()] * 4, "Bo": [()] * 4}).criteria
    assert nothing.agreement is not None
    (people, *_) = nothing.agreement.pairs
    assert [found.value for found in people.measures.values()] == [1.0, None, None, None, None]
    assert nothing.agreement.alpha_people.value is None
    for one in nothing.agreement.contrasts:
        assert (one.difference.value is None) is (one.measure != "accuracy")
        assert one.p_value is None
        assert one.equivalence is None or one.equivalence.p_value is None


def test_one_annotator_is_compared_with_the_model_and_nobody_with_nobody(study: Study) -> None:
    (report,) = study.report({"Ada": [(2,)] * 4}).criteria
    assert report.agreement is not None
    assert [pair.sort for pair in report.agreement.pairs] == ["human-model"]
    assert report.agreement.contrasts == ()
    with pytest.raises(UndefinedScoreError, match="no annotator"):
        study.report({})


def test_measures_are_in_the_report_as_they_are_computed_and_alpha_of_all_people_is_that_of_two(study: Study) -> None:
    marks = study.marks({"Ada": [(2,), (2,), (1,), ()], "Bo": [(2,), (3,), (1, 2), (2,)]})
    found = compare_raters(marks, FEW, 0.05)
    assert found.alpha_people == found.pairs[0].measures["alpha"]
    expected = float(agreement_of("alpha", marks.coincidences((0, 1, 3)).sum(0)))
    assert found.alpha_all.value == pytest.approx(expected)
    for number, (_, first, second) in enumerate(marks.pairs):
        for name in LABELS:
            expected = float(agreement_of(name, marks.tables(first, second).sum(0)))
            assert found.pairs[number].measures[name].value == pytest.approx(expected)


def test_tasks_whose_aspect_has_no_labels_any_more_are_left_out(study: Study, tmp_path: Path) -> None:
    given = study.annotations({"Ada": [(2,)] * 4})
    papers = marked_papers(4)
    papers[0] = replace(papers[0], labels=replace(papers[0].labels, texts={"a2": "?", "a5": "?"}))
    papers[1] = replace(papers[1], query=replace(papers[1].query, sentences=("?",) * 9, kinds=(Kind.BODY,) * 9))
    (tmp_path / "other").mkdir()
    labels = study_at(tmp_path / "other", papers[:3]).labels
    found = report_answers(study.tasks, given, labels, resampling=FEW, margin=0.05)
    assert (found.n_tasks, found.n_changed) == (1, 3)
    with pytest.raises(RunMismatchError, match="4 aspects"):
        report_answers(study.tasks, given, {}, resampling=FEW, margin=0.05)
    namesake = study.annotations({"model": [(2,)] * 4})
    with pytest.raises(PeopleError, match=r"'model'.*report.*rename"):
        collect_marks(study.tasks.records, namesake, labels=study.labels)


@given(st.lists(st.tuples(*[st.sampled_from([None, (), (2,), (2, 3)])] * 3), min_size=4, max_size=4))
@examples(40)
def test_what_people_marked_is_what_was_decided_or_else_most_of_them(drawn: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        study = study_at(Path(temporary), marked_papers(4))
        folder = annotation_folder(Path(temporary, "sentences"), study.tasks)
        for name, marks in zip(("Ada", "Bo", "Cy"), zip(*drawn, strict=True), strict=True):
            for task, sentences in zip(study.tasks.records, marks, strict=True):
                if sentences is not None:
                    folder.save(name, MarksAnswer(id=task.id, sentences=sentences, is_done=True))
        folder.agree("Dee", MarksAnswer(id="task_3", sentences=(7,), is_done=True))
        Path(temporary, "tasks.jsonl").rename(Path(temporary, "sentences.jsonl"))
        found = {one.paper: one for one in marked_aspects(str(study.dataset.path), Path(temporary))}
    for task, said in zip(study.tasks.records, drawn, strict=True):
        votes = [sentences for sentences in said if sentences is not None]
        expected = {n for n in (2, 3) if 2 * sum(n in sentences for sentences in votes) > len(votes)}
        if task.id == "task_3":
            expected, votes = {7}, [(7,)]
        assert (task.paper_id in found) is bool(votes)
        if votes:
            one = found[task.paper_id]
            assert (set(one.marked), set(one.labelled), one.weight, one.n_sentences) == (expected, {2}, 2, 8)


def test_disagreements_are_listed_with_their_places_and_are_safe_in_a_spreadsheet(tmp_path: Path) -> None:
    papers = marked_papers(3)
    papers[0] = replace(papers[0], query=replace(papers[0].query, sentences=("=1+1", *papers[0].query.sentences[1:])))
    study = study_at(tmp_path, papers)
    marks = study.marks({"Ada": [(0, 2), (2, 7), ()], "Bo": [(2,), (), ()]})
    against_all, *found = disagreements_in(marks)
    assert (against_all.task, against_all.not_marked_by) == ("task_2", ("Ada", "Bo"))  # it comes first
    assert [(one.task, one.number, one.marked_by, one.not_marked_by) for one in found] == [
        ("task_0", 0, ("Ada",), ("Bo", "model")),
        ("task_1", 2, ("Ada", "model"), ("Bo",)),
        ("task_1", 7, ("Ada",), ("Bo", "model")),
    ]
    assert (found[0].before, found[0].after) == ("", papers[0].query.sentences[1])
    assert (found[2].before, found[2].after) == (papers[1].query.sentences[6], "")


@given(answers)
@examples(40)
def test_no_interval_reaches_beyond_what_is_possible(drawn: list[list[int]]) -> None:
    marks = made(np.array(drawn, dtype=np.int8).T, n_papers=8)
    found = compare_raters(marks, FEW, 0.05)
    values = [(name, one) for pair in found.pairs for name, one in pair.measures.items()]
    values += [(one.measure, mean) for one in found.contrasts for mean in (one.human_human, one.human_model)]
    for name, one in values:
        if one.low is not None and one.high is not None:
            assert (0 if name in {"accuracy", "f1"} else -1) <= one.low <= one.high <= 1


@given(st.lists(st.tuples(*[st.sampled_from([None, False, True])] * 3), min_size=1, max_size=12))
@examples(40)
def test_ratings_are_counted_by_what_the_labels_say_and_by_rater(drawn: list[tuple[bool | None, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = study_at(Path(folder), marked_papers(len(drawn)))
        # The first sentence after the aspect's only source is asked about in every other task.
        tasks = [
            msgspec.structs.replace(task, number=2 + n % 2, sentences=(), kinds=())
            for n, task in enumerate(study.tasks.records)
        ]
        header = msgspec.structs.replace(study.tasks.header, sort="pairs", criteria=CRITERIA["pairs"])
        write_tasks(Path(folder, "pairs.jsonl"), header, tasks)
        asked = read_tasks(Path(folder, "pairs.jsonl"))
        labels = study.labels
    by_annotator = {
        f"rater {n}": {
            task: RatingsAnswer(id=task, ratings={"holds": said}, is_done=True)
            for task, given in zip(asked.by_id, drawn, strict=True)
            if (said := given[n]) is not None
        }
        for n in range(3)
    }
    annotations = Annotations(by_annotator=by_annotator)
    if not any(one is not None for said in drawn for one in said):
        with pytest.raises(UndefinedScoreError):
            report_answers(asked, annotations, labels, resampling=FEW, margin=0.05)
        return
    (report,) = report_answers(asked, annotations, labels, resampling=FEW, margin=0.05).criteria
    found = {(one.group, one.rater): (one.n_yes, one.n_judged) for one in report.counts}
    for place, group in enumerate(("labelled", "not labelled")):
        of_group = drawn[place::2]
        for n in range(3):
            of_rater = [one[n] for one in of_group if one[n] is not None]
            expected = (sum(map(bool, of_rater)), len(of_rater)) if of_rater else None
            assert found.get((group, f"rater {n}")) == expected
        judged = [[one for one in said if one is not None] for said in of_group]
        if (group, TOGETHER) in found:
            assert found[group, TOGETHER] == (sum(2 * sum(one) > len(one) for one in judged), sum(map(bool, judged)))


PAIRS: list[tuple[PairSort, int, int]] = [("human-human", 0, 1), ("human-model", 0, 2), ("human-model", 1, 2)]
KAPPA = PairStatistic(pairs=PAIRS, measures=("kappa",))


@cache
def sums(n_papers: int = 30, seed: int = 0, model: float = 0.8) -> np.ndarray:
    """Return the tables of what two people and a model say of papers of 150 sentences; 3 % are sources."""
    drawn = np.random.default_rng(seed)
    answers = np.array([[n >> 2 & 1, n >> 1 & 1, n & 1] for n in range(8)])
    found = np.stack([drawn.beta(6, 2, n_papers)] * 3, axis=1) * [1, 1, model / 0.8]
    of_source = np.where(answers == 1, found[:, None, :], 1 - found[:, None, :]).prod(2)
    of_rest = np.where(answers == 1, 0.005, 0.995).prod(1)
    counts = drawn.multinomial(150, 0.03 * of_source + 0.97 * of_rest).astype(np.float64)
    columns = np.zeros((8, 3, 4))
    for number, (_, first, second) in enumerate(PAIRS):
        columns[np.arange(8), number, 2 * answers[:, first] + answers[:, second]] = 1
    return counts @ columns.reshape(8, -1)


@given(st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(lambda drawn: sum(drawn) > 1))
@examples(100)
def test_the_jackknife_leaves_out_one_copy_of_one_paper_at_a_time(weights: list[int]) -> None:
    papers = sums(6)
    values, errors = jackknife(papers, np.array([weights], dtype=np.float64), KAPPA)
    copies = [paper for paper, n in zip(papers, weights, strict=True) for _ in range(n)]
    n = len(copies)
    without = [KAPPA(sum(copies[:out] + copies[out + 1 :], np.zeros(12))) for out in range(n)]
    expected = np.sqrt((n - 1) / n * sum((one - np.mean(without, axis=0)) ** 2 for one in without))
    np.testing.assert_allclose(values[0], KAPPA(sum(copies, np.zeros(12))), atol=1e-12)
    np.testing.assert_allclose(errors[0], expected, atol=1e-9)


def interval(papers: np.ndarray, which: int, level: float = 0.95) -> tuple[float, float]:
    found = studentised(papers, KAPPA, FEW).interval(which, level)
    assert found is not None
    return found


def test_studentised_intervals_are_those_of_a_loop() -> None:
    papers = sums()
    drawn = np.concatenate([*draw_counts(30, FEW.generator(), FEW.n_draws)])
    values, errors = jackknife(papers, np.ones((1, 30)), KAPPA)
    deviations = []
    for weights in drawn:
        value, error = jackknife(papers, weights[None], KAPPA)
        deviations.append(((value - values) / error)[0])
    for which in range(len(values[0])):
        low, high = np.quantile(np.array(deviations)[:, which], [0.025, 0.975])
        expected = (values[0, which] - high * errors[0, which], values[0, which] - low * errors[0, which])
        np.testing.assert_allclose(interval(papers, which), expected)


def test_the_order_of_raters_changes_nothing() -> None:
    papers = sums()
    swapped = np.concatenate([papers[:, [0, 2, 1, 3]], papers[:, 8:12], papers[:, 4:8]], axis=1)
    for which in (-3, -2, -1):
        np.testing.assert_allclose(interval(papers, which), interval(swapped, which), atol=1e-9)


def test_papers_without_marks_leave_no_interval_and_none_is_invented() -> None:
    one_paper_has_all = np.zeros((10, 12))
    one_paper_has_all[:, [0, 4, 8]] = 50
    one_paper_has_all[0, [3, 7, 11]] = 5
    one_paper_has_all[0, [1, 5, 9]] = 2
    found = studentised(one_paper_has_all, KAPPA, FEW)
    assert found.values[0] > 0
    assert found.interval(0, 0.95) is None
    assert found.p_value(0, 0.0, is_above=True) is None
    assert equivalence_at(found, -1, 0.1).p_value is None


def is_equivalent(drawn: StudentisedDraws, margin: float) -> bool:
    return (equivalence_at(drawn, -1, margin).p_value or 1.0) < EQUIVALENCE_ALPHA


def test_equivalence_is_shown_where_the_interval_lies_within_the_margin() -> None:
    found = studentised(sums(), KAPPA, Resampling(seed=3, n_draws=3_000))
    widest = max(map(abs, found.interval(-1, 0.9) or ()))
    assert is_equivalent(found, widest * 1.02)
    assert not is_equivalent(found, widest * 0.98)
    p_values = [equivalence_at(found, -1, margin).p_value or 0.0 for margin in (0.01, 0.05, 0.1, 0.5)]
    assert p_values == sorted(p_values, reverse=True)


def test_a_model_that_agrees_better_is_not_worse_but_not_equivalent() -> None:
    better = sums().copy()
    better[:, 4:] = np.tile(better[:, 4:].sum(1)[:, None] / 4 * [1, 0, 0, 1], 2)  # the model says what each person says
    for papers, expected in ((better, True), (sums(model=0.3), False)):
        found = studentised(papers, KAPPA, FEW)
        is_not_worse = (equivalence_at(found, -1, 0.05).p_not_worse or 1.0) < EQUIVALENCE_ALPHA
        assert (is_equivalent(found, 0.05), is_not_worse) == (False, expected)


N_STUDIES = 100 if IS_THOROUGH else 24


@pytest.mark.parametrize("name", ["differ", "alike"] if IS_THOROUGH else ["differ"])
def test_intervals_hold_what_is_true_and_no_study_claims_too_much(name: str) -> None:
    world = WORLDS[name]
    equal = studied(world, range(N_STUDIES), methods=["studentised"])
    apart = studied(with_difference(world, "kappa", -MARGIN), range(N_STUDIES), methods=["studentised"])
    # Where each holds it by a chance of 95 %, fewer than 19 of 24 do so once in 1,000, fewer than 87 of 100 in 2,000.
    least = 100 * (0.87 if IS_THOROUGH else 19 / 24)
    for which in (-3, -2, -1):
        for tally in (equal, apart):
            assert tally.share(tally.held["studentised"], "kappa", which) >= least
    assert apart.share(apart.claimed["studentised"], "kappa", -1) <= 100 - least
    assert equal.share(equal.claimed["studentised"], "kappa", -1) >= 75
