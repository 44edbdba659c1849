"""A paper as plain text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.errors import UnreadableError
from evidencebench.papers.plain import read_plain
from evidencebench.papers.read import read, read_content
from evidencebench.query import Kind


def test_lines_are_sentences_and_marked_ones_are_headings() -> None:
    text = "# Tea\n\nIt is drunk.\n## Summary:\n Tea lowered pressure. \n### Methods\nWe asked.\n"
    query = read_content(text.encode(), name="tea.txt").query_for("Tea helps.")
    assert query.sentences == ("Tea", "It is drunk.", "Summary:", "Tea lowered pressure.", "Methods", "We asked.")
    assert query.kinds == (Kind.HEADING, Kind.BODY, Kind.HEADING, Kind.ABSTRACT, Kind.HEADING, Kind.BODY)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1))
def test_every_line_is_one_sentence_in_order(words: list[str]) -> None:
    lines = [f"x{word}." for word in words]
    query = read_plain("\r\n".join(lines).encode(), name="p")
    assert list(query.sentences) == lines
    assert set(query.kinds) == {Kind.BODY}


@pytest.mark.parametrize("text", ["", "\n \n", "# Only a heading\n"])
def test_a_text_without_sentences_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match=r"tea\.txt: expected one sentence a line.*got no sentence"):
        read_plain(text.encode(), name="tea.txt")


def test_an_empty_hypothesis_is_refused() -> None:
    with pytest.raises(UnreadableError, match="hypothesis: expected a sentence"):
        read_plain(b"A.", name="tea.txt").query_for(" ")


def test_a_file_is_read_by_its_path_and_named_by_it(tmp_path: Path) -> None:
    path = tmp_path / "tea.txt"
    path.write_bytes(b"\xef\xbb\xbf# Tea\nIt fell.\n")
    paper = read(path)
    assert (paper.name, paper.sentences) == (str(path), ("Tea", "It fell."))
    with pytest.raises(UnreadableError, match=r"none\.txt: cannot be read: No such file"):
        read(tmp_path / "none.txt")
