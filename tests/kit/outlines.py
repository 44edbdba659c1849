"""What tests of papers look at: their sections and sentences, and the real files."""

from pathlib import Path

import pytest

from evidencebench import Paper
from kit.skips import DATA_FOLDER


def outline(paper: Paper) -> list[tuple[str, str, str]]:
    """Return section path, kind and text of each sentence."""
    rows = zip(paper.places, paper.kinds, paper.sentences, strict=True)
    return [("/".join(place.section), kind.value.split("_")[0], text) for place, kind, text in rows]


def n_left_out(paper: Paper) -> dict[str, int]:
    return {sort: one.n_elements for sort, one in paper.loss.left_out.items()}


def real_files(pattern: str) -> list[Path]:
    """Return the real files of a pattern, or skip the test that needs them."""
    if not (files := sorted(DATA_FOLDER.glob(pattern))):
        pytest.skip("needs the real files of ../shared/data")
    return files
