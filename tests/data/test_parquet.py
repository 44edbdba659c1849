"""Parquet files of data: no value is lost on the way there and back, whatever the record."""

import json
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doors import (
    DataError,
    FormatError,
    Origin,
    UnreadableError,
    decode_instance,
    encode_instance,
    instance_of,
    record_of,
    row_of,
)
from evidencebench import Dataset, Query, open_dataset, validate_file, write_dataset
from kit.command_line import SAMPLE
from kit.examples import examples
from kit.mutations import mutations

pa = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

RECORDS: list[dict[str, Any]] = [msgspec.json.decode(encode_instance(one)) for one in SAMPLE]


def there_and_back(path: Path, folder: Path) -> None:
    """Compare JSON -> Parquet -> JSON with JSON -> JSON, all but escapes in texts, and the instances too."""
    folder.mkdir(exist_ok=True)
    read = open_dataset(path)
    write_dataset(folder / "plain.json", read)
    write_dataset(folder / "columns.parquet", read)
    columns = open_dataset(folder / "columns.parquet")
    write_dataset(folder / "back.json", columns)
    (plain, back) = (json.loads((folder / f"{name}.json").read_text()) for name in ("plain", "back"))
    assert json.dumps(plain) == json.dumps(back)
    assert list(columns) == list(open_dataset(folder / "plain.json"))
    assert [columns[name] for name in reversed(columns.ids)] == list(columns)[::-1]


def test_the_sample_goes_there_and_back(tmp_path: Path) -> None:
    there_and_back(SAMPLE.path, tmp_path)


@pytest.mark.data
def test_the_train_split_goes_there_and_back(train: Dataset, tmp_path: Path) -> None:
    there_and_back(train.path, tmp_path)


@st.composite
def odd_records(draw: st.DrawFn) -> bytes:
    """Draw a record of the sample with something odd in it that the format allows, or that is read all the same."""
    record = dict(draw(st.sampled_from(RECORDS)))
    aspects: list[str] = record["aspect_list_ids"]
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    unknown = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts, st.lists)
    for key, value in draw(st.dictionaries(texts, unknown, max_size=3)).items():
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
        with pytest.raises(FormatError, match="UTF-8"):
            row_of(instance)
        return
    row = row_of(instance)
    assert values_in(record_of(row)) == values_in(plain)
    again = instance_of(row)
    assert again == instance
    assert row_of(again) == row


def values_in(record: bytes) -> list[tuple[str, bytes]]:
    """Return the keys of a record in their order, each with its value, spelled anew where it can be read."""
    fields = msgspec.json.decode(record, type=dict[str, msgspec.Raw])
    values = []
    for key, raw in fields.items():
        value = bytes(raw)
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError):
            value = msgspec.json.encode(msgspec.json.decode(raw))
        values.append((key, value))
    return values


def test_a_key_that_the_format_needs_for_itself_is_refused() -> None:
    content = msgspec.json.encode(RECORDS[0] | {"$keys": 1})
    with pytest.raises(FormatError, match=r"one: .*'\$keys'.*other"):
        row_of(decode_instance("one", Origin(raw=content)))


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


# Files of other programs, and files that are wrong.


def table() -> Any:
    """Return the sample's columns as a table, without the column ``other``."""
    with tempfile.TemporaryDirectory() as folder:
        write_dataset(Path(folder) / "sample.parquet", SAMPLE)
        return pq.read_table(Path(folder) / "sample.parquet").drop_columns(["other"])


def with_column(name: str, values: Any) -> Any:
    found = table()
    return found.set_column(found.column_names.index(name), name, pa.chunked_array([values]))


def queries_of(path: Path) -> list[Query]:
    return [one.query for one in open_dataset(path)]


def test_columns_of_other_widths_are_read(tmp_path: Path) -> None:
    wide = [
        pa.field(field.name, pa.large_list(pa.large_string()))
        if field.type == pa.list_(pa.string())
        else pa.field(field.name, pa.large_list(pa.large_list(pa.int64())))
        if field.name == "sentence_aspects"
        else pa.field(field.name, pa.list_(pa.uint64()))
        if pa.types.is_list(field.type)
        else pa.field(field.name, pa.large_string())
        for field in table().schema
    ]
    pq.write_table(table().cast(pa.schema(wide)), tmp_path / "wide.parquet")
    pq.write_table(table(), tmp_path / "plain.parquet", row_group_size=3, compression="gzip")
    assert list(open_dataset(tmp_path / "wide.parquet")) == list(open_dataset(tmp_path / "plain.parquet"))
    assert queries_of(tmp_path / "wide.parquet") == [one.query for one in SAMPLE]
    assert validate_file(tmp_path / "wide.parquet", optima=True).is_valid


def test_pandas_polars_and_hugging_face_write_what_is_read(tmp_path: Path) -> None:
    write_dataset(tmp_path / "ours.parquet", SAMPLE)
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    pandas.read_parquet(tmp_path / "ours.parquet").to_parquet(tmp_path / "pandas.parquet")
    polars = pytest.importorskip("polars", reason="needs polars")
    polars.read_parquet(tmp_path / "ours.parquet").write_parquet(tmp_path / "polars.parquet")
    datasets = pytest.importorskip("datasets", reason="needs the extra 'hf'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        datasets.Dataset.from_parquet(str(tmp_path / "ours.parquet"), cache_dir=str(tmp_path / "cache")).to_parquet(
            tmp_path / "datasets.parquet"
        )
    for name in ("pandas", "polars", "datasets"):
        assert list(open_dataset(tmp_path / f"{name}.parquet")) == list(SAMPLE), name
        write_dataset(tmp_path / f"{name}.json", open_dataset(tmp_path / f"{name}.parquet"))
        write_dataset(tmp_path / "sample.json", SAMPLE)
        assert (tmp_path / f"{name}.json").read_bytes() == (tmp_path / "sample.json").read_bytes()


def test_a_row_group_of_any_size_is_read_in_parts(tmp_path: Path) -> None:
    many = [one for _ in range(250) for one in SAMPLE]
    path = tmp_path / "many.parquet"
    found = pa.concat_tables([table()] * 250)
    ids = [f"{number}" for number in range(len(many))]
    pq.write_table(found.set_column(0, "id", pa.chunked_array([ids])), path, row_group_size=10_000)
    dataset = open_dataset(path)
    assert [one.query.sentences for one in dataset] == [one.query.sentences for one in many]
    for place in (2499, 0, 1024, 1023, 1500):
        assert dataset[place].query.hypothesis == many[place].query.hypothesis


def test_row_groups_of_any_size_are_read_one_after_the_other_and_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_rows = 7000
    columns = {name: pa.nulls(n_rows) for name in table().column_names} | {"id": [str(n) for n in range(n_rows)]}
    path = tmp_path / "nulls.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=5000)
    begun: list[Any] = []
    iter_batches = pq.ParquetFile.iter_batches

    def counted(*given: Any, **options: Any) -> Any:
        begun.append(options)
        return iter_batches(*given, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    assert len(validate_file(path).violations) == n_rows
    assert len(begun) == 2
    dataset = open_dataset(path)
    for place in (0, 2100, 4999):  # as workers read, of which each has some parts
        with pytest.raises(FormatError, match=f"{place}: .*paper_id"):
            dataset[place]
    assert len(begun) == 3


N = len(SAMPLE)
SENTENCES = [list(one.query.sentences) for one in SAMPLE]
WRONG_COLUMNS: list[tuple[Callable[[], Any], str]] = [
    (lambda: with_column("hypothesis", pa.array(range(N))), "hypothesis: expected string, got int64"),
    (lambda: with_column("sentences", pa.array(["a"] * N)), "sentences: .*list<string>, got string"),
    (lambda: table().drop_columns(["sentences", "aspects"]), "sentences: .*a column of this name"),
    (
        lambda: table().append_column("hypothesis", table().column("id")),
        "hypothesis: .*one column .*2",
    ),
    (lambda: with_column("id", pa.array([None] * N, pa.string())), "row 0: id: .*null"),
    (lambda: table().slice(0, 0), "no instance"),
    (
        lambda: with_column("er_10", pa.array([[2**40]] * N)),
        "1099511627776",
    ),
]
NO_SUCH = "sentence_aspects: .*positions in aspects.*"
WRONG_ROWS: list[tuple[str, Any, str]] = [
    ("hypothesis", pa.array([None] * N, pa.string()), ".*null.*hypothesis"),
    ("sentences", pa.array([None] * N, pa.list_(pa.string())), ".*array.*null.*sentences`"),
    (
        "sentences",
        pa.array([[None, *one[1:]] for one in SENTENCES]),
        r".*null.*sentences\[",
    ),
    (
        "sentence_types",
        pa.array([["abstract"]] * N),
        "sentence_types: .*one for each .*1",
    ),
    (
        "sentence_types",
        pa.array([["title"] * len(one) for one in SENTENCES]),
        r".*'title'.*sentence_types\[",
    ),
    ("sentence_aspects", pa.array([[[0]]] * N), "sentence_aspects: .*one for each .*1"),
    ("sentence_aspects", pa.array([[[99]] * len(one) for one in SENTENCES]), f"{NO_SUCH} 99 .*sentence 0"),
    ("sentence_aspects", pa.array([[[-1]] * len(one) for one in SENTENCES]), f"{NO_SUCH} -1 .*sentence 0"),
    (
        "sentence_aspects",
        pa.array([[[None]] * len(one) for one in SENTENCES]),
        r".*null.*sentence_aspects\[",
    ),
    ("other", pa.array(["{"] * N), "other: .*JSON object.*truncated"),
    ("other", pa.array(['{"hypothesis": ""}'] * N), "hypothesis and other"),
    (
        "other",
        pa.array(['{"aspect2sentence_indices": {}}'] * N),
        "sentence_aspects and other: .*differ; correct one",
    ),
    (
        "other",
        pa.array(['{"$keys": 1}'] * N),
        "other: .*array.*int",
    ),
    ("other", pa.array(['{"$keys": ["x"]}'] * N), r"other: \$keys: .*'x'.*take \$keys out"),
]


@pytest.mark.parametrize(("make", "words"), WRONG_COLUMNS)
def test_columns_that_cannot_be_read_are_named(make: Callable[[], Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.parquet"
    pq.write_table(make(), path)
    with pytest.raises(UnreadableError, match=rf"wrong\.parquet: .*{words}"):
        list(open_dataset(path))


@pytest.mark.parametrize(("name", "values", "words"), WRONG_ROWS)
def test_a_row_that_cannot_be_read_is_named(name: str, values: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.parquet"
    pq.write_table(table().append_column("other", values) if name == "other" else with_column(name, values), path)
    report = validate_file(path)
    assert {violation.rule for violation in report.violations} == {"json"}
    assert re.match(words, report.violations[0].got)
    assert len({violation.instance_id for violation in report.violations}) == N


@pytest.mark.parametrize("name", ["id", "paper_id", "hypothesis", "sentences", "sentence_types", "aspects", "other"])
def test_bytes_that_are_not_utf8_are_an_error_that_names_their_column(name: str, tmp_path: Path) -> None:
    whole = table().append_column("other", pa.array(["{}"] * N))
    column = whole.column(name).combine_chunks()
    texts = column.values if pa.types.is_list(column.type) else column
    spoilt = pa.array([b"\xff", *texts.cast(pa.binary()).to_pylist()[1:]], pa.binary()).view(pa.string())
    made = pa.ListArray.from_arrays(column.offsets, spoilt) if texts is not column else spoilt
    path = tmp_path / "spoilt.parquet"
    pq.write_table(whole.set_column(whole.column_names.index(name), name, made), path)
    with pytest.raises(DataError, match=rf"spoilt\.parquet: .*{name}: .*0xff"):
        list(open_dataset(path))


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.concat_tables([table(), table()]), tmp_path / "twice.parquet")
    with pytest.raises(FormatError):
        open_dataset(tmp_path / "twice.parquet")
    assert {violation.rule for violation in validate_file(tmp_path / "twice.parquet").violations} == {"unique"}


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 and no more PAR1", b"{}", b"PAR1" * 100], ids=repr)
def test_what_is_no_parquet_says_so(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(UnreadableError, match=r"x\.parquet: .*Parquet"):
        open_dataset(tmp_path / "x.parquet")


def test_damage_is_an_error_in_words_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_dataset(path, SAMPLE)
    content, rng, expected = path.read_bytes(), random.Random(0), list(SAMPLE)
    for _ in range(40):
        place = rng.randrange(len(content) * 3 // 4)  # in the pages, not in the names of the columns
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :])
        try:
            assert list(open_dataset(path)) == expected
        except DataError:
            continue
    for length in range(0, len(content) - 1, len(content) // 20):
        path.write_bytes(content[:length])
        with pytest.raises(UnreadableError):
            open_dataset(path)


@cache
def small_file() -> tuple[bytes, int]:
    """Return the bytes of a small file, and where its footer begins, in which its columns are named."""
    with tempfile.TemporaryDirectory() as folder:
        write_dataset(Path(folder) / "small.parquet", list(SAMPLE)[:2])
        content = (Path(folder) / "small.parquet").read_bytes()
    return content, len(content) - 8 - int.from_bytes(content[-8:-4], "little")


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    content, footer = small_file()
    damaged = bytearray(content)
    places = st.integers(footer, len(content) - 1) | st.integers(0, len(content) - 1)
    for place in draw(st.lists(places, min_size=1, max_size=3)):
        damaged[place] = draw(st.integers(0, 255))
    return bytes(damaged)


@given(damaged_files())
@example(
    small_file()[0][: small_file()[1]] + small_file()[0][small_file()[1] :].replace(b"hypothesis", b"\xffypothesis", 1)
)
def test_whatever_bytes_of_a_file_change_only_errors_in_words_come_out(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        path.write_bytes(content)
        for read in (lambda: list(open_dataset(path)), lambda: validate_file(path)):
            with suppress(DataError):
                read()


def test_without_pyarrow_the_message_names_the_extra_and_json_works(tmp_path: Path) -> None:
    write_dataset(tmp_path / "x.parquet", SAMPLE)
    code = """
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
from evidencebench import EvidenceBenchError, open_dataset
print(len(list(open_dataset("sample"))))
try:
    open_dataset(sys.argv[1])
except EvidenceBenchError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code, tmp_path / "x.parquet"], capture_output=True, check=True)
    assert found.stdout.decode().splitlines() == [
        str(N),
        f"{tmp_path / 'x.parquet'}: needs pyarrow, which is not installed: pip install 'evidencebench[parquet]'",
    ]


def test_json_is_read_without_importing_pyarrow_and_parquet_without_pandas(tmp_path: Path) -> None:
    write_dataset(tmp_path / "x.parquet", SAMPLE)
    for path, module in ((SAMPLE.path, "pyarrow"), (tmp_path / "x.parquet", "pandas")):
        code = (
            f"import sys; from evidencebench import open_dataset; list(open_dataset(sys.argv[1])); print('{module}' in "
        )
        found = subprocess.run([sys.executable, "-c", code + "sys.modules)", path], capture_output=True, check=True)
        assert found.stdout == b"False\n", module
