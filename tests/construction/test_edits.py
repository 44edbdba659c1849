"""Edits by people: what they say is kept, a line that is none is told, and they are laid over what a step made."""

import json
from pathlib import Path

import pytest

from doors import EDITS, STEP_FILES, DataError, Judging, RunFormatError
from evidencebench import Draft, Edit, add_edit, read_edits

DRAFT = Draft(
    id="d",
    review_id="r",
    paper_id="p",
    aspects=("a", "b"),
    judging=Judging(paper_sha256="", n_sentences=9, window=10, overlap=5, rounds=(), sources=((1,), ())),
)
JUDGED = [*STEP_FILES][-3]  # the last step that judges
OWN = Edit(id="d", step="hypotheses", hypothesis="Tea lowers blood pressure.", by="ann")


def test_the_last_edit_of_a_draft_and_step_counts_and_an_empty_one_takes_it_back(tmp_path: Path) -> None:
    assert read_edits(tmp_path) == {}
    by_hand = {"answer": "edit", "id": "d", "step": "hypotheses", "hypothesis": "Tea does nothing."}
    (tmp_path / EDITS).write_text(json.dumps(by_hand))  # without a line end, as editors leave it
    assert read_edits(tmp_path)["d", "hypotheses"].hypothesis == "Tea does nothing."
    add_edit(tmp_path, OWN)
    add_edit(tmp_path, Edit(id="d", step="aspects", rejected="two studies"))
    edits = read_edits(tmp_path)
    assert edits["d", "hypotheses"] == OWN
    assert set(edits) == {("d", "hypotheses"), ("d", "aspects")}
    add_edit(tmp_path, Edit(id="d", step="hypotheses"))
    assert set(read_edits(tmp_path)) == {("d", "aspects")}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            '{"answer": "edit", "id": "d", "step": "hypotheses", "hypothesis": "Tea',
            r"edits\.jsonl: line 3: .*truncated.*correct",
        ),
        ('{"answer": "edit", "id": "d", "step": "hypotheses", "hypotesis": "Tea"}', "line 3: .*`hypotesis`"),
        ('{"answer": "edit", "id": "d", "step": "harvest", "rejected": "no"}', "line 3: .*summaries.*'harvest'"),
        ('{"answer": "edit", "id": "d", "step": "aspects", "hypothesis": "Tea"}', "line 3: .*'hypotheses'"),
        ('{"answer": "edit", "id": "d", "step": "aspects", "aspects": ["a", " "]}', "line 3: .*aspects: .*empty"),
        ('{"answer": "edit", "id": "d", "step": "label-results", "results": [-1]}', "line 3: .*results: .*-1"),
        ('{"answer": "edit", "id": "", "step": "aspects", "aspects": ["a"]}', "line 3: .*id of a draft"),
    ],
)
def test_a_line_that_is_no_edit_is_told_and_not_added_to(tmp_path: Path, line: str, why: str) -> None:
    add_edit(tmp_path, OWN)
    path = tmp_path / EDITS
    path.write_text(path.read_text() + line)
    before = path.read_bytes()
    for work in (lambda: read_edits(tmp_path), lambda: add_edit(tmp_path, OWN)):
        with pytest.raises(RunFormatError, match=why):
            work()
    assert path.read_bytes() == before


def test_an_edit_is_laid_over_a_draft_and_one_that_does_not_fit_it_says_so() -> None:
    made = OWN.lay_over(DRAFT)
    assert (made.hypothesis, made.edited, made.aspects) == (OWN.hypothesis, {"hypotheses": "ann"}, DRAFT.aspects)
    gone = Edit(id="d", step=JUDGED, rejected="two studies").lay_over(DRAFT)
    assert (gone.dropped, gone.detail) == ("rejected", "two studies")
    results = Edit(id="d", step="label-results", results=(1, 0), aspects=("a", "b"))
    assert results.lay_over(DRAFT).results == (1, 0)
    for edit, why in (
        (Edit(id="d", step="label-results", results=(2,)), r"0\.\.1, got aspect 2; .*take it back"),
        (Edit(id="d", step="label-results", results=(1,), aspects=("a",)), "aspects that the draft has"),
        (Edit(id="d", step=JUDGED, sources=((9,), ())), "sentence 9"),
        (Edit(id="d", step=JUDGED, sources=((8,),)), "2 aspects.* 1"),
    ):
        with pytest.raises(DataError, match=f"'d' at '{edit.step}'.*{why}"):
            edit.lay_over(DRAFT)
    judging = Edit(id="d", step=JUDGED, sources=((8, 7), (0,))).lay_over(DRAFT).judging
    assert judging is not None
    assert judging.sources == ((8, 7), (0,))
