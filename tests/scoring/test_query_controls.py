"""The query controls: laws of changed queries, and an example by hand."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from doors import (
    AdjustedP,
    ControlResult,
    Estimate,
    FormatError,
    RunMismatchError,
    control_results,
    draw_distractors,
    holm,
    mean_or_none,
    results_of_runs,
    score_runs,
    use_of_hypothesis,
)
from evidencebench import (
    TASKS,
    Experiment,
    Query,
    Ranking,
    RankingTask,
    Resampling,
    Traits,
    control_of,
    evaluate,
    execute,
    load_sample,
    make_system,
    open_run,
)
from kit.made_instances import dataset_of, made

SAMPLE = load_sample()
FEW = Resampling(n_draws=50)
AT_10 = "er_at_10"


def measured(system: Any, controls: Any = "wrong_hypothesis", tasks: Any = AT_10) -> tuple[ControlResult, ...]:
    return Experiment([system], SAMPLE, tasks=tasks, controls=controls, draws=50).controls().found


def of_distractor(one: ControlResult) -> tuple[float | None, ...]:
    """Return the distractor's shares of the sentences, of the selection, and of the recall that is lost."""
    assert one.distractor is not None
    return tuple(map(mean_or_none, (one.distractor.sentences, one.distractor.selection, one.distractor.recall)))


@pytest.mark.parametrize("oracle", ["oracle", "greedy_oracle"])
def test_a_system_that_knows_the_evidence_loses_nothing_to_a_distractor(oracle: str) -> None:
    tasks = [task for task in TASKS.values() if task.budget is not None]
    for one in measured(make_system(oracle), "two_papers", tasks):
        assert (one.comparison.test.difference.mean, one.p_value, of_distractor(one)[2]) == (0, None, 0)


def test_the_first_sentences_are_the_distractors_where_it_stands_before() -> None:
    (one,) = measured("lead", "two_papers")
    distractors = draw_distractors(SAMPLE.queries(), np.random.default_rng(0))
    own = evaluate({"lead": make_system("lead")}, SAMPLE, AT_10)["lead"][AT_10]
    before = np.array([distractors[instance_id].is_before for instance_id in own.ids])
    assert one.comparison.second.mean == pytest.approx(np.mean(own.recalls * ~before))
    assert mean_or_none(one.comparison.overlap) == 0.5
    assert of_distractor(one)[1:] == pytest.approx((0.5, np.mean(own.scores["relative_recall"] * before)))


@dataclass(frozen=True)
class Longest:
    """Take the longest sentences, wherever they stand."""

    traits: ClassVar[Traits] = Traits(reads_hypothesis=False)

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=tuple(sorted(range(len(query.sentences)), key=lambda i: -len(query.sentences[i]))))


def test_two_papers_worked_by_hand(tmp_path: Path) -> None:
    # The longest sentences are the evidence. Of a, both places go to b's sentences, which are longer; of b, none does.
    two = dataset_of(tmp_path, made("a", {"0": (0,)}, (3, 2, 1)), made("b", {"0": (0,)}, (9, 8)))
    (one,) = Experiment([Longest()], two, tasks="er_at_2", controls="two_papers", draws=50).controls().found
    assert (one.comparison.first.mean, one.comparison.second.mean) == (1, 0.5)
    assert mean_or_none(one.comparison.overlap) == 0.5
    assert of_distractor(one) == pytest.approx(((2 / 5 + 3 / 5) / 2, 0.5, 0.5))
    assert not one.reads_hypothesis


@pytest.mark.parametrize(("control", "tested"), [("wrong_hypothesis", 3), ("two_papers", 2), ("shuffled_words", 0)])
def test_tests_are_corrected_over_the_systems_of_a_control_and_task_that_can_be_significant(
    control: str, tested: int
) -> None:
    systems = ["bm25", "lead", "random", "tfidf", "abstract_backwards"]
    controls = ["wrong_hypothesis", "two_papers", "shuffled_words"]
    experiment = Experiment(systems, SAMPLE, tasks=[AT_10, "er_at_5"], controls=controls, draws=50)
    every = experiment.controls().found
    assert len(every) == len(systems) * len(controls) * 2
    n_able = 0
    for task in (AT_10, "er_at_5"):
        words = control.replace("_", " ")
        found = [one for one in every if (one.control, one.comparison.task.name) == (words, task)]
        # The sample has nine papers: every pattern is tried, and six must differ.
        able = [one for one in found if one.comparison.test.least <= 2 / 2**6]
        assert [one for one in found if one.p_value is not None] == able
        n_able += len(able)
        assert [one.p_value for one in able] == holm([one.comparison.test.p_value for one in able])
    assert n_able == tested


@pytest.mark.parametrize(
    ("difference", "overlap", "p_value", "word"),
    [
        (0.08, (0.1, 0.05, 0.2), 0.01, "uses it"),
        (0.01, (0.9, 0.85, 0.95), 0.04, "uses it"),
        (-0.08, (0.1, 0.05, 0.2), 0.01, "does worse with it"),
        (0.06, (0.1, 0.05, 0.2), 0.06, "selection changes, no gain shown"),
        (0.06, (0.6, 0.45, 0.7), 0.4, "selection changes, no gain shown"),
        (0.0, (0.7, 0.51, 0.8), None, "selection changes little"),
        (0.0, (1.0, 1.0, 1.0), None, "does not use it"),
        (0.0, None, None, "does not use it"),
        (0.4, (0.6, None, None), None, "too few papers"),
    ],
)
def test_a_word_for_the_use_of_the_hypothesis_by_recall_and_by_selections(
    difference: float, overlap: tuple[float, float | None, float | None] | None, p_value: float | None, word: str
) -> None:
    (one,) = measured("bm25")
    found = one.comparison
    test = replace(found.test, difference=replace(found.test.difference, mean=difference))
    shared = None if overlap is None else Estimate(mean=overlap[0], low=overlap[1], high=overlap[2], n=9, n_clusters=9)
    adjusted = None if p_value is None else AdjustedP(value=p_value)
    changed = replace(one, comparison=replace(found, test=test, overlap=shared), adjusted=adjusted)
    assert use_of_hypothesis(changed) == word


def test_a_hypothesis_from_a_file_is_asked(tmp_path: Path) -> None:
    same, other = tmp_path / "same.json", tmp_path / "other.json"
    same.write_text(json.dumps({one.id: one.query.hypothesis for one in SAMPLE}))
    other.write_text(json.dumps({one.id: f"No {one.query.sentences[3]}" for one in SAMPLE}))
    found = {one.control: one for one in measured("bm25", [f"paraphrased={same}", f"negated={other}"])}
    assert found["paraphrased"].p_value is None
    assert mean_or_none(found["negated"].comparison.overlap) not in {None, 1}


def upper_case(query: Query) -> str:
    return query.hypothesis.upper()


def first_sentence(query: Query) -> str:
    return query.sentences[0]


def test_a_control_of_ones_own_is_a_function_of_a_query(tmp_path: Path) -> None:
    found = measured("bm25", [upper_case, first_sentence, "shuffled_words"])
    assert {one.control for one in found} == {"changed: upper_case", "changed: first_sentence", "shuffled words"}
    by_words = {one.control: one.comparison for one in found}
    upper, start = by_words["changed: upper_case"], by_words["changed: first_sentence"]
    assert upper.overlap == by_words["shuffled words"].overlap != start.overlap
    named = measured("bm25", {"shouted": upper_case, "start": first_sentence})
    assert {one.control: one.comparison for one in named} == {"changed: shouted": upper, "changed: start": start}
    control = control_of(first_sentence, SAMPLE, tmp_path / "start.jsonl")
    (from_file,) = measured("bm25", f"changed={tmp_path / 'start.jsonl'}")
    assert from_file.comparison == start
    execute("bm25", SAMPLE, tmp_path / "bm25.jsonl")
    execute("bm25", SAMPLE, tmp_path / "start_run.jsonl", control=control)
    execute(
        "bm25", SAMPLE, tmp_path / "upper.jsonl", control=control_of(upper_case, SAMPLE, tmp_path / "upper_c.jsonl")
    )
    (tmp_path / "again").mkdir()
    other = control_of(lambda query: query.sentences[-1], SAMPLE, tmp_path / "again" / "start.jsonl")
    execute("bm25", SAMPLE, tmp_path / "end_run.jsonl", control=other)
    runs = [tmp_path / f"{name}.jsonl" for name in ("bm25", "start_run", "upper", "end_run")]
    results = results_of_runs(score_runs(runs, SAMPLE, AT_10, with_selections=True), FEW)
    words = [result.control for result in results]
    assert len(set(words)) == 3
    assert "changed: upper_c" in words
    assert sum(one.startswith("changed: start, sha256:") for one in words) == 2
    assert start in [result.comparison for result in results]


def test_a_control_of_ones_own_that_gives_no_hypothesis_is_named(tmp_path: Path) -> None:
    def empty(query: Query) -> str:  # noqa: ARG001 - the contract's signature
        return " "

    for call in (
        lambda: control_of(empty, SAMPLE, tmp_path / "empty.jsonl"),
        lambda: measured("bm25", empty),
    ):
        with pytest.raises(TypeError, match=f"'empty': {SAMPLE.ids[0]}: .*text"):
            call()
    with pytest.raises(ValueError, match=r"ends in \.jsonl"):
        control_of(upper_case, SAMPLE, tmp_path / "upper.txt")
    wrong: Any = upper_case
    with pytest.raises(TypeError, match=r"control_of.*got <function"):
        execute("bm25", SAMPLE, tmp_path / "unused.jsonl", control=wrong)
    with pytest.raises(ValueError, match="that differ"):
        measured("bm25", [lambda _: "a", lambda _: "b"])


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ("changed", "changed=FILE; control_of"),
        ("wrong_hypotheses", "'wrong_hypotheses' .*did you mean 'wrong_hypothesis'"),
        ("negated", "'negated' .*file.*negated=FILE; 'evidencebench llm rewrite negated'"),
        ("two_papers=a.json", r"'two_papers' .*'a\.json'"),
        ([], "controls: nothing"),
    ],
)
def test_a_control_that_is_not_whole_is_refused(controls: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measured("bm25", controls)


def test_a_run_of_two_papers_says_so_and_scores_as_the_control_on_its_data_set_alone(tmp_path: Path) -> None:
    execute("cues", SAMPLE, tmp_path / "two.jsonl", control="two_papers", tasks=AT_10)
    mixed = open_run(tmp_path / "two.jsonl")
    assert mixed.name.endswith("[two papers, seed 0]")
    own = evaluate({"own": make_system("cues"), "changed": mixed}, SAMPLE, AT_10)
    compared = [("cues", "two papers", own["own"][AT_10], own["changed"][AT_10])]
    assert control_results(compared, {"cues": True}, FEW) == measured("cues", "two_papers")
    with pytest.raises(RunMismatchError, match="a list of instances"):
        evaluate({"it": mixed}, SAMPLE[:3], AT_10)


def test_a_run_with_hypotheses_of_a_file_is_gone_on_with_only_with_the_same_file(tmp_path: Path) -> None:
    file, path = tmp_path / "a.json", tmp_path / "run.jsonl"
    file.write_text(json.dumps(dict.fromkeys(SAMPLE.ids, "Tea helps.")))
    execute("bm25", SAMPLE, path, control=f"negated={file}")
    header = open_run(path).header
    assert header is not None
    assert header.control is not None
    assert header.signature.endswith(f"[negated, sha256:{(header.control.sha256 or '')[:12]}]")
    moved = file.rename(tmp_path / "b.json")
    assert execute("bm25", SAMPLE, path, control=f"negated={moved}").n_resumed == len(SAMPLE)
    moved.write_text(json.dumps(dict.fromkeys(SAMPLE.ids, "Milk helps.")))
    with pytest.raises(RunMismatchError, match=r"'negated [0-9a-f]{64}', now 'negated [0-9a-f]{64}'"):
        execute("bm25", SAMPLE, path, control=f"negated={moved}")
    moved.write_text('{"x": "Tea."}')
    with pytest.raises(FormatError, match="ids of sample"):
        execute("bm25", SAMPLE, tmp_path / "other.jsonl", control=f"negated={moved}")
    assert not (tmp_path / "other.jsonl").exists()


def test_the_key_of_earlier_versions_is_read_as_the_control_that_it_was(tmp_path: Path) -> None:
    execute("bm25", SAMPLE, tmp_path / "run.jsonl", control="wrong_hypothesis", tasks=AT_10)
    header = json.loads((tmp_path / "run.jsonl").read_bytes().splitlines()[0])["run"]
    del header["control"]
    first = {"evidencebench_run": 1, **header, "hypothesis": "wrong"}
    line = {"id": SAMPLE.ids[0], "sentences": [1, 0]}
    lines = (json.dumps(one, separators=(",", ":")) for one in (first, line))
    (tmp_path / "old.jsonl").write_text("\n".join(lines))
    assert open_run(tmp_path / "old.jsonl").header == open_run(tmp_path / "run.jsonl").header
    assert open_run(tmp_path / "old.jsonl").ids == {SAMPLE.ids[0]}
