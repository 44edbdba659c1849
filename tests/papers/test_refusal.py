"""What is no plain text is told by its content, and no paper is taken for anything else."""

import gzip
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import UnreadableError, read_content, text_of
from evidencebench import load_sample

_SENTENCES = "Tea lowered it by 3 mmHg.\nNo harm was seen (p < 0.05).\nWe asked 120 adults.\n"
_JATS = "<article><front><article-title>Tea</article-title></front>\n<body><p>It fell.</p></body></article>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 word/document.xml", r"ZIP archive.*\.docx or \.epub.*unpack it"),
        (gzip.compress(_SENTENCES.encode(), mtime=0), "gzip; .*gunzip"),
        (b"{\\rtf1\\ansi Tea.}", "RTF"),
        (_SENTENCES.encode("utf-16-le"), "UTF-16 without a mark.*save it as UTF-8"),
        (_SENTENCES.encode("utf-16")[:-1], "line [0-9]+: .*UTF-16-LE.*0x0a"),
        (b"Tea.\n\x00\x01\n" + _SENTENCES.encode(), "binary"),
        ("Tea.\nIt was naïve.\n".encode("cp1252"), "line 2: .*UTF-8.*0xef"),
        (_JATS.encode(), "markup, .*take its text out"),
        (b"<?xml version='1.0'?>\n" + _JATS.encode(), "markup"),
        (b"<!DOCTYPE html>\n<p>Tea.", "markup"),
        (b"\n  <TEI xmlns='x'>\nTea.", "markup"),
        (b"Tea\n<p>It fell.</p>\n<p>It rose.</p>\nThe end.", "markup"),
        (json.dumps({"sentences": ["It fell."]}).encode(), "JSON; .*plain text"),
        (json.dumps(["It fell."], indent=1).encode(), "JSON"),
        (b'{"text": "It fell."}\n{"text": "It rose."}\n', "JSON"),
        (b'{\n "id_0": {\n  "hypothesis": "It is cut he', "JSON"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "picture; .*tesseract"),
        (b"\\documentclass{article}\n\\begin{document}\nTea.", "LaTeX; .*detex"),
    ],
)
def test_what_is_no_plain_text_is_refused_with_what_to_do(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=rf"^paper: .*{message}"):
        text_of(content, name="paper")


@pytest.mark.parametrize(
    "text",
    [
        _SENTENCES,
        "p<O.02\n{sic} was left out.\n[9], it fell.\n[Online 14 July 1998]\n",
        "The <i>in vivo</i> dose was 3 mg.\n<i>E. coli</i> grew at n<b and c>d.\nThe rest did not.\nOr so.\nYes.",
        "# Methods\nSmith et al. The others were left out.\nIt fell.\nSo did it, e.g. In mice.\n",
        "[1]\nTea.\n[2]\nIt fell.\n",
        "It was given at 5 °C — β-blockers, 日本.\n",
        "It came from Sigma Inc. (Milwaukee, WI), as others (Reg. No. 2732) do.\n",
        "<sup>1</sup>H NMR was done.\nIt was found in <i>E. coli</i>\n<b>It fell.</b>\n",
        "Proc. Natl. Acad. Sci. U.S.A.\n",
        "mouse XPV cDNA\npolymerase\nIt fell.\n",
        "We write it in LaTeX.\n\\documentclass[12pt]{minimal} \\begin{document}$$x$$\\end{document}\nIt fell.\n",
        "",
    ],
)
def test_plain_text_is_returned_as_it_is(text: str) -> None:
    assert text_of(text.encode(), name="paper") == text
    assert text_of(b"\xef\xbb\xbf" + text.encode(), name="paper") == text


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_refused_in_words(content: bytes) -> None:
    with suppress(UnreadableError):
        text_of(content, name="paper")


@pytest.mark.parametrize("which", ["sample", pytest.param("train", marks=pytest.mark.data)])
def test_no_real_paper_is_refused(request: pytest.FixtureRequest, which: str) -> None:
    for query in (load_sample() if which == "sample" else request.getfixturevalue(which)).queries():
        text_of("\n".join(query.sentences).encode(), name=query.instance_id)
        for first in range(0, len(query.sentences), 5):  # what is pasted is short, and any share of it a heading
            text_of("\n".join(query.sentences[first : first + 5]).encode(), name=query.instance_id)


def test_more_than_a_paper_has_is_refused() -> None:
    with pytest.raises(UnreadableError, match="50,000 sentences, got 50,001"):
        read_content(b"Tea.\n" * 50_001, name="tea.txt")
    with pytest.raises(UnreadableError, match="100,000 characters, got one of 100,003"):
        read_content(b"tea " * 25_000 + b"end", name="tea.txt")
