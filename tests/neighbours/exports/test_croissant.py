"""The real mlcroissant validates our metadata, and streams from the folder what our files hold."""

# ruff: noqa: E402 - imports stand behind importorskip

from datetime import date
from pathlib import Path
from typing import Any

import pytest

mlcroissant = pytest.importorskip("mlcroissant", reason="needs mlcroissant, a neighbour's package")

from doors import COLUMNS, HubSplit, row_of, table_of, write_hf
from evidencebench import load_sample, open_dataset, write_dataset

SAMPLE = load_sample()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("croissant")
    write_dataset(root / "dev.json", SAMPLE[:3])
    parts = [
        HubSplit(name="train", dataset=SAMPLE, licence="MIT"),
        HubSplit(name="dev", dataset=open_dataset(root / "dev.json"), licence="CC-BY-4.0"),
    ]
    write_hf(root / "hub", parts, published_on=date(2026, 11, 22), instances_in_a_shard=4)
    return root / "hub"


def plain(value: Any) -> Any:
    """Return a value of mlcroissant, which gives text as bytes and numbers as numpy's, as Python has it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value if value is None else int(value)


def test_the_metadata_has_no_errors_and_no_warnings(folder: Path) -> None:
    issues = mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).metadata.issues
    assert (set(issues.errors), set(issues.warnings)) == (set(), set())


@pytest.mark.parametrize(("split", "n"), [("train", 10), ("dev", 3)])
def test_records_are_ours_field_by_field(folder: Path, split: str, n: int) -> None:
    records = mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).records(record_set=split)
    found = [{name.partition("/")[2]: plain(value) for name, value in record.items()} for record in records]
    ours = table_of([row_of(instance) for instance in SAMPLE[:n]]).to_pylist()
    assert list(found[0]) == list(COLUMNS)
    assert sorted(found, key=lambda record: record["id"]) == sorted(ours, key=lambda record: record["id"])
