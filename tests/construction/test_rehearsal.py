"""Real papers: the labels that doctors marked go through filter and assemble, and come out as they went in."""

from pathlib import Path

import pytest

from evidencebench.construction.assemble import assemble
from evidencebench.construction.demo import read_gold
from evidencebench.construction.draft import input_of, open_drafts, output_of
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import JudgeSettings, judge_step
from evidencebench.construction.leakage import BY_TEXT
from evidencebench.construction.losses import filter_drafts
from evidencebench.construction.step import run_step
from evidencebench.construction.writing import LABEL_RESULTS
from evidencebench.data.dataset import open_dataset, write_dataset
from evidencebench.data.evidence_inference import read_trial_text
from evidencebench.data.instance import Instance, Labels
from evidencebench.data.optima import derive_optima
from evidencebench.data.sample import load_sample
from evidencebench.data.validation import validate_file
from evidencebench.execution.rewriting import asker_from
from evidencebench.files.disk import read_text
from evidencebench.models.llm.client import make_client
from evidencebench.query import Query
from fake_models import running_fake_server
from make_rehearsal import make_rehearsal
from skips import DATA_FOLDER
from trial_constructions import WHOLE

N_PAPERS = 20


def _real_folder() -> Path:
    folder = DATA_FOLDER / "evidence_inference"
    if not folder.is_dir():
        pytest.skip(f"needs the real file {folder}, which is not here")
    return folder


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
    made = make_rehearsal(_real_folder(), tmp_path, n_papers=N_PAPERS, judged=True)
    filtered = filter_drafts(open_drafts(input_of("filter", tmp_path)), output_of("filter", tmp_path))
    report = assemble(filtered, tmp_path / "papers", tmp_path / "dataset", WHOLE)
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


@pytest.mark.data
def test_a_judge_of_known_error_rate_makes_the_errors_that_arithmetic_says_and_what_it_made_is_valid(
    tmp_path: Path,
) -> None:
    misses, invents = 0.2, 0.005
    made = make_rehearsal(_real_folder(), tmp_path, n_papers=N_PAPERS)
    with running_fake_server(load_sample(), studies=read_gold(tmp_path / "studies.jsonl")) as server:
        client = make_client(cache=False)
        asker = asker_from(f"local/noisy-{misses}-{invents},base_url={server.base_url}", client=client)
        for step in (judge_step(JudgeSettings(), PaperFolder(tmp_path / "papers")), LABEL_RESULTS):
            source = open_drafts(input_of(step.name, tmp_path))
            assert run_step(step, source, output_of(step.name, tmp_path), asker=asker).is_finished
        client.close()
    gold = {one.id: one for one in open_dataset(tmp_path / "gold.json")}
    judged = {one.id: one for one in open_drafts(output_of("judge", tmp_path)).drafts()}
    n_missed = n_invented = 0
    expected_missed = expected_invented = 0.0
    for draft in judged.values():
        labels, n_sentences = gold[draft.id].labels, len(gold[draft.id].query.sentences)
        assert draft.judging is not None
        for aspect, found in zip(labels.aspects, draft.judging.sources, strict=True):
            sources = set(labels.sources[aspect])
            n_missed += len(sources - set(found))
            n_invented += len(set(found) - sources)
            for sentence in range(n_sentences):  # the first five are judged once, the others twice
                n_votes = 1 if sentence < 5 else 2
                expected_missed += misses**n_votes if sentence in sources else 0
                expected_invented += 0 if sentence in sources else 1 - (1 - invents) ** n_votes
    assert abs(n_missed - expected_missed) <= 4 * max(1, expected_missed) ** 0.5
    assert abs(n_invented - expected_invented) <= 4 * expected_invented**0.5
    filtered = filter_drafts(open_drafts(input_of("filter", tmp_path)), output_of("filter", tmp_path))
    assemble(filtered, tmp_path / "papers", tmp_path / "dataset", WHOLE)
    kept = [judged[one] for one in sorted(filtered.going_on)]
    assembled = list(open_dataset(tmp_path / "dataset" / "test.json"))
    assert len(kept) == len(assembled) >= len(made.drafts) // 2
    for draft, one in zip(kept, assembled, strict=True):
        assert draft.judging is not None
        assert tuple(map(one.labels.sources.get, one.labels.aspects)) == draft.judging.sources
    assert validate_file(tmp_path / "dataset" / "test.json", optima=True).violations == ()


@pytest.mark.data
def test_real_papers_are_met_by_their_text_though_it_was_read_from_another_format(tmp_path: Path) -> None:
    made = make_rehearsal(_real_folder(), tmp_path, n_papers=N_PAPERS, judged=True)
    filtered = filter_drafts(open_drafts(input_of("filter", tmp_path)), output_of("filter", tmp_path))
    files = sorted({draft.paper_file for draft in made.drafts})
    others = [_read_from_text(name.removesuffix(".nxml"), number) for number, name in enumerate(files[::2])]
    write_dataset(tmp_path / "others.json", others)
    against = [open_dataset(tmp_path / "others.json")]
    report = assemble(filtered, tmp_path / "papers", tmp_path / "dataset", WHOLE, against=against)
    left = [draft for draft in made.drafts if draft.paper_file not in files[::2]]
    assert report.steps[-1].dropped == {BY_TEXT: len(made.drafts) - len(left)}
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
