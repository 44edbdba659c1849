"""The report compares who should be compared, on what both judged, and says in words what is undefined."""

import csv
import io
import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.people.agreement import (
    compare_raters,
    disagreement_table,
    disagreements_in,
    report_marks,
    report_ratings,
)
from evidencebench.construction.people.answers import Annotations, TaskAnnotation
from evidencebench.construction.people.marks import (
    MISSING,
    PAIR_MEASURES,
    Marks,
    alpha_of_counts,
    collect_marks,
    sums_of,
)
from evidencebench.construction.people.tasks import Criterion, FileDigest, TasksHeader
from evidencebench.errors import PeopleError, RunMismatchError, UndefinedScoreError
from evidencebench.query import Kind
from evidencebench.scoring.resampling import Resampling
from evidencebench.tables import as_csv
from examples import examples
from rated_papers import Study, marked_papers, study_at

FEW = Resampling(n_draws=200)


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
    counts = np.zeros(3)
    for column in drawn:
        judged = [value for value in column if value != MISSING]
        if len(judged) > 1:
            m, u = len(judged), sum(judged)
            counts += [u * (m - u) / (m - 1), m - u, u]
    np.testing.assert_allclose(marks.alpha_counts(range(4)).sum(0), counts)
    np.testing.assert_allclose(sum(sums_of(marks.of_kind(kind))[0] for kind in Kind), sums_of(marks)[0])


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
    reworded = [replace(one, labels=replace(one.labels, texts=texts)) for one in marked_papers(4)]
    for name, papers, words in (
        ("fewer", marked_papers(3), "no instance 'i4'"),
        ("longer", marked_papers(4, n_sentences=9), "has other sentences than task 'task_0'"),
        ("worded", reworded, "another text of aspect 'a2'"),
    ):
        (tmp_path / name).mkdir()
        with pytest.raises(RunMismatchError, match=words):
            collect_marks(study.tasks, given, dataset=study_at(tmp_path / name, papers).dataset)
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
