"""What people are asked is drawn fairly, blind, and the same again from the same seed."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evidencebench.construction.draft import Draft, DraftHeader, writing_drafts
from evidencebench.construction.people.sampling import draw_tasks, summaries_in
from evidencebench.data.dataset import Dataset, open_dataset, write_dataset
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from labelled_papers import paper


def data_at(folder: Path, papers: list[Instance]) -> Dataset:
    write_dataset(folder / "papers.json", papers)
    return open_dataset(folder / "papers.json")


def with_texts(n_papers: int) -> list[Instance]:
    return [paper(number, text="reports") for number in range(1, n_papers + 1)]


def test_each_paper_is_drawn_once_with_one_aspect_and_all_its_sentences(tmp_path: Path) -> None:
    papers = [*with_texts(6), paper(7, paper_id="p1", text="reports")]  # two instances of one paper
    dataset = data_at(tmp_path, papers)
    drawn = draw_tasks(dataset, n_papers=6, seed=3)
    assert sorted(task.paper_id for task in drawn.tasks) == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert [task.id for task in drawn.tasks] == [f"task_{number}" for number in range(1, 7)]
    for task in drawn.tasks:
        instance = dataset[task.instance_id]
        assert task.sentences == instance.query.sentences
        assert task.aspect == instance.labels.texts[task.aspect_id]
    assert (drawn.n_papers, drawn.n_pairs, drawn.n_positives) == (6, 48, 6)


def test_the_same_seed_draws_the_same_and_another_one_another(tmp_path: Path) -> None:
    dataset = data_at(tmp_path, with_texts(20))
    assert draw_tasks(dataset, n_papers=8, seed=1) == draw_tasks(dataset, n_papers=8, seed=1)
    assert draw_tasks(dataset, n_papers=8, seed=1).tasks != draw_tasks(dataset, n_papers=8, seed=2).tasks


def test_papers_and_their_aspects_are_equally_likely(tmp_path: Path) -> None:
    dataset = data_at(tmp_path, with_texts(4))
    drawn = Counter(
        (task.paper_id, task.aspect_id)
        for seed in range(800)
        for task in draw_tasks(dataset, n_papers=1, seed=seed).tasks
    )
    assert len(drawn) == 8
    assert all(60 < n < 140 for n in drawn.values()), "100 are expected of each, with a standard deviation of 9.4"


def test_nothing_of_the_labels_is_in_the_tasks(tmp_path: Path) -> None:
    """The same papers with other labels give the same tasks."""
    papers = with_texts(5)
    others = [replace(one, labels=replace(one.labels, sources={"a2": (0, 1, 7)}, results=())) for one in papers]
    (tmp_path / "other").mkdir()
    drawn, again = (
        draw_tasks(data_at(folder, found), n_papers=5)
        for folder, found in ((tmp_path, papers), (tmp_path / "other", others))
    )
    assert drawn.tasks == again.tasks
    assert drawn.n_positives != again.n_positives


def test_instances_are_drawn_for_ratings(tmp_path: Path) -> None:
    dataset = data_at(tmp_path, with_texts(5))
    hypotheses = draw_tasks(dataset, sort="hypotheses", n_papers=3)
    assert [one.name for one in hypotheses.header.criteria] == ["valuable", "relevant"]
    assert all(task.sentences and not task.aspect for task in hypotheses.tasks)
    aspects = draw_tasks(dataset, sort="aspects", n_papers=3)
    assert [one.name for one in aspects.header.criteria] == ["matchable"]
    assert all(task.aspect and not task.sentences for task in aspects.tasks)


def test_summaries_come_from_the_drafts(tmp_path: Path) -> None:
    papers = with_texts(3)
    with writing_drafts(tmp_path / "drafts.jsonl", DraftHeader(step="filter")) as writer:
        for one in papers:
            query, labels = one.query, one.labels
            writer.append(
                Draft(
                    id=f"draft of {one.id}",
                    review_id="r",
                    paper_id=query.paper_id,
                    hypothesis=query.hypothesis,
                    aspects=tuple(labels.texts.values()),
                    summary=f"a summary of {query.paper_id}",
                )
            )
        writer.finish()
    summaries = summaries_in(tmp_path / "drafts.jsonl")
    drawn = draw_tasks(data_at(tmp_path, papers), sort="aspects", n_papers=3, summaries=summaries)
    assert [one.name for one in drawn.header.criteria] == ["faithful", "matchable"]
    assert all(task.summary == f"a summary of {task.paper_id}" for task in drawn.tasks)
    papers[0] = replace(papers[0], query=replace(papers[0].query, hypothesis="another"))
    with pytest.raises(DataError, match="give the drafts that the data set was assembled from"):
        draw_tasks(data_at(tmp_path, papers), sort="aspects", n_papers=3, summaries=summaries)


def test_too_few_papers_or_no_texts_of_aspects_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected 9 papers with the text of an aspect, got 3; draw fewer"):
        draw_tasks(data_at(tmp_path, with_texts(3)), n_papers=9)
    without = data_at(tmp_path, [paper(number) for number in range(1, 4)])
    with pytest.raises(DataError, match="--sort hypotheses works for it"):
        draw_tasks(without, n_papers=2)
    assert len(draw_tasks(without, sort="hypotheses", n_papers=2).tasks) == 2
