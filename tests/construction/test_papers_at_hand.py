"""Cited papers are found among the files of a folder, by any of their ids; their licences are read from the files."""

from pathlib import Path

import pytest

from citing_reviews import CC_BY, cite, reference, review
from evidencebench.construction.harvest.harvest import NOT_AT_HAND, PAPER_LICENCE, HarvestRules, harvest_review
from evidencebench.construction.harvest.papers import HEAD_BYTES, PaperAtHand, papers_in
from evidencebench.errors import DataError
from evidencebench.papers.fetching import INDEX_NAME

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
        INDEX_NAME: (
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
    assert papers.unreadable == ()
    (folder / "broken.xml").write_text("<article><front>", encoding="utf-8")
    papers = papers_in(folder)
    assert [message.partition(": ")[0] for message in papers.unreadable] == [str(folder / "broken.xml")]
    assert papers.find({"pmid": "50"}) is not None


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a folder of papers, got one without files"):
        papers_in(tmp_path)


def test_passages_on_papers_not_at_hand_or_not_licensed_are_dropped(folder: Path) -> None:
    ids = ["50", "60", "61"]
    listed = [
        reference(number, ids=f'<pub-id pub-id-type="pmid">{pmid}</pub-id>') for number, pmid in enumerate(ids, 1)
    ]
    content = review(*(f"Tea {number} helps [{cite(number)}]." for number in (1, 2, 3)), references=listed)

    def told(rules: HarvestRules) -> list[tuple[str, str, str]]:
        found = harvest_review(content, file="review.xml", rules=rules).drafts
        return [(draft.paper_id, draft.paper_file, draft.dropped) for draft in found]

    papers = papers_in(folder)
    assert told(HarvestRules(papers=papers)) == [
        ("pmc_5", "a.nxml", ""),
        ("pubmed_60", "deeper/b.xml", PAPER_LICENCE),
        ("pubmed_61", "", NOT_AT_HAND),
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
