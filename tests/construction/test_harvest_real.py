"""Passages of real articles stand at their places, and no kept one links to two references."""

import re

import pytest

from evidencebench.construction.harvest.harvest import HarvestRules, harvest_review
from evidencebench.construction.harvest.papers import papers_in
from evidencebench.construction.harvest.references import KNOWN
from evidencebench.errors import UnreadableError
from evidencebench.papers.read import read
from examples import some_of
from skips import DATA_FOLDER

_NOT_READ = re.compile(r"<(fig|table-wrap|disp-formula|fn|supplementary-material)\b.*?</\1>", re.DOTALL)


@pytest.mark.data
def test_real_passages_stand_at_their_places_and_cite_one_paper() -> None:
    paths = sorted(DATA_FOLDER.rglob("*.nxml"))
    if not paths:
        pytest.skip("needs the real files of ../shared/data")
    n_passages = n_kept = n_linked = 0
    for path in some_of(paths, thorough=8, quick=40):
        try:
            found = harvest_review(path.read_bytes(), file=path.name, rules=HarvestRules(licences=KNOWN)).drafts
        except UnreadableError:
            continue
        content, review = path.read_bytes().decode("utf-8-sig"), read(path)
        starts = {span.start: index for index, span in enumerate(review.spans)}
        for draft in found:
            assert draft.passage is not None
            assert draft.summary.startswith(review.sentences[starts[draft.passage.start]])
            n_passages += 1
            if not draft.dropped:
                n_kept += 1
                source = _NOT_READ.sub("", content[draft.passage.start : draft.passage.stop])
                rids = re.findall(r'<xref(?=[^>]*bibr)[^>]*\brid="([^"]*)"', source)
                linked = set(" ".join(rids).split())
                assert linked <= {draft.passage.reference}
                n_linked += bool(linked)
                assert draft.summary in draft.context
    assert 0.9 * n_kept < n_linked
    assert 0 < n_kept < n_passages


@pytest.mark.data
def test_real_papers_are_known_by_the_ids_in_their_heads() -> None:
    folder = DATA_FOLDER / "jats"
    if not folder.is_dir():
        pytest.skip("needs the real files of ../shared/data")
    papers = papers_in(folder)
    assert papers.unreadable == ()
    assert all(
        one.ids.keys() >= {"doi", "pmid"} and one.licence in ("cc-by", "public-domain")
        for one in papers.papers.values()
    )
