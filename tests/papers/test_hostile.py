"""Papers are untrusted: whatever a file holds, it is read or refused in words that name it.

Nothing hangs, fills the memory, asks a network or reads another file: `reading_apart` reads in a process with limits.
"""

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kit.broken_papers import ARTICLE, BIOC_JSON, BIOC_XML, OTHERS, TEI, mutated, restructured
from kit.examples import IS_THOROUGH, SHORTER
from kit.hostile_server import hostile_server
from kit.reading_apart import Verdict, read_apart


def is_refused(verdict: Verdict) -> bool:
    """Say whether a file was refused; the message then names it, and is short."""
    if verdict.error:
        assert verdict.error.startswith(verdict.path), verdict.error[:2000]
        assert len(verdict.error.removeprefix(verdict.path)) < 600, verdict.error[:2000]
    return bool(verdict.error)


VerdictsOn = Callable[[Mapping[str, str | bytes]], dict[str, Verdict]]


@pytest.fixture
def verdicts_on(tmp_path: Path) -> VerdictsOn:
    """Give a function that reads contents as files of these names in one process, and returns what became of each."""

    def read_contents(contents: Mapping[str, str | bytes]) -> dict[str, Verdict]:
        paths = {name: tmp_path / f"{name.replace('/', ' ')}.xml" for name in contents}
        for name, content in contents.items():
            paths[name].write_bytes(content.encode() if isinstance(content, str) else content)
        verdicts = dict(zip(contents, read_apart(list(paths.values())), strict=True))
        for verdict in verdicts.values():
            is_refused(verdict)
        return verdicts

    return read_contents


PAPERS = {"article": ARTICLE, **OTHERS}


@pytest.mark.parametrize("which", PAPERS)
def test_broken_papers_are_each_read_or_refused_in_words(verdicts_on: VerdictsOn, which: str) -> None:
    rng = random.Random(13)
    n = (1000 if which == "article" else 300) if IS_THOROUGH else 60
    broken = {str(number): mutated(rng, PAPERS[which].encode()) for number in range(n)}
    verdicts = verdicts_on({"whole": PAPERS[which].encode(), **broken})
    whole = verdicts.pop("whole")
    assert not is_refused(whole), whole.error
    assert sum(map(is_refused, verdicts.values())) < n  # else the mutations are too wild to show anything


def test_articles_whose_elements_stand_in_other_places_are_each_read_or_refused_in_words(
    verdicts_on: VerdictsOn,
) -> None:
    rng = random.Random(17)
    n = 1000 if IS_THOROUGH else 100
    verdicts = verdicts_on({str(number): restructured(rng, ARTICLE) for number in range(n)})
    assert 0 < sum(map(is_refused, verdicts.values())) < n / 2


# What is done to a whole paper; what the error says, None where it is read.
_LAUGHING = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
_BREAKINGS: Mapping[str, tuple[str, str, str, str | None]] = {
    "TEI cut off": (TEI, TEI[TEI.index("It rose") :], "", "expected </p>, got the end of the file"),
    "BioC XML cut off": (BIOC_XML, "</document></collection>", "", "expected </document>, got the end"),
    "BioC JSON cut off": (BIOC_JSON, "]}]}]", "", "expected BioC JSON: Input data was truncated"),
    "TEI without a body": (TEI, TEI[TEI.index("<div><head") : TEI.index("</body>")], "", "got metadata only: its abst"),
    "TEI without an element": (TEI, TEI[TEI.index("<teiHeader") : TEI.index("</TEI>")], "", "metadata only: no text"),
    "BioC XML without a body": (BIOC_XML, ">METHODS", ">REF", "got metadata only: a title"),
    "BioC XML without a document": (BIOC_XML, "document", "part", "expected"),
    "BioC JSON without a body": (BIOC_JSON, '"RESULTS"', '"REF"', "got metadata only: a title"),
    "BioC JSON of nothing": (BIOC_JSON, BIOC_JSON, '[{"documents": [{"passages": []}]}]', "metadata only: no text"),
    "BioC JSON without a document": (BIOC_JSON, BIOC_JSON, '[{"a": "passages"}, "passages"]', "documents, got none"),
    "TEI of entities": (TEI, "<TEI", f"{_LAUGHING}<TEI", "expected XML that declares no entities"),
    "TEI nested deep": (TEI, "<p>We", f"{'<div>' * 9999}<p>We", "expected at most 256 elements within each other"),
    "BioC XML nested deep": (BIOC_XML, "<text>We", f"{'<text>' * 9999}We", "expected at most 256 elements"),
    "BioC JSON nested deep": (BIOC_JSON, '"infons": {}', f'"infons": {"[" * 9999}{"]" * 9999}', "expected BioC JSON"),
    "TEI with a huge attribute": (TEI, 'type="bibr"', f'type="{"x" * 5_000_000}"', None),
    "BioC XML with a huge attribute": (BIOC_XML, "<document>", f'<document x="{"x" * 5_000_000}">', None),
    "BioC JSON with a huge key": (BIOC_JSON, '"infons": {}', f'"{"x" * 5_000_000}": 1', None),
    "BioC XML with a word as offset": (BIOC_XML, "<offset>18", "<offset>x", "a number as offset of a passage, got 'x'"),
    "BioC XML with an offset below zero": (BIOC_XML, "<offset>18", "<offset>-18", "expected a number as offset"),
    "BioC JSON with an offset below zero": (BIOC_JSON, '"offset": 18', '"offset": -18', "Expected `int` >= 0"),
    "BioC XML with an endless offset": (BIOC_XML, "<offset>18", f"<offset>{'9' * 99}", "expected a number as offset"),
    "BioC JSON with an endless offset": (BIOC_JSON, '"offset": 18', f'"offset": {"9" * 99}', "expected BioC JSON"),
    "BioC XML with one offset for all": (BIOC_XML, "<offset>18", "<offset>0", None),
    "BioC JSON with one offset for all": (BIOC_JSON, '"offset": 18', '"offset": 0', None),
}


def test_tei_and_bioc_that_are_broken_in_known_ways_are_read_or_refused_with_the_reason(
    verdicts_on: VerdictsOn,
) -> None:
    assert all(part in whole for whole, part, _, _ in _BREAKINGS.values())
    verdicts = verdicts_on({name: whole.replace(part, by) for name, (whole, part, by, _) in _BREAKINGS.items()})
    for name, (*_, said) in _BREAKINGS.items():
        assert (said or "") in verdicts[name].error, name
        assert bool(verdicts[name].error) == bool(said), name


# Entities, and what lies elsewhere.


def article(paragraph: str = "Tea lowered it.", *, declared: str = "", attributes: str = "") -> str:
    """Return an article of one paragraph behind declarations."""
    doctype = f"<!DOCTYPE article [{declared}]>" if declared else ""
    return f"{doctype}<article {attributes}><body><p>{paragraph}</p></body></article>"


_LAUGHS = '<!ENTITY l0 "ha">' + "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))
_WITH_ENTITIES = {
    "billion laughs": article("Tea &l9; fell.", declared=_LAUGHS),
    "one long entity, often": article("&a;" * 20_000, declared=f"<!ENTITY a '{'ha' * 50_000}'>"),
    "in an attribute": article(declared=_LAUGHS, attributes='a="&l9;"'),
    "of itself": article("Tea &a; fell.", declared='<!ENTITY a "&b;"><!ENTITY b "&a;">'),
    "of parameters": article("Tea &b; fell.", declared="<!ENTITY % a '<!ENTITY b \"hahaha\">'> %a;"),
}


def test_entities_are_not_expanded(verdicts_on: VerdictsOn) -> None:
    for verdict in verdicts_on(_WITH_ENTITIES).values():
        assert "hahaha" not in " ".join(verdict.sentences), verdict.path
        assert sum(map(len, verdict.sentences)) < 2000, verdict.path


_THERE = "http://there"
_OUTSIDE = {
    "entity": article("Tea &x; it.", declared=f'<!ENTITY x SYSTEM "{_THERE}">'),
    "parameter": article(declared=f'<!ENTITY % x SYSTEM "{_THERE}"> %x;'),
    "DTD": f'<!DOCTYPE article SYSTEM "{_THERE}">{article("Tea &x; it.")}',
    "XInclude": article(
        f'<xi:include href="{_THERE}" parse="text"/> Tea.', attributes='xmlns:xi="http://www.w3.org/2001/XInclude"'
    ),
    "stylesheet": f'<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="{_THERE}"?>{article()}',
    "graphic": article(f'Tea <graphic a:href="{_THERE}"/>.', attributes='xmlns:a="http://www.w3.org/1999/xlink"'),
    "page": f'<!DOCTYPE html><html><head><base href="{_THERE}"><link rel="stylesheet" href="{_THERE}">'
    f'<script src="{_THERE}"></script></head><body><h1>Tea</h1><p>Tea lowered it.</p><img src="{_THERE}">'
    f'<iframe src="{_THERE}"></iframe></body></html>',
}


def test_nothing_is_asked_of_a_network_and_no_other_file_is_read(verdicts_on: VerdictsOn, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("open sesame")
    with hostile_server(b'<!ENTITY x "open sesame">') as server:
        places = {"web": server.address("x.dtd"), "uri": secret.as_uri(), "name": secret.name, "path": str(secret)}
        verdicts = verdicts_on(
            {
                f"{which} by {how}": content.replace(_THERE, there)
                for which, content in _OUTSIDE.items()
                for how, there in places.items()
            }
        )
        assert server.log == []
    assert [one.path for one in verdicts.values() if "sesame" in one.error + " ".join(one.sentences)] == []


# Depth and length.

_DEEP, _MANY = (100_000, 100_000) if IS_THOROUGH else (20_000, 2_000)
_REPEATED = {
    "sections": f"<article><body>{'<sec>' * _DEEP}<p>Tea.</p>{'</sec>' * _DEEP}</body></article>",
    "italics": article(f"{'<italic>' * _DEEP}Tea.{'</italic>' * _DEEP}"),
    "open sections": f"<article><body>{'<sec><title>T</title>' * _DEEP}",
    "formulas": article(f"{'<math><mrow>' * _DEEP}x{'</mrow></math>' * _DEEP}"),
    "divisions": f"<html><body>{'<div>' * _DEEP}<p>Tea lowered it.</p>",
    "a deep model": article(declared=f"<!ELEMENT a {'(' * _DEEP}b{')' * _DEEP}>"),
    "JSON lists": f'{{"documents": {"[" * _DEEP}{"]" * _DEEP}}}',
    "JSON objects": '{"passages":' * _DEEP,
    "comments in a DTD": f"<!DOCTYPE article [{'<!-- [ -->' * _DEEP}",
    "brackets in a DTD": f"<!DOCTYPE article {'[]' * _DEEP}",
    "stars": f"{'*' * _DEEP}Tea{'*' * _DEEP}",
    "empty sections": f"<article><body>{'<sec><title>T</title></sec>' * _MANY}</body></article>",
    "tables": article(f"<table>{'<tr><td>1</td></tr>' * _MANY}</table>"),
    "articles": f"<articles>{article() * 2000}</articles>",
    "namespaces": article("".join(f"<a{n}:p xmlns:a{n}='b{n}'/>" for n in range(_MANY))),
    "attributes": article(attributes=" ".join(f"a{n}='1'" for n in range(_MANY))),
    "declared elements": article(declared="".join(f"<!ELEMENT a{n} ANY>" for n in range(_MANY))),
}
_ALONE = (
    *("<!--", "<?", "<", "<a ", "</", "&", "[", "> ", "- ", "# ", "`", "|", "1. ", "<p>\n", "[a](", "**a ", "a", ". "),
    *("a-\n", "x-\n\n\n(", "a" * 99 + " b-\n", "<html><meta ", "<![CDATA[", '<a b="', "<a b='\"", "<b></i>", "&amp"),
)
for _number, _piece in enumerate(_ALONE):
    _long = _piece * min(_MANY, 5 * _MANY // len(_piece))
    _REPEATED |= {f"only {_number}": _long, f"a page of {_number}": f"<html>{_long}"}
for _number, _piece in enumerate(
    ("Tea lowered pressure. ", "x", "A. ", "(", "&amp;", "<xref>1</xref>", "é ", "A.<p/>")
):
    _REPEATED[f"a paragraph of {_number}"] = article(_piece * (1_000_000 // SHORTER**2 // len(_piece)))


def test_what_is_nested_or_repeated_without_measure_is_read_or_refused(verdicts_on: VerdictsOn) -> None:
    assert any(map(is_refused, verdicts_on(_REPEATED).values()))


def test_a_paragraph_longer_than_a_file_may_be_is_refused_in_words(verdicts_on: VerdictsOn, tmp_path: Path) -> None:
    sparse = tmp_path / "sparse.xml"
    with sparse.open("wb") as file:
        file.truncate(50 << 30)  # of zeros, which take no room
    verdicts = [*read_apart([sparse]), *verdicts_on({"long": article("tea " * (17 << 20))}).values()]
    assert [verdict.error.removeprefix(verdict.path) for verdict in verdicts] == [
        ": cannot be read: holds more than 67,108,864 bytes; expected a smaller file"
    ] * 2


# What is no XML, or in another encoding.


# What latin-1 can say.
_WESTERN = ARTICLE.replace("β", "ß").replace("\N{MINUS SIGN}", "-").replace("≤", "=")


@pytest.mark.parametrize("whole", [_WESTERN, BIOC_JSON.replace("fell", "f\u00e9ll")], ids=["article", "BioC JSON"])
def test_a_declared_or_marked_encoding_is_read_as_utf_8(verdicts_on: VerdictsOn, whole: str) -> None:
    encodings = ["utf-8", "utf-8-sig", "utf-16", *(["latin-1", "windows-1252"] if "<?xml" in whole else [])]
    verdicts = verdicts_on({one: whole.replace("UTF-8", one.removesuffix("-sig")).encode(one) for one in encodings})
    assert verdicts["utf-8"].sentences
    assert all(one.sentences == verdicts["utf-8"].sentences for one in verdicts.values())


def test_line_ends_of_windows_and_of_old_macs_make_no_difference(verdicts_on: VerdictsOn) -> None:
    ends = {"unix": "\n", "windows": "\r\n", "mac": "\r"}
    verdicts = verdicts_on(
        {f"{paper} of {of}": text.replace("\n", end) for paper, text in PAPERS.items() for of, end in ends.items()}
    )
    for paper in PAPERS:
        said = {tuple(verdicts[f"{paper} of {of}"].sentences) for of in ends}
        assert (len(said), () in said) == (1, False), paper


def test_a_wrong_encoding_and_utf_16_without_a_mark_are_refused_in_words(verdicts_on: VerdictsOn) -> None:
    declared = ["UTF-8", "none-such", "UTF-7", "idna", "hex", "zlib", "unicode_escape"]
    contents = {one: _WESTERN.replace('"UTF-8"', f'"{one}"').encode("latin-1") for one in declared}
    contents |= {one: ARTICLE.replace("UTF-8", "UTF-16").encode(one) for one in ("utf-16-le", "utf-16-be")}
    for name, one in verdicts_on(contents).items():
        assert ("it is UTF-16 without a mark" if name.startswith("utf-16") else "UTF-8") in one.error


_NOTHING = (
    *(b"", b" \n\t ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"\x00" * 5000, bytes(range(256)) * 20),
    *(b"<article/>", b"<article><body/></article>", b"<article><body><p/></body></article>", b"<article>", b"#"),
    *(b"<html></html>", b'{"documents": []}', b"<collection/>", b"<TEI/>", b"<pmc-articleset/>", b"<svg></svg>"),
    *(b"<?xml version='1.0'?>", b"<!DOCTYPE article>", ARTICLE.replace("Pressure", "Pres\x00sure").encode()),
)


def test_a_file_without_a_sentence_is_refused_in_words(verdicts_on: VerdictsOn) -> None:
    verdicts = verdicts_on({str(number): content for number, content in enumerate(_NOTHING)})
    assert [number for number, verdict in verdicts.items() if not is_refused(verdict)] == []


def test_a_folder_a_pipe_a_device_and_a_missing_file_are_refused_in_words(tmp_path: Path) -> None:
    pipe, absent = tmp_path / "pipe.xml", tmp_path / "absent.xml"
    os.mkfifo(pipe)
    said = [verdict.error for verdict in read_apart([tmp_path, pipe, Path("/dev/zero"), absent])]
    assert said[0] == f"{tmp_path}: cannot be read: Is a directory"
    assert said[1].startswith(f"{pipe}: cannot be read: is a pipe; expected a regular file")
    assert said[2].startswith("/dev/zero: cannot be read: is a device; expected a regular file")
    assert said[3] == f"{absent}: no such file"
