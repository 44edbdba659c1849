"""Which misses an audit draws: every miss is found, and drawn in proportion to what it takes from the score."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench import Ranking, answers_from, execute, load_sample, make_system, open_dataset
from evidencebench.construction.audit import BESIDE, draw_in_proportion, misses_of, sample_misses
from evidencebench.construction.people.tasks import read_misses, write_misses
from evidencebench.data.tasks import TASKS
from evidencebench.errors import RunFormatError, RunMismatchError, UndefinedScoreError
from evidencebench.query import headings_of
from evidencebench.scoring.evaluate import Answering, evaluate
from evidencebench.scoring.resampling import Floats

SAMPLE = load_sample()
TASK = TASKS["er_at_optimal"]
TOO_MANY = {instance.id: Ranking(sentences=tuple(range(0, 40, 2)), ordered=False) for instance in SAMPLE}
ANSWERS: dict[str, Answering] = {
    **{name: answers_from(make_system(name)) for name in ("bm25", "lead", "random")},
    "sets over the budget, cut by chance": TOO_MANY,
    "nothing for most": {SAMPLE.ids[0]: [3]},
}
losses = st.lists(st.floats(0.01, 1), min_size=1, max_size=30).map(np.array)


@pytest.fixture
def bm25(tmp_path: Path) -> Path:
    execute("bm25", SAMPLE, tmp_path / "bm25.jsonl")
    return tmp_path / "bm25.jsonl"


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("task", ["er_at_optimal", "er_at_10", "result_er_at_5"])
def test_recall_and_what_the_misses_take_from_it_are_what_can_be_covered(name: str, task: str) -> None:
    scores = evaluate({name: ANSWERS[name]}, SAMPLE, task)[name][task]
    found = scores.recalls.copy()
    for miss in misses_of(scores, SAMPLE):
        found[miss.position] += miss.loss
    labels = [SAMPLE[instance_id].labels for instance_id in scores.ids]
    wanted = [(one, one.that_count(scores.task.scope)) for one in labels]
    coverable = [sum(bool(one.sources.get(aspect)) for aspect in aspects) / len(aspects) for one, aspects in wanted]
    assert found == pytest.approx(np.array(coverable))


@given(losses, st.integers(1, 40), st.integers(0, 99))
def test_what_is_drawn_stands_for_everything(losses: Floats, n: int, seed: int) -> None:
    places, stands_for = draw_in_proportion(losses, n, np.random.default_rng(seed))
    assert len(places) == min(n, len(losses))
    assert sorted(set(places)) == places
    assert stands_for.sum() == pytest.approx(losses.sum())
    assert (stands_for >= losses[places] * (1 - 1e-6)).all()


def test_each_is_drawn_in_proportion_to_what_it_takes_and_the_largest_for_sure() -> None:
    losses = np.array([5.0, 0.5, 1.0, 1.5, 2.0])
    drawn = Counter(
        place for seed in range(4_000) for place in draw_in_proportion(losses, 3, np.random.default_rng(seed))[0]
    )
    chances = np.array([drawn[place] / 4_000 for place in range(5)])
    assert chances == pytest.approx(np.array([1, 0.2, 0.4, 0.6, 0.8]), abs=0.035)  # over four standard errors


def test_the_same_seed_draws_the_same_misses_and_the_file_keeps_them(bm25: Path, tmp_path: Path) -> None:
    header, misses = sample_misses(bm25, SAMPLE, TASK, n=20, seed=1)
    write_misses(tmp_path / "misses.jsonl", header, misses)
    read = read_misses(tmp_path / "misses.jsonl")
    assert sample_misses(bm25, SAMPLE, TASK, n=20, seed=1) == (header, misses) == (read.header, read.records)
    assert sample_misses(bm25, SAMPLE, TASK, n=20, seed=2) != (header, misses)
    assert sum(miss.stands_for for miss in misses) == pytest.approx(header.loss)
    assert header.score + header.loss == pytest.approx(1)
    assert sum(stratum.n_misses for stratum in header.strata) == header.n_misses == 73
    for stratum in header.strata:
        assert stratum.n_drawn == sum(miss.stratum == stratum.name for miss in misses)
        assert stratum.n_drawn == pytest.approx(20 * stratum.loss / header.loss, abs=1 + 1e-9)


def test_a_drawn_miss_is_one_and_its_stratum_is_where_the_nearest_selected_sentence_stands(bm25: Path) -> None:
    header, misses = sample_misses(bm25, SAMPLE, TASK, n=1_000, seed=0)
    assert len(misses) == header.n_misses
    for miss in misses:
        labels, headings = SAMPLE[miss.instance_id].labels, headings_of(miss.kinds)
        assert miss.sources == tuple(sorted(labels.sources[miss.aspect_id]))
        assert not set(miss.sources) & set(miss.selected)
        assert len(miss.selected) <= TASK.budget_for(SAMPLE[miss.instance_id])  # type: ignore[operator]
        distance = min(abs(one - source) for one in miss.selected for source in miss.sources)
        assert (miss.stratum == "beside") is (distance <= BESIDE)
        if miss.stratum == "elsewhere":
            assert not {headings[one] for one in miss.selected} & {headings[one] for one in miss.sources} - {None}
        assert miss.stands_for == miss.loss  # all are drawn


def test_a_run_without_misses_or_that_was_asked_two_papers_is_refused(tmp_path: Path) -> None:
    execute("oracle", SAMPLE, tmp_path / "oracle.jsonl")
    with pytest.raises(UndefinedScoreError, match="covers every aspect that can be covered on 'er_at_optimal'"):
        sample_misses(tmp_path / "oracle.jsonl", SAMPLE, TASK, n=5, seed=0)
    execute("lead", SAMPLE, tmp_path / "two.jsonl", control="two_papers")
    with pytest.raises(RunMismatchError, match="answers queries of two papers"):
        sample_misses(tmp_path / "two.jsonl", SAMPLE, TASK, n=5, seed=0)


def test_a_damaged_file_of_misses_is_refused_with_its_line(bm25: Path, tmp_path: Path) -> None:
    path = tmp_path / "misses.jsonl"
    header, misses = sample_misses(bm25, open_dataset("sample"), TASK, n=3, seed=0)
    write_misses(path, header, misses)
    lines = path.read_text().splitlines()
    broken = {
        "\n".join([lines[0], re.sub(r'"sources":\[\d+', '"sources":[9999', lines[1])]): "line 2: names sentence 9999",
        "\n".join([lines[0], re.sub(r'"kinds":\["\w+",', '"kinds":[', lines[1])]): "line 2: expected a kind for each",
    }
    for content, message in broken.items():
        path.write_text(content)
        with pytest.raises(RunFormatError, match=re.escape(message)):
            read_misses(path)
