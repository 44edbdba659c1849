"""What the real `datasets` reads of our files and folders, without a network."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from doors import CATALOG, COLUMNS, DataError, HubSplit, known_entry, licence_of, schema, write_hf
from evidencebench import Dataset, Instance, load_sample, open_dataset, write_dataset

SAMPLE = load_sample()


def datasets() -> Any:
    """Import it when a test needs it: it brings pandas and pyarrow."""
    return import_module("datasets")


def require_same(rows: Any, instances: Sequence[Instance]) -> None:
    """Fail unless rows of Hugging Face say what instances say, in their order."""
    assert rows["id"][:] == [one.id for one in instances]
    for row, one in zip(rows, instances, strict=True):
        assert list(row) == list(COLUMNS)
        assert (row["paper_id"], row["hypothesis"]) == (one.query.paper_id, one.query.hypothesis)
        assert tuple(row["sentences"]) == one.query.sentences
        assert tuple(row["sentence_types"]) == one.query.kinds
        assert tuple(row["aspects"]) == one.labels.aspects
        assert tuple(row["result_aspects"] or ()) == one.labels.results
        for position, aspect in enumerate(one.labels.aspects):
            found = {index for index, held in enumerate(row["sentence_aspects"]) if position in held}
            assert found == set(one.labels.sources.get(aspect, ()))
        columns = {"er_at_optimal": "er_optimal", "er_at_10": "er_10"}
        for task, column in columns.items():
            assert tuple(row[column]) == one.labels.evaluations[task].sentences
        assert json.loads(row["other"])["aspect_id2aspect"] == dict(one.labels.texts)


def test_datasets_has_the_rows_of_our_parquet(tmp_path: Path) -> None:
    write_dataset(tmp_path / "data.parquet", SAMPLE)
    require_same(datasets().Dataset.from_parquet(str(tmp_path / "data.parquet"), cache_dir=str(tmp_path)), SAMPLE[:])


@pytest.fixture
def two_splits(tmp_path: Path) -> Path:
    write_dataset(tmp_path / "dev.json", SAMPLE[:2])
    parts = [
        HubSplit(name="train", dataset=SAMPLE, licence="MIT"),
        HubSplit(name="dev", dataset=open_dataset(tmp_path / "dev.json"), licence="CC-BY-NC-SA"),
    ]
    write_hf(tmp_path / "hub", parts, instances_in_a_shard=4)
    return tmp_path / "hub"


def test_load_dataset_opens_a_folder_with_its_splits_in_shards(two_splits: Path, tmp_path: Path) -> None:
    found = datasets().load_dataset(str(two_splits), cache_dir=str(tmp_path / "cache"))
    assert list(found) == ["train", "dev"]
    assert len(list(two_splits.glob("data/train-*.parquet"))) == 3
    require_same(found["train"], SAMPLE[:])
    require_same(found["dev"], SAMPLE[:2])
    streamed = datasets().load_dataset(str(two_splits), split="dev", streaming=True)
    assert [row["id"] for row in streamed] == list(SAMPLE.ids[:2])
    for path in two_splits.glob("data/*.parquet"):
        assert open_dataset(path)[0].id in SAMPLE


def test_the_header_of_the_card_says_features_sizes_and_licences(two_splits: Path) -> None:
    builder = datasets().load_dataset_builder(str(two_splits))
    assert builder.info.features == datasets().Features.from_arrow_schema(schema())
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {"train": 10, "dev": 2}
    text = (two_splits / "README.md").read_text()
    header = text.split("---\n")[1]
    assert "license:\n- mit\n- other\nsize_categories: n<1K\n" in header
    assert "license_name: MIT; CC-BY-NC-SA\n" in header
    size = sum(path.stat().st_size for path in two_splits.glob("data/*.parquet"))
    assert f"  download_size: {size}\n" in header
    assert "* dev: CC-BY-NC-SA. No commercial use." in text
    assert "Citation" not in text  # of unknown data nothing is invented


def test_nobody_who_reads_the_card_meets_markup_or_yaml_from_outside(tmp_path: Path) -> None:
    write_dataset(tmp_path / "a [x](y) <b>|: #.json", SAMPLE[:1])
    data = open_dataset(tmp_path / "a [x](y) <b>|: #.json")
    licence = "mine\n---\nlicense: mit <script>"
    write_hf(tmp_path / "hub", [HubSplit(name="train", dataset=data, licence=licence)])
    text = (tmp_path / "hub" / "README.md").read_text()
    assert text.count("\n---\n") == 1
    body = text.split("\n---\n")[1]
    assert "<script>" not in body
    assert "[x](y)" not in body
    assert len(datasets().load_dataset(str(tmp_path / "hub"), split="train", cache_dir=str(tmp_path / "cache"))) == 1


@pytest.mark.data
def test_the_licence_of_a_published_split_is_known_also_in_another_format_and_in_part(
    train: Dataset, tmp_path: Path
) -> None:
    assert known_entry(train) is CATALOG["train"]
    write_dataset(tmp_path / "some.parquet", train[3:9])
    assert licence_of(open_dataset(tmp_path / "some.parquet")) == "CC-BY-NC-SA"
    written = write_hf(tmp_path / "hub", [HubSplit(name="train", dataset=train, licence="CC-BY-NC-SA")])
    assert written[0].is_published
    assert "@inproceedings{wang2025evidencebench" in (tmp_path / "hub" / "README.md").read_text()
    rows = datasets().load_dataset(str(tmp_path / "hub"), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows["id"][:] == list(train.ids)


@pytest.mark.parametrize(
    ("ids", "licence"),
    [
        (("evidencebench_test_id_3", "evidencebench_test_id_9"), "CC-BY-4.0"),
        (("evidencebench_dev_id_3",), "CC-BY-NC-SA"),
        (("evidencebench_test_id_3", "evidencebench_dev_id_9"), None),
        (("train_3",), None),
    ],
)
def test_a_licence_is_told_from_ids_that_only_the_published_data_have(
    tmp_path: Path, ids: tuple[str, ...], licence: str | None
) -> None:
    named = [replace(SAMPLE[0], query=replace(SAMPLE[0].query, instance_id=one), origin=None) for one in ids]
    write_dataset(tmp_path / "data.json", named)
    assert licence_of(open_dataset(tmp_path / "data.json")) == licence


def test_names_of_splits_that_cannot_be_and_broken_instances_are_refused_and_no_folder_is_left(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"a": {"hypothesis": 1}}')
    bad = open_dataset(tmp_path / "bad.json")
    for names, data, words in (
        (["../x"], SAMPLE, "letters"),
        (["train", "train"], SAMPLE, "once"),
        (["train"], bad, r"bad\.json: a: "),
    ):
        parts = [HubSplit(name=name, dataset=data, licence="MIT") for name in names]
        with pytest.raises(DataError, match=words):
            write_hf(tmp_path / "hub", parts)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]
