"""Papers in TEI, as GROBID makes them, in a small file of our own."""

import xml.etree.ElementTree as ET

from doors import read_all_content, read_content
from evidencebench import Paper
from kit.outlines import outline

HEADER = """<teiHeader><fileDesc><titleStmt><title level="a" type="main">Tea and pressure</title></titleStmt>
<sourceDesc><biblStruct><analytic><title>Tea and pressure</title></analytic><idno type="DOI">10.1/tea</idno>
<idno type="MD5">AB</idno></biblStruct></sourceDesc></fileDesc>
<profileDesc><abstract><div><head>Results</head><p><s>Tea lowered it.</s> <s>No harm.</s></p></div></abstract>
</profileDesc>
</teiHeader>"""
BODY = """<div><head n="2.1">Methods</head><p><s>We asked<ref type="bibr" target="#b0">[1]</ref>.</s> It was 10
<hi rend="superscript">6</hi>.</p><formula xml:id="f0">x = 1<label>(1)</label></formula>
<list><item>tea</item></list></div><figure><head>Fig 1</head></figure><figure type="table"><table/>Tab</figure>
<note place="foot">Note</note>"""
BACK = """<back><div type="acknowledgement"><p>Thanks</p></div><div type="references"><listBibl>
<biblStruct>One</biblStruct><biblStruct>Two</biblStruct></listBibl></div></back>"""
TEI = f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{HEADER}<text><body>{BODY}</body>{BACK}</text></TEI>'


def test_header_abstract_and_body_become_a_paper() -> None:
    paper = read_content(TEI.encode(), name="tea.xml")
    assert (paper.format, paper.title, paper.ids) == ("TEI XML", "Tea and pressure", {"doi": "10.1/tea"})
    assert outline(paper) == [
        ("", "section", "Tea and pressure"),
        ("Abstract/Results", "abstract", "Results: Tea lowered it."),
        ("Abstract/Results", "abstract", "No harm."),
        ("", "section", "2.1 Methods"),
        ("2.1 Methods", "normal", "We asked[1]."),
        ("2.1 Methods", "normal", "It was 10 6."),
        ("2.1 Methods", "normal", "tea"),
    ]
    text = "".join(ET.fromstring(TEI).itertext())  # noqa: S314 - our own file
    stand_there = [text[span.start : span.stop] for span in paper.spans[:4]]
    assert stand_there == ["Tea and pressure", "ResultsTea lowered it.", "No harm.", "Methods"]
    assert paper.loss.share_kept == 1
    assert {sort: (out.n_elements, out.n_characters) for sort, out in paper.loss.left_out.items()} == {
        "figure": (1, 4),
        "table": (1, 3),
        "display formula": (1, 6),
        "footnote": (1, 4),
        "acknowledgements": (1, 6),
        "references": (2, 6),
    }


def test_sentences_that_stand_side_by_side_and_numbers_of_references_are_told_apart() -> None:
    said = (
        '<s>It fell <ref type="bibr">[1]</ref><ref type="bibr">[2]</ref>.</s><s>It rose <ref type="bibr">3</ref>.</s>'
    )
    body = f'<body><p>{said}<s>See <ref type="table">1</ref> and <ref type="bibr">4, 5</ref>.</s></p></body>'
    paper = read_content(f"<TEI><text>{body}</text></TEI>".encode(), name="tea.xml")
    assert paper.sentences == ("It fell [1][2].", "It rose [3].", "See 1 and [4, 5].")


def test_a_corpus_has_several_papers_and_each_without_a_body_is_refused() -> None:
    bare = f"<TEI>{HEADER}<text><body/></text></TEI>"
    first, second = read_all_content(f"<teiCorpus>{TEI}{bare}</teiCorpus>".encode(), name="tea.xml")
    assert isinstance(first, Paper)
    assert first.name == "tea.xml#1"
    assert all(part in str(second) for part in ("tea.xml#2: TEI XML", "metadata only"))
