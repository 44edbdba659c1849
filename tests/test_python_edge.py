"""Python takes what people write: any object that ranks, names of tasks and data, text as paths, dicts of answers."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, get_args, get_type_hints

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evidencebench
from doors import (
    AnswerError,
    Diverse,
    EmbedderTraining,
    Failure,
    FinderTraining,
    FormatError,
    Fuse,
    Oracle,
    RerankerTraining,
    RunError,
    RunMismatchError,
    SystemSpecError,
    TaskError,
    TfIdf,
    UnreadableError,
    board_of,
    fetch,
    mean_recalls,
    read_run,
    report_page,
    sample_path,
    score_runs,
    solve_file,
    systems_table,
    validate_files,
    write_examples,
)
from evidencebench import (
    BM25,
    TASKS,
    CrossValidation,
    EvidenceWarning,
    Experiment,
    Instance,
    Labels,
    Query,
    Ranking,
    RankingTask,
    Resampling,
    Rules,
    Task,
    TaskScores,
    Traits,
    answer_instance,
    answers_from,
    answers_of,
    answers_of_frame,
    compare,
    cross_validate,
    evaluate,
    execute,
    load_sample,
    make_system,
    open_dataset,
    open_run,
    place_breakdown,
    rank_by_score,
    select,
    write_dataset,
)

SAMPLE = load_sample()
FIRST = SAMPLE.ids[0]
TASK = TASKS["er_at_10"]
FEW = Resampling(n_draws=20)


class Backwards:
    """A system of somebody's own: no dataclass, no protocol, nothing but the method."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the protocol's
        return Ranking(sentences=tuple(range(len(query.sentences)))[::-1])


@dataclass(frozen=True, kw_only=True)
class Longest:
    """A system of somebody's own with an option."""

    sign: int = 1

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the protocol's
        return rank_by_score([self.sign * len(text) for text in query.sentences])


def recall(source: Any, dataset: Any = SAMPLE, tasks: Any = TASK) -> float:
    scores = evaluate({"it": source}, dataset, tasks)["it"][TASK.name]
    return float(scores.scores["aspect_recall"].mean())


def test_any_object_that_ranks_is_a_system() -> None:
    assert recall(BM25()) == recall(answers_from(BM25())) == recall(answers_from(make_system("bm25")))
    assert recall(Backwards()) == recall(answers_from(Backwards())) > 0
    assert recall(Oracle()) == recall(make_system("oracle"))
    found = answer_instance(Backwards(), SAMPLE[0], "er_at_10")
    assert isinstance(found, Ranking)
    assert found.sentences[0] == len(SAMPLE[0].query.sentences) - 1


ORDERED: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "array of numbers in an order": lambda order: np.argsort(np.argsort(order)),
    "generator": lambda order: (index for index in order),
    "dict's keys": lambda order: dict.fromkeys(order).keys(),
    "ranking": lambda order: Ranking(sentences=tuple(order)),
    "scores": lambda order: {index: -place for place, index in enumerate(order)},
}


def last_first(query: Query) -> list[int]:
    return list(range(len(query.sentences)))[::-1]


class Ordered:
    """Ranks the last sentence first, in a form that any library might give."""

    def __init__(self, form: str) -> None:
        self.form = form

    def rank(self, query: Query, _: RankingTask) -> Any:
        return ORDERED[self.form](last_first(query))


@pytest.mark.parametrize("form", ORDERED)
def test_what_has_an_order_ranks_whoever_gives_it(form: str, tmp_path: Path) -> None:
    system = Ordered(form)
    expected = recall(Ordered("ranking"))
    assert recall(system.rank) == expected
    assert recall(system) == expected
    assert recall({one.id: system.rank(one.query, RankingTask(budget=None)) for one in SAMPLE}) == expected
    (found,) = Experiment({"mine": system}, SAMPLE, tasks=TASK, controls=(), folder=tmp_path).scored.scores.values()
    assert found[TASK.name].scores["aspect_recall"].mean() == expected


def test_only_a_set_has_no_order() -> None:
    of_set = recall(lambda query, _: set(last_first(query)))
    assert of_set == recall(lambda query, _: frozenset(last_first(query))) != recall(Ordered("list"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda query: [0.5] * len(query.sentences), "got 0.5; of scores, one a sentence, rank_by_score"),
        (
            lambda query: [index % 3 for index in last_first(query)],
            "one a sentence, of which some are equal; of scores",
        ),
        (lambda _: [True, False], r"whole numbers.*got True"),
        (lambda _: np.zeros((2, 2), int), "whole numbers"),
    ],
)
def test_ratings_are_no_indices(given: Callable[[Query], Any], message: str) -> None:
    with pytest.warns(EvidenceWarning, match=message):
        assert recall(lambda query, _: given(query)) == 0


def test_columns_and_frames_are_read_as_what_they_are() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    torch = pytest.importorskip("torch")
    expected = recall(Ordered("list"))
    for form in (pandas.Series, polars.Series, torch.tensor):
        assert recall(lambda query, _, form=form: form(last_first(query))) == expected
    columns = {"qid": [FIRST, FIRST], "docno": ["2", "4"], "score": [2.0, 1.0]}
    for frame in (pandas.Series({FIRST: [2, 4]}), pandas.DataFrame(columns), polars.DataFrame(columns)):
        with pytest.raises(TypeError, match=r"is data; give a dict .*answers_of_frame"):
            recall(frame)
    for of_frame, message in {
        "score": (
            polars.DataFrame(columns | {"score": [None, 1.0]}),
            "'2': expected a finite number as score, got None",
        ),
        "lazy": (polars.DataFrame(columns).lazy(), "got LazyFrame; collect it first"),
        "dict": (columns, "data frame, got dict"),
    }.values():
        with pytest.raises(AnswerError, match=message):
            answers_of_frame(of_frame)


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (BM25, r"class BM25; .*BM25\(\)"),
        ("bm25", "'bm25'; .*make_system"),
        (3, r"rank\(query, task\) .*got int"),
        ([1, 2], "got list"),
    ],
)
def test_what_cannot_answer_is_refused_in_words(system: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        answers_from(system)
    with pytest.raises(TypeError, match=f"source 'mine': .*{message}.*a run or a dict"):
        evaluate({"mine": system}, SAMPLE, [TASK])
    with pytest.raises(TypeError, match=r"sources: .*\{'bm25': BM25\(\)\}"):
        evaluate(system, SAMPLE, [TASK])


def test_an_object_is_run_into_a_file_under_the_name_and_options_that_make_it_again(tmp_path: Path) -> None:
    execute(BM25(k1=1.25), "sample", tmp_path / "object.jsonl")
    assert execute("bm25:k1=1.25", SAMPLE, tmp_path / "object.jsonl").n_resumed == len(SAMPLE)  # the same run
    execute(Longest(sign=-1), SAMPLE, tmp_path / "own.jsonl")
    own = open_run(tmp_path / "own.jsonl").header
    assert own is not None
    assert (own.system.options, own.system.name.endswith(":Longest")) == ({"sign": -1}, True)
    with pytest.raises(RunMismatchError, match="sign was -1"):
        execute(Longest(), SAMPLE, tmp_path / "own.jsonl")


def test_an_object_with_attributes_is_known_by_them_and_none_is_written(tmp_path: Path) -> None:
    system = Backwards()
    system.key = "sk-secret"  # type: ignore[attr-defined]
    for _ in range(2):
        execute(system, SAMPLE, tmp_path / "run.jsonl")
    assert "secret" not in (tmp_path / "run.jsonl").read_text()
    system.key = "sk-other"  # type: ignore[attr-defined]
    with pytest.raises(RunMismatchError, match="settings: attributes changed; "):
        execute(system, SAMPLE, tmp_path / "run.jsonl")


def test_an_object_that_no_process_can_make_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(SystemSpecError, match="one process, got jobs=2; name it by a specification"):
        execute(BM25(), SAMPLE, tmp_path / "run.jsonl", jobs=2)


def test_the_systems_that_an_object_asks_may_be_objects_too(tmp_path: Path) -> None:
    spec = "fuse:systems=[bm25:k1=1.2+diverse:system=tfidf]"
    fused = Fuse(systems=(BM25(k1=1.2), Diverse(system=TfIdf())))  # type: ignore[arg-type]
    assert recall(fused) == recall(make_system(spec))
    execute(fused, SAMPLE, tmp_path / "run.jsonl")
    assert execute(spec, SAMPLE, tmp_path / "run.jsonl").n_resumed == len(SAMPLE)  # the same run
    read: list[int | None] = []

    class Reader(Backwards):
        traits = Traits(reads_task=True)

        def rank(self, query: Query, task: RankingTask) -> Ranking:
            read.append(task.budget)
            return super().rank(query, task)

    evaluate({"it": Fuse(systems=(Reader(), BM25()))}, SAMPLE[:1], ["er_at_10", "er_at_5"])  # type: ignore[arg-type]
    assert read == [10, 5]  # each task asks anew, as the part of it says


def test_a_task_is_a_task_or_its_name_and_one_needs_no_list(tmp_path: Path) -> None:
    for tasks in ("er_at_10", ["er_at_10"], TASK, (TASK, "er_at_10")):
        assert set(evaluate({"bm25": BM25()}, SAMPLE, tasks)["bm25"]) == {"er_at_10"}
        execute("bm25", SAMPLE, tmp_path / "run.jsonl", tasks=tasks)  # the same run each time
        assert set(score_runs(tmp_path / "run.jsonl", SAMPLE, tasks).scores["bm25"]) == {"er_at_10"}
        (one,) = Experiment([BM25()], SAMPLE, tasks=tasks, draws=20).controls().found
        assert one.comparison.task.name == "er_at_10"
        folds = CrossValidation(systems="bm25", tasks=tasks, n_folds=2, n_seeds=1, resampling=FEW)
        (found,) = cross_validate(folds, SAMPLE)
        assert set(found.tasks) == {"er_at_10"}


def test_data_is_a_data_set_its_name_its_path_or_a_list_of_instances() -> None:
    some: list[Instance] = SAMPLE[:4]
    whole = [recall(BM25(), data) for data in (SAMPLE, "sample", sample_path(), str(sample_path()), list(SAMPLE))]
    assert len(set(whole)) == 1
    assert recall(BM25(), some) == recall(BM25(), iter(some))
    assert evaluate({"bm25": BM25()}, some, TASK, limit=2)["bm25"][TASK.name].ids == SAMPLE.ids[:2]


def test_the_sample_is_opened_by_its_name_and_a_file_of_a_catalogue_name_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_DATA", str(tmp_path / "data"))
    assert open_dataset("sample").ids == SAMPLE.ids
    with pytest.raises(UnreadableError, match=r"train: .*'evidencebench data download"):
        open_dataset("train")
    (tmp_path / "data").mkdir()
    write_dataset(tmp_path / "data" / "evidencebench_train_set.json", SAMPLE[:2])
    assert open_dataset("train").ids == SAMPLE.ids[:2]
    with pytest.raises(UnreadableError, match=r"trian: .*file"):
        open_dataset("trian")
    with pytest.raises(UnreadableError):
        open_dataset("absent.json")
    with pytest.raises(UnreadableError):
        open_dataset(Path("train"))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"tasks": "er_10"}, TaskError, "'er_10'"),
        *(
            ({"tasks": tasks}, TypeError, f"tasks: .*'er_at_10', got {got}")
            for tasks, got in ((["er_at_10", 5], 5), (10, 10), ([None], None))
        ),
        ({"limit": 0}, ValueError, "limit: .*at least 1, or None.*0"),
        ({"dataset": 5}, TypeError, "path of one or a catalogue name, got int"),
        ({"dataset": [BM25()]}, TypeError, "BM25 among them"),
        ({"dataset": [SAMPLE[0], SAMPLE[0]]}, FormatError, f"'{FIRST}' .*once"),
    ],
)
def test_what_is_no_task_no_limit_and_no_data_is_refused_in_words(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments: dict[str, Any] = {"dataset": SAMPLE, "tasks": TASK, **given}
    with pytest.raises(error, match=message):
        evaluate({"bm25": BM25()}, **arguments)


def test_a_measure_that_there_is_not_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"'recall' .*did you mean 'aspect_recall'"):
        evaluate({"bm25": BM25()}, SAMPLE, TASK)["bm25"][TASK.name].estimate("recall")


def scores_of(answers: Mapping[str, Any], data: Any = SAMPLE) -> TaskScores:
    return evaluate({"mine": answers}, data, TASK)["mine"][TASK.name]


@given(st.lists(st.integers(0, 30), max_size=8, unique=True))
def test_a_dict_of_indices_scores_as_the_file_that_holds_it(
    tmp_path_factory: pytest.TempPathFactory, picked: list[int]
) -> None:
    path = tmp_path_factory.mktemp("answers") / "answers.json"
    path.write_text(f'{{"{FIRST}": {picked}}}')
    expected = evaluate({"mine": open_run(path)}, SAMPLE, TASK)["mine"][TASK.name]
    for answer in (picked, tuple(picked), set(picked), np.array(picked, dtype=np.int64)):
        found = scores_of({FIRST: answer})
        assert found.counts == expected.counts
        np.testing.assert_array_equal(found.scores["aspect_recall"], expected.scores["aspect_recall"])


@given(st.dictionaries(st.integers(0, 30), st.floats(-5, 5), max_size=20))
def test_scores_by_sentence_rank_as_the_trec_run_that_holds_them(
    tmp_path_factory: pytest.TempPathFactory, scored: dict[int, float]
) -> None:
    by_text = {str(index): score for index, score in scored.items()}
    by_name = {f"{FIRST}#{index:05}": score for index, score in scored.items()}
    found = [answers_of({FIRST: one})(SAMPLE[0], TASK) for one in (scored, by_text, by_name)]
    assert found[0] == found[1] == found[2]
    assert isinstance(found[0], Ranking)
    if scored:
        path = tmp_path_factory.mktemp("runs") / "run.trec"
        path.write_text("".join(f"{FIRST} Q0 {name} 1 {score!r} me\n" for name, score in by_text.items()))
        assert found[0] == open_run(path).answer(FIRST, None)


def test_rankings_and_failures_in_a_dict_are_what_they_are_and_what_is_not_there_is_missing() -> None:
    ranking = Ranking(sentences=tuple(range(30)))
    found = scores_of({FIRST: ranking, SAMPLE.ids[1]: None, SAMPLE.ids[2]: Failure(error="no"), SAMPLE.ids[3]: []})
    assert (found.counts.failed, found.counts.empty, found.counts.missing) == (2, 1, 6)
    assert found.errors[SAMPLE.ids[2]] == "no"  # and nothing is warned of
    for measure in ("aspect_recall", "coverable_aspect_recall", "precision", "relative_recall"):
        assert list(found.scores[measure][1:]) == [0.0] * (len(SAMPLE) - 1)
    assert found.selections[0].certain == tuple(range(10))


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ({FIRST: "3, 4"}, AnswerError, f"answers: {FIRST}: .*sentence indices, .*'3, 4'"),
        ({FIRST: 3}, AnswerError, "sentence indices, .*int"),
        ({FIRST: [1.5]}, AnswerError, "whole numbers, .*1.5"),
        ({FIRST: [True]}, AnswerError, "whole numbers, .*True"),
        ({FIRST: ["1"]}, AnswerError, "whole numbers, .*'1'"),
        ({FIRST: {"a": 1.0}}, AnswerError, "index of a sentence .*id#index, got 'a'"),
        ({FIRST: {"9" * 5000: 1.0}}, AnswerError, "index of a sentence .*'9999"),
        ({FIRST: {"x#00001": 1.0}}, AnswerError, f"sentence of '{FIRST}', got 'x#00001'"),
        ({FIRST: {1: "high"}}, AnswerError, "1: .*score"),
        ({FIRST: {1: "1_0.5"}}, AnswerError, "1: .*'1_0.5'"),
        ({FIRST: {1: float("nan")}}, AnswerError, "1: .*finite score, got nan"),
        ({1: [2]}, AnswerError, "instance ids as keys, got 1"),
        ({FIRST: [9999]}, AnswerError, "mine: .*9999, .*sentences 0"),
        ({"nobody": [1]}, RunMismatchError, "mine: .*'nobody', .*ids look like"),
    ],
)
def test_answers_that_are_none_are_refused_in_words(answers: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        scores_of(answers)


def test_answers_may_be_for_more_than_the_instances_in_a_list_but_not_for_none_of_them() -> None:
    answers = {instance_id: [0, 1, 2] for instance_id in SAMPLE.ids}
    assert scores_of(answers, SAMPLE[:3]).counts.missing == 0
    with pytest.raises(RunMismatchError):
        scores_of({SAMPLE.ids[1]: [0]}, SAMPLE[:1])


def test_a_run_is_a_source_as_it_is_and_one_of_other_data_is_refused(tmp_path: Path) -> None:
    execute("bm25", SAMPLE, str(tmp_path / "run.jsonl"))
    run = open_run(str(tmp_path / "run.jsonl"))
    assert recall(run) == recall(answers_of(run)) == recall(BM25())
    write_dataset(tmp_path / "part.json", SAMPLE[:5])
    with pytest.raises(RunMismatchError, match=r"run\.jsonl: .*sample\.json"):
        recall(run, tmp_path / "part.json")


NAMED = [getattr(evidencebench, name) for name in dir(evidencebench)]
PUBLIC: list[Callable[..., Any]] = [
    *filter(inspect.isfunction, NAMED),
    *(cross_validate, fetch, score_runs, read_run, report_page, solve_file, validate_files, write_examples),
    *(EmbedderTraining.fit, FinderTraining.fit, RerankerTraining.fit),
]


@pytest.mark.parametrize("function", PUBLIC, ids=lambda one: one.__qualname__)
def test_no_public_function_takes_a_path_and_no_text(function: Callable[..., Any]) -> None:
    taken = SimpleNamespace(__annotations__={**function.__annotations__, "return": None})
    for name, hint in get_type_hints(taken, function.__globals__, {"httpx": httpx}).items():  # httpx: an extra
        assert not names_path(hint), f"{name}: expected str or Path, got {hint}"


def names_path(hint: Any) -> bool:
    return hint is Path or any(map(names_path, get_args(hint)))


def first_sentences(query: Query, task: RankingTask) -> list[int]:
    """A system as a function: as many sentences as count, from the start."""
    return [*range(min(task.budget or 0, len(query.sentences)))]


def test_a_function_of_query_and_task_is_a_system_everywhere(tmp_path: Path) -> None:
    lead = evaluate({"lead": make_system("lead")}, SAMPLE, TASK)["lead"][TASK.name]
    assert recall(first_sentences) == recall(answers_from(first_sentences)) == lead.mean_recall
    assert isinstance(answer_instance(first_sentences, SAMPLE[0], TASK), Ranking)
    for _ in range(2):
        report = execute(first_sentences, SAMPLE, tmp_path / "run.jsonl", tasks=TASK)
    assert report.n_resumed == len(SAMPLE)
    run = open_run(tmp_path / "run.jsonl")
    assert run.header is not None
    assert run.header.system.name == f"{__name__}:first_sentences"
    assert recall(run) == lead.mean_recall
    (control,) = Experiment([first_sentences], SAMPLE, tasks=TASK).controls().found
    assert control.comparison.test.difference.mean == 0


def test_a_function_that_is_written_anew_under_its_name_is_another_system(tmp_path: Path) -> None:
    def system(query: Query, task: RankingTask) -> list[int]:  # noqa: ARG001 - the contract's signature
        return [0]

    execute(system, SAMPLE, tmp_path / "run.jsonl", tasks=TASK)

    def system(query: Query, task: RankingTask) -> list[int]:  # type: ignore[no-redef] # noqa: ARG001 - as in a notebook
        return [1]

    with pytest.raises(RunMismatchError, match="settings: function changed; "):
        execute(system, SAMPLE, tmp_path / "run.jsonl", tasks=TASK)


def test_a_function_sees_no_labels_and_may_say_what_it_reads() -> None:
    seen: list[Any] = []

    def spy(*given: Any) -> list[int]:
        seen.append(given)
        return []

    spy.traits = Traits(selects=True, reads_task=False)  # type: ignore[attr-defined] # as its user writes it
    evaluate({"spy": spy}, SAMPLE[:3], [TASK, "result_er_at_5"])
    assert [[type(one) for one in given] for given in seen] == [[Query, RankingTask]] * 3


def test_a_function_that_gives_no_answer_has_failed() -> None:
    for wrong, error in ((None, "AnswerError: .*got None"), ("4", "AnswerError: .*'4'")):
        with pytest.warns(EvidenceWarning, match=error):
            recall(lambda *_, it=wrong: it, SAMPLE[:1])
    with pytest.raises(TypeError, match="def or lambda, got partial"):
        execute(partial(first_sentences), SAMPLE, "unused.jsonl", tasks=TASK)


@dataclass(frozen=True)
class Cheat:
    """A system of somebody's own that is given the labels."""

    traits: ClassVar[Traits] = Traits(knows_labels=True)

    def rank_knowing(self, labels: Labels, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=tuple(sorted({index for found in labels.sources.values() for index in found})))


def test_an_own_system_that_is_given_the_labels_is_marked_in_runs_and_tables(tmp_path: Path) -> None:
    knowing: Any = Cheat()
    with pytest.warns(EvidenceWarning, match="labels"):
        execute(knowing, SAMPLE, tmp_path / "cheat.jsonl", tasks=TASK)
    execute("bm25", SAMPLE, tmp_path / "bm25.jsonl", tasks=TASK)
    with pytest.warns(EvidenceWarning, match="labels"):
        scored = score_runs([tmp_path / "cheat.jsonl", tmp_path / "bm25.jsonl"], SAMPLE)
    (label,) = (name for name in scored.runs if "Cheat" in name)
    ranks = {row.system: row.rank for row in board_of(scored, TASK).standings}
    assert ranks[label] is None
    assert ranks["bm25"] is not None
    assert {row.name: row.sort for row in systems_table(scored).rows}[label] == "ceiling"
    with pytest.raises(SystemSpecError, match="given the labels"):
        make_system(f"stored:run={tmp_path / 'cheat.jsonl'}")


@pytest.mark.parametrize("wrong", ["bm25", None, BM25, 3])
def test_public_functions_say_what_they_expected_where_they_got_something_else(wrong: Any) -> None:
    got = {"bm25": "'bm25'", BM25: "the class BM25"}.get(wrong, repr(wrong))
    scores: Any = evaluate({"it": BM25()}, SAMPLE[:1], TASK)["it"][TASK.name]
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: compare(wrong, scores), "the scores of a system on a task"),
        (lambda: compare(scores, wrong), "the scores of a system on a task"),
        (lambda: place_breakdown(wrong, SAMPLE), "the scores of a system on a task"),
        (lambda: evidencebench.scores_frame(wrong), "what evaluate returns"),
        (lambda: evidencebench.coverage_of(wrong), "the labels of an instance"),
        (lambda: evidencebench.minimum_cover(wrong), "what coverage_of returns"),
        (lambda: evidencebench.maximum_coverage(wrong, 3), "what coverage_of returns"),
        (lambda: evidencebench.find_evidence(wrong, "Tea helps."), r"a paper, as read_paper\(PATH\) returns it"),
        (lambda: evidencebench.aspect_recall(wrong, evidencebench.coverage_of(SAMPLE[0].labels)), "a selection"),
        (lambda: select(wrong, 3), "a Ranking"),
        (lambda: rank_by_score(wrong), "scores, one number a sentence"),
    ]
    if not isinstance(wrong, str):
        calls.append((lambda: make_system(wrong), "a specification, such as 'bm25:k1=1.2'"))
        calls.append((lambda: evidencebench.run_dict(wrong), "a run, its path, or a dict of answers"))
    for call, expected in calls:
        with pytest.raises(TypeError, match=f"expected {expected}") as caught:
            call()
        assert got in str(caught.value) or repr(wrong)[:9] in str(caught.value)


def test_a_system_that_takes_other_parameters_is_refused_before_it_is_asked() -> None:
    class Half:
        def rank(self, query: Query) -> list[int]:
            return [*range(len(query.sentences))]

    for system, got in (
        (lambda query: query.sentences, r"<lambda>\(query\)"),
        (lambda query, task, more: [query, task, more], r"<lambda>\(query, task, more\)"),
        (Half(), r"Half\.rank\(query: "),
    ):
        with pytest.raises(TypeError, match=rf"source 'own': expected two parameters, query and task, got .*{got}"):
            evaluate({"own": system}, SAMPLE, "er_at_10")  # type: ignore[dict-item] # what is tried
    with pytest.raises(TypeError, match=r"got a dict; the order is evaluate\(systems, data, tasks\)"):
        evaluate(SAMPLE, {"own": BM25()}, "er_at_10")  # type: ignore[arg-type, dict-item] # what is tried


class Divides:
    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=tuple(range(self.share(query))))

    def share(self, query: Query) -> int:
        return len(query.sentences) if query.instance_id == FIRST else 1 // 0


def line_of(function: Callable[..., Any]) -> int:
    return inspect.getsourcelines(function)[1]


def test_an_error_of_a_system_is_told_with_its_place_kept_and_raised_on_request() -> None:
    place = f"{__file__}:{line_of(Divides.share) + 1}"
    told = (
        f"mine: 9 of 10 answers to er_at_10 failed, and each scores 0; the first, {SAMPLE.ids[1]}: ZeroDivisionError: "
        f"integer division or modulo by zero ({place}); evaluate(..., raise_errors=True) raises it"
    )
    with pytest.warns(EvidenceWarning, match=f"^{re.escape(told)}$") as caught:
        found = evaluate({"mine": Divides(), "other": BM25()}, "sample", "er_at_10")["mine"]["er_at_10"]
    assert (len(caught), caught[0].filename) == (1, __file__)
    assert list(found.errors) == list(SAMPLE.ids[1:])
    assert set(found.errors.values()) == {f"ZeroDivisionError: integer division or modulo by zero ({place})"}
    with pytest.raises(ZeroDivisionError) as raised:
        evaluate({"mine": Divides()}, "sample", "er_at_10", raise_errors=True)
    assert raised.traceback[-1].name == "share"
    with pytest.warns(EvidenceWarning, match="Divides, two papers: 9 of 10"):
        Experiment({"mine": Divides()}, SAMPLE, tasks="er_at_10", controls="two_papers").controls()


def test_an_answer_that_is_no_ranking_is_told_with_the_function_that_gave_it() -> None:
    def rank(*_: object) -> Any:
        return "1, 2, 3"

    mine = SimpleNamespace(rank=rank)
    told = rf"got '1, 2, 3' \({re.escape(__file__)}:{line_of(rank)}\); evaluate"
    with pytest.warns(EvidenceWarning, match=told):
        evaluate({"mine": mine}, "sample", "er_at_10")
    with pytest.raises(AnswerError, match="Ranking"):
        evaluate({"mine": mine}, "sample", "er_at_10", raise_errors=True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_an_interrupt_within_a_system_is_no_failed_answer(error: type[BaseException]) -> None:
    def rank(*_: object) -> Any:
        raise error

    with pytest.raises(error):
        evaluate({"mine": SimpleNamespace(rank=rank)}, "sample", "er_at_10")


Cut = Callable[[Query, RankingTask], Ranking]


def over_shorter_list(query: Query, _: RankingTask) -> Ranking:
    """Score the sentences that are no headings, whose indices are then others."""
    return rank_by_score([len(text) for text in query.sentences if len(text) > 40])


@pytest.mark.parametrize(
    ("rank", "told"),
    [
        (lambda *_: Ranking(sentences=(2, 0, 9)), "10 of 10 answers to er_at_10 .*the first 3"),
        (over_shorter_list, r"\d+ of 10 answers to er_at_10 .*the first \d+"),
    ],
)
def test_a_ranking_that_cannot_be_whole_is_told(rank: Cut, told: str) -> None:
    expected = f"^mine: {told} of {len(SAMPLE[0].query.sentences)}; .*every sentence"
    with pytest.warns(EvidenceWarning, match=expected):
        evaluate({"mine": SimpleNamespace(rank=rank)}, SAMPLE, "er_at_10")


@pytest.mark.parametrize(
    ("rank", "traits"),
    [
        (lambda _, task: Ranking(sentences=tuple(range(20))[: task.budget]), Traits(reads_task=True)),
        (lambda query, _: Ranking(sentences=tuple(range(len(query.sentences)))[::-1][:25]), Traits()),
        (lambda *_: Ranking(sentences=(4, 2), ordered=False), Traits()),
        (lambda *_: Ranking(sentences=(4, 2)), Traits(selects=True)),
        (lambda *_: Ranking(sentences=()), Traits(selects=True)),
    ],
)
def test_a_ranking_that_was_cut_where_it_counts_a_set_and_a_selection_are_not_too_short(
    rank: Cut, traits: Traits
) -> None:
    found = evaluate({"mine": SimpleNamespace(rank=rank, traits=traits)}, SAMPLE, ["er_at_5", "er_at_10"])
    assert found["mine"]["er_at_10"].counts.failed == 0


@pytest.mark.parametrize("n", [0, 3, 67])
def test_scores_that_are_not_one_a_sentence_of_the_query_are_refused(n: int) -> None:
    query = SAMPLE[0].query
    assert len(rank_by_score([0] * len(query.sentences), query).sentences) == len(query.sentences) == 66
    with pytest.raises(ValueError, match=f"66 scores.* {n}$"):
        rank_by_score([0] * n, query)


@pytest.mark.parametrize("budget", [-1, -(10**9), np.int64(-3)])
@pytest.mark.parametrize(
    "ask",
    [
        lambda budget: RankingTask(budget=budget),
        lambda budget: Task(name="er_at_k", scope="all", budget=budget),
        lambda budget: select(Ranking(sentences=(1, 2, 3)), budget),
    ],
    ids=["task", "task", "select"],
)
def test_a_budget_below_0_is_refused(ask: Callable[[int], object], budget: int) -> None:
    with pytest.raises(ValueError, match=f"budget: .*at least [01] .*None.*{budget}"):
        ask(budget)


def test_a_task_asks_for_a_sentence_at_least_while_an_optimum_may_be_0() -> None:
    with pytest.raises(ValueError, match=r"budget: .*at least 1"):
        Task(name="er_at_0", scope="all", budget=0)
    assert RankingTask(budget=0).budget == 0
    assert select(Ranking(sentences=(1, 2)), 0).size == 0


@pytest.mark.parametrize("budget", ["10", 2.5, (3,), True])
def test_a_budget_that_is_no_whole_number_is_refused(budget: object) -> None:
    with pytest.raises(TypeError, match=r"budget: .*whole number"):
        RankingTask(budget=budget)  # type: ignore[arg-type]


def test_a_budget_of_numpy_is_a_number() -> None:
    query = load_sample()[0].query
    assert BM25().rank(query, RankingTask(budget=np.int64(3))) == BM25().rank(query, RankingTask(budget=3))  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", ["result", None, "ALL"])
def test_a_scope_that_there_is_not_is_refused(scope: str) -> None:
    with pytest.raises(ValueError, match=r"scope: .*all, results"):
        RankingTask(budget=3, scope=scope)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "work"),
    [
        (RunError, lambda: score_runs([], load_sample(), [], rules=Rules())),
        (RunMismatchError, lambda: mean_recalls([])),
        (SystemSpecError, lambda: cross_validate(CrossValidation(systems=()), load_sample())),
    ],
    ids=["graded", "compared", "validated"],
)
def test_nothing_is_graded_compared_or_validated_of_nothing(error: type[Exception], work: Callable[[], object]) -> None:
    with pytest.raises(error, match=r"at least one .*none"):
        work()
