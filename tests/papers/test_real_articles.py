"""Real articles: what is kept of them, counted by another parser, and what is found of other people's text of them."""

from pathlib import Path

import pytest

from examples import some_of
from measure_reading import Figures, measure
from outlines import real_files
from skips import DATA_FOLDER


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


@pytest.mark.data
def test_spans_of_real_articles_hold_their_sentences(figures: Figures) -> None:
    assert figures.n_same >= 0.995 * figures.n_spans > 0, "the others have formulas within them"
