"""Real articles: what is kept of them, counted by another parser, and what is found of other people's text of them."""

import html
import re
from pathlib import Path

import pytest

from evidencebench.papers.read import read
from examples import IS_THOROUGH
from measure_reading import Figures, letters, measure
from skips import DATA_FOLDER


def articles() -> list[tuple[Path, Path | None]]:
    """Return every 40th article, all of them under ``EVIDENCEBENCH_TESTS=thorough``, with its plain text."""
    ours = DATA_FOLDER / "evidence_inference"
    paths = [*sorted((ours / "xml").glob("*.nxml")), *sorted((DATA_FOLDER / "jats").glob("*.nxml"))]
    if not paths:
        pytest.skip("needs the real files of ../shared/data")
    texts = [ours / "txt" / f"{path.stem}.txt" for path in paths]
    found = [(path, text if text.is_file() else None) for path, text in zip(paths, texts, strict=True)]
    return found if IS_THOROUGH else found[::40]


@pytest.mark.data
def test_real_articles_are_kept_and_the_text_of_others_is_found_in_them() -> None:
    figures = Figures()
    for path, text in articles():
        measure(path, text, figures)
    assert figures.n_kept >= 0.995 * figures.n_characters
    assert figures.n_exact >= 0.99 * figures.n_articles
    assert figures.n_found >= 0.99 * figures.n_sentences > 0


OUTSIDE = re.compile(r"<(fig|table-wrap|disp-formula|fn|supplementary-material|inline-formula)\b.*?</\1>", re.DOTALL)


@pytest.mark.data
def test_spans_of_real_articles_hold_their_sentences() -> None:
    n_sentences = n_same = 0
    for path, _ in articles():
        paper, content = read(path, abstract_suffices=True), path.read_bytes().decode()
        for sentence, span in zip(paper.sentences, paper.spans, strict=True):
            source = re.sub("<[^>]*>", "", OUTSIDE.sub("", content[span.start : span.stop]))
            n_sentences += 1
            n_same += letters(html.unescape(source)) == letters(sentence)
    assert n_same >= 0.995 * n_sentences, "the others have formulas within them"
