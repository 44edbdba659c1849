"""A subset by ids is a data set: its queries, runs, scores and controls are those of the whole, for its instances."""

import re
from pathlib import Path
from typing import Any

import pytest

from doors import DataError, RunMismatchError, UnknownInstanceError, read_run, score_runs, signature_of
from evidencebench import (
    BM25,
    CrossValidation,
    Dataset,
    Experiment,
    Processes,
    Resampling,
    cross_validate,
    evaluate,
    execute,
    load_sample,
    open_dataset,
    write_dataset,
    write_report,
)
from kit.skips import DATA_FOLDER

SAMPLE = load_sample()
CHOSEN = (SAMPLE.ids[1], SAMPLE.ids[4], SAMPLE.ids[7])
PART = SAMPLE.subset(CHOSEN)


def answers_in(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").splitlines()[1:])


def test_a_subset_holds_the_chosen_instances_in_the_order_of_the_file(tmp_path: Path) -> None:
    part = SAMPLE.subset(reversed(CHOSEN))
    assert (part.ids, len(part), part[-1]) == (CHOSEN, 3, SAMPLE[CHOSEN[2]])
    assert [instance.id for instance in part] == [query.instance_id for query in part.queries()] == [*CHOSEN]
    assert (part.sha256, part.whole.ids) == (SAMPLE.sha256, SAMPLE.ids)
    assert "3 of 10 instances" in repr(part)
    assert SAMPLE.ids[0] not in part
    with pytest.raises(UnknownInstanceError):
        part[SAMPLE.ids[0]]
    assert part.subset([CHOSEN[0]]).whole.ids == SAMPLE.ids
    assert write_dataset(tmp_path / "part.json", part) == 3


def test_ids_stand_in_a_file_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_bytes(f"\ufeff{CHOSEN[1]}\r\n\n  {CHOSEN[0]}".encode())
    assert SAMPLE.subset(path).ids == SAMPLE.subset(str(path)).ids == CHOSEN[:2]
    path.write_text(f"{CHOSEN[0]}\nevidencebench_sampel_id_4\n", encoding="utf-8")
    with pytest.raises(UnknownInstanceError, match=rf"^{re.escape(str(path))}: .*'{CHOSEN[1]}'"):
        SAMPLE.subset(path)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ([], DataError, "ids: .*none"),
        ([*CHOSEN, CHOSEN[0]], DataError, f"ids: '{CHOSEN[0]}'"),
        (["zzz"], UnknownInstanceError, rf"'zzz' in sample\.json.*'{SAMPLE.ids[0]}'"),
        ("a,b", DataError, "a,b: .*one id a line"),
        (3, TypeError, "path of a file.*3"),
        ([3], TypeError, "evidencebench_sample_id_0.*3"),
    ],
)
def test_ids_that_choose_nothing_are_refused_in_words(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        SAMPLE.subset(given)


@pytest.mark.parametrize("control", [None, "wrong_hypothesis", "two_papers"])
def test_a_run_of_a_subset_has_the_answers_of_a_run_of_the_whole(control: str | None, tmp_path: Path) -> None:
    whole, part, apart = (tmp_path / f"{name}.jsonl" for name in ("whole", "part", "apart"))
    execute("bm25", SAMPLE, whole, control=control)
    assert execute("bm25", PART, part, control=control).n_instances == 3
    execute("bm25", PART, apart, control=control, engine=Processes(2))
    expected = [line for line in answers_in(whole) if any(f'"{name}"' in line for name in CHOSEN)]
    assert answers_in(part) == answers_in(apart) == expected
    header = read_run(part).header
    assert header is not None
    assert (header.data.n, header.data.ids) == (10, CHOSEN)


def test_a_run_is_resumed_with_the_same_subset_only(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute("bm25", PART, path)
    assert execute("bm25", SAMPLE.subset(reversed(CHOSEN)), path).n_resumed == 3
    for other in (SAMPLE, SAMPLE.subset(SAMPLE.ids[:3])):
        with pytest.raises(RunMismatchError, match="ids was"):
            execute("bm25", other, path)


def test_a_run_of_a_subset_is_scored_on_it_whatever_data_is_given(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.jsonl" for name in ("part", "whole")]
    for path, data in zip(paths, (PART, SAMPLE), strict=True):
        execute("bm25", data, path, tasks="er_at_10")
    found = [
        score_runs(paths[0], SAMPLE),
        score_runs(paths[0], PART),
        score_runs(paths[1], PART),
        score_runs(paths[0], SAMPLE, engine=Processes(2)),
    ]
    scores = [next(iter(scored.scores.values()))["er_at_10"] for scored in found]
    expected = evaluate({"it": BM25()}, PART, "er_at_10")["it"]["er_at_10"]
    assert all(one.ids == CHOSEN and one.recalls.tolist() == expected.recalls.tolist() for one in scores)
    assert all(scored.n_instances == 3 for scored in found)
    with pytest.raises(RunMismatchError, match=rf"part\.jsonl: 3, whole\.jsonl: 10.*--ids.*{CHOSEN[2]}"):
        score_runs(paths, SAMPLE)
    # Four were chosen: the three that were not asked are not left out unseen.
    with pytest.raises(RunMismatchError, match=r"4 .*bm25: 1"):
        score_runs(paths[0], SAMPLE.subset(SAMPLE.ids[:4]))
    with pytest.raises(RunMismatchError, match="in common"):
        score_runs(paths[0], SAMPLE.subset(SAMPLE.ids[:1]))


def test_scores_of_other_subsets_have_other_signatures(tmp_path: Path) -> None:
    names = []
    for ids in (CHOSEN, SAMPLE.ids[:3], SAMPLE.ids):
        execute("bm25", SAMPLE.subset(ids), tmp_path / f"{ids[0]}{len(ids)}.jsonl", tasks="er_at_10")
        scored = score_runs(tmp_path / f"{ids[0]}{len(ids)}.jsonl", SAMPLE.subset(ids))
        names.append(signature_of(scored, "bm25", scored.tasks[0], Resampling()))
    assert len(set(names)) == 3
    assert ["|ids:sha256:" in name for name in names] == [True, True, False]


def test_an_experiment_and_a_cross_validation_take_a_subset(tmp_path: Path) -> None:
    experiment = Experiment(["bm25", "cues"], PART, tasks="er_at_10", folder=tmp_path)
    assert {row.recall.n for row in experiment.leaderboard().found["er_at_10"].standings} == {3}
    page = experiment.report(tmp_path / "own.html").read_text(encoding="utf-8")
    other = write_report(tmp_path / "whole.html", [tmp_path / "bm25.jsonl"], "sample").read_text(encoding="utf-8")
    assert page.count("3 of 10 instances") == other.count("3 of 10 instances") == 1
    what = CrossValidation(systems="bm25", tasks="er_at_10", n_folds=2, n_seeds=1)
    for engine in (None, Processes(1)):
        (figures,) = cross_validate(what, PART, engine=engine, journal=tmp_path / f"{engine}.jsonl")
        assert figures.tasks["er_at_10"].per_instance.keys() == {*CHOSEN}
    with pytest.raises(RunMismatchError, match="data was"):
        cross_validate(what, SAMPLE.subset(SAMPLE.ids[:3]), journal=tmp_path / "None.jsonl")


def test_subsets_of_the_published_data(tmp_path: Path) -> None:
    path = DATA_FOLDER / "evidencebench_train_set.json"
    if not path.exists():
        pytest.skip("needs ../shared/data, which is not here")
    dataset: Dataset = open_dataset(path)
    part = dataset.subset(dataset.ids[1::7])
    execute("bm25", part, tmp_path / "part.jsonl", tasks="er_at_10", control="wrong_hypothesis")
    execute("bm25", dataset, tmp_path / "whole.jsonl", tasks="er_at_10", control="wrong_hypothesis")
    of_part, of_whole = (read_run(tmp_path / f"{name}.jsonl") for name in ("part", "whole"))
    assert of_part.ids == {*part.ids}
    assert all(of_part.answer(name, None) == of_whole.answer(name, None) for name in part.ids)
