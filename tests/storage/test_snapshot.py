"""What is read of a data file is a copy of the file as it was opened, or an error: no other file, and no signal."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doors import (
    ChangedDataError,
    Snapshot,
    encode_instance,
    file_of,
    index_json,
    index_lines,
    open_snapshot,
    open_source,
    reopen_dataset,
    validate_files,
)
from evidencebench import Dataset, Instance, open_dataset, write_dataset
from kit.command_line import SAMPLE

SUFFIXES = (".json", ".jsonl")


@pytest.fixture(params=SUFFIXES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    found = tmp_path / f"data{request.param}"
    write_dataset(found, SAMPLE)
    return found


def cut(path: Path) -> None:
    os.truncate(path, 100)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"the", b"TEA"))
    other.replace(path)


def edit(path: Path) -> None:
    """Write other bytes of the same length, and the old date, as some tools that copy do."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(b"the"))
        file.write(b"TEA")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "replaced": replace,
    "removed": Path.unlink,
    "edited and dated back": edit,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_it_is_open_or_is_validated_is_an_error(path: Path, change: str) -> None:
    def changing(n_done: int, _: int) -> None:
        if n_done == 1:
            CHANGES[change](path)

    dataset = open_dataset(path)
    with pytest.raises(ChangedDataError):
        validate_files([path], on_progress=changing)
    with pytest.raises(ChangedDataError):
        dataset[1]


def test_an_instance_that_was_read_can_be_written_whatever_becomes_of_its_file(path: Path) -> None:
    instance = open_dataset(path)[0]
    before = encode_instance(instance)
    cut(path)
    assert encode_instance(instance) == before


def test_a_file_that_is_cut_while_it_is_converted_leaves_no_copy(path: Path, tmp_path: Path) -> None:
    def cut_on_the_way(dataset: Dataset) -> Any:
        for instance in dataset:
            yield instance
            cut(path)

    with pytest.raises(ChangedDataError):
        write_dataset(tmp_path / "copy.json", cut_on_the_way(open_dataset(path)))
    assert list(tmp_path.iterdir()) == [path]


class CutOnTheWay(Snapshot):
    """A file that is cut after its first piece was read."""

    def read(self, start: int, stop: int) -> bytes:
        found = super().read(start, stop)
        cut(self.path)
        return found


def test_a_file_that_is_cut_while_it_is_indexed_is_an_error(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b" " * 3_000_000)  # so that one piece is not all of it
    snapshot = open_snapshot(path)
    with pytest.raises(ChangedDataError):
        (index_json if path.suffix == ".json" else index_lines)(
            CutOnTheWay(path=path, size=snapshot.size, state=snapshot.state)
        )


def test_no_page_of_a_data_file_is_ever_mapped(path: Path) -> None:
    dataset = open_dataset(path)
    instances: list[Instance] = list(dataset)
    assert len(instances) == len(SAMPLE)
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs /proc")
    assert str(path) not in maps.read_text()


def test_the_checksum_is_of_the_bytes_that_were_opened(path: Path) -> None:
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert open_dataset(path).sha256 == expected
    again = open_dataset(path)
    replace(path)
    with pytest.raises(ChangedDataError):
        _ = again.sha256


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_packed_file_has_the_checksum_of_what_was_unpacked_and_stays_readable(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}.gz"
    write_dataset(path, SAMPLE)
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    dataset = open_dataset(path)
    path.write_bytes(gzip.compress(b'{"another": {}}'))
    assert dataset.sha256 == expected
    assert [instance.query for instance in dataset] == [instance.query for instance in SAMPLE]


@pytest.mark.parametrize("padding", [b"", b"\0" * 100_000])
def test_the_checksum_of_a_packed_file_is_of_every_byte_of_it(padding: bytes, tmp_path: Path) -> None:
    text = json.dumps({"one": {}, "two": {}}).encode()
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(text[:9]) + gzip.compress(text[9:]) + padding)
    dataset = open_dataset(path)
    assert dataset.ids == ("one", "two")
    assert dataset.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".json.gz", ".jsonl.gz"])
def test_another_process_opens_the_very_same_file_or_none(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}"
    write_dataset(path, SAMPLE)
    dataset = open_dataset(path)
    again = reopen_dataset(dataset.file)
    assert (again.ids, list(again)) == (dataset.ids, list(dataset))
    write_dataset(path, list(SAMPLE)[:3])
    with pytest.raises(ChangedDataError, match=rf"{path.name}: .*changed.*start again"):
        reopen_dataset(dataset.file)


def test_repeated_ids_are_found_and_sent_to_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(b'{"a": {"x": 1}, "b": {}, "a": {"x": 2}}')
    opened = open_source(path)
    assert (opened.ids, opened.repeated_ids, opened.fields("a")) == (("a", "b"), ("a",), ({"x": 2}, []))
    sent = open_source(file_of(opened))
    assert (sent.ids, sent.repeated_ids, sent.fields("a")) == (opened.ids, opened.repeated_ids, opened.fields("a"))
