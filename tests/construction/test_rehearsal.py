"""Real papers: the labels that doctors marked go through filter and assemble, and come out as they went in."""

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from evidencebench.construction.assembly.assemble import assemble
from evidencebench.construction.assembly.settings import AssemblySettings
from evidencebench.construction.draft_file import open_drafts
from evidencebench.construction.filtering import filter_drafts
from evidencebench.construction.work_folder import input_of, output_of
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optima import derive_optima
from evidencebench.data.validation.validate import validate_file
from make_rehearsal import make_rehearsal
from skips import DATA_FOLDER

N_PAPERS = 20


def _by_number(instance: Instance) -> tuple[object, ...]:
    """Return the labels and optima of an instance with numbers in place of the ids of its aspects."""
    number = {aspect: place for place, aspect in enumerate(instance.labels.aspects)}
    optima = derive_optima(instance).evaluations
    return (
        [sorted(set(instance.labels.sources[aspect])) for aspect in number],
        [instance.labels.texts[aspect] for aspect in number],
        {number[aspect] for aspect in instance.labels.results},
        {
            task: (one.sentences, one.optimal, [number[aspect] for aspect in one.covered])
            for task, one in optima.items()
        },
    )


@pytest.mark.data
def test_labels_of_real_papers_come_out_as_they_went_in(tmp_path: Path) -> None:
    folder = DATA_FOLDER / "evidence_inference"
    if not folder.is_dir():
        pytest.skip(f"needs the real file {folder}, which is not here")
    made = make_rehearsal(folder, tmp_path, n_papers=N_PAPERS, judged=True)

    filtered = filter_drafts(open_drafts(input_of("filter", tmp_path)), output_of("filter", tmp_path))
    settings = AssemblySettings(name="ei", made_on=date(2026, 11, 22), shares={"test": Fraction(1)})
    report = assemble(filtered, tmp_path / "papers", tmp_path / "dataset", settings)

    gold = {one.id: one for one in open_dataset(tmp_path / "gold.json")}
    found = list(open_dataset(tmp_path / "dataset" / "test.json"))
    assert made.n_papers == N_PAPERS
    assert len(found) == report.n_instances == len(gold) - len(made.left_out) > N_PAPERS
    for draft_id, one in zip(sorted(draft.id for draft in made.drafts), found, strict=True):
        went_in = gold[draft_id]
        assert one.query.sentences == went_in.query.sentences
        assert one.query.kinds == went_in.query.kinds
        assert (one.query.hypothesis, one.query.paper_id) == (went_in.query.hypothesis, went_in.query.paper_id)
        assert _by_number(one) == _by_number(went_in)
        assert one.labels.evaluations == derive_optima(one).evaluations
    assert validate_file(tmp_path / "dataset" / "test.json", optima=True).violations == ()
