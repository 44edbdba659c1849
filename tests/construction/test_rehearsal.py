"""Real papers: the labels that doctors marked go through filter and assemble, and come out as they went in."""

from dataclasses import replace
from pathlib import Path

import pytest

from doors import assemble, derive_optima, filter_drafts, input_of, output_of, read_text, read_trial_text
from evidencebench import Instance, Labels, Query, open_dataset, open_drafts, validate_file, write_dataset
from kit.examples import IS_THOROUGH
from kit.skips import DATA_FOLDER
from kit.trial_constructions import WHOLE
from make_rehearsal import make_rehearsal

N_PAPERS = 20 if IS_THOROUGH else 6


def _real_folder() -> Path:
    folder = DATA_FOLDER / "evidence_inference"
    if not folder.is_dir():
        pytest.skip(f"needs the real file {folder}, which is not here")
    return folder


def _by_number(instance: Instance) -> tuple[object, ...]:
    """Return the labels and optima of an instance with numbers in place of the ids of its aspects."""
    labels, optima = instance.labels, derive_optima(instance).evaluations
    number = {aspect: place for place, aspect in enumerate(labels.aspects)}
    return (
        [(sorted(set(labels.sources[aspect])), labels.texts[aspect]) for aspect in number],
        {number[aspect] for aspect in labels.results},
        [(task, one.sentences, one.optimal, [number[name] for name in one.covered]) for task, one in optima.items()],
    )


@pytest.mark.data
def test_labels_of_real_papers_come_out_as_they_went_in(tmp_path: Path) -> None:
    made = make_rehearsal(_real_folder(), tmp_path, n_papers=N_PAPERS, judged=True)
    filtered = filter_drafts(open_drafts(input_of("filter", tmp_path)), output_of("filter", tmp_path))
    report = assemble(filtered, tmp_path / "papers", tmp_path / "dataset", "tea", WHOLE)
    gold = {one.id: one for one in open_dataset(tmp_path / "gold.json")}
    found = list(open_dataset(tmp_path / "dataset" / "test.json"))
    assert made.n_papers == N_PAPERS
    assert len(found) == report.n_instances == len(gold) - len(made.left_out) > N_PAPERS
    for draft_id, one in zip(sorted(draft.id for draft in made.drafts), found, strict=True):
        went_in = gold[draft_id]
        assert one.query == replace(went_in.query, instance_id=one.id, goal=None)
        assert _by_number(one) == _by_number(went_in)
        assert one.labels.evaluations == derive_optima(one).evaluations
    assert validate_file(tmp_path / "dataset" / "test.json", optima=True).violations == ()


@pytest.mark.data
def test_real_papers_are_met_by_their_text_though_it_was_read_from_another_format(tmp_path: Path) -> None:
    made = make_rehearsal(_real_folder(), tmp_path, n_papers=N_PAPERS, judged=True)
    filtered = filter_drafts(open_drafts(input_of("filter", tmp_path)), output_of("filter", tmp_path))
    files = sorted({draft.paper_file for draft in made.drafts})
    others = [_read_from_text(name.removesuffix(".nxml"), number) for number, name in enumerate(files[::2])]
    write_dataset(tmp_path / "others.json", others)
    against = [open_dataset(tmp_path / "others.json")]
    report = assemble(filtered, tmp_path / "papers", tmp_path / "dataset", "tea", WHOLE, against=against)
    left = [draft for draft in made.drafts if draft.paper_file not in files[::2]]
    assert report.steps[-1].dropped == {"paper is in another data set, by its text": len(made.drafts) - len(left)}
    found = {one.query.paper_id for one in open_dataset(tmp_path / "dataset" / "test.json")}
    assert found == {draft.paper_id for draft in left}


def _read_from_text(name: str, number: int) -> Instance:
    """Return an instance of the plain text of an article, under an id that says nothing."""
    path = _real_folder() / "txt" / f"{name}.txt"
    paper = read_trial_text(read_text(path), str(path)).paper
    query = Query(
        instance_id=f"other{number}",
        paper_id=f"other{number}",
        hypothesis=f"Claim {number}.",
        sentences=paper.sentences,
        kinds=paper.kinds,
    )
    return Instance(query=query, labels=Labels(aspects=("a",), sources={"a": (0,)}))
