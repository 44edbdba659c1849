"""Articles as web pages."""

import re

import pytest

from doors import Loss, UnreadableError, parse_html, read_content
from evidencebench import Kind, Paper
from kit.outlines import n_left_out, outline

_HEAD = """<head><meta charset="utf-8"><title>Tea - a library</title>
<meta name="citation_title" content="Tea lowers &beta; levels"><meta name="citation_pmid" content="123">
<meta name="citation_doi" content="10.1000/tea"><meta name="ncbi_pcid" content="PMC99">
<script>var p = "<p>No.</p>";</script></head>"""
_NAVIGATION = '<nav><ul><li><a href="/">All papers of this library, by year.</a></li></ul></nav>'
_FOOTER = "<footer><p>Follow us on all of the networks that there are. We thank you.</p></footer>"
_TABLE = "<table><tr><td>12.5<td>14.5</table>"

_NOW = f"""<!DOCTYPE html><html lang="en">{_HEAD}<body><header>{_NAVIGATION}</header><main><article>
<section aria-label="Article citation"><section class="front-matter"><div class="ameta p"><hgroup>
<h1>Tea lowers &beta; levels</h1></hgroup><div>A. Author of a long list of authors, at a place. And B.</div></div>
</section></section>
<section class="body main-article-body"><section class="abstract" id="abs1"><h2>Abstract</h2>
<section><h3 class="pmc_sec_title">Background</h3><p id="Par1">Tea is drunk &amp; liked.</p></section>
<section><h3>Results</h3><p>It fell by 3 (p&#160;&lt;&nbsp;0.05).</p></section>
<section class="kwd-group"><p><strong>Keywords:</strong> tea</p></section></section>
<section class="abstract"><h2>Abstrakt</h2><p>Tee wird getrunken.</p></section>
<section><h2 class="pmc_sec_title">2. Methods<a href="#m">¶</a></h2><p id="Par2">We
asked 10<sup>6</sup> adults.<sup><a href="#CR3">3</a>, <a href="#CR4">4</a></sup> They drank H<sub>2</sub>O [<a
href="#CR5">5</a>], see <a href="#Fig1">Fig. 1</a>.
<section><h3>Doses</h3><p>One a day<a href="#CR6">6</a> <em>in vivo</em>, for
x<math><msup><mi>y</mi><mn>2</mn></msup></math>.</p>
<ul><li>Green tea was drunk.<li>Black tea was drunk.</ul>
<section class="tw xbox" id="T1"><h4>Table 1</h4><div class="caption"><p>Doses of tea.</p></div>{_TABLE}</section>
<figure id="Fig1"><h4>Fig. 1.</h4><figcaption><p>Tea by day.</p></figcaption></figure></section></section>
<section><h2>Trial registration</h2><p><a href="https://x.org/">NCT01234567</a></p></section>
<section class="ack"><h2>Acknowledgments</h2><p>We thank all.</p></section>
<section class="ref-list"><h2>References</h2><ul><li id="CR3">3. A paper.</li></ul></section></section>
</article></main>{_FOOTER}</body></html>"""

_BEFORE = f"""<html>{_HEAD}<body><div id="mc"><div class="breadcrumb"><a href="/">Journals</a></div><div
class="article">
<div class="fm-sec"><h1 class="content-title">Tea lowers &beta; levels</h1><div class="contrib-group fm-author"><p>A.
Author.</p></div></div>
<div class="tsec sec" id="a1"><h2 class="head">Abstract</h2><div><div class="sec"><h3>Background</h3>
<p class="p p-first-last">Tea is drunk &amp; liked.</p></div><div class="sec"><h3>Results</h3><p>It fell
by 3 (p&#160;&lt;&nbsp;0.05).</p></div>
<div class="sec"><strong class="kwd-title">Keywords: </strong><span class="kwd-text">tea</span></div></div></div>
<div class="tsec sec"><h2 class="head">2. Methods</h2><p class="p p-first">We asked 10<sup>6</sup> adults.<sup><a
href="/pmc/#B3"
class="bibr popnode">3</a>, <a href="#B4">4</a></sup> They drank H<sub>2</sub>O [<a href="#B5">5</a>], see <a
href="/f#F1">Fig. 1</a>.</p>
<div class="sec"><h3>Doses</h3><p>One a day<a href="#B6">6</a> <em>in vivo</em>, for
x<math><msup><mi>y</mi><mn>2</mn></msup></math>.</p>
<ul><li>Green tea was drunk.</li><li><div>Black tea was drunk.</div></li></ul>
<div class="table-wrap iconblock"><h4>Table 1</h4><p>Doses of tea.</p>{_TABLE}</div>
<div class="fig iconblock"><p>Tea by day.</p></div></div></div>
<div class="tsec sec"><h2>Trial registration</h2><p><a href="https://x.org/">NCT01234567</a></p></div>
<div class="tsec sec"><h2>Acknowledgments</h2><p>We thank all.</p></div>
<div class="tsec sec"><h2>References</h2><div class="ref-list-sec"><ul class="back-ref-list"><li>3.
A paper.</li></ul></div></div>
</div></div><div id="rightcolumn"><h2>Formats:</h2><ul><li>PDF (1.2M)</li></ul></div>{_FOOTER}</body></html>"""

_FLAT = f"""<html>{_HEAD}<body>{_NAVIGATION}<h1>Tea lowers &beta; levels</h1><p>A. Author, B. Author<h2>Abstract</h2>
<h3>Background</h3>
<p>Tea is drunk &amp; liked.<h3>Results</h3><p>It fell by 3 (p&#160;&lt;&nbsp;0.05).
<h2>2. Methods</h2><p>We asked 10<sup>6</sup> adults.<sup><a href="#r3">3</a>, <a href="#r4">4</a></sup> They drank
H<sub>2</sub>O
[<a href="#r5">5</a>], see <a href="#f1">Fig. 1</a>.<h3>Doses</h3>One a day<a href="#r6">6</a> <em>in vivo</em>, for
x<math><msup><mi>y</mi><mn>2</mn></msup></math>. <br><br> <p>Green tea was drunk.<br> <br> Black tea was drunk.
{_TABLE}<h2>Trial registration</h2><p><a href="https://x.org/">NCT01234567</a></p>
<h2>Acknowledgments</h2><p>We thank all.<h2>References</h2><ol><li>3. A paper.</ol></body></html>"""

_EXPECTED = [
    ("", "section", "Tea lowers β levels"),
    ("", "section", "Abstract"),
    ("Abstract/Background", "abstract", "Background: Tea is drunk & liked."),
    ("Abstract/Results", "abstract", "Results: It fell by 3 (p < 0.05)."),
    ("", "section", "2. Methods"),
    ("2. Methods", "normal", "We asked 10^6 adults.[3, 4]"),
    ("2. Methods", "normal", "They drank H2O [5], see Fig. 1."),
    ("2. Methods", "section", "Doses"),
    ("2. Methods/Doses", "normal", "One a day [6] in vivo, for xy^2."),
    ("2. Methods/Doses", "normal", "Green tea was drunk."),
    ("2. Methods/Doses", "normal", "Black tea was drunk."),
    ("", "section", "Trial registration"),
    ("Trial registration", "normal", "NCT01234567"),
]


def require_spans(paper: Paper, page: str) -> None:
    """Check that each sentence stands where it says in the page's text."""
    text = parse_html(page, name="page").raw_text
    for sentence, span in zip(paper.sentences, paper.spans, strict=True):
        assert re.sub(r"[\W_]", "", text[span.start : span.stop]) == re.sub(r"[\W_]", "", sentence)


@pytest.mark.parametrize("page", [_NOW, _BEFORE, _FLAT], ids=["now", "before", "without sections"])
def test_one_article_is_read_the_same_from_any_layout(page: str) -> None:
    paper = read_content(page.encode(), name="tea.html")
    assert outline(paper) == _EXPECTED
    assert (paper.format, paper.title) == ("HTML", "Tea lowers β levels")
    assert paper.ids == {"doi": "10.1000/tea", "pmcid": "PMC99", "pmid": "123"}
    assert paper.loss.share_kept == 1
    assert {"references", "table", "acknowledgements"} <= set(paper.loss.left_out)
    require_spans(paper, page)


def test_what_is_left_out_is_counted_and_what_is_around_the_article_is_not_the_article_s() -> None:
    sorts = ("acknowledgements", "figure", "front matter", "further abstract", "keyword", "references", "table")
    assert n_left_out(read_content(_NOW.encode(), name="tea.html")) == dict.fromkeys(sorts, 1)


_GOOD = "It is good for you and me. " * 10
_BODY = "<p>We asked 120 adults about tea, and no one else. " + "Pressure fell by 3 mmHg in those who drank it. " * 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<!doctype html><p>Are you a robot?", "'Are you a robot'; open the article in a browser"),
        ("<html><body><p>Tea.</p></body></html>", "almost without paragraphs"),
        (f"<html><h1>Tea</h1><p>To read this, log in to your account. {_GOOD}</p>", "'log in to your'"),
        (f"<html><h1>Tea</h1><p>Buy this article for 30 dollars. {_GOOD}</p>", "'Buy this'"),
        ("<html>" + f"<article><h2>Tea</h2>{_BODY}</article>" * 6, "a list of articles"),
        (f"<html><h1>T</h1><div id='abstract'>{_BODY}</div></html>", "metadata only: its abstract"),
        ("<html><meta charset='punycode'>\xe9</html>".encode("latin-1"), "'punycode'"),
        ("<html><p>\xe9</p></html>".encode("latin-1"), "0xe9"),
    ],
)
def test_a_page_without_an_article_is_refused_in_words(content: str | bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=rf"^tea\.html: .*{re.escape(message)}"):
        read_content(content if isinstance(content, bytes) else content.encode(), name="tea.html")


def test_a_page_whose_first_element_is_an_article_is_no_xml() -> None:
    page = f"<!DOCTYPE html><article><h1>Tea<br>and sleep</h1><h2>Results</h2>{_BODY}</article>"
    assert "Pressure fell by 3 mmHg in those who drank it." in read_content(page.encode(), name="tea.html").sentences


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1252">', "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">', "latin-1"),
        ('<meta charset="iso-8859-1">', "utf-8"),  # as browsers save it
        ("", "utf-8-sig"),
        ("", "utf-16"),
    ],
)
def test_a_page_is_decoded_as_it_says(head: str, encoding: str) -> None:
    paper = read_content(f"<html>{head}{_BODY}<p>It was 5 µg.".encode(encoding), name="tea.html")
    assert paper.sentences[-1] == "It was 5 µg."


@pytest.mark.parametrize(
    "beginning", ["<p>", "<div><p>", "<h1>Tea</h1>", "<!-- saved --><main>", "<?xml version='1.0'?><html>"]
)
def test_a_part_of_a_page_is_a_page_too(beginning: str) -> None:
    assert read_content(f"{beginning}{_BODY}".encode(), name="tea.txt").format == "HTML"


def test_paragraphs_of_divisions_are_read_without_captions_and_recommended_articles() -> None:
    page = """<html><body><article><h1>Tea</h1><section class="html-abstract"><h2>Abstract</h2>
    <div class="html-p">Tea is drunk and liked.</div><div class="c-article-recommendations"><h3>Similar content</h3>
    <p>Milk and you.</p></div></section><section><h2>1. Methods</h2><div class="html-p">Adults of these groups came:
    <ul><li>Men.</li></ul></div><div><b>Table 1.</b> Cups of tea by group of the trial.</div></section>
    <section><h2>2. Results</h2><div>Pressure fell in the group that had tea, and it did not fall in the other one of
    the two groups of the trial that was done in the winter of that year.</div><p>Figure 1. A cup.</p></section>
    </article></body></html>"""
    paper = read_content(page.encode(), name="tea.html")
    first = ("Tea", "Abstract", "Tea is drunk and liked.", "1. Methods", "Adults of these groups came:", "Men.")
    assert paper.sentences[:6] == first
    assert n_left_out(paper) == {"figure": 1, "navigation": 1, "table": 1}


def test_old_tables_that_hold_the_page_are_read() -> None:
    page = f"<html><table><tr><td>Menu</td><td><h2>Methods</h2>{_BODY}<table><tr><td>1</table></td></tr></table></html>"
    paper = read_content(page.encode(), name="tea.html")
    assert paper.sentences[:2] == ("Methods", "We asked 120 adults about tea, and no one else.")
    assert paper.loss.left_out["table"].n_characters == 1
    assert paper.loss.left_out["other text"].n_characters == 4


_LONG = "<p>We gave tea to one hundred and twenty adults with high pressure in three towns of the north.</p>" * 3


@pytest.mark.parametrize(
    "title",
    [
        "Recommended articles", "People also read", "Citing articles", "Related content", "Similar articles",
        "You may also like", "More from this journal's articles", "Most read articles", "Other articles by the authors",
        "Latest articles", "Suggested reading", "Trending papers",
    ],
)  # fmt: skip
def test_lists_of_other_papers_behind_the_article_are_not_its_text(title: str) -> None:
    page = f"<article><h1>Tea</h1><h2>Results</h2>{_LONG}<h2>{title}</h2><p>Cocoa lowered the pressure of pilots.</p>"
    paper = read_content(f"<html><body>{page}</article></body></html>".encode(), name="tea.html")
    assert not any("Cocoa" in sentence for sentence in paper.sentences)
    assert "navigation" in paper.loss.left_out


@pytest.mark.parametrize(
    "title", ["Comparison with other studies", "Related work", "Most cited articles", "Next steps"]
)
def test_sections_of_the_paper_that_sound_alike_are_read(title: str) -> None:
    page = f"<article><h1>Tea</h1><h2>{title}</h2><p>Cocoa lowered it too.</p><h2>Results</h2>{_LONG}"
    paper = read_content(f"<html><body>{page}</article></body></html>".encode(), name="tea.html")
    assert "Cocoa lowered it too." in paper.sentences


def test_what_a_page_has_behind_the_references_is_not_its_text_but_for_appendices() -> None:
    behind = "<h2>Who we are</h2><p>We print many books here.</p><h2>Appendix A</h2><p>Which tea did you drink?</p>"
    page = f"<article><h1>Tea</h1><h2>Results</h2>{_LONG}<h2>References</h2><p>1. Lee.</p>{behind}"
    paper = read_content(f"<html><body>{page}</article></body></html>".encode(), name="tea.html")
    assert paper.sentences[-2:] == ("Appendix A", "Which tea did you drink?")
    assert paper.loss.left_out["behind the references"].n_elements == 1


@pytest.mark.parametrize(
    "banner",
    [
        '<div id="onetrust-consent-sdk">{}</div>', '<div class="cookie-policy">{}</div>',
        '<div class="site-footer">{}</div>',
        '<div class="gdpr-notice">{}</div>', '<div class="newsletter-signup">{}</div>', '<div id="footer">{}</div>',
    ],
)  # fmt: skip
def test_banners_and_footers_are_not_its_text(banner: str) -> None:
    other = banner.format("<p>We use many small files to make our site a better one for all of our readers.</p>")
    page = f"<html><body>{other}<div><h1>Tea</h1><h2>Results</h2>{_LONG}</div>{other}</body></html>"
    assert not any("small files" in one for one in read_content(page.encode(), name="tea.html").sentences)


@pytest.mark.parametrize(
    "note",
    [
        '<span class="ltx_note ltx_role_footnote"><sup>1</sup><span>See the site.</span></span>',
        '<span class="footnote">See the site.</span>',
        '<span role="doc-footnote">See the site.</span>',
    ],
)
def test_a_footnote_within_a_sentence_is_left_out(note: str) -> None:
    page = f"<article><h1>Tea</h1><h2>Results</h2><p>Tea is drunk in the north.{note} It is cheap too.</p>{_LONG}"
    paper = read_content(f"<html><body>{page}</article></body></html>".encode(), name="tea.html")
    assert paper.sentences[2:4] == ("Tea is drunk in the north.", "It is cheap too.")
    assert "footnote" in paper.loss.left_out


def test_what_a_second_count_has_more_is_text_that_was_lost() -> None:
    count = Loss()
    count.read("body", "Tea fell.")
    count.keep("body", "Tea fell.")
    count.leave_out("table", "1 2")
    count.check(10)  # 8 of the body, 2 of the table
    assert count.share_kept == 1
    count.check(12)
    assert count.share_kept == 8 / 10


def test_an_abstract_within_its_own_title_is_read_and_a_summary_of_the_discussion_is_none() -> None:
    text = "Tea lowered it in all of the adults who drank it over some weeks."
    page = (
        f"<h1>Tea</h1><h2>Abstract</h2><h3>Summary</h3><h4>Results</h4><p>{text}</p><h2>Introduction</h2><p>{text}</p>"
        f"<h2>Discussion</h2><h3>Summary</h3><p>{text}</p>"
    )
    paper = read_content(page.encode(), name="tea.html")
    kinds = [kind for kind, sentence in zip(paper.kinds, paper.sentences, strict=True) if text in sentence]
    assert kinds == [Kind.ABSTRACT, Kind.BODY, Kind.BODY]
    assert paper.loss.left_out == {}
