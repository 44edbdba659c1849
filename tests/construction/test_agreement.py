"""Agreement of people and the model: measures, intervals and power against libraries, loops and laws; reports."""

import csv
import io
import itertools
import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

from evidencebench.construction.people.agreement import (
    chance_to_show,
    compare_raters,
    disagreement_table,
    disagreements_in,
    equivalence_at,
    jackknife,
    power_of,
    report_marks,
    report_ratings,
    student_quantile,
    studentised,
)
from evidencebench.construction.people.answers import Annotations, TaskAnnotation
from evidencebench.construction.people.marks import (
    MISSING,
    PAIR_MEASURES,
    Marks,
    PairSort,
    PairStatistic,
    alpha_of_counts,
    cohen_kappa,
    collect_marks,
    exact_accuracy,
    f1,
    krippendorff_alpha,
    spearman,
    sums_of,
)
from evidencebench.construction.people.tasks import (
    AnnotationTask,
    Criterion,
    FileDigest,
    TasksFile,
    TasksHeader,
    read_tasks,
    write_tasks,
)
from evidencebench.data.dataset import Dataset, open_dataset, write_dataset
from evidencebench.data.instance import Instance
from evidencebench.errors import PeopleError, RunMismatchError, UndefinedScoreError
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Resampling
from evidencebench.tables import as_csv
from examples import IS_THOROUGH, examples
from labelled_papers import marked_papers
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
    assume(table.sum() > 1)
    first, second = answers_of(table)
    assert math.isclose(exact_accuracy(table), accuracy_score(first, second))
    for measure, is_defined, theirs in (
        (f1, any(first) or any(second), f1_score),
        (cohen_kappa, len({*first, *second}) > 1, cohen_kappa_score),
        (spearman, len(set(first)) > 1 and len(set(second)) > 1, lambda *both: stats.spearmanr(*both).statistic),
    ):
        if is_defined:
            assert math.isclose(measure(table), theirs(first, second), abs_tol=1e-9)
        else:
            assert np.isnan(measure(table))


def test_alpha_of_two_raters_is_that_of_a_table_worked_by_hand() -> None:
    # 100 sentences: 90 marked by neither, 2 by the second alone, 3 by the first alone, 5 by both.
    # Pooled: 15 marks of 200; by chance 2 x 15 x 185 / (200 x 199) differ.
    expected = 1 - 0.05 / (2 * 15 * 185 / (200 * 199))
    assert math.isclose(krippendorff_alpha(np.array([90.0, 2.0, 3.0, 5.0])), expected)


@given(st.floats(0.5, 0.99), st.integers(9, 20_000))
@examples(100)
def test_the_quantiles_of_student_are_those_of_scipy(share: float, degrees: int) -> None:
    assert math.isclose(student_quantile(share, degrees), stats.t.ppf(share, degrees), abs_tol=1e-3)


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
                    task.id: TaskAnnotation(task=task.id, sentences=tuple(sorted(marked)), is_done=True)
                    for task, marked in zip(self.tasks.records, given, strict=True)
                    if marked is not None
                }
                for name, given in answers.items()
            }
        )

    def marks(self, answers: Answers, *, with_model: bool = True) -> Marks:
        """Return the marks of people, and of the labels."""
        return collect_marks(self.tasks, self.annotations(answers), dataset=self.dataset if with_model else None)


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
        model="model",
        raters=(*people, "model"),
        values=values,
        task_of=np.arange(n) % n_papers,
        paper_of=np.arange(n) % n_papers,
        kinds=tuple((Kind.BODY, Kind.ABSTRACT)[number % 2] for number in range(n)),
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
    np.testing.assert_allclose(sum(sums_of(marks.of_kind(kind))[0] for kind in Kind), sums_of(marks)[0])


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
    found = alpha_of_counts(made(values).alpha_counts(range(4)).sum(0))
    assert math.isclose(found, expected, abs_tol=1e-9)


def test_people_and_the_model_are_compared_on_what_both_judged(study: Study) -> None:
    given = study.annotations({"Ada": [(2,), (2,), (2,), None], "Bo": [(2,), (3,), None, None]})
    drafted = TaskAnnotation(task="task_3", sentences=(1,), is_done=False)  # which counts nothing
    by_annotator = {**given.by_annotator, "Bo": {**given.by_annotator["Bo"], "task_3": drafted}}
    marks = collect_marks(study.tasks, Annotations(by_annotator=by_annotator), dataset=study.dataset)
    found = compare_raters(marks, FEW, 0.05)
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert {names: (pair.sort, pair.n_tasks, pair.n_sentences) for names, pair in pairs.items()} == {
        ("Ada", "Bo"): ("human-human", 2, 16),
        ("Ada", "model"): ("human-model", 3, 24),
        ("Bo", "model"): ("human-model", 2, 16),
    }
    assert pairs["Ada", "model"].measures["kappa"].value == 1.0
    assert pairs["Ada", "Bo"].measures["f1"].value == 0.5
    (f1,) = (one for one in found.contrasts if one.measure == "f1")
    assert (f1.human_human.value, f1.human_model.value, f1.difference.value) == (0.5, 0.75, 0.25)


def test_a_team_marks_what_at_least_half_of_its_members_mark(study: Study) -> None:
    given = study.annotations(
        {"Ada": [(1, 2), (2,), None, None], "Bo": [(2,), (2,), (5,), None], "Cleo": [(2, 3), (), (), ()]}
    )
    marks = collect_marks(study.tasks, given, teams={"pair": ["Ada", "Bo"]})
    assert marks.people == ("pair", "Cleo")
    team = marks.values[0].reshape(4, 8)
    assert [np.flatnonzero(row == 1).tolist() for row in team] == [[1, 2], [2], [5], []]
    assert (team[3] == MISSING).all()
    for teams, words in (
        ({"pair": ["Ada", "Dan"]}, "no annotator 'Dan'"),
        ({"a": ["Ada"], "b": ["Ada"]}, "is in two teams"),
        ({"Cleo": ["Ada"]}, "is named as an annotator is"),
    ):
        with pytest.raises(PeopleError, match=words):
            collect_marks(study.tasks, given, teams=teams)


def test_the_decided_marks_are_compared_with_the_model_alone(study: Study) -> None:
    given = study.annotations({"Ada": [(2,), (2,), (1,), (2,)], "Bo": [(2,), (3,), (1,), None]})
    decision = TaskAnnotation(task="task_1", sentences=(2,), is_done=True, decided_by="Cleo")
    marks = collect_marks(study.tasks, replace(given, adjudicated={"task_1": decision}), dataset=study.dataset)
    found = compare_raters(marks, FEW, 0.05)
    (decided,) = (pair for pair in found.pairs if pair.sort == "decided-model")
    # The decision, and the two tasks on which both agree; the last one was seen by one person alone.
    assert (decided.first, decided.n_tasks, decided.n_marked_first) == ("decided", 3, 3)
    namesake = study.annotations({"decided": [(2,), (2,), (1,), (2,)]})
    with pytest.raises(PeopleError, match="give that annotator another name"):
        collect_marks(study.tasks, replace(namesake, adjudicated={"task_1": decision}))
    without = compare_raters(collect_marks(study.tasks, given, dataset=study.dataset), FEW, 0.05)
    assert [one.human_model.value for one in found.contrasts] == [one.human_model.value for one in without.contrasts]


def test_what_is_undefined_is_no_number(study: Study) -> None:
    nothing = report_marks(study.marks({"Ada": [()] * 4, "Bo": [()] * 4}), resampling=FEW, margin=0.05)
    (people, *_) = nothing.everything.pairs
    assert [found.value for found in people.measures.values()] == [1.0, None, None, None, None]
    assert nothing.everything.alpha_people.value is None
    for one in nothing.everything.contrasts:
        assert (one.difference.value is None) is (one.measure != "accuracy")
        assert one.p_value is None
        assert one.equivalence is None or not one.equivalence.is_shown
    assert [power.now for power in nothing.power] == [None, None]


def test_one_annotator_is_compared_with_the_model_and_nobody_with_nobody(study: Study) -> None:
    report = report_marks(study.marks({"Ada": [(2,)] * 4}), resampling=FEW, margin=0.05)
    assert [pair.sort for pair in report.everything.pairs] == ["human-model"]
    assert report.everything.contrasts == ()
    assert report.power == ()
    with pytest.raises(UndefinedScoreError, match="expected two raters to compare, got 1"):
        report_marks(study.marks({"Ada": [(2,)] * 4}, with_model=False), resampling=FEW, margin=0.05)


def test_measures_are_in_the_report_as_they_are_computed_and_alpha_of_all_people_is_that_of_two(study: Study) -> None:
    marks = study.marks({"Ada": [(2,), (2,), (1,), ()], "Bo": [(2,), (3,), (1, 2), (2,)]})
    found = compare_raters(marks, FEW, 0.05)
    assert found.alpha_people == found.pairs[0].measures["alpha"]
    assert found.alpha_all.value == pytest.approx(float(alpha_of_counts(marks.alpha_counts(range(3)).sum(0))))
    for number, (_, first, second) in enumerate(marks.pairs):
        for name, measure in PAIR_MEASURES.items():
            expected = float(measure(marks.tables(first, second).sum(0)))
            assert found.pairs[number].measures[name].value == pytest.approx(expected)


def test_the_labels_must_be_of_the_tasks(study: Study, tmp_path: Path) -> None:
    given = study.annotations({"Ada": [(2,)] * 4})
    texts = {"a2": "?", "a5": "?"}
    papers = marked_papers(4)
    reworded = [replace(one, labels=replace(one.labels, texts=texts)) for one in papers]
    sentences = ("?", *papers[0].query.sentences[1:])
    changed = [replace(one, query=replace(one.query, sentences=sentences)) for one in papers]
    for name, others, words in (
        ("fewer", marked_papers(3), "no instance 'i4'"),
        ("changed", changed, "has other sentences than task 'task_0'"),
        ("worded", reworded, "another text of aspect 'a2'"),
    ):
        (tmp_path / name).mkdir()
        with pytest.raises(RunMismatchError, match=words):
            collect_marks(study.tasks, given, dataset=study_at(tmp_path / name, others).dataset)
    with pytest.raises(PeopleError, match="choose another --model-name"):
        collect_marks(study.tasks, given, dataset=study.dataset, model_name="Ada")


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
    rows = list(csv.DictReader(io.StringIO(as_csv(disagreement_table(found, marks.raters)))))
    assert rows[0]["sentence"] == "'=1+1"
    assert (rows[1]["Ada"], rows[1]["Bo"], rows[1]["model"]) == ("yes", "no", "yes")


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
def test_ratings_are_counted_by_rater_and_by_majority(drawn: list[tuple[bool | None, ...]]) -> None:
    header = TasksHeader(
        sort="hypotheses",
        seed=0,
        data=FileDigest(name="d", sha256=""),
        criteria=(Criterion(name="valuable", question="?"),),
    )
    with tempfile.TemporaryDirectory() as folder:
        tasks = replace(study_at(Path(folder), marked_papers(len(drawn))).tasks, header=header)
    by_annotator = {
        f"rater {n}": {
            task: TaskAnnotation(task=task, ratings={"valuable": said}, is_done=True)
            for task, given in zip(tasks.by_id, drawn, strict=True)
            if (said := given[n]) is not None
        }
        for n in range(3)
    }
    judged = [[one for one in said if one is not None] for said in drawn]
    if not any(judged):
        with pytest.raises(UndefinedScoreError, match="no annotator is done"):
            report_ratings(tasks, Annotations(by_annotator=by_annotator))
        return
    report = report_ratings(tasks, Annotations(by_annotator=by_annotator))
    found = {one.rater: (one.n_yes, one.n) for one in report.shares}
    for n in range(3):
        of_rater = [one[n] for one in drawn if one[n] is not None]
        assert found.get(f"rater {n}") == ((sum(map(bool, of_rater)), len(of_rater)) if of_rater else None)
    if "majority" in found:
        assert found["majority"] == (sum(2 * sum(one) > len(one) for one in judged if one), sum(map(bool, judged)))
    assert report.n_unanimous["valuable"] == sum(len(one) > 1 and len(set(one)) == 1 for one in judged)


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
    drawn = FEW.generator().multinomial(30, np.full(30, 1 / 30), size=FEW.n_draws).astype(np.float64)
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


def test_equivalence_is_shown_where_the_interval_lies_within_the_margin() -> None:
    found = studentised(sums(), KAPPA, FEW)
    low, high = interval(sums(), -1, 0.9)
    widest = max(abs(low), abs(high))
    assert equivalence_at(found, -1, widest * 1.02).is_shown
    assert not equivalence_at(found, -1, widest * 0.98).is_shown
    p_values = [equivalence_at(found, -1, margin).p_value or 0.0 for margin in (0.01, 0.05, 0.1, 0.5)]
    assert p_values == sorted(p_values, reverse=True)


def test_a_model_that_agrees_better_is_not_worse_but_not_equivalent() -> None:
    better = sums().copy()
    better[:, 4:] = np.tile(better[:, 4:].sum(1)[:, None] / 4 * [1, 0, 0, 1], 2)  # the model says what each person says
    found = equivalence_at(studentised(better, KAPPA, FEW), -1, 0.05)
    assert (found.is_shown, found.is_not_worse) == (False, True)
    worse = equivalence_at(studentised(sums(model=0.3), KAPPA, FEW), -1, 0.05)
    assert (worse.is_shown, worse.is_not_worse) == (False, False)


def test_power_is_what_the_normal_distribution_says_for_many_papers() -> None:
    n, margin = 400, 0.03
    papers = sums()
    _, errors = jackknife(papers, np.ones((1, 30)), KAPPA)
    # The jackknife divides by n - 1, a study of n papers drawn from these by their number.
    error = errors[0, -1] * math.sqrt(29 / n)
    reach = margin / error - student_quantile(0.95, n - 1)
    expected = 2 * stats.norm.cdf(reach) - 1
    assert abs(chance_to_show(papers, KAPPA, n=n, margin=margin, seed=0) - expected) < 0.06


def test_the_papers_that_are_needed_have_the_power() -> None:
    found = power_of(sums(), KAPPA, margin=0.06)
    assert found.needed is not None
    for n, is_enough in ((found.needed, True), (found.needed * 0.9, False)):
        chance = chance_to_show(sums(), KAPPA, n=int(n), margin=0.06, seed=0)
        assert (chance >= 0.8) is is_enough


@pytest.mark.parametrize("n", [10, 30])
def test_papers_that_are_all_alike_allow_no_estimate_of_power(n: int) -> None:
    assert power_of(np.repeat(sums(1), n, axis=0), KAPPA, margin=0.05).now is None


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
