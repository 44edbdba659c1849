"""Parquet files of data: nothing is lost on the way there and back, whatever the record."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import SAMPLE
from evidencebench.data.dataset import Dataset, open_dataset, write_dataset
from evidencebench.data.formats.json_instance import decode_instance, encode_instance, published_form
from evidencebench.data.formats.parquet_row import instance_of, record_of, row_of
from evidencebench.data.instance import Origin
from evidencebench.errors import FormatError
from examples import examples
from mutations import mutations
from robbr_sample import robbr_file

pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")

RECORDS: list[dict[str, Any]] = [msgspec.json.decode(encode_instance(one)) for one in SAMPLE]


def there_and_back(path: Path, folder: Path) -> None:
    """Compare JSON -> Parquet -> JSON with JSON -> JSON, byte for byte, and the instances too."""
    folder.mkdir(exist_ok=True)
    read = open_dataset(path)
    write_dataset(folder / "plain.json", map(published_form, read))
    write_dataset(folder / "columns.parquet", map(published_form, read))
    columns = open_dataset(folder / "columns.parquet")
    write_dataset(folder / "back.json", map(published_form, columns))
    assert (folder / "back.json").read_bytes() == (folder / "plain.json").read_bytes()
    assert list(columns) == list(open_dataset(folder / "plain.json"))
    assert [columns[name] for name in reversed(columns.ids)] == list(columns)[::-1]


def test_the_sample_goes_there_and_back(tmp_path: Path) -> None:
    there_and_back(SAMPLE.path, tmp_path)


@pytest.mark.data
def test_the_train_split_goes_there_and_back(train: Dataset, tmp_path: Path) -> None:
    there_and_back(train.path, tmp_path)


def test_robbr_goes_there_and_back_in_its_own_keys_and_in_the_published_ones(tmp_path: Path) -> None:
    path = tmp_path / "robbr.json"
    path.write_text(json.dumps(robbr_file()))
    there_and_back(path, tmp_path / "published")
    write_dataset(tmp_path / "own.parquet", open_dataset(path))
    write_dataset(tmp_path / "own.json", open_dataset(tmp_path / "own.parquet"))
    assert json.loads((tmp_path / "own.json").read_text()) == robbr_file()


@st.composite
def odd_records(draw: st.DrawFn) -> bytes:
    """Draw a record of the sample with something odd in it that the format allows, or that is read all the same."""
    record = dict(draw(st.sampled_from(RECORDS)))
    aspects: list[str] = record["aspect_list_ids"]
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    unknown = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts, st.lists)
    for key, value in draw(st.dictionaries(texts | st.just("$json"), unknown, max_size=3)).items():
        record.setdefault(key, value)
    if draw(st.booleans()):
        record["aspect2sentence_indices"] = {
            aspect: draw(st.lists(st.integers(0, len(record["paper_as_candidate_pool"]) - 1), max_size=5))
            for aspect in draw(st.permutations(aspects))
            if draw(st.booleans())
        }
    if draw(st.booleans()):
        record["sentence_types_in_candidate_pool"] = [
            kind.replace("_", " ") if draw(st.booleans()) else kind
            for kind in record["sentence_types_in_candidate_pool"]
        ]
    if draw(st.booleans()):
        record["hypothesis"] = draw(texts)
    if draw(st.booleans()):
        record["systematic_review_id"] = draw(texts | st.integers(-(10**30), 10**30))
    if draw(st.booleans()):
        record["aspect_list_ids"] = [*aspects, draw(st.sampled_from(aspects))]
    for key in [key for key in record if key.endswith("evaluation") and draw(st.booleans())]:
        choices = [None, {"covered_aspects": [], "one_selection_of_sentences": [3, 3, -1]}]
        record[key] = draw(st.sampled_from(choices))
    for key in [key for key in record if key.startswith("results") and draw(st.booleans())]:
        del record[key]
    if draw(st.booleans()):
        record = {key: record[key] for key in draw(st.permutations(list(record)))}
    is_ascii = draw(st.booleans())
    return json.dumps(record, ensure_ascii=is_ascii, indent=None if is_ascii else 1).encode()


@given(odd_records())
def test_whatever_a_record_holds_its_row_gives_it_back(content: bytes) -> None:
    require_same("one", content)


@examples(40)
@given(st.integers(0, 2**32))
def test_a_damaged_record_that_can_be_read_comes_back_as_it_was(seed: int) -> None:
    rng = random.Random(seed)
    for content in mutations(rng, msgspec.json.encode(rng.choice(RECORDS))):
        require_same("one", content)


def require_same(name: str, content: bytes) -> None:
    try:
        instance = decode_instance(name, Origin(raw=content))
        plain = encode_instance(instance)
    except (FormatError, msgspec.DecodeError):
        return  # no JSON of an instance, and so never written
    if not is_text(plain):
        with pytest.raises(FormatError, match="one: expected UTF-8, got byte 0x"):
            row_of(instance)
        return
    row = row_of(instance)
    assert record_of(row) == plain
    again = instance_of(row)
    assert again == instance
    assert again.origin is not None
    assert again.origin.raw == plain
    assert row_of(again) == row


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
