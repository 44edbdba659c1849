"""Whatever a user names as input is read as a regular file, or refused at once and in words."""

import codecs
import io
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doors
from doors import (
    CATALOG,
    Finder,
    FineTunedCard,
    ModelError,
    UnreadableError,
    check_file,
    decoded,
    file_sha256,
    lines_in,
    read_examples,
    read_stream,
    read_tasks,
    read_text,
    read_whole,
    require_model,
    require_replaceable,
    solve_file,
)
from evidencebench import EvidenceBenchError, load_sample, open_dataset, open_drafts, open_run, validate_file


def _solved(path: Path) -> None:
    solve_file(load_sample(), path.with_name(path.name.removesuffix(".partial")))


OTHER_WORDS = r"got a pipe or a device|holds something other than|expected card\.json|with a config\.json"
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "data": ("data.json", open_dataset),
    "data in lines": ("data.jsonl", open_dataset),
    "gzipped data": ("data.json.gz", open_dataset),
    "data to validate": ("data.json", validate_file),
    "a checked download": ("data.json", lambda path: check_file(CATALOG["dev"], path)),
    "what is solved so far": ("solved.json.partial", _solved),
    "a run": ("run.jsonl", open_run),
    "examples": ("examples.json", read_examples),
    "a finder": ("card.json", lambda path: Finder(model=path.parent)),
    "drafts of a construction": ("drafts.jsonl", open_drafts),
    "tasks": ("tasks.jsonl", read_tasks),
    "a fine-tuned model": ("card.json", lambda path: require_replaceable(path.parent, FineTunedCard)),
    "an embedding model": ("config.json", lambda path: require_model("dense", str(path.parent), None)),
}


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_in_words_and_neither_waited_for_nor_read_without_end(
    reader: str, kind: str, tmp_path: Path
) -> None:
    name, read = READERS[reader]
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(EvidenceBenchError, match=f"is a {kind}|{OTHER_WORDS}"):
        read(tmp_path / name)


def test_what_is_no_file_is_said_and_the_system_keeps_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    os.mkfifo("pipe")
    with pytest.raises(OSError, match=r"is a pipe; .*regular file.*save"):
        file_sha256(Path("pipe"))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(OSError, match="is a socket"):
            file_sha256(Path("socket"))
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "absent")


def test_a_file_is_read_whole_up_to_the_limit_and_not_one_byte_beyond(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"teas")
    assert read_whole(path, at_most=4) == b"teas"
    with pytest.raises(OSError, match=r"3 bytes.*smaller"):
        read_whole(path, at_most=3)


def test_of_an_endless_stream_no_more_is_read_than_the_limit() -> None:
    with Path("/dev/zero").open("rb") as endless, pytest.raises(OSError, match=r"100 bytes.*'-'"):
        read_stream(endless, at_most=100)
    stream = io.BytesIO(b"tea")
    assert read_stream(stream) == b"tea"


def test_a_pipe_among_a_models_files_is_told_before_a_library_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    os.mkfifo(tmp_path / "tokenizer.json")
    with pytest.raises(ModelError, match=r"tokenizer\.json: .*regular"):
        require_model("dense", str(tmp_path), None)


def test_a_limit_is_not_the_memory_that_a_small_file_asks_for() -> None:
    class Stream(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert 0 < size <= 16 << 20
            return super().read(size)

    content = bytes(3 << 20)
    assert read_stream(Stream(content), at_most=8 << 30) == read_stream(Stream(content), at_most=3 << 20) == content


def test_lines_are_the_same_however_the_text_comes_in_parts() -> None:
    text = b"\xef\xbb\xbfone\n\n  \ntwo\r\n\xef\xbb\xbfthree\n\nfour"
    whole = [(line.number, line.start, bytes(line.content), line.is_ended) for line in lines_in([text])]
    assert [number for number, *_ in whole] == [1, 4, 5, 7]
    assert [text[start : start + len(content)] for _, start, content, _ in whole] == [line[2] for line in whole]
    for n in range(3, len(text)):
        parts = [text[start : start + n] for start in range(0, len(text), n)]
        assert [(line.number, line.start, bytes(line.content), line.is_ended) for line in lines_in(parts)] == whole


def test_a_line_without_end_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors.records, "_MOST_LINE_BYTES", 1000)
    with pytest.raises(UnreadableError, match=r"line 2: .*1,000 bytes"):
        list(lines_in([b"one\n", *([b"x" * 100] * 50)]))


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
    with pytest.raises(UnreadableError):
        read_text(path)
    path.write_bytes("Tea\nlowers café\n".encode("latin-1"))
    with pytest.raises(UnreadableError, match=r"tea\.txt: line 2: .*UTF-8.*0xe9.*save it as"):
        read_text(path)
    path.write_bytes(codecs.BOM_UTF8 + b"Tea")
    with pytest.raises(UnreadableError):
        read_text(path, at_most=4)
    assert read_text(path) == "Tea"
