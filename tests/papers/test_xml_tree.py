"""XML as a tree: the same text as another parser's, each piece with its place in it; hostile files are refused."""

import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import MOST_DEPTH, Element, UnreadableError, parse_xml, root_tag
from kit.examples import examples

LIGATURES = "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06"  # which become letters

LETTERS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=f"\ufffe\uffff\ufeff{LIGATURES}")
    | st.sampled_from("\n\t&<>]\u03b1\u00e9\U0001f600"),
    max_size=12,
)
TEXTS = st.one_of(
    LETTERS.map(escape),
    LETTERS.map(lambda text: "".join(f"&#{ord(letter)};" for letter in text)),
    LETTERS.map(lambda text: f"<![CDATA[{text.replace(']]>', '')}]]>"),
    st.sampled_from(["<!-- &tea; <p> -->", "<?tea <p>?>", "&#xe9;", "\r\n"]),
)
NAMES = st.sampled_from(["p", "mml:math", "Sec", "x-y"])


def _element(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, value, parts: f"<{name} a={quoteattr(value)}>{''.join(parts)}</{name}>", NAMES, LETTERS, inner
    )


XML = _element(st.lists(st.recursive(TEXTS, lambda inner: _element(st.lists(inner, max_size=4)), max_leaves=12)))


def _pairs(root: Element) -> list[tuple[str, str]]:
    return [(element.tag, element.text) for element in [root, *root.all("p", "math", "sec", "x-y")]]


@given(XML, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@examples(300)
def test_the_tree_is_that_of_another_parser_and_its_text_lies_where_it_says(body: str, encoding: str) -> None:
    root = parse_xml(body.encode(encoding), name="tea.xml")
    other = ET.fromstring(body.replace("<mml:", "<").replace("</mml:", "</"))  # noqa: S314 - our own file
    assert _pairs(root) == [(one.tag.lower(), " ".join("".join(one.itertext()).split())) for one in other.iter()]
    whole, stop = "".join(other.itertext()), 0
    for piece in root.characters():
        assert stop == piece.start < piece.stop
        stop = piece.stop
        assert whole[piece.start : piece.stop] == piece.text
    assert stop == len(whole)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"<a>x&nbsp;&alpha;&le;&tea;</a>", "x\u00a0\u03b1\u2264&tea;"),
        (b'<!DOCTYPE a SYSTEM "http://localhost:9/a.dtd"><a>&beta;</a>', "\u03b2"),
        (b'<?xml version="1.0" encoding="windows-1252"?><a>\x93tea\x94 5\x80</a>', "\u201ctea\u201d 5\u20ac"),
        (b'<?xml version="1.0" encoding="iso-8859-1"?><a>caf\xe9</a>', "caf\u00e9"),
        (b'<?xml version="1.0" encoding="UTF-16"?><a>caf\xc3\xa9</a>', "caf\u00e9"),
        (b"<a><![CDATA[&lt;]]>&lt;</a>", "&lt;<"),
    ],
)
def test_characters_are_those_that_the_file_means(content: bytes, text: str) -> None:
    assert parse_xml(content, name="tea.xml").raw_text == text


def test_names_and_attributes_lose_their_namespaces() -> None:
    root = parse_xml(b'<j:Article xmlns:j="urn:j" xlink:HREF="x" xml:lang="en"/>', name="tea.xml")
    assert (root.tag, root.attributes) == ("article", {"href": "x", "lang": "en"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1, column 1: .*well-formed XML.*empty"),
        (b"<a>\n<p>Tea", "line 2, column 7: .*</p>.*cut off"),
        (b"<a>\n<p>Tea</b></a>", "line 2, column 11: .*mismatch: p line 2 and b"),
        (b'<a x:b="1">\n<p>Tea</b></a>', "line 2, column 11: .*mismatch: p line 2 and b"),
        (b"<a>\n<p>Tea</", "line 2, column .*</p>.*cut off"),
        (b"<a>\n<![CDATA[Tea", "line 2, column .*</a>.*cut off"),
        (b'<!DOCTYPE a [\n<!ENTITY tea "green">]><a>&tea;</a>', "line 2: .*'tea'"),
        (b"<" + b"a" * 5000 + b"></b>", "line 1, column .{0,300}$"),
        (b'<?xml version="1.0" encoding="punycode"?><a/>', ".*'punycode'"),
        (b"<a>" * (MOST_DEPTH + 1), f".*{MOST_DEPTH} elements"),
        (b"<a>\x0b</a>", "line 1, column 4"),
    ],
)
def test_a_broken_file_is_refused_with_its_line_and_what_to_do(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=f"^tea.xml: {message}"):
        parse_xml(content, name="tea.xml")


def test_default_values_of_attributes_are_not_repeated() -> None:
    content = f'<!DOCTYPE a [<!ATTLIST p x CDATA "{"tea" * 1000}">]><a>{"<p/>" * 3}</a>'.encode()
    assert [one.attributes for one in parse_xml(content, name="tea.xml").elements] == [{}, {}, {}]


@pytest.mark.parametrize(
    ("content", "tag"),
    [
        (b"<article/>", "article"),
        (" <?xml?>\n<!-- a > <b> --><!DOCTYPE x [ <!ELEMENT y (z)> ]> <j:Article>".encode("utf-16"), "article"),
        (b"Tea <b>helps</b>.", None),
        (b"<!-- no end <a>", None),
        (b"<!DOCTYPE a [" * 10_000, None),
        (b"", None),
    ],
)
def test_the_outermost_element_is_found_without_parsing(content: bytes, tag: str | None) -> None:
    assert root_tag(content) == tag
