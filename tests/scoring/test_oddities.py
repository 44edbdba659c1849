"""What is odd in answers is told in one table and as Python warnings: missing answers, ties, labels read and so on."""

import json
import re
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doors import (
    AnswersByInstance,
    Failure,
    Lead,
    Oracle,
    RunFormatError,
    ScoredRuns,
    board_of,
    fine_tuned_on,
    is_complete,
    read_run,
    score_runs,
    signature_of,
    signature_of_all,
)
from evidencebench import (
    BM25,
    TASKS,
    EvidenceWarning,
    Query,
    Ranking,
    RankingTask,
    Resampling,
    Rules,
    Task,
    Traits,
    evaluate,
    execute,
    load_sample,
    make_system,
    open_run,
)

SAMPLE = load_sample()
AT_10 = TASKS["er_at_10"]
FEW = Resampling(n_draws=50)


@dataclass(frozen=True)
class Trained:
    """Something whose model says that it was trained on the sample, or on other data."""

    on_it: bool = True

    @property
    def traits(self) -> Traits:
        return Traits(trained_on=lambda: [SAMPLE.sha256 if self.on_it else "0" * 64])

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        return Lead().rank(query, task)


@dataclass(frozen=True)
class Cut:
    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=(2, 0, 3))


HERE = "scoring.test_oddities:Trained"


@pytest.fixture
def answers(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes answers to the sample as a JSON object."""

    def write(of: Callable[[Query], Any], n: int | None = None) -> Path:
        path = tmp_path / "answers.json"
        path.write_text(json.dumps({query.instance_id: of(query) for query in SAMPLE.queries(n)}))
        return path

    return write


def told(path: Path, tasks: Sequence[Task] = (AT_10,), **rules: Any) -> list[str]:
    return [str(row) for row in graded(path, tasks, **rules).warnings]


def graded(path: Path, tasks: Sequence[Task] = (AT_10,), **rules: Any) -> ScoredRuns:
    return score_runs([path], SAMPLE, tasks, rules=Rules(**rules))


def whole(query: Query) -> list[int]:
    return [*BM25().rank(query, RankingTask(budget=None)).sentences]


def test_lists_that_look_like_rankings_are_told_with_what_to_do(answers: Callable[..., Path]) -> None:
    for of in (whole, lambda query: whole(query)[:20], lambda query: whole(query)[: len(query.sentences) * 9 // 10]):
        (caution,) = told(answers(of))
        for said in ("look like rankings, but are read as sets", "--set over-length=first", '{"ranking": [...]}'):
            assert said in caution


def test_what_is_said_to_be_a_set_or_fits_the_budget_or_varies_is_told_nothing(answers: Callable[..., Path]) -> None:
    assert told(answers(whole), over_length="first") == []
    (over,) = graded(answers(lambda query: {"set": whole(query)[:50]})).warnings
    assert (over.kind, over.n, over.n_all, over.task) == ("sets over budget", 10, 10, "er_at_10")
    assert told(answers(lambda query: {"ranking": whole(query)})) == []
    assert told(answers(lambda query: whole(query)[:10])) == []


def test_a_ranking_that_says_so_scores_as_the_system_that_made_it(answers: Callable[..., Path], tmp_path: Path) -> None:
    def recall(path: Path, **rules: Any) -> float:
        (scores,) = graded(path, **rules).scores.values()
        return scores["er_at_10"].estimate("aspect_recall", FEW).mean

    execute("bm25", SAMPLE, tmp_path / "run.jsonl")
    truth = recall(tmp_path / "run.jsonl")
    assert recall(answers(lambda query: {"ranking": whole(query)})) == truth
    assert recall(answers(whole), over_length="first") == truth
    assert recall(answers(whole)) == recall(answers(lambda query: {"set": whole(query)})) < truth - 0.05
    assert not open_run(answers(lambda _: {"set": [1]})).is_bare


@pytest.mark.parametrize("value", [{}, {"ranking": [1], "set": [1]}, {"ranking": None}, {"rank": [1]}, {"set": [1.5]}])
def test_an_answer_says_either_ranking_or_set(value: object, answers: Callable[..., Path]) -> None:
    with pytest.raises(RunFormatError, match=r"10 answers .*\{\"ranking\": \[3, 17\]\}"):
        open_run(answers(lambda _: value))


def test_failed_empty_and_missing_answers_are_told(answers: Callable[..., Path]) -> None:
    path = answers(lambda _: None)
    assert told(answers(lambda _: [1], 6)) == [
        f"{path.name}: 4 of 10 answers to er_at_10 are missing, and each scores 0"
    ]
    kinds = {row.kind: row.n for row in graded(answers(lambda _: [], 4)).warnings}
    assert kinds == {"empty": 4, "missing": 6}
    assert not is_complete(graded(answers(lambda _: [1], 6)))
    assert is_complete(graded(answers(lambda _: [])))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ReplyError: refused: it says 'I cannot help'", "refused"),
        ("ReplyError: no part has an answer; the first: truncated: the reply ends within its list", "cut"),
        ("UnreadableReplyError: unparseable: no list", "unreadable"),
        ("ReplyError: empty: it names no sentence", "unreadable"),
        ("ReplyError: https://models.org: HTTP 503 after 6 attempts", "server"),
        ("TimeoutError: my server is down", "own code"),
        ("OutOfRangeError: system 'mine': expected sentences 0..4, got 9", "own code"),
        ("RunError: folds.jsonl: the stored answer failed", "other"),
    ],
)
def test_failures_have_classes(error: str, kind: str) -> None:
    def fail(*_: object) -> Failure:
        return Failure(error=error)

    with pytest.warns(EvidenceWarning, match="^mine: 10 of 10 .*er_at_10 failed") as caught:
        evaluate({"mine": AnswersByInstance(fail)}, SAMPLE, "er_at_10")
    (warning,) = (one.message for one in caught)
    assert isinstance(warning, EvidenceWarning)
    assert (warning.kind, warning.n, warning.n_all) == (f"failed: {kind}", 10, 10)


def test_repeats_ties_and_labels_are_told_and_a_warning_can_be_an_error() -> None:
    def kinds(source: Any) -> dict[str, int]:
        with warnings.catch_warnings(record=True, action="always", category=EvidenceWarning) as caught:
            evaluate({"mine": source}, SAMPLE, ["er_at_10", "er_at_optimal"])
        return {one.message.kind: one.message.n for one in caught if isinstance(one.message, EvidenceWarning)}

    positions = {instance_id: position for position, instance_id in enumerate(SAMPLE.ids)}

    @dataclass(frozen=True)
    class Ties:
        n: int

        def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
            sentences = tuple(range(len(query.sentences)))
            ties = positions[query.instance_id] < self.n
            return Ranking(sentences=sentences, scores=tuple(0.0 if ties else -float(i) for i in sentences))

    assert kinds(BM25()) == kinds(Ties(1)) == {}
    assert kinds(Ties(2)) == {"ties at the cut": 2}
    assert kinds({instance_id: [1, 2, 1] for instance_id in SAMPLE.ids}) == {"repeats": 10}
    assert kinds(Oracle()) == {"labels read": 0}
    knowing: Any = Oracle()
    with (
        warnings.catch_warnings(action="error", category=EvidenceWarning),
        pytest.raises(EvidenceWarning, match="reads the labels"),
    ):
        evaluate({"mine": knowing}, SAMPLE, "er_at_10")


def test_a_run_tells_as_a_score_does(tmp_path: Path) -> None:
    report = execute(HERE, SAMPLE, tmp_path / "trained.jsonl")
    assert [row.kind for row in report.warnings] == ["trained on this data"]
    (short,) = execute(Cut(), SAMPLE, tmp_path / "cut.jsonl", limit=4).warnings
    assert (short.kind, short.n, short.n_all) == ("short rankings", 4, 4)
    assert copy(short).fields() == short.fields()
    (row,) = graded(tmp_path / "cut.jsonl").warnings
    assert (row.kind, row.n) == ("short rankings", 4)


def test_what_was_trained_on_the_data_is_marked_wherever_it_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute(HERE, SAMPLE, path)
    (caution,) = told(path)
    assert caution.startswith(
        "scoring.test_oddities:Trained: trained on this data, so its scores say nothing about other papers; score it on"
    )
    found = graded(path)
    (label,) = found.runs
    assert "|trained_on:this_data|" in signature_of(found, label, AT_10, FEW)
    marks = {row.system: row.trained_on_it for row in board_of(found, AT_10, FEW).standings}
    assert marks == {label: True, "random": False, "lead": False, "abstract_backwards": False, "oracle": False}


def test_what_is_built_on_a_run_of_it_was_trained_on_the_data_too(tmp_path: Path) -> None:
    execute(HERE, SAMPLE, tmp_path / "run.jsonl")
    spec = f"fuse:systems=[stored:run={tmp_path / 'run.jsonl'}+bm25]"
    assert make_system(spec).trained_on() == {SAMPLE.sha256}
    assert execute(spec, SAMPLE, tmp_path / "fused.jsonl").warnings
    assert len(told(tmp_path / "fused.jsonl")) == 1


def test_what_was_trained_elsewhere_is_not_marked_and_what_cannot_say_is_unknown(
    answers: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    execute(f"{HERE}:on_it=false", SAMPLE, path)
    assert told(path) == []
    assert open_run(path).trained_on(SAMPLE.sha256) is False
    assert open_run(answers(lambda _: [1])).trained_on(SAMPLE.sha256) is None


def test_a_run_begun_by_an_earlier_version_is_read_goes_on_and_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute(HERE, SAMPLE, path, limit=4)
    head, *lines = path.read_bytes().splitlines(keepends=True)
    header = msgspec.json.decode(head)
    assert header["run"].pop("trained_on") == [SAMPLE.sha256]
    path.write_bytes(msgspec.json.encode(header) + b"\n" + b"".join(lines[:2]))
    assert execute(HERE, SAMPLE, path, limit=4).n_resumed == 2
    found = read_run(path)
    assert found.header is not None
    assert found.header.trained_on is None
    assert found.trained_on(SAMPLE.sha256) is None


def test_a_fine_tuned_model_says_what_it_was_trained_on_and_others_models_nothing(tmp_path: Path) -> None:
    assert fine_tuned_on(str(tmp_path)) == frozenset()
    (tmp_path / "card.json").write_text('{"evidencebench_model": "embedder", "data": {"sha256": "ab"}}')
    assert fine_tuned_on(str(tmp_path)) == {"ab"}
    for content in ('{"evidencebench_model": "embedder", "data": {"sha256": 5}}', '{"model": "x"}', "["):
        (tmp_path / "card.json").write_text(content)
        assert fine_tuned_on(str(tmp_path)) == frozenset()


def test_one_signature_for_all_tasks_names_each_with_its_instances(tmp_path: Path) -> None:
    execute("lead", SAMPLE, tmp_path / "run.jsonl")
    found = graded(tmp_path / "run.jsonl", [AT_10, TASKS["result_er_at_5"]])
    (label,) = found.runs
    assert re.search(r"\|task:er_at_10,result_er_at_5\|.*\|instances:10,9\|", signature_of_all(found, label, FEW))
    one = replace(found, tasks=(AT_10,))
    assert signature_of_all(one, label, FEW) == signature_of(found, label, AT_10, FEW)
