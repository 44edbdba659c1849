import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.assemble import AssemblyReport, assemble
from evidencebench.construction.config import AssemblySettings, SplitBy
from evidencebench.construction.draft import Draft, DraftFile
from evidencebench.data.dataset import open_dataset
from evidencebench.data.validation import validate_files
from evidencebench.errors import ChangedDataError
from evidencebench.papers.read import read
from trial_constructions import (
    DAY,
    SETTINGS,
    WHOLE,
    files_in,
    judged_draft,
    make_papers,
    paper_text,
    random_drafts,
    sentence,
    write_drafts,
)


def _assembled(folder: Path, source: DraftFile, settings: AssemblySettings = SETTINGS) -> AssemblyReport:
    return assemble(source, folder / "papers", folder / "dataset", settings, overwrite=True)


@given(st.integers(0, 10**6), st.sampled_from(["both", "paper"]))
def test_no_paper_and_no_review_is_in_two_splits_and_all_files_are_valid(
    tmp_path_factory: pytest.TempPathFactory, seed: int, split_by: SplitBy
) -> None:
    folder = tmp_path_factory.mktemp("splits")
    drafts = random_drafts(folder / "papers", Random(seed), n_reviews=8)
    source = write_drafts(folder / "filtered.jsonl", drafts)
    shares = {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 6)}
    settings = AssemblySettings(name="tea", made_on=DAY, split_by=split_by, shares=shares, seed=seed)
    report = _assembled(folder, source, settings)
    made = [folder / "dataset" / f"{split}.json" for split, one in report.splits.items() if one.n_instances]
    instances = {path.stem: list(open_dataset(path)) for path in made}
    papers = [{one.query.paper_id for one in found} for found in instances.values()]
    reviews = [{one.labels.review_id for one in found} for found in instances.values()]
    assert sum(map(len, papers)) == len(set().union(*papers))
    if split_by == "both":
        assert sum(map(len, reviews)) == len(set().union(*reviews))
    assert [one.violations for one in validate_files(made, optima=True)] == [()] * len(made)
    assert sum(map(len, instances.values())) == len(drafts) == report.n_instances


@given(st.integers(0, 10**6))
def test_copies_of_a_paper_under_other_names_are_in_one_split(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder, random = tmp_path_factory.mktemp("copies"), Random(seed)
    papers = folder / "papers"
    names = make_papers(papers, 6, random)
    by_work = {name: [name] for name in names}  # a paper, and the files that hold it
    for name in names[:3]:
        again = f"again_{name}"
        sentences = list(read(papers / name).sentences)[1:]  # the first one is the title
        replaced = random.sample(range(len(sentences)), round(0.4 * len(sentences)))
        changed = [sentence(random) if number in replaced else one for number, one in enumerate(sentences)]
        (papers / again).write_text(paper_text(changed))
        by_work[name].append(again)
    same_doi = {names[3]: {"doi": "10.1186/Tea-5"}, names[4]: {"doi": "https://doi.org/10.1186/tea-5"}}
    by_work[names[3]] += by_work.pop(names[4])
    drafts = [
        judged_draft(papers, name, random, id=name, review_id=f"review of {name}", paper_ids=same_doi.get(name, {}))
        for files in by_work.values()
        for name in files
    ]
    shares = {split: Fraction(1, 3) for split in ("a", "b", "c")}
    settings = AssemblySettings(name="tea", made_on=DAY, shares=shares, seed=seed)
    _assembled(folder, write_drafts(folder / "filtered.jsonl", drafts), settings)
    split_of = {
        one.query.paper_id: path.stem for path in (folder / "dataset").glob("?.json") for one in open_dataset(path)
    }
    assert len(split_of) == len(drafts)
    for files in by_work.values():
        assert len({split_of[name] for name in files}) == 1
    assert len(set(split_of.values())) == 3


def test_an_assembled_data_set_says_what_its_drafts_say(tmp_path: Path) -> None:
    drafts = random_drafts(tmp_path / "papers", Random(0))
    source = write_drafts(tmp_path / "filtered.jsonl", drafts)
    _assembled(tmp_path, source, WHOLE)
    dataset = open_dataset(tmp_path / "dataset" / "test.json")
    assert dataset.ids == tuple(f"tea_test_id_{n}" for n in range(len(drafts)))
    for draft, one in zip(sorted(drafts, key=lambda draft: draft.id), dataset, strict=True):
        paper = read(tmp_path / "papers" / draft.paper_file)
        aspects = [f"{one.id}_aspect_{n}" for n in range(len(draft.aspects))]
        assert (one.query.hypothesis, one.query.paper_id) == (draft.hypothesis, draft.paper_id)
        assert (one.query.sentences, one.query.kinds) == (paper.sentences, paper.kinds)
        assert list(one.labels.aspects) == aspects
        assert draft.judging is not None
        assert one.labels.sources == dict(zip(aspects, draft.judging.sources, strict=True))
        assert one.labels.texts == dict(zip(aspects, draft.aspects, strict=True))
        assert one.labels.results == tuple(aspects[n] for n in draft.results or ())
        assert one.labels.review_id == draft.review_id
    for fields in json.loads((tmp_path / "dataset" / "test.json").read_bytes()).values():
        there = {(aspect, int(one)) for one, names in fields["sentence_index2aspects"].items() for aspect in names}
        assert there == {(aspect, one) for aspect, found in fields["aspect2sentence_indices"].items() for one in found}
        assert fields["results_aspect_list_ids"] != []


@given(st.integers(0, 10**6))
def test_the_order_of_the_lines_changes_no_byte(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder, random = tmp_path_factory.mktemp("order"), Random(seed)
    drafts = random_drafts(folder / "papers", random)
    _assembled(folder, write_drafts(folder / "filtered.jsonl", drafts))
    before = files_in(folder / "dataset")
    random.shuffle(drafts)
    _assembled(folder, write_drafts(folder / "filtered.jsonl", drafts))
    assert files_in(folder / "dataset") == before


def test_instances_without_any_source_or_result_or_review_are_valid_too(tmp_path: Path) -> None:
    _, source = _one_draft(tmp_path, review_id="", results=None)
    draft = source["d"]
    assert draft.judging is not None
    nothing = msgspec.structs.replace(draft.judging, sources=((),) * len(draft.aspects))
    drafts = [draft, msgspec.structs.replace(draft, id="e", summary="Another.", judging=nothing)]
    report = _assembled(tmp_path, write_drafts(tmp_path / "filtered.jsonl", drafts), WHOLE)
    path = tmp_path / "dataset" / "test.json"
    assert validate_files([path], optima=True)[0].violations == ()
    some, none = open_dataset(path)
    assert (some.labels.results, some.cluster) == ((), some.query.paper_id)
    assert set(some.labels.evaluations) == {"er_at_optimal", "er_at_10"}
    assert none.labels.evaluations["er_at_optimal"].optimal == 0
    assert report.splits["test"].n_reviews == 0


def _one_draft(folder: Path, **fields: Any) -> tuple[Draft, DraftFile]:
    make_papers(folder / "papers", 1, Random(0))
    draft = judged_draft(folder / "papers", "paper0.txt", Random(0), id="d", **fields)
    return draft, write_drafts(folder / "filtered.jsonl", [draft])


def test_a_paper_that_is_not_as_it_was_judged_is_refused(tmp_path: Path) -> None:
    draft, source = _one_draft(tmp_path)
    assert draft.judging is not None
    longer = msgspec.structs.replace(draft.judging, n_sentences=draft.judging.n_sentences + 1)
    other = write_drafts(tmp_path / "longer.jsonl", [msgspec.structs.replace(draft, judging=longer)])
    with pytest.raises(ChangedDataError, match=r"is read as .* sentences, and had .* when it was judged"):
        _assembled(tmp_path, other)
    path = tmp_path / "papers" / "paper0.txt"
    path.write_text(path.read_text() + "One more sentence was added here.\n")
    with pytest.raises(ChangedDataError, match=r"draft 'd': paper 'paper0\.txt' has changed since .*: .*SHA"):
        _assembled(tmp_path, source)
    assert not (tmp_path / "dataset").exists()
    assert not (tmp_path / "dataset.part").exists()
