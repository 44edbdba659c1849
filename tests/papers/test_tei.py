"""Papers in TEI, as GROBID makes them, in a small file of our own."""

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import LeftOut, Paper
from evidencebench.papers.read import read_all_content, read_content

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
    rows = zip(paper.kinds, paper.places, paper.sentences, strict=True)
    assert [(kind.name, place.section, sentence) for kind, place, sentence in rows] == [
        ("HEADING", (), "Tea and pressure"),
        ("ABSTRACT", ("Abstract", "Results"), "Results: Tea lowered it."),
        ("ABSTRACT", ("Abstract", "Results"), "No harm."),
        ("HEADING", (), "2.1 Methods"),
        ("BODY", ("2.1 Methods",), "We asked[1]."),
        ("BODY", ("2.1 Methods",), "It was 10 6."),
        ("BODY", ("2.1 Methods",), "tea"),
    ]
    assert [TEI[span.start : span.stop] for span in paper.spans[:4]] == [
        "Tea and pressure",
        "Results</head><p><s>Tea lowered it.",
        "No harm.",
        "Methods",
    ]


def test_sentences_that_stand_side_by_side_and_numbers_of_references_are_told_apart() -> None:
    said = (
        '<s>It fell <ref type="bibr">[1]</ref><ref type="bibr">[2]</ref>.</s><s>It rose <ref type="bibr">3</ref>.</s>'
    )
    body = f'<body><p>{said}<s>See <ref type="table">1</ref> and <ref type="bibr">4, 5</ref>.</s></p></body>'
    paper = read_content(f"<TEI><text>{body}</text></TEI>".encode(), name="tea.xml")
    assert paper.sentences == ("It fell [1][2].", "It rose [3].", "See 1 and [4, 5].")


def test_what_is_left_out_is_counted_by_its_sort() -> None:
    loss = read_content(TEI.encode(), name="tea.xml").loss
    assert loss.share_kept == 1
    assert loss.left_out == {
        "figure": LeftOut(n_elements=1, n_characters=4),
        "table": LeftOut(n_elements=1, n_characters=3),
        "display formula": LeftOut(n_elements=1, n_characters=6),
        "footnote": LeftOut(n_elements=1, n_characters=4),
        "acknowledgements": LeftOut(n_elements=1, n_characters=6),
        "references": LeftOut(n_elements=2, n_characters=6),
    }


def test_a_corpus_has_several_papers_and_each_without_a_body_is_refused() -> None:
    bare = f"<TEI>{HEADER}<text><body/></text></TEI>"
    first, second = read_all_content(f"<teiCorpus>{TEI}{bare}</teiCorpus>".encode(), name="tea.xml")
    assert isinstance(first, Paper)
    assert first.name == "tea.xml#1"
    assert isinstance(second, UnreadableError)
    assert "tea.xml#2: TEI XML: expected a paper with its body, got metadata only: its abstract" in str(second)
