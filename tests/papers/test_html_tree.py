"""HTML as a tree whose text knows its place."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import MOST_DEPTH, Element, parse_html


class _Texts(HTMLParser):
    """The standard library's parser, as an independent implementation."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shape(element: Element) -> str:
    """Return the elements within one, such as ``p(b()i())``."""
    return "".join(f"{child.tag}({shape(child)})" for child in element.elements)


_PIECES = (
    *("tea ", "5 &lt; 6", "p < 0.05", "&beta;", "&#946;", "&#x3b2;", "&copy 2", "&unknown;", "R&D", "é\n", "<p>"),
    *("<b class='x > y'>", "</b>", "<td>", "<table>", "</table>", '<a href="?a&amp;b" id=x>', "</a>", "<!-- no -->"),
    *("<script>a < b && '</p>'</script>", "<title>T &amp; T</title>", "<img alt='>'/>", "<svg/>", "</p >", "</p>"),
    *("<br>", "<li>"),
)


@given(st.lists(st.sampled_from(_PIECES)))
def test_text_is_that_of_another_parser_and_stands_where_it_says(pieces: list[str]) -> None:
    text = "".join(pieces)
    page = parse_html(text, name="page")
    other = _Texts()
    other.feed(text)
    other.close()
    assert page.raw_text == "".join(other.texts)
    for one in page.characters():
        assert page.raw_text[one.start : one.stop] == one.text


@given(st.text(alphabet="<>/!-?&;#x= \"'apbi\n[]CDATA", max_size=60))
def test_any_text_at_all_becomes_a_tree(text: str) -> None:
    page = parse_html(text, name="page")
    assert all(page.raw_text[one.start : one.stop] == one.text != "" for one in page.characters())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a<p>b<div>c</div>d", "p()p()div()"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "ul(li()li(ul(li()))li())"),
        ("<table><tr><td>a<td>b<tr><td>c</table>d", "table(tr(td()td())tr(td()))"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt()dd()dt())"),
        ("<div><p>a<b>b</div>c<i>d</i>", "div(p(b()))i()"),
        ("<td><p>a</div></td>", "td(p())"),
        ("<p>a</b>b</p></p>c<br/>d", "p()br()"),
        ("<?xml version='1.0'?><p/>a<i/>b", "p()i()"),
        ("<svg><path/><g/></svg>a<math><mo/><mn>2</mn></math>b", "svg(path()g())math(mo()mn())"),
        ("<td>a<table><tr><td>b</table>c", "td(table(tr(td())))"),
        ("<span><div>a</span>b</div>c", "span(div())"),
        ("<a name=x><p>a</p></a>", "a(p())"),
    ],
)
def test_missing_and_needless_end_tags_are_taken_as_browsers_do(text: str, expected: str) -> None:
    assert shape(parse_html(text, name="page")) == f"html(body({expected}))"


def test_the_chapters_of_a_book_are_one_page_and_an_element_that_ends_itself_swallows_nothing() -> None:
    chapter = "<?xml version='1.0'?><html><head><title/><script src='x'/></head><body><p>{}</p></body></html>"
    page = parse_html("\n".join(map(chapter.format, ("tea", "fell"))), name="book")
    assert [element.text for element in page.all("p")] == ["tea", "fell"]


def test_attributes_that_matter_are_read_however_they_are_quoted() -> None:
    page = parse_html("<a HREF='#a&amp;b' class=x id= y onclick=\"no\" hidden data-x=1>T</a>", name="page")
    link = page.first("a")
    assert link is not None
    assert {"href": "#a&b", "class": "x", "id": "y", "hidden": ""}.items() <= link.attributes.items()


def test_depth_beyond_any_page_is_flat_and_its_text_is_kept() -> None:
    page = parse_html("<div>" * 5000 + "tea" + "</div>" * 5000 + "<p>fell", name="page")
    depth, element = 0, page
    while inner := next(element.elements, None):
        depth, element = depth + 1, inner
    assert depth <= MOST_DEPTH + 1
    assert page.text == "teafell"
