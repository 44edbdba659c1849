"""Papers in BioC, as JSON and as XML: the same passages give the same paper."""

import json
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import LeftOut, read_all_content, read_content
from evidencebench import Paper
from kit.outlines import outline

Row = tuple[str, str, str]
ROWS: list[Row] = [
    ("TITLE", "front", "Tea and pressure"),
    ("ABSTRACT", "abstract_title_1", "Results"),
    ("ABSTRACT", "abstract", "Tea lowered it. No harm was seen."),
    ("ABSTRACT", "abstract_title_1", "Funding:"),
    ("INTRO", "title_1", "1 Introduction"),
    ("INTRO", "paragraph", "Many drink tea (p < 0.05)."),
    ("METHODS", "title_1", "Methods"),
    ("METHODS", "title_2", "People."),
    ("METHODS", "paragraph", "We asked ten."),
    ("FIG", "fig_caption", "A cup."),
    ("TABLE", "table", "1 2"),
    ("REF", "ref", "Lee 2004"),
    ("REF", "ref", "Wu 2005"),
    ("METHODS", "footnote", "Note"),
    ("CONCL", "title_1", "End"),
    ("CONCL", "paragraph", "It is so."),
]
INFONS = {"article-id_pmc": "22", "article-id_doi": "10.1/tea", "article-id_pmid": "11"}


def passages(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return passages whose offsets follow one another, a character between them."""
    made, offset = [], 0
    for number, (section, sort, text) in enumerate(rows):
        infons = {"section_type": section, "type": sort} | (INFONS if number == 0 else {})
        made.append({"offset": offset, "infons": infons, "text": text, "sentences": [], "annotations": []})
        offset += len(text) + 1
    return made


def as_json(rows: Sequence[Row]) -> bytes:
    document = {"id": "PMC22", "infons": {}, "passages": passages(rows), "relations": []}
    return json.dumps([{"source": "PMC", "infons": {}, "documents": [document]}]).encode()


def as_xml(rows: Sequence[Row]) -> bytes:
    texts = (
        "<passage>"
        + "".join(f'<infon key="{key}">{value}</infon>' for key, value in one["infons"].items())
        + f"<offset>{one['offset']}</offset><text>{escape(one['text'])}</text></passage>"
        for one in passages(rows)
    )
    body = f"<collection><source>PMC</source><document><id>PMC22</id>{''.join(texts)}</document></collection>"
    return f'<?xml version="1.0"?><!DOCTYPE collection SYSTEM "BioC.dtd">{body}'.encode()


@pytest.mark.parametrize("write", [as_json, as_xml])
def test_passages_become_a_paper(write: Any) -> None:
    paper = read_content(write(ROWS), name="tea")
    assert paper.format == ("BioC JSON" if write is as_json else "BioC XML")
    assert (paper.title, paper.ids) == ("Tea and pressure", {"pmcid": "PMC22", "doi": "10.1/tea", "pmid": "11"})
    assert outline(paper) == [
        ("", "section", "Tea and pressure"),
        ("Abstract/Results", "abstract", "Results: Tea lowered it."),
        ("Abstract/Results", "abstract", "No harm was seen."),
        ("Abstract/Funding", "abstract", "Funding:"),
        ("", "section", "1 Introduction"),
        ("1 Introduction", "normal", "Many drink tea (p < 0.05)."),
        ("", "section", "Methods"),
        ("Methods", "section", "People."),
        ("Methods/People", "normal", "We asked ten."),
        ("", "section", "End"),
        ("End", "normal", "It is so."),
    ]
    assert paper.loss.share_kept == 1
    assert paper.loss.left_out == {
        "figure": LeftOut(n_elements=1, n_characters=5),
        "table": LeftOut(n_elements=1, n_characters=2),
        "references": LeftOut(n_elements=2, n_characters=13),
        "footnote": LeftOut(n_elements=1, n_characters=4),
    }
    whole = " ".join(text for _, _, text in ROWS)
    stand_there = [whole[span.start : span.stop].replace("Results Tea", "Results: Tea") for span in paper.spans]
    assert stand_there == list(paper.sentences)


def test_a_label_without_a_paragraph_is_one_and_a_title_without_a_level_is_a_heading() -> None:
    labels = [("ABSTRACT", "abstract_title_1", "Abstract"), ("ABSTRACT", "abstract_title_1", "Aim")]
    rows = [*labels, ("ABSTRACT", "abstract", "To ask."), ("CONCL", "title", "End"), ("CONCL", "paragraph", "Drink.")]
    found = outline(read_content(as_json(rows), name="tea.json"))
    assert [text for _, _, text in found[:2]] == ["Abstract", "Aim: To ask."]
    assert found[2:] == [("", "section", "End"), ("End", "normal", "Drink.")]


WORDS = st.lists(st.sampled_from(["Tea", "fell.", "It", "<", "&", "\u03b2", "1.5"]), min_size=1, max_size=8)
SORTS = [("ABSTRACT", "abstract_title_1"), ("ABSTRACT", "abstract"), ("INTRO", "title_1"), ("INTRO", "title_2"),
         ("INTRO", "paragraph"), ("FIG", "fig_caption"), ("", "paragraph"), ("", "odd")]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(SORTS), WORDS.map(" ".join))))
def test_both_forms_give_the_same_paper_and_keep_all_text(drawn: list[tuple[tuple[str, str], str]]) -> None:
    rows = [(section, sort, text) for (section, sort), text in drawn] + [("CONCL", "paragraph", "End here.")]
    of_json, of_xml = (read_content(write(rows), name="tea") for write in (as_json, as_xml))
    assert of_json.sentences == of_xml.sentences
    assert (of_json.kinds, of_json.places, of_json.spans) == (of_xml.kinds, of_xml.places, of_xml.spans)
    assert of_json.loss == of_xml.loss
    assert of_json.loss.share_kept == 1
    kept = "".join(text for section, _, text in rows if section != "FIG")
    marks = str.maketrans("", "", " :")
    assert "".join(of_json.sentences).translate(marks) == kept.translate(marks)


def test_the_text_of_a_passage_can_stand_in_its_sentences() -> None:
    sentences = [{"offset": 100, "text": "Tea helps."}, {"offset": 111, "text": "It is hot."}]
    content = {"id": 1, "passages": [{"offset": 100, "infons": {"type": "paragraph"}, "sentences": sentences}]}
    paper = read_content(json.dumps(content).encode(), name="tea.json")
    assert paper.sentences == ("Tea helps.", "It is hot.")
    assert [(span.start, span.stop) for span in paper.spans] == [(100, 110), (111, 121)]
    xml = "".join(
        f"<sentence><offset>{one['offset']}</offset><text>{one['text']}</text></sentence>" for one in sentences
    )
    xml = f"<document><passage><infon key='type'>paragraph</infon><offset>100</offset>{xml}</passage></document>"
    assert read_content(xml.encode(), name="tea.xml").spans == paper.spans


def test_each_document_of_a_collection_is_a_paper_with_a_name_of_its_own_or_metadata_only() -> None:
    documents = [{"id": one, "passages": passages([("", "paragraph", "Tea helps.")])} for one in ("7", "7", "8", "")]
    rows = [("", "title", "Tea and pressure"), ("", "abstract", "Tea lowered it.")]  # of an annotation service
    documents.append({"id": "9", "passages": passages(rows)})
    *papers, last = read_all_content(json.dumps({"PubTator3": documents}).encode(), name="tea.json")
    names = [one.name for one in papers if isinstance(one, Paper)]
    assert names == ["tea.json#1", "tea.json#2", "tea.json#8", "tea.json#4"]
    assert all(part in str(last) for part in ("tea.json#9: BioC JSON", "metadata only"))


def _document(number: int) -> dict[str, Any]:
    return {
        "id": f"PMC{number}",
        "passages": passages([("TITLE", "front", "Tea"), ("METHODS", "paragraph", "We asked.")]),
    }


def test_documents_may_stand_a_line_each() -> None:
    lines = "\n".join(json.dumps(_document(number)) for number in (1, 2)) + "\n"
    papers = read_all_content(lines.encode(), name="tea.jsonl")
    assert [paper.sentences for paper in papers if isinstance(paper, Paper)] == [("Tea", "We asked.")] * 2


@pytest.mark.parametrize("dialect", ["iao", "section"])
def test_sections_of_other_dialects_are_read(dialect: str) -> None:
    def infons(*titles: str, name: str) -> dict[str, str]:
        if dialect == "section":
            return {"section": titles[-1] if titles else name}
        return {f"section_title_{level}": title for level, title in enumerate(titles, 1)} | {"iao_name_1": name}

    given = [
        (infons(name="document title") if dialect == "iao" else infons("Title", name=""), "Tea"),
        (infons("Abstract", name="textual abstract section"), "It fell."),
        (infons("Methods", name="methods section"), "We asked."),
        (infons("Methods", "People", name="methods section"), "They came."),
        (infons("References", name="references section"), "1. Lee."),
    ]
    made = [{"offset": 20 * at, "infons": one, "text": text} for at, (one, text) in enumerate(given)]
    paper = read_content(json.dumps({"id": "1", "passages": made}).encode(), name="tea.json")
    people = ("Methods/People", "normal", "They came.") if dialect == "iao" else ("People", "normal", "They came.")
    assert paper.title == "Tea"
    assert [row for row in outline(paper) if row[1] != "section"] == [
        ("Abstract", "abstract", "It fell."),
        ("Methods", "normal", "We asked."),
        people,
    ]
