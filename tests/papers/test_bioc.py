"""Papers in BioC, as JSON and as XML: the same passages give the same paper."""

import json
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import LeftOut, Paper
from evidencebench.papers.read import read_all_content, read_content

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
    rows = zip(paper.kinds, paper.places, paper.sentences, strict=True)
    assert [(kind.name, " / ".join(place.section), sentence) for kind, place, sentence in rows] == [
        ("HEADING", "", "Tea and pressure"),
        ("ABSTRACT", "Abstract / Results", "Results: Tea lowered it."),
        ("ABSTRACT", "Abstract / Results", "No harm was seen."),
        ("ABSTRACT", "Abstract / Funding", "Funding:"),
        ("HEADING", "", "1 Introduction"),
        ("BODY", "1 Introduction", "Many drink tea (p < 0.05)."),
        ("HEADING", "", "Methods"),
        ("HEADING", "Methods", "People."),
        ("BODY", "Methods / People", "We asked ten."),
        ("HEADING", "", "End"),
        ("BODY", "End", "It is so."),
    ]
    assert paper.loss.share_kept == 1
    assert paper.loss.left_out == {
        "figure": LeftOut(n_elements=1, n_characters=5),
        "table": LeftOut(n_elements=1, n_characters=2),
        "references": LeftOut(n_elements=2, n_characters=13),
        "footnote": LeftOut(n_elements=1, n_characters=4),
    }
    whole = " ".join(text for _, _, text in ROWS)
    assert [whole[span.start : span.stop].replace("Results Tea", "Results: Tea") for span in paper.spans] == list(
        paper.sentences
    )


def test_a_title_without_a_level_is_a_heading() -> None:
    rows = [("METHODS", "title_1", "Methods"), ("METHODS", "paragraph", "We asked."), ("CONCL", "title", "End")]
    paper = read_content(as_json([*rows, ("CONCL", "paragraph", "Drink.")]), name="tea.json")
    assert [(place.section, text) for place, text in zip(paper.places, paper.sentences, strict=True)][2:] == [
        ((), "End"),
        (("End",), "Drink."),
    ]


def test_a_label_without_a_paragraph_is_one() -> None:
    labels = [("ABSTRACT", "abstract_title_1", "Abstract"), ("ABSTRACT", "abstract_title_1", "Aim")]
    rows = [*labels, ("ABSTRACT", "abstract", "To ask."), ("CONCL", "paragraph", "Drink.")]
    paper = read_content(as_json(rows), name="tea.json")
    assert paper.sentences == ("Abstract", "Aim: To ask.", "Drink.")


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


def test_titles_and_abstracts_of_annotation_services_are_metadata_only() -> None:
    rows = [("", "title", "Tea and pressure"), ("", "abstract", "Tea lowered it.")]
    with pytest.raises(UnreadableError, match=r"BioC JSON: .*got metadata only: its abstract, but no body"):
        read_content(as_json(rows), name="tea.json")


def test_each_document_of_a_collection_is_a_paper() -> None:
    one = {"id": "7", "passages": passages([("", "paragraph", "Tea helps.")])}
    two = {"id": "", "passages": passages([("FIG", "fig_caption", "A cup.")])}
    first, second = read_all_content(json.dumps({"PubTator3": [one, two]}).encode(), name="tea.json")
    assert isinstance(first, Paper)
    assert first.name == "tea.json#7"
    assert isinstance(second, UnreadableError)
    assert "tea.json#2: BioC JSON: expected a paper with its body, got metadata only: no text" in str(second)


def test_documents_that_share_an_id_have_names_of_their_own() -> None:
    documents = [{"id": one, "passages": passages([("", "paragraph", "Tea helps.")])} for one in ("7", "7", "8", "")]
    papers = read_all_content(json.dumps([{"documents": documents}]).encode(), name="tea.json")
    assert [one.name for one in papers if isinstance(one, Paper)] == [
        "tea.json#1",
        "tea.json#2",
        "tea.json#8",
        "tea.json#4",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"passages": [', "expected BioC JSON: Input data was truncated"),
        (b'{"passages": [{"offset": "x"}]}', "expected BioC JSON: Expected `int`, got `str`"),
        (b'[{"a": "passages"}, "passages"]', "with documents, got none"),
        (b'[1, {"x": ' + b"[" * 100_000 + b'"passages"', "expected BioC JSON"),
        (b"<collection><document><passage><offset>x</offset></passage></document></collection>", "got 'x'"),
    ],
)
def test_broken_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=f"^tea: .*{message}"):
        read_content(content, name="tea")
