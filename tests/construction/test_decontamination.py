import csv
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.assemble import DUPLICATE, assemble
from evidencebench.construction.draft import Draft
from evidencebench.construction.leakage import (
    BY_HYPOTHESIS,
    BY_ID,
    BY_TEXT,
    TextIndex,
    sentence_hashes,
)
from evidencebench.data.dataset import open_dataset, write_dataset
from evidencebench.data.instance import Instance, Labels
from evidencebench.papers.read import read
from evidencebench.query import Kind, Query
from examples import examples
from trial_constructions import WHOLE, judged_draft, make_papers, sentence, write_drafts


def _instance(number: int, **fields: Any) -> Instance:
    """Return an instance of another data set; ``fields`` replace those of its query."""
    own = {"hypothesis": f"Claim {number}.", "paper_id": f"other{number}", "sentences": ("Tea was given.",)}
    query = Query(instance_id=f"other_id_{number}", **(own | {"kinds": (Kind.BODY,)} | fields))
    return Instance(query=query, labels=Labels(aspects=("a",), sources={"a": (0,)}))


def _dropped(folder: Path, drafts: list[Draft], others: list[Instance]) -> dict[str, tuple[str, str]]:
    """Assemble drafts against other instances, and return draft -> reason and detail of those that were dropped."""
    write_dataset(folder / "others.json", others)
    source = write_drafts(folder / "filtered.jsonl", drafts)
    against = [open_dataset(folder / "others.json")]
    assemble(source, folder / "papers", folder / "dataset", WHOLE, against=against, overwrite=True)
    with (folder / "dataset" / "dropped.csv").open(newline="") as file:
        return {row["draft"]: (row["reason"], row["detail"]) for row in csv.DictReader(file)}


def _drafts(folder: Path, n: int, random: Random) -> list[Draft]:
    names = make_papers(folder / "papers", n, random)
    return [judged_draft(folder / "papers", name, random, id=f"d{number}") for number, name in enumerate(names)]


def _copied(path: Path, random: Random, number: int) -> Instance:
    """Return an instance of a copy of a paper: other ids, case and marks, and 30 % of the sentences replaced."""
    paper = read(path)
    sentences = list(paper.sentences)
    for index in random.sample(range(len(sentences)), round(0.3 * len(sentences))):
        sentences[index] = sentence(random)
    texts = tuple(f"  {one.upper().replace('.', ' !')}" for one in sentences)
    return _instance(number, sentences=texts, kinds=paper.kinds)


@given(st.integers(0, 10**6))
def test_changed_copies_of_papers_are_found_and_no_others(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder, random = tmp_path_factory.mktemp("copies"), Random(seed)
    drafts = _drafts(folder, 6, random)
    planted = random.sample(range(6), random.randint(0, 5))
    copies = [_copied(folder / "papers" / drafts[n].paper_file, random, n) for n in planted]
    unrelated = [
        _instance(n, sentences=tuple(sentence(random) for _ in range(20)), kinds=(Kind.BODY,) * 20)
        for n in range(10, 15)
    ]
    found = _dropped(folder, drafts, [*copies, *unrelated])
    assert {(draft, reason) for draft, (reason, _) in found.items()} == {(f"d{n}", BY_TEXT) for n in planted}
    assert all(detail.startswith(f"other_id_{draft[1:]} of others.json: ") for draft, (_, detail) in found.items())


@pytest.mark.parametrize(
    ("paper_id", "paper_ids", "other"),
    [
        ("pmc_1280405", {}, "PMC1280405"),
        ("PMC01280405", {}, "pmc_1280405"),
        ("pubmed_9000312", {}, "PMID: 9000312"),
        ("doi_10.1186/TEA-5", {}, "https://doi.org/10.1186/tea-5"),
        ("mine", {"pmid": "9000312"}, "pubmed_9000312"),
        ("mine", {"pmcid": "1280405"}, "pmc_1280405"),
        ("mine", {"doi": "10.1186/tea-5"}, "10.1186/TEA-5"),
        ("My Paper", {}, "my paper"),
    ],
)
def test_a_paper_is_met_by_any_of_its_ids_in_any_spelling(
    tmp_path: Path, paper_id: str, paper_ids: dict[str, str], other: str
) -> None:
    names = make_papers(tmp_path / "papers", 2, Random(0))
    met = judged_draft(tmp_path / "papers", names[0], Random(0), id="met", paper_id=paper_id, paper_ids=paper_ids)
    left = judged_draft(tmp_path / "papers", names[1], Random(1), id="left", paper_id="pmc_12804050")
    found = _dropped(tmp_path, [met, left], [_instance(0, paper_id=other)])
    assert {draft: reason for draft, (reason, _) in found.items()} == {"met": BY_ID}
    assert found["met"][1].startswith("other_id_0 of others.json: ")


def test_a_hypothesis_is_met_whatever_its_case_and_marks(tmp_path: Path) -> None:
    drafts = _drafts(tmp_path, 2, Random(0))
    found = _dropped(tmp_path, drafts, [_instance(0, hypothesis=f' "{drafts[0].hypothesis.upper()[:-1]}"!')])
    assert found == {"d0": (BY_HYPOTHESIS, "other_id_0 of others.json")}


def test_drafts_with_paper_and_summary_of_another_are_dropped_also_under_another_id(tmp_path: Path) -> None:
    random = Random(0)
    first, *_ = drafts = _drafts(tmp_path, 2, random)
    (tmp_path / "papers" / "copy.txt").write_bytes((tmp_path / "papers" / first.paper_file).read_bytes())
    twin = judged_draft(tmp_path / "papers", "copy.txt", random, id="twin", summary=f"{first.summary[:-1].upper()} .")
    other = judged_draft(tmp_path / "papers", "copy.txt", random, id="other")
    found = _dropped(tmp_path, [*drafts, twin, other], [_instance(0)])
    assert found == {"twin": (DUPLICATE, "d0")}


_hashes = st.lists(st.integers(0, 40), max_size=30).map(lambda found: np.array(sorted(set(found)), dtype=np.uint64))


@examples(300)
@given(st.lists(_hashes, min_size=1, max_size=8), _hashes)
def test_the_index_finds_what_sets_find(papers: list[Any], asked: Any) -> None:
    found = dict(TextIndex(papers).same_papers(asked))
    expected = {}
    for position, paper in enumerate(papers):
        is_first = not any(np.array_equal(paper, before) and len(paper) for before in papers[:position])
        shared, shorter = len(set(paper) & set(asked)), min(len(paper), len(asked))
        if is_first and shared >= 5 and shared > 0.25 * shorter:
            expected[position] = shared / shorter
    assert found == expected


def test_headings_short_sentences_and_what_most_papers_say_tell_no_papers_apart() -> None:
    random = Random(0)
    declared = [sentence(random) for _ in range(6)]
    same = ["Introduction and aims of the study", "None declared.", *declared]
    kinds = [Kind.HEADING, Kind.BODY, *[Kind.BODY] * 6]
    papers = [
        sentence_hashes([*same, *(sentence(random) for _ in range(4))], [*kinds, *[Kind.BODY] * 4]) for _ in range(30)
    ]
    assert [len(one) for one in papers] == [10] * 30
    index = TextIndex(papers)
    assert [list(index.same_papers(paper)) for paper in papers] == [[]] * 30
