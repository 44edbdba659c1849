"""Real articles: what is kept of them, counted by another parser, and what is found of other people's text of them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby
from pathlib import Path

import pytest

from doors import read_content
from evidencebench import Kind, read_paper
from kit.examples import some_of
from kit.outlines import real_files
from kit.skips import DATA_FOLDER
from measure_reading import Figures, measure


def articles() -> list[tuple[Path, Path | None]]:
    """Return some articles, each with its plain text."""
    paths = [*real_files("evidence_inference/xml/*.nxml"), *real_files("jats/*.nxml")]
    texts = [DATA_FOLDER / "evidence_inference" / "txt" / f"{path.stem}.txt" for path in paths]
    found = [(path, text if text.is_file() else None) for path, text in zip(paths, texts, strict=True)]
    return list(some_of(found, thorough=8, quick=40))


@pytest.fixture(scope="module")
def figures() -> Figures:
    found = Figures()
    for path, text in articles():
        measure(path, text, found)
    return found


@pytest.mark.data
def test_real_articles_are_kept_and_the_text_of_others_is_found_in_them(figures: Figures) -> None:
    assert figures.n_kept >= 0.995 * figures.n_characters
    assert figures.n_exact >= 0.99 * figures.n_articles
    assert figures.n_found >= 0.99 * figures.n_sentences > 0


def _page(blocks: Iterable[tuple[int, str]]) -> str:
    """Write headings, which have a level, and paragraphs of level 0 as a web page."""
    written = (f"<h{level}>{escape(text)}</h{level}>" if level else f"<p>{escape(text)}" for level, text in blocks)
    return f"<html><article>{''.join(written)}"


def _markdown(blocks: Iterable[tuple[int, str]]) -> str:
    escaped = ((level, re.sub(r"([\\`*_\[\]<>#]|(?<=\d)\.)", r"\\\1", text)) for level, text in blocks)
    return "\n\n".join(f"{'#' * level} {text}".lstrip() for level, text in escaped)


@pytest.mark.data
@pytest.mark.parametrize("write", [_page, _markdown])
def test_real_articles_written_in_another_format_have_the_same_sentences(
    write: Callable[[Iterable[tuple[int, str]]], str],
) -> None:
    for path in real_files("jats/*.nxml"):
        jats = read_paper(path)
        rows = groupby(
            zip(jats.sentences, jats.kinds, jats.places, strict=True),
            lambda row: (row[2].paragraph, min(6, 1 + len(row[2].section)) if row[1] is Kind.HEADING else 0),
        )
        blocks = [(level, " ".join(text for text, _, _ in group)) for (_, level), group in rows]
        paper = read_content(write(blocks).encode(), name=path.name)
        wanted = Counter(text for text, kind in zip(jats.sentences, jats.kinds, strict=True) if kind is Kind.BODY)
        assert (wanted & Counter(paper.sentences)).total() >= 0.95 * wanted.total(), (path.name, paper.format)
        assert paper.loss.share_kept == 1


@pytest.mark.data
def test_spans_of_real_articles_hold_their_sentences(figures: Figures) -> None:
    assert figures.n_same >= 0.995 * figures.n_spans > 0, "the others have formulas within them"
