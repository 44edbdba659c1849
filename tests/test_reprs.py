"""What an object shows of itself is one line with what a person needs, whatever it holds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from doors import board_of, sample_path, score_runs
from evidencebench import (
    BM25,
    TASKS,
    CrossValidation,
    Ranking,
    RankingTask,
    Resampling,
    Rules,
    answers_from,
    compare,
    coverage_of,
    cross_validate,
    evaluate,
    execute,
    load_sample,
    make_system,
    minimum_cover,
    open_dataset,
    open_run,
    validate_file,
)

TASK = TASKS["er_at_10"]
FIRST = load_sample()[0]
NAMED = "'evidencebench_sample_id_0', paper 'synthetic_paper_01'"
FEW = Resampling(n_draws=20)
FOLDS = CrossValidation(systems="bm25", n_folds=2, n_seeds=1, resampling=FEW)


def scores_of(name: str) -> object:
    return evaluate({name: answers_from(make_system(name))}, load_sample(), [TASK])[name][TASK.name]


SHOWN: dict[str, tuple[Callable[[], object], str]] = {
    "a data set": (load_sample, "Dataset('sample.json', 10 instances, sha256 305904c56a13)"),
    "an instance": (lambda: FIRST, f"Instance({NAMED}, 66 sentences, 9 aspects)"),
    "a query": (lambda: FIRST.query, f"Query({NAMED}, 66 sentences, 'Working at night over many "),
    "labels": (lambda: FIRST.labels, "Labels(9 aspects, 5 of them Results, 16 sentences are sources)"),
    "scores": (lambda: scores_of("bm25"), "TaskScores(er_at_10: aspect recall 0.370, n=10)"),
    "a comparison": (
        lambda: compare(scores_of("bm25"), scores_of("lead"), resampling=FEW),  # type: ignore[arg-type]
        "Comparison(er_at_10: 0.370 - 0.596 = -0.226, [",
    ),
    "a ranking": (
        lambda: BM25().rank(FIRST.query, RankingTask(budget=3)),
        "Ranking(sentences=(6, 65, 40, 33, 0, 1, 12, 8, ... ",
    ),
    "a short ranking": (
        lambda: Ranking(sentences=(3, 1), ordered=False, notes={"requests": 1}),
        "Ranking(sentences=(3, 1), ordered=False, notes={'requests': 1})",
    ),
    "a system": (lambda: make_system("bm25"), "NamedSystem('bm25', k1=0.9, b=0.4, stopwords=True)"),
    "a system of systems": (
        lambda: make_system("fuse:systems=[bm25+tfidf+diverse:system=[fuse:systems=[bm25+minilm]]]"),
        "NamedSystem('fuse', systems=[",
    ),
    "coverage": (lambda: coverage_of(FIRST.labels), "Coverage(9 aspects, 16 sentences cover any)"),
    "a cover": (lambda: minimum_cover(coverage_of(FIRST.labels)), "Cover("),
    "a report on a file": (lambda: validate_file(sample_path()), "FileReport('"),
    "figures of a system": (lambda: cross_validate(FOLDS, load_sample())[0], "SystemFigures('bm25', er_at_optimal "),
    "figures": (
        lambda: cross_validate(FOLDS, load_sample())[0].tasks["er_at_10"],
        "TaskFigures(aspect recall 0.370, n=10)",
    ),
}


def check(found: object, expected: str) -> None:
    text = repr(found)
    assert text.startswith(expected)
    assert "\n" not in text
    assert len(text) < 120


@pytest.mark.parametrize("name", SHOWN)
def test_an_object_shows_itself_in_one_line(name: str) -> None:
    make, expected = SHOWN[name]
    check(make(), expected)


def test_runs_and_what_they_are_graded_to_show_themselves_in_one_line(tmp_path: Path) -> None:
    run = tmp_path / "bm25.jsonl"
    execute("bm25", load_sample(), run)
    check(open_run(run), "RunFile('bm25.jsonl', 'bm25(k1=0.9,b=0.4,stopwords=True)', 10 answers, 0 failed)")
    graded = score_runs([run], load_sample(), [TASK], rules=Rules())
    check(open_run(run).header, "RunHeader('bm25(k1=0.9,b=0.4,stopwords=True)', 'sample.json', 10 instances, er_at_")
    board = board_of(graded, TASK, FEW)
    check(board, "Board(5 systems, oracle, ")
    check(board.standings[0], "Standing('oracle', aspect recall 0.986, n=10)")
    check(graded, "ScoredRuns('sample.json', er_at_10, 1 run: 'bm25')")


def test_text_from_elsewhere_breaks_no_line_and_is_cut() -> None:
    query = replace(FIRST.query, instance_id="a\nb" * 99, paper_id="p" * 200, hypothesis="h" * 999)
    check(query, "Query('a\\nb")
    assert "1 sentence" in repr(replace(FIRST.query, sentences=("x",), kinds=()))


def test_a_data_set_whose_file_is_gone_shows_itself_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "gone.json"
    path.write_text('{"one": {}}')
    dataset = open_dataset(path)
    path.unlink()
    check(dataset, "Dataset('gone.json', 1 instance)")
