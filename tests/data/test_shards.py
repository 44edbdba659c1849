"""Several files as one data set: a folder of shards, or a pattern."""

import errno
import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

import doors
from doors import (
    ChangedDataError,
    DataError,
    FormatError,
    UnreadableError,
    put_in_place,
    reopen_dataset,
    shard_name,
    write_shards,
)
from evidencebench import Instance, Processes, open_dataset, validate_file, write_dataset
from kit.command_line import SAMPLE
from kit.examples import IS_THOROUGH
from kit.moments import at_each_moment

INSTANCES = list(SAMPLE)
SUFFIXES = [".json", ".jsonl.gz", ".parquet"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the sample as shards of all formats, and files that are no data."""
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, instance in enumerate(INSTANCES):
        write_dataset(folder / f"part-{number + 8}{SUFFIXES[number % 3]}", [instance])
    (folder / "README.md").write_text("No data.")
    (folder / "croissant.json").write_text("{}")
    (folder / ".hidden.json").write_text("{}")
    return folder


def test_a_folder_and_a_pattern_are_one_data_set_in_the_order_of_the_numbers(folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    for place in (folder, folder / "part-*"):
        found = open_dataset(place)
        assert list(found) == INSTANCES  # 8, 9, 10 and not 10, 8, 9
        assert found.ids == SAMPLE.ids
        assert [found[name] for name in reversed(found.ids)] == INSTANCES[::-1]
        assert SAMPLE.ids[0] in found
        assert "another" not in found
    assert (open_dataset(folder).name, open_dataset(str(folder / "part-*")).name) == ("shards", "shards/part-*")


def test_the_checksum_is_that_of_the_shards_wherever_they_lie(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    checksum = open_dataset(folder).sha256
    shutil.copytree(folder, tmp_path / "copy")
    assert open_dataset(tmp_path / "copy").sha256 == open_dataset(folder / "part-*").sha256 == checksum
    (folder / "part-8.json").write_bytes((folder / "part-8.json").read_bytes() + b"\n")
    assert open_dataset(folder).sha256 != checksum


def test_another_process_opens_the_same_shards_or_none(folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    dataset = open_dataset(folder)
    (folder / "part-99.json").write_text("a shard that came later")
    assert list(reopen_dataset(dataset.file)) == INSTANCES
    assert validate_file(folder / "part-?.*", engine=Processes(2)).is_valid
    (folder / "part-10.parquet").write_bytes((folder / "part-10.parquet").read_bytes())
    with pytest.raises(ChangedDataError, match=r"part-10\.parquet"):
        reopen_dataset(dataset.file)
    with pytest.raises(ChangedDataError):
        dataset[2]


def test_an_id_in_two_shards_is_refused_with_both_names(tmp_path: Path) -> None:
    for name in ("a.json", "b.jsonl"):
        write_dataset(tmp_path / name, INSTANCES[:1])
    with pytest.raises(FormatError, match=rf"'{SAMPLE.ids[0]}' .*a\.json and .*b\.jsonl"):
        open_dataset(tmp_path)
    (violation,) = validate_file(tmp_path).violations
    assert (violation.instance_id, violation.rule) == (SAMPLE.ids[0], "unique")


def test_an_error_in_an_instance_names_the_shard(tmp_path: Path) -> None:
    write_dataset(tmp_path / "a.json", INSTANCES[:1])
    (tmp_path / "b.json").write_text(json.dumps({"broken": {"hypothesis": 1}}))
    dataset = open_dataset(tmp_path)
    with pytest.raises(FormatError, match=r"b\.json: broken"):
        dataset["broken"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "without a data file"),
        (["notes.txt"], "without a data file"),
        (["x-00000-of-00003.json", "x-00002-of-00003.json"], r"missing: x-00001-of-00003\.json"),
        (["a-00000-of-00001.json", "b-00000-of-00001.json"], r"one data set, got a-\*-of-00001\.json, b"),
    ],
)
def test_a_folder_that_is_no_whole_data_set_is_refused(names: list[str], words: str, tmp_path: Path) -> None:
    for number, name in enumerate(names):
        write_json(tmp_path / name, INSTANCES[number])
    with pytest.raises(UnreadableError, match=words):
        open_dataset(tmp_path)
    with pytest.raises(UnreadableError, match="pattern"):
        open_dataset(tmp_path / "q*.json")


def write_json(path: Path, instance: Instance) -> None:
    write_dataset(path.with_suffix(".json"), [instance])
    path.with_suffix(".json").rename(path)


@pytest.mark.parametrize("suffix", [".json", ".jsonl.gz", ".parquet"])
def test_shards_that_are_written_are_named_as_hugging_face_names_them(suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    files = write_shards(tmp_path / f"train{suffix}", SAMPLE, len(SAMPLE), 2, overwrite=False)
    assert files[0].name == f"train-00000-of-{-(-len(SAMPLE) // 2):05d}{suffix}"
    assert list(open_dataset(tmp_path)) == INSTANCES
    files[1].unlink()
    with pytest.raises(UnreadableError):
        open_dataset(tmp_path)


NEW = [replace(one, query=replace(one.query, hypothesis="A new one.")) for one in INSTANCES]


def prepare(root: Path) -> None:
    write_shards(named(root), INSTANCES, len(INSTANCES), 3, overwrite=False)


def named(root: Path) -> Path:
    folder = root / "shards"
    folder.mkdir(exist_ok=True)
    return folder / "train.json"


def work(root: Path) -> None:
    write_shards(named(root), NEW, len(NEW), SIZE, overwrite=True)


def state(root: Path) -> list[str]:
    found = [read(root / "shards"), read(root / "shards" / "train-*.json")]
    with suppress(DataError):  # where there are whole ones, as it should
        write_shards(named(root), NEW, len(NEW), SIZE, overwrite=False)
    return [*found, read(root / "shards"), *sorted(path.name for path in (root / "shards").iterdir())]


def read(place: Path) -> str:
    """Say which instances are read: the old ones, the new ones, a silent mix of both, or none, with a reason."""
    try:
        found = list(open_dataset(place))
    except UnreadableError as error:
        words = ("got old and new ones of train.json: a command that replaces", "no file fits this pattern")
        return "refused" if any(one in str(error) for one in words) else str(error)
    return "old" if found == INSTANCES else "new" if found == NEW else "mix"


SIZE = int(os.environ.get("SHARD_SIZE", "3"))


# As many shards as before, which get their names, or fewer.
_WAYS = [("SIGINT", 4), ("SIGKILL", 3), ("SIGINT", 3), ("SIGKILL", 4)]


@pytest.mark.parametrize(("name", "size"), _WAYS if IS_THOROUGH else _WAYS[:2])
def test_whenever_it_is_stopped_shards_are_all_old_or_all_new_or_refused_until_the_same_call_ends(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARD_SIZE", str(size))
    found = at_each_moment(Path(__file__), name, tmp_path)
    names = {n: [shard_name("train.json", number, n) for number in range(n)] for n in (3, 4)}
    for by_folder, by_pattern, afterwards, *there in found:
        assert by_folder == by_pattern
        assert by_folder in ({"old", "new", "refused"} if name == "SIGKILL" else {"old", "new"})
        assert afterwards == ("old" if by_folder == "old" else "new")  # the next call has finished what was begun
        assert there == names[4 if afterwards == "old" or size == 3 else 3]
    assert {"old", "new"} <= {now for now, *_ in found}


def test_shards_that_a_killed_call_had_begun_to_replace_are_refused_and_the_same_call_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.json"
    write_shards(path, INSTANCES, len(INSTANCES), 3, overwrite=False)
    times = count()

    def put(part: Path, to: Path) -> None:
        if next(times) >= 2:
            raise OSError(errno.EIO, "killed")
        put_in_place(part, to)

    with monkeypatch.context() as patch:
        patch.setattr(doors.data_sources, "put_in_place", put)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process cleans nothing up
        with pytest.raises(DataError, match=": killed"):
            write_shards(path, NEW, len(NEW), 3, overwrite=True)
    for place in (tmp_path, tmp_path / "train-*"):
        with pytest.raises(UnreadableError, match=r"old and new ones of .*train\.json"):
            open_dataset(place)
    write_shards(path, NEW, len(NEW), 3, overwrite=False)
    assert list(open_dataset(tmp_path)) == NEW
    with pytest.raises(DataError, match=r"exists; .*--overwrite"):
        write_shards(path, NEW, len(NEW), 3, overwrite=False)
    assert len(list(tmp_path.iterdir())) == 4


def test_shards_are_made_anew_of_themselves(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    write_shards(path, INSTANCES, len(INSTANCES), 3, overwrite=False)
    write_shards(path, open_dataset(tmp_path), len(INSTANCES), 5, overwrite=True)
    assert list(open_dataset(tmp_path)) == INSTANCES
    assert len(list(tmp_path.iterdir())) == 2
