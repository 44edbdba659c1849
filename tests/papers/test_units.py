"""What a paper says beside its sentences: rows of tables with their heads, captions, notes, end matter."""

import json

import pytest

from doors import MOST_PAPER_UNITS as MOST_UNITS
from doors import UnitKind, read_content
from evidencebench import Paper
from kit.examples import IS_THOROUGH

ROW, CAPTION, NOTE, END = UnitKind.TABLE_ROW, UnitKind.CAPTION, UnitKind.FOOTNOTE, UnitKind.END_MATTER

# Heads of two lines, one over two columns; a group of rows; a label over two rows; a cell over two columns.
_ROWS = """<thead><tr><th rowspan="2">Outcome</th><th colspan="2">Week 4</th><th rowspan="2">P</th></tr>
<tr><th>Tea (n = 20)</th><th>Water</th></tr></thead><tbody><tr><td colspan="4"><b>Primary</b></td></tr>
<tr><td>\u2003Pain</td><td>3.1 (0.4)</td><td>5.0</td><td>0.01</td></tr><tr><td rowspan="2">Sleep, h</td><td>7</td>
<td>6</td><td/></tr><tr><td colspan="2">same</td><td>0.9</td></tr></tbody>"""
_READ = [
    (ROW, "Table 2", 2, "Outcome: Primary, Pain. Week 4, Tea (n = 20): 3.1 (0.4); Week 4, Water: 5.0; P: 0.01"),
    (ROW, "Table 2", 3, "Outcome: Sleep, h. Week 4, Tea (n = 20): 7; Week 4, Water: 6"),
    (ROW, "Table 2", 4, "Outcome: Sleep, h. Week 4: same; P: 0.9"),
]
_FUNDED = "The Tea Board paid."


def rows(paper: Paper, lead: str = "") -> list[tuple[UnitKind, str, int | None, str]]:
    return [(unit.kind, unit.label, unit.row, unit.text.removeprefix(lead)) for unit in paper.units]


def test_jats() -> None:
    table = _ROWS.replace("<b>", "<bold>").replace("</b>", "</bold>")
    article = f"""<article><front><article-meta><title-group><article-title>Tea</article-title></title-group>
    <author-notes><fn fn-type="conflict"><p>None declared.</p></fn></author-notes>
    <kwd-group><kwd>tea</kwd><kwd>sleep</kwd></kwd-group>
    <funding-group><award-group><funding-source>Tea Board</funding-source><award-id>T 1</award-id></award-group>
    </funding-group></article-meta></front><body><p>One.</p><sec><title>Results</title><p>Tea helps.
    <table-wrap><label>Table 2</label><caption><title>All outcomes</title><p>Means (SD).</p></caption>
    <table>{table}</table>
    <table-wrap-foot><fn><label>a</label><p>By <italic>t</italic> test.</p></fn></table-wrap-foot></table-wrap></p>
    <fig><label>1</label><caption><p>Sleep by week.</p></caption></fig><p>A word<fn><p>A note.</p></fn>.</p></sec>
    </body>    <back><ack><title>Acknowledgements</title><p>We thank all.</p></ack><fn-group><fn>
    <p><bold>Funding</bold> {_FUNDED}</p></fn></fn-group>
    <glossary><def-list><def-item><term>SD</term><def><p>deviation</p></def></def-item></def-list></glossary>
    <ref-list><ref>Lee 2004</ref></ref-list></back><floats-group><fig><label>Figure 2</label>
    <caption><p>Flow.</p></caption></fig></floats-group></article>"""
    paper = read_content(article.encode(), name="tea.xml")
    assert rows(paper, "Table 2. All outcomes. ") == [
        (END, "Competing interests", None, "Competing interests. None declared."),
        (END, "Keywords", None, "Keywords. tea; sleep"),
        (END, "Funding", None, "Funding. Tea Board; T 1"),
        (CAPTION, "Table 2", None, "Means (SD)."),
        *_READ,
        (NOTE, "Table 2", None, "Table 2. a By t test."),
        (CAPTION, "Figure 1", None, "Figure 1. Sleep by week."),
        (NOTE, "", None, "A note."),
        (END, "Acknowledgements", None, "Acknowledgements. We thank all."),
        (END, "Funding", None, f"Funding. {_FUNDED}"),
        (END, "Abbreviations", None, "Abbreviations. SD: deviation"),
        (CAPTION, "Figure 2", None, "Figure 2. Flow."),
    ]
    assert paper.sentences == ("Tea", "One.", "Results", "Tea helps.", "A word.")
    (place,) = {unit.place for unit in paper.units if unit.label == "Table 2"}
    assert (place.section, place.paragraph) == (("Results",), 1), "the table stands in the paragraph that names it"


def test_html() -> None:
    page = f"""<html><body><article><h1>Tea</h1><h2>Results</h2><p>{"Tea helps those who drink it. " * 9}</p>
    <section class="tw"><h4>Table 2.</h4><div class="caption"><p>All outcomes</p></div><table>{_ROWS}</table>
    <div class="tw-foot"><p>By <i>t</i> test.</p></div></section>
    <figure><figcaption>Figure 1. Sleep.</figcaption></figure>
    <p>Table 3: Doses</p><table><tr><td>Dose</td><td>Tea</td></tr><tr><td>Cups</td><td>3</td></tr></table>
    <h2>Funding</h2><p>{_FUNDED}</p><h2>References</h2><ol><li>Lee 2004</li></ol></article></body></html>"""
    assert rows(read_content(page.encode(), name="tea.html"), "Table 2. All outcomes. ") == [
        (CAPTION, "Table 2", None, "Table 2. All outcomes"),
        *_READ,
        (NOTE, "Table 2", None, "Table 2. By t test."),
        (CAPTION, "Figure 1", None, "Figure 1. Sleep."),
        (CAPTION, "Table 3", None, "Table 3. Doses"),
        (ROW, "Table 3", 1, "Table 3. Doses. Dose: Cups. Tea: 3"),
        (END, "Funding", None, f"Funding. {_FUNDED}"),
    ]


def test_tei() -> None:
    cells = """<row><cell>Outcome</cell><cell cols="2">Tea</cell></row>
    <row><cell>Pain</cell><cell>3</cell><cell>4</cell></row>"""
    paper = read_content(
        f"""<TEI><teiHeader><keywords><term>tea</term></keywords></teiHeader><text><body><p>Tea helps.</p>
        <figure type="table"><head>Table 2 :</head><label>2</label><figDesc>Pain.</figDesc>
        <table>{cells}</table></figure>
        <figure><head>Fig. 1 .</head><label>1</label><figDesc>Sleep.</figDesc></figure>
        <note place="foot">A note.</note></body><back><div type="funding"><div><p>{_FUNDED}</p></div></div>
        <div type="references"><listBibl/></div></back></text>
        </TEI>""".encode(),
        name="tea.xml",
    )
    assert rows(paper) == [
        (END, "Keywords", None, "Keywords. tea"),
        (CAPTION, "Table 2", None, "Table 2. Pain."),
        (ROW, "Table 2", 1, "Table 2. Pain. Outcome: Pain. Tea. 3; 4"),
        (CAPTION, "Figure 1", None, "Figure 1. Sleep."),
        (NOTE, "", None, "A note."),
        (END, "Funding", None, f"Funding. {_FUNDED}"),
    ]


@pytest.mark.parametrize("has_xml", [True, False], ids=["XML", "tabs"])
def test_bioc(has_xml: bool) -> None:  # noqa: FBT001 - a parameter of the test
    table = {"xml": f"<?xml version='1.0'?><table>{_ROWS}</table>"} if has_xml else {}
    passages = [
        ("", {"section_type": "RESULTS", "type": "paragraph"}, "Tea helps."),
        ("T2", {"section_type": "TABLE", "type": "table_caption"}, "All outcomes"),
        ("T2", {"section_type": "TABLE", "type": "table", **table}, "Outcome\tTea\nPain\t3"),
        ("T2", {"section_type": "TABLE", "type": "table_footnote"}, "By t test."),
        ("F1", {"section_type": "FIG", "type": "fig_caption"}, "Sleep."),
        ("", {"section_type": "ACK_FUND", "type": "title_1"}, "Funding"),
        ("", {"section_type": "ACK_FUND", "type": "paragraph"}, _FUNDED),
        ("", {"section_type": "REF", "type": "ref"}, "Lee 2004"),
    ]
    document = {
        "passages": [{"offset": 9, "infons": {"id": own, **infons}, "text": text} for own, infons, text in passages]
    }
    assert rows(read_content(json.dumps(document).encode(), name="tea.json"), "Table 2. All outcomes. ") == [
        (CAPTION, "Table 2", None, "Table 2. All outcomes"),
        *(_READ if has_xml else [(ROW, "Table 2", 1, "Outcome: Pain. Tea: 3")]),
        (NOTE, "Table 2", None, "Table 2. By t test."),
        (CAPTION, "Figure 1", None, "Figure 1. Sleep."),
        (END, "Funding", None, f"Funding. {_FUNDED}"),
    ]


_MANY = 50_000 if IS_THOROUGH else 21_000


@pytest.mark.parametrize(
    "table",
    ["<tr><td>1</td><td>2</td></tr>" * _MANY, "<tr>" + "<td>1</td>" * 2 * _MANY + "</tr>",
     "<tr>" + '<td rowspan="1000000" colspan="1000000">1</td>' * 99 + "</tr>" + "<tr><td>1</td></tr>" * _MANY],
)  # fmt: skip
def test_units_are_bounded(table: str) -> None:
    wrap = f"<table-wrap><caption><p>{'Tea ' * 99}</p></caption><table>{table}</table></table-wrap>"
    paper = read_content(f"<article><body><p>Tea helps.</p>{wrap}</body></article>".encode(), name="tea.xml")
    assert len(paper.units) <= MOST_UNITS
    assert (len(paper.units) == MOST_UNITS) == bool(paper.warnings)
