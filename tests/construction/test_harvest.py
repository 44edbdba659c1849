"""Passages about one paper are found in reviews; every other passage is dropped with a reason."""

from citing_reviews import cite, review
from evidencebench.construction.draft import Draft
from evidencebench.construction.harvest.drafts import HarvestRules, harvest_review


def drafts(*paragraphs: str) -> tuple[Draft, ...]:
    return harvest_review(review(*paragraphs), file="review.xml", rules=HarvestRules()).drafts


def test_a_sentence_with_one_mark_is_a_passage_about_its_reference() -> None:
    paragraph = f"Tea is old. One trial found that tea lowers pressure [{cite(7)}]. Cups are round."
    content = review(paragraph)
    (draft,) = drafts(paragraph)
    assert draft.summary == "One trial found that tea lowers pressure [7]."
    assert draft.passage is not None
    assert content.decode()[draft.passage.start : draft.passage.stop].startswith("One trial found")
    assert (draft.id, draft.review_id, draft.paper_id) == ("review.xml:B7:1", "pmc_77", "pubmed_1007")
    assert (draft.passage.marks, draft.passage.reference, draft.passage.section) == (("7",), "B7", ("Trials",))
    assert not draft.dropped
