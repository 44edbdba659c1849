"""Files come back as they were, are decoded only when asked, are written whole or not at all, and fail in words."""

import gzip
import json
import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import doors
from doors import (
    EVALUATION_KEYS,
    FORMATS,
    DataError,
    DataSource,
    FormatError,
    Origin,
    UnknownInstanceError,
    UnreadableError,
    decode_instance,
    encode_instance,
    file_of,
    open_source,
    solve_file,
    validate_files,
    whole_file,
)
from evidencebench import Dataset, Engine, InProcess, Instance, Kind, Processes, Threads, open_dataset, write_dataset
from kit.command_line import SAMPLE
from kit.examples import examples
from kit.strategies import files, instances, records

Record = dict[str, Any]

SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
GOOD: Record = {
    "hypothesis": "Tea lowers blood pressure.",
    "paper_as_candidate_pool": ["Results", "Pressure fell by 3 mmHg."],
    "aspect_list_ids": ["a"],
    "results_aspect_list_ids": None,
    "aspect2sentence_indices": {"a": [1]},
    "sentence_index2aspects": {"0": [], "1": ["a"]},
    "sentence_types_in_candidate_pool": ["section_name", "normal_paragraph"],
    "paper_id": "pmc_1",
}
THREE = {"one": GOOD, "two": GOOD | {"hypothesis": "second"}, "three": GOOD | {"hypothesis": "third"}}


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def write_plainly(path: Path, contents: dict[str, Record], *, wrapped: bool = False) -> Path:
    """Write a file in the form of its suffix with the standard library alone; JSON Lines in either form of line."""
    if ".jsonl" in path.suffixes:
        lines = [{key: value} if wrapped else {"id": key} | value for key, value in contents.items()]
        content = b"".join(as_json(line) + b"\n" for line in lines)
    else:
        content = as_json(contents)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read_plainly(path: Path) -> dict[str, Record]:
    """Read a file that we wrote with the standard library alone."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if ".jsonl" not in path.suffixes:
        contents: dict[str, Record] = json.loads(content)
        return contents
    lines = [json.loads(line) for line in content.split(b"\n") if line]
    return {line.pop("id"): line for line in lines}


def decode(record: Record, name: str = "one") -> Instance:
    return decode_instance(name, Origin(raw=as_json(record)))


def rewritten(instance: Instance) -> Record:
    fields: Record = json.loads(encode_instance(instance))
    return fields


def copy_through_every_form(source: Path, folder: Path) -> Iterator[dict[str, Record]]:
    for suffix in SUFFIXES:
        target = folder / f"copy{suffix}"
        n_written = write_dataset(target, open_dataset(source))
        copied = read_plainly(target)
        assert n_written == len(copied)
        yield copied


@examples(60)
@given(files(), st.sampled_from(SUFFIXES), st.booleans())
def test_a_file_of_either_dialect_comes_back_the_same_in_every_form(
    contents: dict[str, Record],
    suffix: str,
    wrapped: bool,  # noqa: FBT001 - drawn
) -> None:
    assume(contents)  # no instance at all is an error
    with tempfile.TemporaryDirectory() as folder:
        source = write_plainly(Path(folder) / f"source{suffix}", contents, wrapped=wrapped)
        for copied in copy_through_every_form(source, Path(folder)):
            assert copied == contents
            assert list(copied) == list(contents)


@pytest.mark.data
def test_the_train_file_comes_back_the_same_in_every_form(train: Dataset, tmp_path: Path) -> None:
    published = read_plainly(train.path)
    assert all(copied == published for copied in copy_through_every_form(train.path, tmp_path))
    lines = write_plainly(tmp_path / "wrapped.jsonl.gz", published, wrapped=True)
    assert list(open_dataset(lines)) == list(train)


@given(instances())
def test_an_instance_made_by_hand_is_read_back_the_same(instance: Instance) -> None:
    assert decode_instance(instance.id, Origin(raw=encode_instance(instance))) == instance


@given(st.data(), records())
def test_the_order_of_the_keys_means_nothing(data: st.DataObject, record: Record) -> None:
    shuffled = dict(data.draw(st.permutations(list(record.items()))))
    assert decode(shuffled) == decode(record)


def test_the_100k_dialect_is_read_into_the_same_words() -> None:
    spaced = GOOD | {
        "sentence_types_in_candidate_pool": ["section name", "normal paragraph"],
        "aspect2sentence_indices": {"a": [1, 1], "b": []},
        "aspect_list_ids": ["a", "b"],
        "aspect_id2aspect": {"a": "by how much", "b": "in whom"},
        "systematic_review_id": 1234,
        "evidence_retrieval_at_optimal_evaluation": {"one_selection_of_sentences": [1], "covered_aspects": ["a"]},
    }
    del spaced["results_aspect_list_ids"]
    instance = decode(spaced)
    assert instance.query.kinds == (Kind.HEADING, Kind.BODY)
    assert instance.labels.sources == {"a": (1, 1), "b": ()}
    assert instance.labels.results == ()
    assert instance.labels.texts["b"] == "in whom"
    assert instance.labels.evaluations["er_at_optimal"].optimal is None
    assert instance.cluster == instance.labels.review_id == "1234"
    assert decode(GOOD).cluster == "pmc_1"


def test_instances_are_found_by_id_by_position_and_by_slice_and_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    dataset = open_dataset(write_plainly(tmp_path / "three.json", THREE))
    assert len(dataset) == 3
    assert dataset.ids == ("one", "two", "three")
    assert "two" in dataset
    assert "four" not in dataset
    assert dataset["two"] == dataset[1] == dataset[-2]
    assert [instance.id for instance in dataset[1:]] == ["two", "three"]
    assert [instance.id for instance in dataset.instances(2)] == ["one", "two"]
    assert [query.hypothesis for query in dataset.queries()][1:] == ["second", "third"]
    assert list(dataset) == dataset[:]
    wrong: dict[str | int, str] = {"four": "'four'.*'one'", 3: "position 3.*holds 3", -4: "-4"}
    for key, words in wrong.items():
        with pytest.raises(UnknownInstanceError, match=rf"three\.json: .*{words}"):
            dataset[key]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"aspect2sentence_indices": {"a": [1, 2]}}, r"aspect 'a'.*sentence 2.*0\.\.1"),
        ({"aspect2sentence_indices": {"a": [1, -1]}}, "sentence -1"),
        ({"sentence_types_in_candidate_pool": ["abstract"]}, "sentence_types_in_candidate_pool: .*2 sentences, got 1"),
        ({"sentence_types_in_candidate_pool": ["abstract", "title"]}, "'title'"),
        ({"paper_id": None}, "paper_id"),
        ({"paper_as_candidate_pool": "text"}, "array.*str.*paper_as_candidate_pool"),
    ],
)
def test_a_broken_rule_is_reported_with_file_and_instance_when_it_is_read_and_not_before(
    tmp_path: Path, change: Record, words: str, suffix: str
) -> None:
    path = write_plainly(tmp_path / f"file{suffix}", {"fine": GOOD, "one": GOOD | change})
    dataset = open_dataset(path)
    assert (len(dataset), dataset[0].id) == (2, "fine")
    with pytest.raises(FormatError, match=f"{re.escape(str(path))}: one: .*{words}.*'evidencebench data validate "):
        dataset["one"]


TWICE = {
    "far.json": b'{"a": 1, "b": 2, "a": 3}',
    "near.json": b'{"a": 1, "a": 1}',
    "escaped.json": b'{"a": 1, "\\u0061": 1}',
    "long.json": b'{"a": %b, "a": 2}' % (b"1" * 5000),
    "lines.jsonl": b'{"id": "a"}\n{"id": "b"}\n{"id": "a"}\n',
    "mixed.jsonl": b'{"id": "a"}\n{"a": {}}\n',
    "line.jsonl": b'{"a": {}, "a": {}}\n',
}


@pytest.mark.parametrize("name", TWICE)
def test_an_id_that_stands_twice_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TWICE[name])
    with pytest.raises(FormatError, match=f"{re.escape(str(path))}: .*'a' stands more than once"):
        open_dataset(path)


PACKED = gzip.compress(as_json(THREE), mtime=0)
DEEP = b"[" * 100_000 + b"]" * 100_000


UNREADABLE = {
    "empty.json": (b"", "empty"),
    "empty.jsonl": (b"", "empty"),
    "blank.json": (b" \n", "not valid JSON: .*line 2, column 1"),
    "list.json": (b"[1]", "JSON object.*id -> instance.*array"),
    "text.json": (b'"a"', "JSON object"),
    "null.json": (b"null", "JSON object"),
    "cut.json": (as_json(THREE)[:-9], "not valid JSON: .*line 1, column"),
    "more.json": (as_json(THREE) + b"{}", "Extra data"),
    "nan.json": (b'{"a": NaN}', "not valid JSON"),
    "huge_number.json": (b'{"a": ' + b"1" * 5000, "not valid JSON"),
    "utf16.json": (as_json(THREE).decode().encode("utf-16"), "not UTF-8: .*UTF-16"),
    "utf16_bare.json": (as_json(THREE).decode().encode("utf-16-le"), "not valid JSON"),
    "latin1.json": ('{"café": {}}'.encode("latin-1"), "0xe9"),
    "latin1.jsonl": ('{"id": "café", "paper_id": "p"}'.encode("latin-1"), "line 1: .*not UTF-8"),
    "surrogate.json": (b'{"a": {"hypothesis": "\\ud800"}}', "not valid JSON|surrogate"),
    "surrogate_id.json": (b'{"\\ud800": {}}', "not valid JSON|surrogate"),
    "deep.json": (b'{"a": ' + DEEP + b"}", "nested too deeply"),
    "deep_line.jsonl": (b'{"id": "a"}\n{"id": "b", "x": ' + DEEP + b"}", "line 2: .*nested too deeply"),
    "second.jsonl": (b'{"id": "a"}\n{"id": \n', "line 2: not valid JSON"),
    "array.jsonl": (b"[]\n", "line 1: .*JSON object"),
    "no_id.jsonl": (b'{"hypothesis": "h", "paper_id": "p"}\n', "line 1: .*'id'"),
    "number.jsonl": (b'{"id": 7, "paper_id": "p"}\n', "line 1: id: .*int"),
    "cut.json.gz": (PACKED[:-9], "end-of-stream"),
    "head.json.gz": (PACKED[:5], "end-of-stream"),
    "plain.json.gz": (b"{}", "Not a gzipped"),
    "flipped.json.gz": (PACKED[:20] + bytes([PACKED[20] ^ 255]) + PACKED[21:], "cannot be read"),
    "checksum.json.gz": (PACKED[:-8] + bytes(4) + PACKED[-4:], "CRC"),
    "nothing.json.gz": (gzip.compress(b"", mtime=0), "empty"),
}


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_byte_order_mark_and_blank_lines_change_nothing(tmp_path: Path, name: str) -> None:
    lines = b"\n  \n".join(as_json({key: value}) + b"\r" for key, value in THREE.items())
    (tmp_path / name).write_bytes(as_json(THREE) if name == "a.json" else lines)
    marked = tmp_path / f"marked.{name}"
    marked.write_bytes(b"\xef\xbb\xbf\n \n" + (tmp_path / name).read_bytes() + b"\n\r\n")
    assert [*open_dataset(marked)] == [*open_dataset(tmp_path / name)]


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_says_which_and_why(tmp_path: Path, name: str) -> None:
    content, reason = UNREADABLE[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=f"^{re.escape(str(path))}: .*(?:{reason})"):
        open_dataset(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"gone\.json: no such file"):
        open_dataset(tmp_path / "gone.json")


def test_latin_1_inside_a_sentence_is_found_at_the_latest_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "latin1.json"
    path.write_bytes(json.dumps({"one": GOOD | {"hypothesis": "café"}}, ensure_ascii=False).encode("latin-1"))
    with pytest.raises(DataError, match=f"{re.escape(str(path))}: .*0xe9"):
        list(open_dataset(path))


@examples(300)
@given(st.data(), st.sampled_from(SUFFIXES))
def test_whatever_damages_a_file_it_is_read_or_refused_with_its_name(data: st.DataObject, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_plainly(Path(folder) / f"file{suffix}", {"one": GOOD, "two": GOOD})
        content = path.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 4)))
        path.write_bytes(content[:start] + data.draw(st.binary(max_size=4)) + content[end:])
        try:
            list(open_dataset(path))
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017 - no error is fine too


def broken_off(first: Instance) -> Iterator[Instance]:
    yield first
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_can_be_written_over_while_it_is_read_and_writing_that_breaks_off_leaves_the_old_one(
    tmp_path: Path, suffix: str
) -> None:
    path = write_plainly(tmp_path / f"file{suffix}", THREE)
    assert write_dataset(path, open_dataset(path)) == 3
    assert read_plainly(path) == THREE
    before, first = path.read_bytes(), open_dataset(path)[0]
    with pytest.raises(KeyboardInterrupt):
        write_dataset(path, broken_off(first))
    with pytest.raises(FormatError, match=r"'one' .*twice"):
        write_dataset(path, [first, first])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_packed_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    source = open_dataset(write_plainly(tmp_path / "file.json", THREE))
    write_dataset(tmp_path / "a.json.gz", source)
    write_dataset(tmp_path / "b.json.gz", source)
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert packed == (tmp_path / "b.json.gz").read_bytes()
    assert packed[3:8] == bytes(5), "a packed file holds neither its name nor the time"


def test_a_file_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none/file\.json: .*there is no folder .*none"):
        write_dataset(tmp_path / "none" / "file.json", [])


@given(records(), st.text())
def test_a_changed_hypothesis_is_written_and_everything_else_stays(record: Record, hypothesis: str) -> None:
    instance = decode(record)
    changed = replace(instance, query=replace(instance.query, hypothesis=hypothesis))
    assert rewritten(changed) == record | {"hypothesis": hypothesis}


@given(records("100k"), st.sampled_from(Kind))
def test_changed_kinds_keep_the_spelling_of_their_dialect(record: Record, kind: Kind) -> None:
    assume(any(" " in spelled for spelled in record["sentence_types_in_candidate_pool"]))
    instance = decode(record)
    kinds = (kind,) * len(instance.query.kinds)
    spelled = [kind.replace("_", " ") for kind in kinds]
    changed = replace(instance, query=replace(instance.query, kinds=kinds))
    assert rewritten(changed) == record | {"sentence_types_in_candidate_pool": spelled}


@given(st.data(), records())
def test_changed_sources_are_written_in_both_maps(data: st.DataObject, record: Record) -> None:
    assume(record["aspect_list_ids"])
    instance = decode(record)
    n_sentences = len(instance.query.sentences)
    aspect = data.draw(st.sampled_from(record["aspect_list_ids"]))
    indices = data.draw(st.lists(st.integers(0, n_sentences - 1), unique=True))
    sources = {**instance.labels.sources, aspect: tuple(indices)}
    forwards = record["aspect2sentence_indices"] | {aspect: indices}
    backwards = {
        str(index): [aspect for aspect in record["aspect_list_ids"] if index in forwards[aspect]]
        for index in range(n_sentences)
    }
    changed = replace(instance, labels=replace(instance.labels, sources=sources))
    assert rewritten(changed) == record | {"aspect2sentence_indices": forwards, "sentence_index2aspects": backwards}


@given(records())
def test_stored_optima_that_are_taken_away_are_null_or_missing_in_the_file(record: Record) -> None:
    instance = decode(record)
    written = rewritten(replace(instance, labels=replace(instance.labels, evaluations={})))
    assert all(written.get(key) is None for key in EVALUATION_KEYS.values())
    others = record.keys() - EVALUATION_KEYS.values()
    assert {key: written[key] for key in others} == {key: record[key] for key in others}


@given(records("100k"))
def test_texts_and_review_that_are_taken_away_are_gone_from_the_file(record: Record) -> None:
    instance = decode(record)
    changed = replace(instance, labels=replace(instance.labels, texts={}, review_id=None))
    assert decode(rewritten(changed)) == changed


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target_suffix", SUFFIXES)
def test_an_instance_under_a_new_name_is_written_under_it_alone(
    tmp_path: Path, suffix: str, target_suffix: str
) -> None:
    instance = open_dataset(write_plainly(tmp_path / f"old{suffix}", {"old": GOOD}))[0]
    renamed = replace(instance, query=replace(instance.query, instance_id="new"))
    path = tmp_path / f"new{target_suffix}"
    write_dataset(path, [renamed])
    assert open_dataset(path).ids == ("new",)
    assert read_plainly(path) == {"new": GOOD}


@pytest.mark.parametrize("own_id", ["one", "another", 7, None])
def test_a_key_id_of_the_instances_own_survives(tmp_path: Path, own_id: object) -> None:
    """In a JSON object the name is the key, so an ``id`` inside is one more unknown key."""
    contents = {"one": {"id": own_id} | GOOD}
    source = write_plainly(tmp_path / "source.json", contents)
    write_dataset(tmp_path / "copy.json", open_dataset(source))
    assert read_plainly(tmp_path / "copy.json") == contents
    write_dataset(tmp_path / "copy.jsonl", open_dataset(source))
    assert open_dataset(tmp_path / "copy.jsonl").ids == ("one",)


def test_a_new_file_is_as_readable_as_any_and_an_old_one_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    instance = decode(GOOD)
    usual = tmp_path / "usual"
    usual.touch()
    fresh, private, link = tmp_path / "fresh.json", tmp_path / "private.json", tmp_path / "link.json"
    write_dataset(fresh, [instance])
    assert fresh.stat().st_mode == usual.stat().st_mode
    private.touch(mode=0o600)
    link.symlink_to(private)
    write_dataset(link, [instance])
    assert link.is_symlink()
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert open_dataset(private).ids == ("one",)
    with whole_file(link, follows_links=False) as file:
        file.write(b"new")
    assert not link.is_symlink()
    assert open_dataset(private).ids == ("one",)


def test_a_gzip_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors.disk, "MAX_UNPACKED_BYTES", 1000)
    path = write_plainly(tmp_path / "bomb.json.gz", {"one": GOOD | {"hypothesis": "x" * 2000}})
    with pytest.raises(UnreadableError, match="1000 bytes"):
        open_dataset(path)


# All formats of the table, and work on every engine.

ENGINES = [InProcess(), Threads(2), Processes(2)]


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_source_has_the_instances_that_were_written(suffix: str, packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}{packed}"
    assert write_dataset(path, SAMPLE) == len(SAMPLE)
    source: DataSource = open_source(path)
    assert source.ids == SAMPLE.ids
    assert source.repeated_ids == ()
    assert [source.instance(name) for name in source.ids] == list(SAMPLE)
    assert all(name in source for name in source.ids)
    assert "another" not in source
    fields, repeated = source.fields(source.ids[0])
    assert (fields["hypothesis"], repeated) == (SAMPLE[0].query.hypothesis, [])
    assert open_source(file_of(source)).snapshot.sha256 == source.snapshot.sha256


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_validation_and_solving_say_the_same_on_every_engine(engine: Engine, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    write_dataset(broken, SAMPLE)
    broken.write_text(broken.read_text().replace('"optimal":', '"optimum":'))
    assert validate_files([broken], engine=engine) == validate_files([broken])
    assert solve_file(SAMPLE, tmp_path / "solved.json", engine=engine) == solve_file(SAMPLE, tmp_path / "again.json")
    assert (tmp_path / "solved.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert [one.labels for one in open_dataset(tmp_path / "solved.json")] == [one.labels for one in SAMPLE]
