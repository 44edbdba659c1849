"""Passages about one paper are found in reviews, also in hostile ones; every other passage is dropped with a reason."""

import random
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    HEAD_BYTES,
    KNOWN,
    METHODS,
    MOST_CONTEXT,
    OWN_VOICE,
    SEVERAL_PAPERS,
    DataError,
    HarvestRules,
    PaperAtHand,
    UnreadableError,
    harvest_review,
    licence_named,
    papers_in,
)
from evidencebench import Draft, read_paper
from kit.broken_papers import ARTICLE, mutated, restructured
from kit.citing_reviews import CC_BY, TWELVE, cite, links_of, reference, review, text_of
from kit.examples import IS_THOROUGH, SHORTER, examples, some_of
from kit.skips import DATA_FOLDER

PART_OF_SENTENCE = "mark stands for a part of its sentence"


def drafts(*paragraphs: str, references: Iterable[str] = TWELVE, title: str = "Trials", more: str = "") -> list[Draft]:
    content = review(*paragraphs, references=references, title=title, more=more)
    return list(harvest_review(content, file="review.xml", rules=HarvestRules()))


def told(*paragraphs: str, references: Iterable[str] = TWELVE) -> list[tuple[str, str]]:
    """Return reference and reason of each passage."""
    found = drafts(*paragraphs, references=references)
    return [(draft.passage.reference, draft.dropped) for draft in found if draft.passage]


def named(mark: str, references: Iterable[str] = TWELVE) -> str:
    """Return the numbers of the references that a mark names."""
    ((found, _),) = told(f"Tea lowers pressure {mark}.", references=references)
    return found.replace("B", "")


def test_a_sentence_with_one_mark_is_a_passage_about_its_reference() -> None:
    paragraph = f"Tea is old. One trial found that tea lowers pressure [{cite(7)}]. Cups are round."
    content = review(paragraph)
    (draft,) = drafts(paragraph)
    assert draft.summary == "One trial found that tea lowers pressure [7]."
    assert draft.passage is not None
    assert text_of(content)[draft.passage.start : draft.passage.stop].startswith("One trial found")
    assert (draft.id, draft.review_id, draft.paper_id) == ("review.xml:B7:1", "pmc_77", "pubmed_1007")
    assert (draft.passage.marks, draft.passage.reference, draft.passage.section) == (("7",), "B7", ("Trials",))
    assert not draft.dropped


# Marks.


@pytest.mark.parametrize(
    ("mark", "numbers"),  # those of the references that a mark names; "?": it may name anything
    [
        (f"<sup>{cite(3)}</sup>", "3"),
        (cite(3, text="<sup>3</sup>"), "3"),
        (f"<sup>{cite(3)}</sup>\u2013<sup>{cite(5)}</sup>", "3 4 5"),
        (f"[{cite(1)}, {cite(3)} &#x2013; {cite(5)}]", "1 3 4 5"),
        (f"[{cite(3)}]-[{cite(5)}]", "3 5"),  # brackets that are closed make two marks
        (cite(3, text="[3-5]"), "3 4 5"),  # the link leads to the first only
        (cite(4, text="4 5"), "4 5"),
        (cite(9, text="[3-5, 9]"), "3 4 5 9"),
        (cite(7, text="2004"), "7"),  # a year
        (f"{cite(3)}{cite(4, text='')}\u2013{cite(5)}", "3 4 5"),  # an empty link within the range
        (cite(7, text="\u25b6"), "7"),
        (cite(7, text="Author7 et al. 2007"), "7"),
        (f"(Author7 et al. {cite(7, text='2007')}; Author8 {cite(8, text='2008')})", "7 8"),
        ('<xref ref-type="ref" rid="B7">7</xref>', "7"),
        ('<xref rid="B7">7</xref>', "7"),
        ('<xref ref-type="bibr">7</xref>', "7"),
        ('<xref ref-type="bibr" rid="B99">7</xref>', "?"),  # leads nowhere
        ('<xref ref-type="bibr">Kim</xref>', "?"),
        (cite(7, text="9"), "?"),  # the number is another reference's
        (f"[{cite(7)}\u2013{cite(3)}]", "?"),
        (f"[{cite(3)}, 5]", "?"),  # a number beside a link
        ("(Smith et al., 2004)", "?"),  # in no list
    ],
)
def test_marks_name_their_references_or_are_not_resolved(mark: str, numbers: str) -> None:
    if numbers == "?":
        assert "mark leads to no reference" in [reason for _, reason in told(f"Tea lowers pressure {mark}.")]
    else:
        assert named(mark) == numbers


def test_places_in_a_list_without_labels_prove_nothing_against_a_link() -> None:
    unlabelled = [reference(number, label="") for number in range(2, 13)]
    assert named(cite(7), unlabelled) == "7"
    assert named(f"[{cite(3)}-{cite(5)}]", unlabelled) == "3 4 5"


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 6)), min_size=1, max_size=6),
    st.sampled_from(["-", "\u2013", " \u2212 "]),
    st.sampled_from(["one link", "links"]),
)
@examples(100)
def test_ranges_and_groups_are_those_of_a_brute_force_expansion(
    ranges: list[tuple[int, int]], dash: str, form: str
) -> None:
    spans = [(low, min(40, low + width)) for low, width in ranges]
    expected = dict.fromkeys(number for low, high in spans for number in range(low, high + 1))
    shown = [f"{low}{dash}{high}" if low < high else f"{low}" for low, high in spans]
    if form == "one link":
        mark = f"[{cite(*expected, text=', '.join(shown))}]"
    else:
        links = [cite(low) + (f"{dash}{cite(high)}" if low < high else "") for low, high in spans]
        mark = f"[{', '.join(links)}]"
    assert named(mark, map(reference, range(1, 41))) == " ".join(map(str, expected))


def test_marks_in_headings_tables_and_captions_are_no_passages() -> None:
    rows = f"<table><tr><td>{cite(3)}</td></tr></table>"
    table = f"<table-wrap><caption><p>Cups [{cite(2)}].</p></caption>{rows}</table-wrap>"
    figure = f"<fig><caption><p>A cup [{cite(4)}].</p></caption></fig>"
    inner = f"<sec><title>Cups [{cite(5)}]</title><p>Tea {table} helps [{cite(6)}].{figure}</p></sec>"
    found = harvest_review(review(more=inner), file="review.xml", rules=HarvestRules())
    assert [draft.passage.reference for draft in found if draft.passage] == ["B6"]


def test_plain_numbers_are_marks_where_most_of_the_list_is_named_so() -> None:
    rest = "".join(f" Fact {number} holds [{number}]." for number in range(3, 13))
    assert told(f"Tea helps [1,2].{rest}")[:2] == [("B1 B2", SEVERAL_PAPERS), ("B3", "")]
    assert told("The interval was wide [3].") == []


@pytest.mark.parametrize("form", ["it holds<sup>{}</sup>.", "it holds.<sup>{}</sup>", "it holds.{}"])
def test_superscripts_without_links_are_marks_where_most_of_the_list_is_named_so(form: str) -> None:
    rest = " ".join(f"Of fact {number} {form.format(number)}" for number in range(4, 13))
    raised = "<sup>{}</sup>" if "sup" in form else "{}"
    paragraphs = [f"Tea was found to help.{raised.format('1,2')}", f"Of tea {form.format(3)}", rest]
    found = told(*paragraphs)
    assert found[:2] == [("B1 B2", SEVERAL_PAPERS), ("B3", "")]
    assert told(paragraphs[1]) == []
    exponents = "At 10<sup>6</sup> cells per m<sup>2</sup>, 3 mol<sup>5</sup>, R<sup>4</sup>, it was 3.12 or p = .5"
    assert told(*paragraphs, exponents) == found


def test_authors_and_years_are_marks_where_the_list_has_exactly_one_of_them() -> None:
    listed = [
        reference(1, surname="Smith", year="2004"),
        reference(2, surname="Jones", year="2004a"),
        reference(3, surname="Jones", year="2004b"),
        reference(4, surname="O'Neill", year="2010"),
    ]
    for mark, number in [
        ("(Smith et al., 2004)", "1"),
        ("(Smith and Brown 2004)", "1"),
        ("(Jones, 2004b)", "3"),
        ("(O'Neill, 2010)", "4"),
    ]:
        assert named(mark, listed) == number
    assert told("Jones et al. (2004) found that tea helps.", references=listed) == [("", "mark leads to no reference")]
    assert told("Tea was drunk between March and May 2004 (June 2004).", references=listed) == []


# Which sentences.


@pytest.mark.parametrize(
    "told",  # {7} is a link to the paper, and what the passage must be stands in brackets
    [
        "Tea is old. \u00abTea helps.<sup>{7}</sup>\u00bb Cups are round.",
        "Tea is old. \u00abTea helps. [{7}]\u00bb Cups are round.",
        "Tea is old. \u00abTea helps.\u00bb ({Kim 2007}) Cups are round.",
        "\u00abTea helps [{7}]. It lowers pressure [{7}].\u00bb",
        "\u00abAuthor7 et al. gave tea to adults. They found no harm [{7}].\u00bb",
        "\u00abKim et al. [{7}] gave tea to adults. They found no harm.\u00bb Cups are round.",
        "\u00abOne trial [{7}] gave tea. In that trial, pressure fell. The authors saw no harm.\u00bb Tea helps.",
        "\u00abOne trial [{7}] gave tea. Pressure fell. Harm was rare [{7}].\u00bb",
        "\u00abOne trial [{7}] gave tea.\u00bb In contrast, other studies saw harm.",
        "\u00abTea helps [{7}].\u00bb The authors are many.</p><p>They found it.",
        "\u00abTea helps ({Kim et al. 2004}).\u00bb They found no harm.",  # of a study only in brackets
    ],
)
def test_a_passage_is_the_sentences_that_speak_of_the_paper(told: str) -> None:
    paragraph = re.sub(r"\{(.*?)\}", lambda mark: cite(7, text=mark[1]), re.sub("[\u00ab\u00bb]", "", told))
    summary = re.sub("[{}]", "", told.partition("\u00ab")[2].partition("\u00bb")[0])
    found = [draft.summary for draft in drafts(paragraph) if not draft.dropped]
    assert found == [summary.replace("<sup>7</sup>", "[7]")]


@pytest.mark.parametrize(
    ("paragraph", "reason"),
    [
        (f"Tea helps [{cite(3)}, {cite(5)}].", SEVERAL_PAPERS),
        (f"Tea helps [{cite(3)}], and water does [{cite(5)}].", SEVERAL_PAPERS),
        (f"We gave tea as before [{cite(7)}].", OWN_VOICE),
        (f"Cups are round. These results are consistent with a trial of tea [{cite(7)}].", OWN_VOICE),
        (f"The cup in this trial is well known [{cite(7)}].", OWN_VOICE),
        (f"Tea is old. This may be why it helps [{cite(7)}].", "goes on about another paper"),
        (
            f"Tea is hot [{cite(7)}], so that people who like cold cups do not drink it.",
            PART_OF_SENTENCE,
        ),
        (
            f"Tea is hot (Kim, {cite(7, text='2007')}), so that who likes cold cups drinks none.",
            PART_OF_SENTENCE,
        ),
        (
            f"Tea is good in RA [{cite(7)}], so that the same can be expected of water.",
            PART_OF_SENTENCE,
        ),
        (f"The cup of this RCT is well known [{cite(7)}].", OWN_VOICE),
        (f"Tea was good, as reported in other trials [{cite(7)}].", OWN_VOICE),
        # What only looks like these is kept.
        (f"Tea is old. We have previously shown that tea helps [{cite(7)}].", ""),
        (f"Tea is old. It has been shown that tea helps [{cite(7)}].", ""),
        (f"In the trial of Kim and Lee [{cite(7)}], tea lowered the pressure of people of all ages.", ""),
        (f"Kim et al. in 2007 [{cite(7)}] saw that tea lowered the pressure of people of all ages.", ""),
        (f"Kim et al. ({cite(7, text='2007')}) saw that tea lowered the pressure of people of all ages.", ""),
        (f"Kim et al. [{cite(7)}] gave tea. Others [{cite(8)}] gave water. They saw no harm.", " "),  # two passages
        (f"Others [{cite(8)}] gave water. They found no harm [{cite(9)}].", " goes on about another paper"),
    ],
)
def test_passages_that_are_about_no_single_paper_are_dropped_with_the_reason(paragraph: str, reason: str) -> None:
    assert " ".join(reason for _, reason in told(paragraph)) == reason


def test_a_paper_that_is_cited_again_in_its_section_is_dropped_there_and_so_are_methods() -> None:
    elsewhere = "".join(
        f"<sec><title>{title}</title><p>Tea was cheap [{cite(7)}].</p></sec>"
        for title in ("Cups", "2. Materials and Methods")
    )
    found = drafts(f"Tea helps [{cite(7)}]. Cups are round.", f"Tea is hot [{cite(7)}, {cite(8)}].", more=elsewhere)
    assert [draft.dropped for draft in found] == ["paper cited again in the section", SEVERAL_PAPERS, "", METHODS]


def test_a_reference_without_an_id_or_with_those_of_several_papers_is_dropped() -> None:
    several = "".join(f'<pub-id pub-id-type="pmid">{number}</pub-id>' for number in (5, 6))
    references = [reference(1, ids=""), reference(2, ids=several)]
    found = told(f"Tea helps [{cite(1)}].", f"Tea is hot [{cite(2)}].", references=references)
    assert found == [("B1", "reference without PMCID, DOI or PMID"), ("B2", SEVERAL_PAPERS)]


@pytest.mark.parametrize(
    ("ids", "paper_id"),
    [
        ('<pub-id pub-id-type="doi">10.1186/TEA</pub-id><pub-id pub-id-type="pmcid">PMC5</pub-id>', "pmc_5"),
        ('<pub-id pub-id-type="pmc">5</pub-id>', "pmc_5"),
        ('<ext-link xlink:href="https://doi.org/10.1186/Tea">x</ext-link>', "doi_10.1186/tea"),
        ('<ext-link xlink:href="https://pubmed.ncbi.nlm.nih.gov/5/">x</ext-link>', "pubmed_5"),
        ('<uri>12345</uri><pub-id pub-id-type="publisher-id">12</pub-id>', ""),
        ('<pub-id pub-id-type="doi">none</pub-id>', ""),
    ],
)
def test_ids_of_references_are_read_in_any_spelling(ids: str, paper_id: str) -> None:
    (draft,) = drafts(f"Tea helps [{cite(1)}].", references=[reference(1, ids=ids)])
    assert draft.paper_id == paper_id


def test_the_context_is_the_paragraphs_around_with_the_passage_whole() -> None:
    long = "Cups are round. " * 1000
    (draft,) = drafts("Tea is old.", f"{long}Tea helps [{cite(7)}]. {long}", "Cups are blue.")
    assert draft.summary in draft.context
    assert len(draft.context) <= MOST_CONTEXT
    (draft,) = drafts("Tea is old.", f"Tea helps [{cite(7)}].", "Cups are blue.", "Far away.")
    assert draft.context == "Tea is old.\n\nTea helps [7].\n\nCups are blue."


# Laws.

SENTENCES = (
    "Tea is old.",
    "They found no harm.",
    "We gave tea.",
    "In that trial, 5 &lt; 7 people slept.",
    "Kim et al. {} gave tea to all.",
    "One trial gave tea {}.",
    "Tea helps.{}",
    "This may be so {}.",
    "Tea {} and <italic>water</italic> {} help people of all ages.",
)


@st.composite
def paragraphs(draw: st.DrawFn) -> str:
    def mark(_: re.Match[str]) -> str:
        numbers = draw(st.lists(st.integers(1, 12), min_size=1, max_size=2, unique=True))
        inner = draw(st.sampled_from([", ", "\u2013"])).join(map(cite, numbers))
        return draw(st.sampled_from(["[{}]", "<sup>{}</sup>", "({})"])).format(inner)

    chosen = draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8))
    return " ".join(re.sub(r"\{\}", mark, sentence) for sentence in chosen)


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


@given(st.lists(paragraphs(), min_size=1, max_size=3))
@examples(200)
def test_every_passage_stands_at_its_place_and_no_kept_one_cites_two_papers(texts: list[str]) -> None:
    content = review(*texts)
    text, links = text_of(content), links_of(content)
    found = harvest_review(content, file="review.xml", rules=HarvestRules())
    n_links = 0
    for draft in found:
        assert draft.passage is not None
        start, stop = draft.passage.start, draft.passage.stop
        assert letters(text[start:stop]) == letters(draft.summary)
        inside = [link for link in links if start <= link.at < stop]
        n_links += len(inside)
        if not draft.dropped:
            assert {link.references for link in inside} == {(draft.passage.reference,)}
    assert n_links == len(links), "each mark is in exactly one passage"
    assert len({draft.id for draft in found}) == len(found)
    places = [draft.passage.start for draft in found if draft.passage]
    assert places == sorted(places)


# Licences and whole reviews.


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("http://creativecommons.org/licenses/by/2.0", "cc-by"),
        ("https://creativecommons.org/licences/by-nc-sa/3.0/igo", "cc-by-nc-sa"),
        ("creativeCommonsBy-nc-nd", "cc-by-nc-nd"),
        ("CC BY-NC-ND 4.0", "cc-by-nc-nd"),
        ("cc by-nc", "cc-by-nc"),
        ("under the Creative Commons Attribution-NonCommercial-NoDerivs License", "cc-by-nc-nd"),
        ("Creative Commons Attribution Share Alike licence", "cc-by-sa"),
        ("Creative Commons Attribution License, which permits unrestricted use", "cc-by"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "cc0"),
        ("This article lies in the public domain.", "public-domain"),
        ("open-access", "unknown"),
        ("All rights reserved.", "unknown"),
        ("", "unknown"),
    ],
)
def test_licences_have_one_spelling(text: str, licence: str) -> None:
    assert licence_named(text) == licence


@pytest.mark.parametrize(
    ("licence", "reason"),
    [
        (CC_BY, ""),
        ('<license license-type="CC BY-ND"/>', "licence of the review"),
        ("<copyright-statement>All rights reserved</copyright-statement>", "licence of the review"),
        (
            "<license><p>See <ext-link xlink:href='http://creativecommons.org/licenses/by-nc/4.0'>it</ext-link></p></license>",
            "",
        ),
        # The data are under CC0, the article is not.
        (
            "<license xlink:href='http://creativecommons.org/licenses/by-nc-nd/4.0'><p>CC0 for the data.</p></license>",
            "licence of the review",
        ),
    ],
)
def test_a_review_whose_licence_does_not_allow_it_is_not_quoted(licence: str, reason: str) -> None:
    content = review(f"Tea helps [{cite(7)}].", licence=licence)
    (draft,) = harvest_review(content, file="review.xml", rules=HarvestRules())
    assert draft.dropped == reason


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"review\.xml: line 1, column 1: .*XML"),
        (review(), "its body"),
        (review("Tea helps.", references=()), "references"),
        (b"<?xml version='1.0'?><TEI><text/></TEI>", "0 articles in <tei>"),
        (review("Tea").replace(b"</back>", b""), "well-formed"),
    ],
)
def test_a_file_that_is_no_review_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        harvest_review(content, file="review.xml", rules=HarvestRules())


BY_ND = '<license license-type="cc-by-nd"/>'


def paper(ids: str, *, licence: str = CC_BY, head: str = "", body: str = "<p>Tea.</p>") -> str:
    return (
        f'{head}<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta>{ids}<permissions>{licence}'
        f"</permissions></article-meta></front><body>{body}</body></article>"
    )


def article_id(kind: str, value: str) -> str:
    return f'<article-id pub-id-type="{kind}">{value}</article-id>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    contents = {
        "a.nxml": paper(article_id("pmc", "5") + article_id("pmid", "50") + article_id("doi", "10.1186/TEA")),
        "deeper/b.xml": paper(article_id("pmid", "60"), licence=BY_ND),
        "PMC7.pdf": "no XML",
        "PMC8.xml": paper(""),
        ".hidden.xml": paper(article_id("pmid", "70")),
        "long.xml": paper(article_id("pmid", "80"), head=f"<!--{'x' * HEAD_BYTES}-->"),
        "tag_in_comment.xml": paper(article_id("pmid", "90"), head="<!-- </front> -->"),
        "papers.csv": (
            "id,pmcid,doi,pmid,licence,title,file,sha256,reason\nPMC7,PMC7,10.1186/seven,77,cc by-nc,Tea,PMC7.pdf,,\n"
        ),
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("ids", "file", "licence"),
    [
        ({"pmid": "50"}, "a.nxml", "cc-by"),
        ({"doi": "10.1186/tea"}, "a.nxml", "cc-by"),
        ({"pmcid": "PMC5"}, "a.nxml", "cc-by"),
        ({"pmid": "1", "pmcid": "PMC5"}, "a.nxml", "cc-by"),
        ({"pmid": "60"}, "deeper/b.xml", "cc-by-nd"),
        ({"doi": "10.1186/seven"}, "PMC7.pdf", "cc-by-nc"),
        ({"pmcid": "PMC8"}, "PMC8.xml", "cc-by"),
        ({"pmid": "80"}, "long.xml", "cc-by"),
        ({"pmid": "90"}, "tag_in_comment.xml", "cc-by"),
        ({"pmid": "70"}, None, None),
    ],
)
def test_a_paper_is_found_by_its_ids(folder: Path, ids: dict[str, str], file: str | None, licence: str | None) -> None:
    found = papers_in(folder).find(ids)
    assert (found and found.file, found and found.licence) == (file, licence)


def test_only_the_head_of_an_article_is_read_and_broken_files_are_told(folder: Path) -> None:
    (folder / "cut.xml").write_text(paper(article_id("pmid", "95")).partition("</body>")[0], encoding="utf-8")
    papers = papers_in(folder)
    assert papers.find({"pmid": "95"}) is not None
    assert papers.unreadable == {}
    (folder / "broken.xml").write_text("<article><front>", encoding="utf-8")
    before, papers = papers, papers_in(folder)
    assert papers.unreadable.keys() == {"broken.xml"}
    assert "the file is cut off: get it again" in papers.unreadable["broken.xml"]
    assert papers.sha256 != before.sha256  # so that the passages are harvested again, and the new file is told
    assert papers.find({"pmid": "50"}) is not None
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match="without files"):
        papers_in(folder / "empty")


def test_passages_on_papers_not_at_hand_or_not_licensed_are_dropped(folder: Path) -> None:
    ids = ["50", "60", "61"]
    listed = [
        reference(number, ids=f'<pub-id pub-id-type="pmid">{pmid}</pub-id>') for number, pmid in enumerate(ids, 1)
    ]
    content = review(*(f"Tea {number} helps [{cite(number)}]." for number in (1, 2, 3)), references=listed)

    def told(rules: HarvestRules) -> list[tuple[str, str, str]]:
        found = harvest_review(content, file="review.xml", rules=rules)
        return [(draft.paper_id, draft.paper_file, draft.dropped) for draft in found]

    papers = papers_in(folder)
    assert told(HarvestRules(papers=papers)) == [
        ("pmc_5", "a.nxml", ""),
        ("pubmed_60", "deeper/b.xml", "licence of the paper"),
        ("pubmed_61", "", "paper not at hand"),
    ]
    assert told(HarvestRules(papers=papers, licences=("cc-by", "cc-by-nd")))[1][2] == ""
    assert [reason for _, _, reason in told(HarvestRules())] == ["", "", ""]


def test_the_index_has_a_checksum_of_what_it_knows(folder: Path) -> None:
    before = papers_in(folder).sha256
    assert papers_in(folder).sha256 == before
    (folder / "new.txt").write_text("Tea.", encoding="utf-8")
    papers = papers_in(folder)
    assert papers.sha256 != before
    assert papers.papers["new.txt"] == PaperAtHand(file="new.txt", ids={}, licence="unknown")


_NOT_READ = ("fig", "table-wrap", "disp-formula", "fn", "supplementary-material")


@pytest.mark.data
def test_real_passages_stand_at_their_places_and_cite_one_paper() -> None:
    paths = sorted(DATA_FOLDER.rglob("*.nxml"))
    if not paths:
        pytest.skip("needs the real files of ../shared/data")
    n_passages = n_kept = n_linked = 0
    for path in some_of(paths, thorough=8, quick=40):
        try:
            found = harvest_review(path.read_bytes(), file=path.name, rules=HarvestRules(licences=KNOWN))
        except UnreadableError:
            continue
        review, links = read_paper(path), links_of(path.read_bytes(), _NOT_READ)
        starts = {span.start: index for index, span in enumerate(review.spans)}
        for draft in found:
            assert draft.passage is not None
            first = starts.get(draft.passage.start)
            if first is not None:  # no row of a table
                assert draft.summary.startswith(review.sentences[first])
            n_passages += 1
            if not draft.dropped:
                n_kept += 1
                inside = [link for link in links if draft.passage.start <= link.at < draft.passage.stop]
                linked = {reference for link in inside if link.kind == "bibr" for reference in link.references}
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
    assert papers.unreadable == {}
    assert all(
        one.ids.keys() >= {"doi", "pmid"} and one.licence in ("cc-by", "public-domain")
        for one in papers.papers.values()
    )


WHOLE = review(
    f"Tea is old. Kim et al. [{cite(1)}] gave tea. They found no harm.",
    f"Tea helps.<sup>{cite(2)}\u2013{cite(5)}</sup> (Author7 et al., 2007) It is hot [{cite(3)}, 4].",
)


def outcome(content: bytes) -> str:
    """Return why a review is refused, or an empty text; any other error fails the test."""
    try:
        harvest_review(content, file="review.xml", rules=HarvestRules())
    except UnreadableError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("whole", [WHOLE, ARTICLE.encode()])
def test_broken_reviews_are_harvested_or_refused_in_words(whole: bytes) -> None:
    assert outcome(whole) == ""
    rng = random.Random(7)
    told = [outcome(mutated(rng, whole)) for _ in range(1000 if IS_THOROUGH else 100)]
    assert any(told)
    assert not all(told)
    assert all(message.startswith("review.xml") and len(message) < 600 for message in told if message)


def test_rearranged_reviews_are_harvested_or_refused_in_words() -> None:
    rng = random.Random(8)
    for _ in range(300 if IS_THOROUGH else 60):
        outcome(restructured(rng, WHOLE.decode()))


def test_ranges_that_name_a_million_references_are_refused() -> None:
    listed = map(reference, range(1, 2001))
    found = outcome(review(f"{cite(1)}-{cite(2000)}. " * 600, references=listed))
    assert "review.xml: expected marks that name at most 1,000,000 references, got more" in found


N = 300_000 // SHORTER

LARGE = {
    "marks in one sentence": f"Tea [{', '.join([cite(1)] * (N // 20))}].",
    "sentences on one paper": f"Tea helps [{cite(1)}]. " * (N // 20),
    "sentences between": f"One trial gave tea [{cite(1)}]. Tea is hot. Tea is old. They found no harm. " * (N // 40),
    "open brackets": "[" * N,
    "open rounds": "(" * N,
    "numbers in brackets": f"[{'1, ' * N}]",
    "numbers of a link": cite(1, text="1-9, " * N),
    "dashes": f"{cite(1)}{'-' * N}{cite(2)}",
    "spaces": f"Tea{' ' * N}2004",
    "capitals": "A" * N,
    "names": "Kim and " * N,
    "names and years": "(Kim et al., 2004) " * (N // 10),
    "words that compare": "These " + "in x " * N + ".",
    "one sentence of this study": "This study [" * (N // 10),
}

_SCRIPT = """
import resource, sys
from contextlib import suppress
from pathlib import Path
from doors import HarvestRules, harvest_review
from doors import UnreadableError
resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
for path in sys.argv[1:]:
    print(path, flush=True)
    with suppress(UnreadableError):
        harvest_review(Path(path).read_bytes(), file="review.xml", rules=HarvestRules())
"""


def test_large_reviews_take_no_more_than_linear_time(tmp_path: Path) -> None:
    paths = [tmp_path / name.replace(" ", "_") for name in LARGE]
    for path, paragraph in zip(paths, LARGE.values(), strict=True):
        path.write_bytes(review(paragraph))
    command = [sys.executable, "-c", _SCRIPT, *map(str, paths)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, (found.stdout.splitlines()[-1:], found.stderr)


# Tables of studies.


def table(head: str, *rows: str, caption: str = "Characteristics of included studies") -> str:
    cells = "".join(f"<th>{name}</th>" for name in head.split("|"))
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.split('|'))}</tr>" for row in rows)
    body = body.replace("<td>^", '<td rowspan="2">').replace("<td>=</td>", "")
    return (
        f"<table-wrap><caption><p>{caption}</p></caption><table><thead><tr>{cells}</tr></thead>"
        f"<tbody>{body}</tbody></table></table-wrap>"
    )


def rows_of(table: str) -> list[tuple[str, str, str]]:
    """Return reference, text and reason of each row."""
    found = drafts("Tea is old.", more=table)
    return [(draft.passage.reference, draft.summary, draft.dropped) for draft in found if draft.passage]


def test_a_row_of_a_table_of_studies_is_a_passage_about_its_study() -> None:
    rows = (f"Kim {cite(1)}|60|fell", f"Lee {cite(2)}|80|rose", f"Two {cite(3)}{cite(4)}|9|-", f"Again {cite(2)}|1|-")
    content = table("Study|n|Pressure", *rows)
    assert rows_of(content) == [
        ("B1", "Study: Kim 1; n: 60; Pressure: fell", ""),
        ("B2", "Study: Lee 2; n: 80; Pressure: rose", "paper cited again in the section"),
        ("B3 B4", "Study: Two 34; n: 9; Pressure: -", SEVERAL_PAPERS),
        ("B2", "Study: Again 2; n: 1; Pressure: -", "paper cited again in the section"),
    ]
    first, *_ = drafts("Tea is old.", more=content)
    assert first.passage is not None
    assert first.passage.section == ("Trials", "Characteristics of included studies")
    assert first.context.startswith("Characteristics of included studies\n\nStudy: Kim 1")
    assert text_of(review("Tea is old.", more=content))[first.passage.start : first.passage.stop] == "Kim 160fell"


def test_rows_that_one_study_spans_are_one() -> None:
    rows = (f"^Kim {cite(1)}|a|1", "=|b|2", f"^Lee {cite(2)}|a|3", "=|b|4")
    assert [text for _, text, _ in rows_of(table("Study|arm|n", *rows))] == [
        "Study: Kim 1; arm: a; n: 1; arm: b; n: 2",
        "Study: Lee 2; arm: a; n: 3; arm: b; n: 4",
    ]


@pytest.mark.parametrize(
    ("head", "caption"),
    [
        ("Strain|Source", "Bacterial strains used in this study"),
        ("Unit|Source", "Costs and their source"),
        ("Study|n", "Baseline characteristics of participants"),
    ],
)
def test_a_table_that_is_not_of_studies_gives_no_passage(head: str, caption: str) -> None:
    assert rows_of(table(head, f"One {cite(1)}|1", f"Two {cite(2)}|2", caption=caption)) == []


def test_a_table_whose_spans_are_huge_is_left_alone() -> None:
    huge = table("Study|n", f"^Kim {cite(1)}|1", f"Lee {cite(2)}|2").replace('rowspan="2"', 'colspan="999"')
    wide = "".join(f'<tr><td colspan="999">{cite(n)}</td></tr>' for n in range(1, 13)) * 4
    assert rows_of(huge.replace("</tbody>", f"{wide}</tbody>")) == []
    assert rows_of(table("Study|n")) == []
