"""Text comes back whatever encoding its mark tells, without the mark; what is no such text is told by file and line."""

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import decoded, read_text

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@given(text=st.text(st.characters(exclude_characters="\0", codec="utf-8")), encoding=st.sampled_from(list(MARKS)))
def test_a_text_comes_back_without_its_mark(text: str, encoding: str) -> None:
    assert decoded(MARKS[encoding] + text.encode(encoding), name="tea.txt") == text
    assert decoded(text.encode(), name="tea.txt").removeprefix("\ufeff") == text.removeprefix("\ufeff")


def test_what_cannot_be_read_is_told_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "tea.txt"
    with pytest.raises(UnreadableError, match=r"tea.txt: cannot be read: No such file"):
        read_text(path)
    path.write_bytes("Tea\nlowers café\n".encode("latin-1"))
    with pytest.raises(UnreadableError, match=r"tea.txt: line 2: expected UTF-8 text, got the byte 0xe9; save it as"):
        read_text(path)
    path.write_bytes(codecs.BOM_UTF8 + b"Tea")
    with pytest.raises(UnreadableError, match=r"tea.txt: cannot be read: holds more than 4 bytes"):
        read_text(path, at_most=4)
    assert read_text(path) == "Tea"
