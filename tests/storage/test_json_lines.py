"""Lines of a text are the same however it comes."""

import pytest

from evidencebench.errors import UnreadableError
from evidencebench.files.records import lines_in


def test_lines_are_the_same_however_the_text_comes_in_parts() -> None:
    text = b"\xef\xbb\xbfone\n\n  \ntwo\r\n\xef\xbb\xbfthree\n\nfour"
    whole = [(line.number, line.start, bytes(line.content), line.is_ended) for line in lines_in([text])]
    assert [number for number, *_ in whole] == [1, 4, 5, 7]
    assert [text[start : start + len(content)] for _, start, content, _ in whole] == [line[2] for line in whole]
    for n in range(3, len(text)):
        parts = [text[start : start + n] for start in range(0, len(text), n)]
        assert [(line.number, line.start, bytes(line.content), line.is_ended) for line in lines_in(parts)] == whole


def test_a_line_without_end_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencebench.files.records._MOST_LINE_BYTES", 1000)
    with pytest.raises(UnreadableError, match="line 2: expected a line, got more than 1,000 bytes of it"):
        list(lines_in([b"one\n", *([b"x" * 100] * 50)]))
