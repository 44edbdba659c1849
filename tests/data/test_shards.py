"""Several files as one data set: a folder of shards, or a pattern."""

import json
import shutil
from pathlib import Path

import pytest

from command_line import SAMPLE
from evidencebench.data.dataset import open_dataset, reopen_dataset, write_dataset, write_shards
from evidencebench.data.formats.shard_names import shard_name
from evidencebench.data.instance import Instance
from evidencebench.data.validation.validate import validate_file
from evidencebench.engine.processes import Processes
from evidencebench.errors import ChangedDataError, FormatError, UnreadableError

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
    with pytest.raises(ChangedDataError, match=r"part-10\.parquet: the data file has changed since it was opened"):
        reopen_dataset(dataset.file)
    with pytest.raises(ChangedDataError, match=r"part-10\.parquet: the data file has changed since it was opened"):
        dataset[2]


def test_an_id_in_two_shards_is_refused_with_both_names(tmp_path: Path) -> None:
    for name in ("a.json", "b.jsonl"):
        write_dataset(tmp_path / name, INSTANCES[:1])
    with pytest.raises(FormatError, match=rf"'{SAMPLE.ids[0]}' stands more than once \(.*a\.json and .*b\.jsonl\)"):
        open_dataset(tmp_path)
    (violation,) = validate_file(tmp_path).violations
    assert (violation.instance_id, violation.rule) == (SAMPLE.ids[0], "unique")


def test_an_error_in_an_instance_names_the_shard(tmp_path: Path) -> None:
    write_dataset(tmp_path / "a.json", INSTANCES[:1])
    (tmp_path / "b.json").write_text(json.dumps({"broken": {"hypothesis": 1}}))
    dataset = open_dataset(tmp_path)
    with pytest.raises(FormatError, match=r"b\.json: broken: Expected `str`, got `int`"):
        dataset["broken"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "is a folder without a data file"),
        (["notes.txt"], "is a folder without a data file"),
        (["x-00000-of-00003.json", "x-00002-of-00003.json"], r"1 shard is missing: x-00001-of-00003\.json; to read"),
        (["a-00000-of-00001.json", "b-00000-of-00001.json"], r"the shards of one data set, got a-\*-of-00001\.json, b"),
    ],
)
def test_a_folder_that_is_no_whole_data_set_is_refused(names: list[str], words: str, tmp_path: Path) -> None:
    for number, name in enumerate(names):
        write_json(tmp_path / name, INSTANCES[number])
    with pytest.raises(UnreadableError, match=words):
        open_dataset(tmp_path)
    with pytest.raises(UnreadableError, match="no file fits this pattern"):
        open_dataset(tmp_path / "q*.json")


def write_json(path: Path, instance: Instance) -> None:
    write_dataset(path.with_suffix(".json"), [instance])
    path.with_suffix(".json").rename(path)


@pytest.mark.parametrize("suffix", [".json", ".jsonl.gz", ".parquet"])
def test_shards_that_are_written_are_named_as_hugging_face_names_them(suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    files = write_shards(tmp_path / f"train{suffix}", SAMPLE, len(SAMPLE), 2)
    assert files[0].name == f"train-00000-of-{-(-len(SAMPLE) // 2):05d}{suffix}"
    assert list(open_dataset(tmp_path)) == INSTANCES
    files[1].unlink()
    with pytest.raises(UnreadableError, match=f"is missing: {shard_name(f'train{suffix}', 1, len(files))}"):
        open_dataset(tmp_path)
