"""Articles in JATS: every way that they are built, in small articles of our own."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import LeftOut, UnreadableError, read_all_content, read_content
from evidencebench import Paper, read_paper
from kit.examples import examples
from kit.outlines import outline

FRONT = """<front><journal-meta><journal-title>Journal of Tea</journal-title></journal-meta><article-meta>
<article-id pub-id-type="pmid">11</article-id><article-id pub-id-type="pmc">22</article-id>
<article-id pub-id-type="doi">10.1/tea</article-id>
<title-group><article-title>Tea and <italic>pressure</italic><xref ref-type="fn">*</xref></article-title>
<subtitle>A trial</subtitle></title-group>
<author-notes><corresp>Write us.</corresp></author-notes>
<abstract><p>Tea lowered pressure.</p></abstract><kwd-group><kwd>tea</kwd><kwd>milk</kwd></kwd-group>
</article-meta></front>"""


def article(body: str, *, front: str = FRONT, back: str = "") -> bytes:
    return f'<!DOCTYPE article SYSTEM "a.dtd"><article>{front}<body>{body}</body>{back}</article>'.encode()


def paper_of(body: str, **parts: str) -> Paper:
    return read_content(article(body, **parts), name="tea.xml")


def in_body(body: str) -> list[str]:
    return list(paper_of(body, front="").sentences)


def test_an_article_becomes_title_abstract_headings_and_paragraphs_in_order() -> None:
    body = """<p>Many drink tea. Some do not.</p><sec><label>1</label><title>Methods</title>
    <p>We asked.</p><sec><title>People.</title><p>They came.</p></sec></sec><sec><p>It is so.</p></sec>"""
    paper = paper_of(body)
    assert (paper.format, paper.title) == ("JATS XML", "Tea and pressure: A trial")
    assert paper.ids == {"pmid": "11", "pmcid": "PMC22", "doi": "10.1/tea"}
    assert outline(paper) == [
        ("", "section", "Tea and pressure: A trial"),
        ("Abstract", "abstract", "Tea lowered pressure."),
        ("", "normal", "Many drink tea."),
        ("", "normal", "Some do not."),
        ("", "section", "1 Methods"),
        ("Methods", "normal", "We asked."),
        ("Methods", "section", "People."),
        ("Methods/People", "normal", "They came."),
        ("", "normal", "It is so."),
    ]
    assert [place.paragraph for place in paper.places] == [0, 0, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("written", ["Results", "Results:", "<bold>Results: </bold>"])
def test_parts_of_an_abstract_keep_their_labels(written: str) -> None:
    front = f"""<front><article-meta><abstract><title>Abstract</title><sec><title>Aim</title><p>To ask.</p></sec>
    <sec><title>{written}</title><p>It fell. It rose.</p><p>It ended.</p></sec><sec><title>Methods</title>
    <sec><title>People</title><p>Ten came.</p></sec></sec></abstract></article-meta></front>"""
    paper = paper_of("<p>x</p>", front=front)
    assert outline(paper)[:-1] == [
        ("", "section", "Abstract"),
        ("Abstract/Aim", "abstract", "Aim: To ask."),
        ("Abstract/Results", "abstract", "Results: It fell."),
        ("Abstract/Results", "abstract", "It rose."),
        ("Abstract/Results", "abstract", "It ended."),
        ("Abstract/Methods/People", "abstract", "Methods: People: Ten came."),
    ]
    assert [place.paragraph for place in paper.places][:-1] == [0, 0, 1, 1, 2, 3]


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_abstracts_the_main_one_is_read_and_the_others_are_counted(order: int) -> None:
    abstracts = ['<abstract abstract-type="toc"><p>Short.</p></abstract>', "<abstract><p>Main one.</p></abstract>"]
    others = '<trans-abstract xml:lang="fr"><p>Autre.</p></trans-abstract><abstract><p>More.</p></abstract>'
    meta = "".join(abstracts[::order]) + others
    paper = paper_of("<p>x</p>", front=f"<front><article-meta>{meta}</article-meta></front>")
    assert paper.sentences == ("Main one.", "x")
    assert paper.loss.left_out["further abstract"] == LeftOut(n_elements=3, n_characters=17)
    alone = paper_of("<p>x</p>", front=f"<front><article-meta>{abstracts[0]}</article-meta></front>")
    assert alone.sentences == ("Short.", "x")


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        ("<p>Ten <list><list-item><label>1.</label><p>came</p></list-item><list-item>went</list-item></list> on</p>",
         ["Ten", "1. came", "went", "on"]),
        ("<def-list><title>Words</title><def-item><term>ITT</term><def><p>all of them</p></def></def-item></def-list>",
         ["Words", "ITT: all of them"]),
        ("<boxed-text><label>Box 1</label><caption><title>Tea</title><p>Dear.</p></caption><p>Hot.</p></boxed-text>",
         ["Box 1 Tea", "Dear.", "Hot."]),
        ("<disp-quote><p>I drink.</p><attrib>A nurse</attrib></disp-quote>", ["I drink.", "A nurse"]),
        ("<statement><label>Rule 1</label><title>On tea</title><p>Drink it.</p></statement>",
         ["Rule 1 On tea", "Drink it."]),
        ("<p>We <fig><caption><p>A cup</p></caption></fig> drank <table-wrap><td>5</td></table-wrap>.</p>",
         ["We drank ."]),
        ("loose <p>text</p> here", ["loose", "text", "here"]),
        ("<sec><title/><p>x</p></sec><sec><title>Only a title</title></sec>", ["x", "Only a title"]),
        ("<p>one<break/>two <email>a@b.c</email> <ext-link>link</ext-link></p>", ["one two a@b.c link"]),
        ("<p><private-char/>a <unknown>b <p>c</p></unknown></p>", ["a b", "c"]),
        ("<speech><speaker>A</speaker><p>Tea?</p></speech><verse-group><verse-line>Oh tea</verse-line></verse-group>",
         ["A: Tea?", "Oh tea"]),
        ("<preformat>Tea\n helps</preformat>", ["Tea helps"]),
    ],
)  # fmt: skip
def test_text_is_read_wherever_it_stands(body: str, sentences: list[str]) -> None:
    assert in_body(body) == sentences


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("10<sup>6</sup> and 10<sup>\u22123</sup>", "10^6 and 10^\u22123"),
        ("kg/m<sup>2</sup>, H<sub>2</sub>O, Ca<sup>2+</sup>, 5<sup>th</sup>", "kg/m2, H2O, Ca2+, 5th"),
        ("(a+b)<sup>2</sup>", "(a+b)^2"),
        ("p &lt; 0.05 &#8804; \u03b1&nbsp;&times;&thinsp;\u03b2", "p < 0.05 \u2264 \u03b1 \u00d7 \u03b2"),
        ("fell<sup><xref>3</xref>,<xref>4</xref></sup> on", "fell [3,4] on"),
        ("fell.<sup><xref>3</xref></sup> It", "fell.[3] It"),
        ("fell.<xref rid='b3'>3</xref> It", "fell.[3] It"),
        ("fell<xref><sup>3</sup></xref><sup>,</sup><xref><sup>4</sup></xref> on", "fell [3,4] on"),
        ("fell<sup>[<xref>3</xref>]</sup> on", "fell [3] on"),
        ("fell<sup>(</sup><xref><sup>3</sup></xref><sup>)</sup> on", "fell(3) on"),
        ("fell [<xref ref-type='bibr'>3</xref>,<xref ref-type='bibr'>4</xref>] on", "fell [3,4] on"),
        ("fell<xref ref-type='bibr'>3</xref>\u2013<xref ref-type='bibr'>5</xref>, it", "fell [3\u20135], it"),
        ("fell.<xref ref-type='bibr'>3</xref> <xref ref-type='fig'>Figure 2</xref>", "fell.[3] Figure 2"),
        ("as <xref ref-type='bibr'>3</xref>, <xref ref-type='bibr'>4</xref>", "as 3, 4"),
        ("(<xref ref-type='bibr'>Lee 2004</xref>; <xref ref-type='bibr'>Wu 2005</xref>)", "(Lee 2004; Wu 2005)"),
        ("Table <xref ref-type='table'>1</xref><sup><xref ref-type='bibr'>3</xref></sup>", "Table 1 [3]"),
        ("<sup><xref>3</xref></sup> said", "[3] said"),
        ("fell<sup><xref ref-type='fn'>a</xref></sup>", "fell [a]"),
        ("soft\u00adhyphen\u200b", "softhyphen"),
    ],
)
def test_references_and_superscripts_survive_readably(markup: str, text: str) -> None:
    assert " ".join(in_body(f"<p>{markup}</p>")) == text


MATH = "<mml:math><mml:mi>x</mml:mi><mml:mo>=</mml:mo>{}</mml:math>"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (MATH.format("<mml:msup><mml:mi>y</mml:mi><mml:mn>2</mml:mn></mml:msup>"), "x=y^2"),
        (MATH.format("<mml:msubsup><mml:mi>y</mml:mi><mml:mn>1</mml:mn><mml:mn>2</mml:mn></mml:msubsup>"), "x=y1^2"),
        (MATH.format("<mml:mfrac><mml:mrow><mml:mi>a</mml:mi><mml:mo>+</mml:mo><mml:mi>b</mml:mi></mml:mrow>"
                     "<mml:mn>2</mml:mn></mml:mfrac>"), "x=(a+b)/2"),
        (MATH.format("<mml:msqrt><mml:mi>n</mml:mi></mml:msqrt>"), "x=√(n)"),
        (MATH.format("<mml:mroot><mml:mi>n</mml:mi><mml:mn>3</mml:mn></mml:mroot>"), "x=∛(n)"),
        (MATH.format("<mml:mfenced><mml:mi>n</mml:mi></mml:mfenced>"), "x=(n)"),
        (MATH.format("<mml:mn>2</mml:mn><mml:mo>&#8290;</mml:mo><mml:mi>n</mml:mi>"), "x=2n"),
        (MATH.format("<mml:mn>1</mml:mn><mml:annotation>x=1</mml:annotation>"), "x=1"),
        (r"<tex-math>\begin{document}$$\beta_{1}\leq \frac{x}{\mathrm{SD}}\pm 5\%$$\end{document}</tex-math>",
         "\u03b21 ≤ x/SD ± 5%"),
        (r"<tex-math>$p\leq\frac{x}{y}$</tex-math>", "p ≤ x/y"),
        (r"<tex-math>$a\pm\mathrm{SD}$</tex-math>", "a ± SD"),
        (f"<alternatives><tex-math>$$x$$</tex-math>{MATH.format('<mml:mn>1</mml:mn>')}<graphic/></alternatives>",
         "x=1"),
        ("<alternatives><textual-form>x = 1</textual-form><graphic/></alternatives>", "x = 1"),
    ],
)  # fmt: skip
def test_formulas_within_sentences_become_text(formula: str, text: str) -> None:
    assert in_body(f"<p>Here <inline-formula>{formula}</inline-formula> holds.</p>") == [f"Here {text} holds."]


def test_what_is_left_out_is_counted_by_its_sort() -> None:
    body = """<p>Tea<fn><p>note</p></fn> fell.</p><fig><label>Fig 1</label></fig>
    <table-wrap-group><table-wrap><td>1</td></table-wrap><table-wrap><td>2</td></table-wrap></table-wrap-group>
    <disp-formula>x=1</disp-formula><supplementary-material>S1</supplementary-material><media>M</media>"""
    back = """<back><ack><p>Thanks</p></ack><ref-list><ref>One</ref><ref>Two</ref></ref-list><sec><p>None</p></sec>
    <app-group><app><p>App</p></app></app-group></back><floats-group><fig>F</fig></floats-group>
    <sub-article><body><p>Sub</p></body></sub-article><response><body><p>Re</p></body></response>"""
    loss = paper_of(body, back=back).loss
    assert loss.n_characters == loss.n_kept == {"title": 20, "abstract": 19, "body": 8}
    assert {sort: (out.n_elements, out.n_characters) for sort, out in loss.left_out.items()} == {
        "footnote": (2, 5),
        "author note": (1, 8),
        "keyword": (2, 7),
        "figure": (2, 5),
        "table": (2, 2),
        "display formula": (1, 3),
        "supplementary material": (1, 2),
        "media": (1, 1),
        "acknowledgements": (1, 6),
        "references": (2, 6),
        "other back matter": (1, 4),
        "appendix": (1, 3),
        "sub-article": (1, 3),
        "response": (1, 2),
    }
    assert loss.share_kept == 1.0


TITLE = "<title-group><article-title>T</article-title></title-group>"
ONE = f"<article><front><article-meta>{{}}{TITLE}</article-meta></front>{{}}"
FULL = ONE.format('<article-id pub-id-type="pmid">{}</article-id>', "<body><p>Body {}.</p></body></article>")


@pytest.mark.parametrize("wrapper", ["pmc-articleset", "articles", "OAI-PMH><ListRecords><record><metadata"])
def test_each_article_of_a_set_is_a_paper(wrapper: str, tmp_path: Path) -> None:
    bare = ONE.format('<article-id pub-id-type="pmid">3</article-id>', "</article>")
    articles = FULL.format(1, 1) + FULL.format(2, 2) + bare
    ends = "".join(f"</{tag}>" for tag in reversed(wrapper.split("><")))
    path = tmp_path / "set.xml"
    path.write_text(f"<{wrapper}>{articles}{ends}")
    *papers, third = read_all_content(path.read_bytes(), name=str(path))
    assert [(paper.name, paper.sentences) for paper in papers if isinstance(paper, Paper)] == [
        (f"{path}#1", ("T", "Body 1.")),
        (f"{path}#2", ("T", "Body 2.")),
    ]
    assert all(part in str(third) for part in (f"{path}#3: JATS XML", "its body", "metadata only: a title"))
    with pytest.raises(UnreadableError, match=r"one paper, got 3 papers \(.*#1, .*#2\).*each into"):
        read_paper(path)


def test_an_article_without_a_body_stands_for_its_sub_articles() -> None:
    stub = "<front-stub><article-id pub-id-type='doi'>10.1/{}</article-id></front-stub><body><p>Body {}.</p></body>"
    subs = f"<sub-article>{stub.format(1, 1)}</sub-article><response>{stub.format(2, 2)}</response>"
    papers = read_all_content(f"<article>{subs}</article>".encode(), name="tea.xml")
    assert [(paper.ids, paper.sentences) for paper in papers if isinstance(paper, Paper)] == [
        ({"doi": "10.1/1"}, ("Body 1.",)),
        ({"doi": "10.1/2"}, ("Body 2.",)),
    ]


@pytest.mark.parametrize("body", ["", "<body><sec><title>Tea</title></sec></body>", "<body><fig>x</fig></body>"])
def test_an_article_without_its_text_is_refused_as_metadata_only(body: str) -> None:
    with pytest.raises(UnreadableError, match="metadata only: its abstract"):
        read_content(f"<article>{FRONT}{body}</article>".encode(), name="tea.xml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<article/>", "metadata only: no text"),
        (b"<PubmedArticleSet><PubmedArticle><Article/></PubmedArticle></PubmedArticleSet>", "a list of papers"),
        (b"<?xml version='1.0'?><note><p>Tea</p></note>", "<note>"),
        (b"<article><body><p>Tea", "cut off"),
    ],
)
def test_other_xml_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=f"^tea.txt: .*{message}"):
        read_content(content, name="tea.txt")


WORD = st.sampled_from(["Tea", "fell.", "It", "p", "&lt;", "0.05", "&#946;", "caf\u00e9", "\u00ad", "1.5", "e.g."])
INLINE = st.sampled_from(["italic", "sub", "sup", "xref", "named-content", "odd"])
PARAGRAPH = st.recursive(
    st.lists(st.tuples(WORD, st.sampled_from(["", " ", "\n"])).map("".join), max_size=6).map("".join),
    lambda inner: st.lists(st.builds("<{0}>{1}</{0}>".format, INLINE, inner) | inner, max_size=4).map("".join),
    max_leaves=8,
)
BLOCK = st.recursive(
    PARAGRAPH.map("<p>{}</p>".format) | PARAGRAPH,
    lambda inner: st.builds(
        "<{0}>{1}{2}</{0}>".format,
        st.sampled_from(["sec", "list", "list-item", "p", "boxed-text", "def-list", "disp-quote"]),
        PARAGRAPH.map("<title>{}</title>".format) | PARAGRAPH.map("<label>{}</label>".format) | st.just(""),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=8,
)


def bare(text: str) -> str:
    return re.sub(r"[\s\u00ad]", "", text)


@given(st.lists(BLOCK, min_size=1, max_size=4).map("".join))
@examples(300)
def test_all_text_is_kept_in_order_where_its_span_says_whatever_the_article_is_like(body: str) -> None:
    content = article(f"{body}<p>End.</p>", front="").decode()
    paper = read_content(content.encode(), name="tea.xml")
    text = "".join(ET.fromstring(content).itertext())  # noqa: S314 - our own file
    written = bare(text)
    marks = re.compile(r"[\[\]^,]")  # references that abut get a comma
    assert marks.sub("", bare("".join(paper.sentences))) == marks.sub("", written)
    assert paper.loss.n_characters == paper.loss.n_kept == {"body": len(written)}
    end = 0
    for sentence, span in zip(paper.sentences, paper.spans, strict=True):
        assert end <= span.start < span.stop
        end = span.stop
        assert marks.sub("", bare(text[span.start : span.stop])) == marks.sub("", bare(sentence))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("10<sup>6\u20138</sup> cells", "10^(6\u20138) cells"),
        ("\u00d710<sup>6-8</sup> cells", "\u00d710^(6-8) cells"),
        ("2<sup>\u2212\u0394\u0394Ct</sup> method", "2^\u2212\u0394\u0394Ct method"),
        ("10<sup>\u22126.5</sup> M", "10^\u22126.5 M"),
        ("(1 + r)<sup>-2n</sup>", "(1 + r)^(-2n)"),
        ("in 2010<sup>6\u20138</sup> and CD4<sup>+</sup>", "in 20106\u20138 and CD4+"),  # sources, no power
        ("the 5<sup>th</sup> and m<sup>2</sup>", "the 5th and m2"),
        (
            'trials.<sup><xref ref-type="bibr" rid="a">7</xref><xref ref-type="bibr" rid="b">8</xref></sup>',
            "trials.[7,8]",
        ),
        ("the \ufb01rst o\ufb03ce", "the first office"),
        ("the &#xFB01;rst", "the first"),
    ],
)
def test_raised_numbers_and_ligatures(markup: str, text: str) -> None:
    assert in_body(f"<p>Tea {markup}</p>") == [f"Tea {text}"]


@pytest.mark.parametrize(
    ("label", "title", "heading"),
    [("2.", "2. Methods", "2. Methods"), ("2", "Methods", "2 Methods"), ("2", "24 hours", "2 24 hours")],
)
def test_a_label_that_the_title_repeats_stands_once(label: str, title: str, heading: str) -> None:
    body = f"<sec><label>{label}</label><title>{title}</title><p>We asked.</p></sec>"
    assert in_body(body) == [heading, "We asked."]


@pytest.mark.parametrize(
    "part",
    [
        '<sec sec-type="methods"><title>Online</title>{}</sec>',
        "<sec><title>Online Methods</title>{}</sec>",
        "<app><title>Experimental procedures</title>{}</app>",
    ],
)
def test_methods_behind_the_body_are_read(part: str) -> None:
    paper = paper_of("<p>Tea lowers it.</p>", back=f"<back>{part.format('<p>We asked.</p>')}</back>")
    assert paper.sentences[-1] == "We asked."


def test_an_appendix_of_other_things_is_left_out() -> None:
    paper = paper_of("<p>Tea lowers it.</p>", back="<back><app><title>Questions</title><p>Which tea?</p></app></back>")
    assert paper.sentences[-1] == "Tea lowers it."
    assert "appendix" in paper.loss.left_out


@pytest.mark.parametrize("parts", ["<header/><body><p>Tea.</p></body>", "<info/><section><para>Tea.</para></section>"])
def test_an_article_of_another_dtd_is_refused_by_its_parts(parts: str) -> None:
    with pytest.raises(
        UnreadableError, match=r"^tea.xml: expected an article in JATS, .*<article> has: .*JATS or PDF$"
    ):
        read_content(f"<article>{parts}</article>".encode(), name="tea.xml")


def test_the_english_translation_of_an_article_is_the_paper() -> None:
    own = "<front-stub><title-group><article-title>Tea</article-title></title-group></front-stub>"
    article_xml = (
        '<article xml:lang="pt"><front><article-meta><article-id pub-id-type="doi">10.1/cha</article-id><title-group>'
        "<article-title>O ch\u00e1</article-title></title-group></article-meta></front><body><p>O ch\u00e1.</p></body>"
        f'<sub-article article-type="translation" xml:lang="en">{own}<body><p>Tea is good.</p></body></sub-article>'
        "</article>"
    )
    paper = read_content(article_xml.encode(), name="tea.xml")
    assert (paper.sentences, paper.ids) == (("Tea", "Tea is good."), {"doi": "10.1/cha"})


def test_a_chapter_of_a_book_is_read() -> None:
    chapter = (
        "<book-part-wrapper><book-meta><book-title-group><book-title>Drinks</book-title></book-title-group></book-meta>"
        "<book-part><book-part-meta><title-group><title>Tea</title></title-group></book-part-meta>"
        "<body><sec><title>Use</title><p>Tea is drunk.</p></sec></body></book-part></book-part-wrapper>"
    )
    paper = read_content(chapter.encode(), name="tea.xml")
    assert paper.sentences == ("Tea", "Use", "Tea is drunk.")
