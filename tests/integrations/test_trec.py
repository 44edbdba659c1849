"""TREC files: ir_measures and pyndeval agree with our scores on them, and reading them back gives what was written."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import pyndeval
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import StRecall

from doors import Answer, AnswerError, DataError, FormatError, RunError, RunFile, RunMismatchError, write_trec
from evidencebench import (
    TASKS,
    Dataset,
    Instance,
    Kind,
    Query,
    Ranking,
    Task,
    answers_of_frame,
    evaluate,
    execute,
    load_sample,
    open_dataset,
    open_run,
    qrels_dict,
    run_dict,
    task_named,
    with_qrels,
    write_dataset,
)
from kit.examples import examples
from kit.strategies import labels, rankings

SAMPLE = load_sample()
N_SENTENCES = 8


@st.composite
def instances_of_some_papers(draw: st.DrawFn) -> list[Instance]:
    """Draw papers with at least one aspect each, some aspects without a source."""
    found = draw(st.lists(labels(n_sentences=N_SENTENCES).filter(lambda one: one.aspects), min_size=1, max_size=4))
    return [
        Instance(
            query=Query(
                instance_id=f"paper_{number}",
                paper_id=f"p{number}",
                hypothesis="tea  helps\tsleep",
                sentences=tuple(f"sentence {index}" for index in range(N_SENTENCES)),
                kinds=(Kind.BODY,) * N_SENTENCES,
            ),
            labels=replace(one, evaluations={}),
        )
        for number, one in enumerate(found)
    ]


some_answers = st.lists(rankings(n_sentences=N_SENTENCES, repeats=True), min_size=4, max_size=4)


def as_files(folder: Path, instances: list[Instance], answers: list[Ranking]) -> tuple[Dataset, RunFile]:
    """Make a data file of instances, and a run of ordered answers to them."""
    write_dataset(folder / "data.json", instances)
    return open_dataset(folder / "data.json"), as_run(dict(zip([one.id for one in instances], answers, strict=False)))


def as_run(answers: Mapping[str, Ranking]) -> RunFile:
    lines: dict[tuple[str, str | None], Answer | memoryview] = {
        (instance_id, None): Ranking(sentences=answer.sentences) for instance_id, answer in answers.items()
    }
    return RunFile(Path("mine.json"), None, lines)


@contextmanager
def exported(dataset: Dataset, run: RunFile, *tasks: Task) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        write_trec(Path(folder, "trec"), dataset, [run], tasks)
        yield Path(folder, "trec")


def judgments_in(path: Path) -> list[Any]:
    return list(ir_measures.read_trec_qrels(str(path)))  # type: ignore[no-untyped-call]


def results_in(path: Path) -> list[Any]:
    return list(ir_measures.read_trec_run(str(path)))  # type: ignore[no-untyped-call]


def subtopic_recalls(folder: Path, qrels: str, run: str, cutoff: int) -> dict[str, float]:
    """Return StRecall by instance, as both tools compute it, which must agree with each other."""
    judged = judgments_in(folder / qrels)
    ranked = results_in(folder / "runs" / run)
    found = {one.query_id: one.value for one in ir_measures.iter_calc([StRecall @ cutoff], judged, ranked)}
    triples = [(one.query_id, one.iteration, one.doc_id, one.relevance) for one in judged]
    direct = pyndeval.ndeval(triples, [tuple(one) for one in ranked], measures=[f"strec@{cutoff}"])
    assert {qid: values[f"strec@{cutoff}"] for qid, values in direct.items()} == {qid: found[qid] for qid in direct}, (
        "the two tools differ"
    )
    return found


def our_recalls(dataset: Dataset, run: RunFile, task: str) -> dict[str, float]:
    scores = evaluate({"run": run}, dataset, task)["run"][task]
    return dict(zip(scores.ids, scores.recalls.tolist(), strict=True))


@examples(100)
@given(instances_of_some_papers(), some_answers, st.integers(1, 20))
def test_subtopic_recall_of_the_exported_files_is_aspect_recall_at_every_cut_off(
    instances: list[Instance], answers: list[Ranking], cutoff: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset, run = as_files(Path(folder), instances, answers)
        with exported(dataset, run) as trec:
            for scope, task in (("all", f"er_at_{cutoff}"), ("results", f"result_er_at_{cutoff}")):
                ours = our_recalls(dataset, run, task)
                theirs = subtopic_recalls(trec, f"qrels.{scope}.txt", "mine.run", cutoff) if ours else {}
                assert theirs == pytest.approx(ours, rel=0, abs=1e-12)


@examples(50)
@given(instances_of_some_papers(), some_answers)
def test_a_run_cut_to_the_optimum_of_each_instance_gives_recall_at_optimal(
    instances: list[Instance], answers: list[Ranking]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset, run = as_files(Path(folder), instances, answers)
        with exported(dataset, run, TASKS["er_at_optimal"]) as trec:
            theirs = subtopic_recalls(trec, "qrels.all.txt", "mine.er_at_optimal.run", 20)
        assert theirs == pytest.approx(our_recalls(dataset, run, "er_at_optimal"), rel=0, abs=1e-12)


@examples(100)
@given(instances_of_some_papers(), some_answers)
def test_a_run_that_was_exported_and_read_again_ranks_the_same(
    instances: list[Instance], answers: list[Ranking]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset, run = as_files(Path(folder), instances, answers)
        with exported(dataset, run) as trec:
            path = trec / "runs" / "mine.run"
            before = {
                one.id: tuple(dict.fromkeys(answer.sentences)) for one, answer in zip(instances, answers, strict=False)
            }
            before = {instance_id: sentences for instance_id, sentences in before.items() if sentences}
            if not before:
                assert path.read_bytes() == b""
                return
            again = open_run(path)
            assert {one: again.answer(one, None).sentences for one in again.ids} == before  # type: ignore[union-attr]
            scores = [answer.scores for one in again.ids if isinstance(answer := again.answer(one, None), Ranking)]
            assert all(list(one) == sorted(set(one), reverse=True) for one in scores if one is not None)


@examples(100)
@given(instances_of_some_papers())
def test_labels_that_were_exported_and_read_again_are_the_same(instances: list[Instance]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dataset, run = as_files(Path(folder), instances, [])
        with exported(dataset, run) as trec:
            again = {one.id: one for one in with_qrels(dataset, trec / "qrels.all.txt")}
    assert list(again) == [one.id for one in instances]
    for one in instances:
        found, expected = again[one.id].labels, one.labels
        assert (found.aspects, found.results) == (expected.aspects, expected.results)
        assert (found.texts, found.review_id) == (expected.texts, expected.review_id)
        assert {aspect: set(places) for aspect, places in found.sources.items()} == {
            aspect: set(expected.sources.get(aspect, ())) for aspect in expected.aspects
        }
        assert again[one.id].query == one.query


@pytest.fixture(scope="module")
def bm25(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    path = tmp_path_factory.mktemp("runs") / "bm25.jsonl"
    execute("bm25", SAMPLE, path)
    return open_run(path)


@pytest.mark.data
def test_the_tools_agree_with_us_on_every_official_task_of_the_train_split(train: Dataset, tmp_path: Path) -> None:
    execute("bm25", train, tmp_path / "bm25.jsonl", limit=24)
    run = open_run(tmp_path / "bm25.jsonl")
    tasks = [task for task in TASKS.values() if task.budget is not None]
    part = tmp_path / "part.json"
    write_dataset(part, train[:24])
    answers = {one: answer for one in train.ids[:24] if (answer := run.answer(one, None)) is not None}
    dataset, headless = open_dataset(part), RunFile(run.path, None, {(one, None): answers[one] for one in answers})
    with exported(dataset, headless, *tasks) as trec:
        for task in tasks:
            theirs = subtopic_recalls(trec, f"qrels.{task.scope}.txt", f"bm25.{task.name}.run", 20)
            assert theirs == pytest.approx(our_recalls(dataset, headless, task.name), rel=0, abs=1e-12)


def test_an_answer_that_a_tool_ordered_by_our_dicts_is_our_ranking(bm25: RunFile) -> None:
    back = evaluate({"run": bm25, "dict": run_dict(bm25)}, SAMPLE, list(TASKS)[:4])
    for task in list(TASKS)[:4]:
        assert back["dict"][task].recalls.tolist() == back["run"][task].recalls.tolist()


def test_the_relevance_of_a_sentence_in_a_dict_is_the_number_of_its_aspects() -> None:
    instance = SAMPLE[0]
    counts = Counter(index for places in instance.labels.sources.values() for index in {*places})
    assert qrels_dict([instance]) == {
        instance.id: {f"{instance.id}#{index:05d}": counts[index] for index in sorted(counts)}
    }


def test_a_dict_of_qrels_makes_each_relevant_sentence_an_aspect() -> None:
    qrels: Any = {SAMPLE.ids[0]: {f"{SAMPLE.ids[0]}#00004": 3, 7: 1, "8": 0}}  # a docno may be the index, as elsewhere
    relabelled = list(with_qrels(SAMPLE, qrels))
    answers = {SAMPLE.ids[0]: {4: 1.0, 8: 0.5}}
    assert evaluate({"mine": answers}, relabelled, "er_at_10")["mine"]["er_at_10"].recalls.tolist() == [0.5]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_other_tools_is_read_unless_it_lacks_a_column_or_has_a_sentence_twice(library: str) -> None:
    frame = pytest.importorskip(library, reason=f"needs {library}").DataFrame
    given = {"qid": ["a", "a"], "docno": ["a#00001", "a#00000"], "score": [2.0, 1.0]}
    assert answers_of_frame(frame(given)) == {"a": {"a#00001": 2.0, "a#00000": 1.0}}
    with pytest.raises(AnswerError, match="qid, docno and score, got qid, docno"):
        answers_of_frame(frame({"qid": ["a"], "docno": ["1"]}))
    with pytest.raises(AnswerError, match=r"a: '1' .*twice"):
        answers_of_frame(frame(given | {"docno": ["1", "1"]}))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("q 0 d", r"q\.txt: line 1: .*qid subtopic docno rel.*3"),
        ("\nq 0 d x", "line 2: .*'x'"),
        ("", "no qrels"),
        ("evidencebench_sample_id_11 a 1 1", "'evidencebench_sample_id_11' .*did you mean"),
        ("evidencebench_sample_id_1 a 999 1", r"0\.\.\d+ .*'999'"),
        ("evidencebench_sample_id_1 a x#3 1", "'evidencebench_sample_id_1', got 'x#3'"),
    ],
)
def test_qrels_that_do_not_fit_are_refused_with_the_place(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "q.txt").write_text(lines)
    with pytest.raises(DataError, match=message):
        list(with_qrels(SAMPLE, tmp_path / "q.txt"))


def test_an_empty_dict_of_qrels_is_refused_before_the_first_instance_is_taken() -> None:
    with pytest.raises(DataError, match="empty"):
        with_qrels(SAMPLE, {})


def test_what_cannot_be_written_is_refused_and_nothing_is_left(tmp_path: Path, bm25: RunFile) -> None:
    spaced = replace(SAMPLE[0], query=replace(SAMPLE[0].query, instance_id="dev 4"), origin=None)
    write_dataset(tmp_path / "spaced.json", [spaced])
    (tmp_path / "bad.json").write_text('{"a": {"hypothesis": 1}}')
    (tmp_path / "answers.json").write_text(f'{{"{SAMPLE.ids[2]}": [1, 9999]}}')
    refused: list[tuple[Dataset, list[RunFile], type[Exception], str]] = [
        (open_dataset(tmp_path / "spaced.json"), [], DataError, "'dev 4': .*white space"),
        (open_dataset(tmp_path / "bad.json"), [], FormatError, r"bad\.json: a: "),
        (SAMPLE, [as_run({"other": Ranking(sentences=(1,))})], RunMismatchError, "'other'"),
        (
            *(SAMPLE, [open_run(tmp_path / "answers.json")], AnswerError),
            rf"answers\.json: {SAMPLE.ids[2]}: .*9999",
        ),
        (SAMPLE, [bm25, bm25], DataError, r"'runs/bm25\.run'"),
    ]
    for dataset, runs, error, message in refused:
        with pytest.raises(error, match=message):
            write_trec(tmp_path / "trec", dataset, runs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.json", "bad.json", "spaced.json"]


def test_a_run_with_answers_by_task_is_a_file_a_task(tmp_path: Path) -> None:
    execute("oracle", SAMPLE, tmp_path / "oracle.jsonl", tasks=["er_at_optimal", "er_at_10"])
    run = open_run(tmp_path / "oracle.jsonl")
    report = write_trec(tmp_path / "trec", SAMPLE, [run])
    assert set(report.runs) == {"runs/oracle.er_at_optimal.run", "runs/oracle.er_at_10.run"}
    assert set(subtopic_recalls(tmp_path / "trec", "qrels.all.txt", "oracle.er_at_optimal.run", 20).values()) == {1.0}
    with pytest.raises(RunError, match="er_at_10, er_at_optimal"):
        run_dict(run)
    assert len(run_dict(run, task_named("er_at_10"))) == len(SAMPLE)


def test_failed_and_unordered_answers_are_counted_since_a_file_cannot_say_so(tmp_path: Path) -> None:
    ids = SAMPLE.ids
    (tmp_path / "a.json").write_text(f'{{"{ids[0]}": null, "{ids[1]}": [], "{ids[2]}": [5, 3, 4]}}')
    run = open_run(tmp_path / "a.json")
    written = write_trec(tmp_path / "trec", SAMPLE, [run]).runs["runs/a.run"]
    assert (written.n_answers, written.n_without, written.n_sets) == (3, 2, 1)
    assert open_run(tmp_path / "trec" / "runs" / "a.run").answer(ids[2], None) == Ranking(
        sentences=(5, 3, 4), scores=(3.0, 2.0, 1.0)
    )
    cut = write_trec(tmp_path / "cut", SAMPLE, [run], [task_named("er_at_2")]).runs["runs/a.er_at_2.run"]
    assert cut.n_cut_sets == 1
