"""Every rule by one focused mutation, all violations at once, and 2,000 files that nobody meant to write."""

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import FileReport, UnreadableError, Violation, validate_files
from evidencebench import TASKS, Dataset, answers_from, evaluate, make_system, open_dataset, validate_file
from kit.examples import examples
from kit.strategies import json_values

Record = dict[str, Any]
Change = dict[str, Any]
"""Place in a record, keys joined by slashes -> what to put there; a list grows when the place is just behind it."""

GONE = object()
OPTIMAL, AT_10 = "evidence_retrieval_at_optimal_evaluation", "evidence_retrieval_at_10_evaluation"
RESULT_OPTIMAL = "results_evidence_retrieval_at_optimal_evaluation"
RESULT_AT_5 = "results_evidence_retrieval_at_5_evaluation"
TYPES, ASPECTS, RESULTS = "sentence_types_in_candidate_pool", "aspect_list_ids", "results_aspect_list_ids"
FORWARDS, BACKWARDS = "aspect2sentence_indices", "sentence_index2aspects"
PICKED, COVERED = "one_selection_of_sentences", "covered_aspects"
KINDS = "section_name, abstract, normal_paragraph, section name, normal paragraph"

SOURCES = {"a1": [1, 2], "a2": [2], "a3": [5]}
GOOD: Record = {
    "hypothesis": "Tea lowers blood pressure.",
    "paper_as_candidate_pool": [f"Sentence {index}." for index in range(12)],
    "aspect_list_ids": ["a1", "a2", "a3"],
    "results_aspect_list_ids": ["a2", "a3"],
    "aspect2sentence_indices": SOURCES,
    "sentence_index2aspects": {str(i): [aspect for aspect, held in SOURCES.items() if i in held] for i in range(12)},
    OPTIMAL: {"optimal": 2, "one_selection_of_sentences": [2, 5], "covered_aspects": ["a1", "a2", "a3"]},
    AT_10: {"one_selection_of_sentences": list(range(10)), "covered_aspects": ["a1", "a2", "a3"]},
    RESULT_OPTIMAL: {"optimal": 2, "one_selection_of_sentences": [2, 5], "covered_aspects": ["a2", "a3"]},
    RESULT_AT_5: {"one_selection_of_sentences": [0, 1, 2, 3, 5], "covered_aspects": ["a2", "a3"]},
    "sentence_types_in_candidate_pool": ["section_name", "abstract"] + 10 * ["normal_paragraph"],
    "paper_id": "pmc_1",
}
NO_RESULTS: Change = {"results_aspect_list_ids": None, RESULT_OPTIMAL: None, RESULT_AT_5: None}
AS_100K: Change = NO_RESULTS | {
    "sentence_types_in_candidate_pool": ["section name", "abstract"] + 10 * ["normal paragraph"],
    "systematic_review_id": 7,
    "aspect_id2aspect": {"a1": "It fell.", "a2": "By 3 mmHg.", "a3": "In adults."},
    f"{OPTIMAL}/optimal": GONE,
}


def changed(change: Change, record: Record = GOOD) -> Record:
    """Give a copy of a record with other values in some places."""
    record = copy.deepcopy(record)
    for place, value in change.items():
        *outer, last = place.split("/")
        parent: Any = record
        for key in outer:
            parent = parent[int(key) if isinstance(parent, list) else key]
        if value is GONE:
            del parent[last]
        elif isinstance(parent, list):
            parent[int(last) : int(last) + 1] = [value]
        else:
            parent[last] = value
    return record


GOOD_100K = changed(AS_100K)


def report_on(path: Path, records: dict[str, Any], *, optima: bool = False) -> FileReport:
    path.write_text(json.dumps(records))
    return validate_file(path, optima=optima)


def places(violations: tuple[Violation, ...]) -> list[tuple[str, str, str]]:
    return [(found.path, found.expected, found.got) for found in violations]


# One row a rule: what is changed in a valid record, and the one place, expectation and finding it must lead to.
ONE_FAULT: list[tuple[Change, str, str, str]] = [
    # types of texts and lists
    ({"hypothesis": 7}, "$.hypothesis", "a string", "7"),
    ({"hypothesis": GONE}, "$.hypothesis", "a string", "nothing"),
    ({"paper_id": None}, "$.paper_id", "a string", "null"),
    ({"paper_as_candidate_pool": None}, "$.paper_as_candidate_pool", "a list of sentences", "null"),
    ({"paper_as_candidate_pool/3": ["x"]}, "$.paper_as_candidate_pool[3]", "a string", "['x']"),
    ({f"{ASPECTS}/3": 4}, f"$.{ASPECTS}[3]", "an aspect id", "4"),
    ({f"{RESULTS}/2": None}, f"$.{RESULTS}[2]", "an aspect id", "null"),
    # kinds
    ({TYPES: "abstract"}, f"$.{TYPES}", "a list of sentence types", "'abstract'"),
    ({f"{TYPES}/12": "abstract"}, f"$.{TYPES}", "one type for each of 12 sentences", "13"),
    ({f"{TYPES}/2": "figure"}, f"$.{TYPES}[2]", f"one of {KINDS}", "'figure'"),
    ({f"{TYPES}/2": []}, f"$.{TYPES}[2]", f"one of {KINDS}", "[]"),
    # ids
    ({f"{ASPECTS}/3": "a1"}, f"$.{ASPECTS}[3]", "an id that stands once", "'a1' again"),
    ({f"{RESULTS}/2": "a2"}, f"$.{RESULTS}[2]", "an id that stands once", "'a2' again"),
    ({f"{RESULTS}/2": "a9"}, f"$.{RESULTS}[2]", "an id of aspect_list_ids", "'a9'"),
    (
        {RESULTS: GONE, RESULT_OPTIMAL: None, RESULT_AT_5: None},
        f"$.{RESULTS}",
        "a list of aspect ids, or null",
        "nothing",
    ),
    (NO_RESULTS | {RESULTS: []}, f"$.{RESULTS}", "null where there are no Results aspects", "an empty list"),
    ({f"{FORWARDS}/a9": []}, f"$.{FORWARDS}['a9']", "an id of aspect_list_ids", "'a9'"),
    (
        NO_RESULTS
        | {ASPECTS: [], FORWARDS: {}, OPTIMAL: None, AT_10: None}
        | {BACKWARDS: {str(index): [] for index in range(12)}},
        f"$.{ASPECTS}",
        "at least one aspect",
        "none",
    ),
    # aspects without a sentence
    ({f"{ASPECTS}/3": "a4"}, f"$.{FORWARDS}['a4']", "an entry for every aspect", "none"),
    ({f"{ASPECTS}/3": "a4", f"{FORWARDS}/a4": []}, f"$.{FORWARDS}['a4']", "at least one sentence", "none"),
    ({f"{ASPECTS}/3": "a4", f"{FORWARDS}/a4": 5}, f"$.{FORWARDS}['a4']", "a list of sentence indices", "5"),
    # indices
    ({f"{FORWARDS}/a1/2": -1}, f"$.{FORWARDS}['a1'][2]", "an index in 0..11", "-1"),
    ({f"{FORWARDS}/a1/2": 12}, f"$.{FORWARDS}['a1'][2]", "an index in 0..11", "12"),
    ({f"{FORWARDS}/a1/2": 1e300}, f"$.{FORWARDS}['a1'][2]", "a sentence index", "1e+300"),
    ({f"{FORWARDS}/a1/2": True}, f"$.{FORWARDS}['a1'][2]", "a sentence index", "True"),
    ({f"{FORWARDS}/a1/2": 3.0}, f"$.{FORWARDS}['a1'][2]", "a sentence index", "3.0"),
    ({f"{FORWARDS}/a1/2": "3"}, f"$.{FORWARDS}['a1'][2]", "a sentence index", "'3'"),
    ({f"{FORWARDS}/a1/2": 1}, f"$.{FORWARDS}['a1'][2]", "an index that stands once", "1 again"),
    # the two maps
    ({BACKWARDS: []}, f"$.{BACKWARDS}", "an object: sentence index -> aspect ids", "[]"),
    ({f"{BACKWARDS}/3": GONE}, f"$.{BACKWARDS}['3']", "a key for every sentence", "none"),
    ({f"{BACKWARDS}/12": []}, f"$.{BACKWARDS}['12']", "a sentence index in 0..11", "'12'"),
    ({f"{BACKWARDS}/03": []}, f"$.{BACKWARDS}['03']", "a sentence index in 0..11", "'03'"),
    ({f"{BACKWARDS}/3": None}, f"$.{BACKWARDS}['3']", "a list of aspect ids", "null"),
    ({f"{BACKWARDS}/3/0": 1}, f"$.{BACKWARDS}['3'][0]", "an aspect id", "1"),
    ({f"{BACKWARDS}/5/1": "a3"}, f"$.{BACKWARDS}['5'][1]", "an id that stands once", "'a3' again"),
    ({f"{BACKWARDS}/3/0": "a1"}, f"$.{BACKWARDS}['3']", "only aspects whose sources hold this sentence", "'a1'"),
    ({f"{BACKWARDS}/5": []}, f"$.{BACKWARDS}['5']", "'a3', whose sources hold this sentence", "a list without it"),
    # stored evaluations
    ({OPTIMAL: None}, f"$.{OPTIMAL}", "an evaluation, which 'data solve' derives", "null"),
    ({RESULT_AT_5: GONE}, f"$.{RESULT_AT_5}", "an evaluation, which 'data solve' derives", "nothing"),
    ({AT_10: [2]}, f"$.{AT_10}", "an object or null", "[2]"),
    (
        NO_RESULTS | {RESULT_AT_5: GOOD[RESULT_AT_5]},
        f"$.{RESULT_AT_5}",
        "null, since there are no Results aspects",
        "an evaluation",
    ),
    (NO_RESULTS | {RESULT_AT_5: GONE}, f"$.{RESULT_AT_5}", "null, since there are no Results aspects", "nothing"),
    ({f"{OPTIMAL}/optimal": GONE}, f"$.{OPTIMAL}.optimal", "a number of sentences", "nothing"),
    ({f"{OPTIMAL}/optimal": "2"}, f"$.{OPTIMAL}.optimal", "a number of sentences", "'2'"),
    ({f"{OPTIMAL}/optimal": 3}, f"$.{OPTIMAL}.{PICKED}", "3 sentences", "2"),
    ({f"{AT_10}/{PICKED}/10": 11}, f"$.{AT_10}.{PICKED}", "10 sentences", "11"),
    ({f"{RESULT_AT_5}/{PICKED}": GONE}, f"$.{RESULT_AT_5}.{PICKED}", "a list of sentence indices", "nothing"),
    ({f"{AT_10}/{PICKED}/9": 12}, f"$.{AT_10}.{PICKED}[9]", "an index in 0..11", "12"),
    ({f"{AT_10}/{PICKED}/9": False}, f"$.{AT_10}.{PICKED}[9]", "a sentence index", "False"),
    ({f"{AT_10}/{PICKED}/9": 0}, f"$.{AT_10}.{PICKED}[9]", "an index that stands once", "0 again"),
    ({f"{AT_10}/{COVERED}": None}, f"$.{AT_10}.{COVERED}", "a list of aspect ids", "null"),
    ({f"{AT_10}/{COVERED}/3": 1}, f"$.{AT_10}.{COVERED}[3]", "an aspect id", "1"),
    ({f"{AT_10}/{COVERED}/3": "a1"}, f"$.{AT_10}.{COVERED}[3]", "an id that stands once", "'a1' again"),
    (
        {f"{AT_10}/{COVERED}": ["a1", "a3"]},
        f"$.{AT_10}.{COVERED}",
        "'a2', which the selection covers",
        "a list without it",
    ),
    (
        {f"{RESULT_AT_5}/{COVERED}/2": "a1"},
        f"$.{RESULT_AT_5}.{COVERED}",
        "only aspects that the selection covers",
        "'a1'",
    ),
]

# Stored optima that hold together and are not optimal.
NOT_OPTIMAL: list[tuple[Change, str, str, str]] = [
    ({f"{OPTIMAL}/optimal": 3, f"{OPTIMAL}/{PICKED}": [1, 2, 5]}, f"$.{OPTIMAL}.optimal", "2", "3"),
    ({OPTIMAL: {"optimal": 1, PICKED: [2], COVERED: ["a1", "a2"]}}, f"$.{OPTIMAL}.optimal", "2", "1"),
    ({f"{OPTIMAL}/{PICKED}": [1, 5], f"{OPTIMAL}/{COVERED}": ["a1", "a3"]}, f"$.{OPTIMAL}.{COVERED}", "3 aspects", "2"),
    ({AT_10: {PICKED: [*range(5), *range(6, 11)], COVERED: ["a1", "a2"]}}, f"$.{AT_10}.{COVERED}", "3 aspects", "2"),
    ({RESULT_AT_5: {PICKED: [0, 1, 2, 3, 4], COVERED: ["a2"]}}, f"$.{RESULT_AT_5}.{COVERED}", "2 aspects", "1"),
]

# What the 100k dialect bends: a change to a valid 100k record -> the warnings of it, by rule.
ALLOWED_IN_100K: list[tuple[Change, dict[str, int]]] = [
    ({}, {}),
    ({"x_unknown": {"deep": [1, None]}}, {}),
    ({RESULTS: GONE, RESULT_OPTIMAL: GONE, RESULT_AT_5: GONE}, {}),
    ({OPTIMAL: None, AT_10: GONE}, {}),
    ({"systematic_review_id": "r 7"}, {}),
    ({f"{FORWARDS}/a1/2": 1}, {"unique": 1}),
    ({f"{OPTIMAL}/{PICKED}/2": 2}, {"unique": 1}),
    ({f"{OPTIMAL}/{COVERED}/3": "a1"}, {"unique": 1}),
    ({f"{BACKWARDS}/5/1": "a3"}, {"unique": 1}),
    ({f"{ASPECTS}/3": "a4", f"{ASPECTS}/4": "a5", f"{FORWARDS}/a5": []}, {"source": 2}),
]


def name_of(value: object) -> str | None:
    return ", ".join(value) if isinstance(value, dict) else None


@pytest.mark.parametrize(("records"), [{"x": GOOD}, {"x": GOOD_100K}], ids=["original", "100k"])
def test_a_valid_record_has_neither_violations_nor_warnings(records: dict[str, Record], tmp_path: Path) -> None:
    report = report_on(tmp_path / "file.json", records, optima=True)
    assert (report.n_instances, report.violations, report.warnings) == (1, (), ())


@pytest.mark.data
def test_the_published_train_split_is_valid_and_its_optima_are_optimal(train: Dataset) -> None:
    report = validate_file(train.path, optima=True)
    assert (report.n_instances, report.violations, report.warnings) == (96, (), ())


@pytest.mark.parametrize(("change", "path", "expected", "got"), NOT_OPTIMAL, ids=name_of)
def test_stored_optima_that_are_not_optimal_are_found_by_solving_again(
    change: Change, path: str, expected: str, got: str, tmp_path: Path
) -> None:
    records = {"x": changed(change)}
    assert report_on(tmp_path / "file.json", records).is_valid
    assert places(report_on(tmp_path / "file.json", records, optima=True).violations) == [(path, expected, got)]


@pytest.mark.parametrize(("change", "warnings"), ALLOWED_IN_100K, ids=name_of)
def test_what_the_100k_dialect_allows_is_valid_and_counted(
    change: Change, warnings: dict[str, int], tmp_path: Path
) -> None:
    report = report_on(tmp_path / "file.json", {"x": changed(change, GOOD_100K)})
    assert report.is_valid
    assert Counter(violation.rule for violation in report.warnings) == warnings


@pytest.mark.parametrize(
    "mark", [{"systematic_review_id": 7}, {"sentence_types_in_candidate_pool/0": "section name"}], ids=name_of
)
def test_a_review_or_one_type_with_a_space_is_enough_for_the_100k_dialect(mark: Change, tmp_path: Path) -> None:
    report = report_on(tmp_path / "file.json", {"x": changed(mark | {"aspect2sentence_indices/a1/2": 1})})
    assert report.is_valid
    assert [found.rule for found in report.warnings] == ["unique"]


def test_each_fault_is_one_violation_that_says_where_and_what_in_file_order(tmp_path: Path) -> None:
    records = {
        f"bad_{number}": changed({"paper_id": f"p{number}"} | change) for number, (change, *_) in enumerate(ONE_FAULT)
    }
    report = report_on(tmp_path / "file.json", {"good": GOOD} | records)
    found = [(one.instance_id, one.path, one.expected, one.got) for one in report.violations]
    assert found == [(name, *fault) for name, (_, *fault) in zip(records, ONE_FAULT, strict=True)]
    _, path, expected, got = ONE_FAULT[0]
    assert str(report.violations[0]) == f"bad_0: {path}: expected {expected}, got {got}"
    assert (report.n_instances, report.is_valid, report.warnings) == (len(records) + 1, False, ())

    several = {"hypothesis": 7, "sentence_types_in_candidate_pool/0": "figure", "aspect2sentence_indices/a1/2": 12}
    mixed: Record = {
        "x": changed(several | {f"{AT_10}/covered_aspects": ["a1", "a3"]}),
        "list": [],
        "text": "text",
        "y": None,
    }
    report = report_on(tmp_path / "file.json", mixed)
    assert Counter(violation.rule for violation in report.violations) == {
        "type": 4,
        "kind": 1,
        "range": 1,
        "covered": 1,
    }
    no_objects = [("$", "an object", got) for got in ("[]", "'text'", "null")]
    assert places(report.violations)[-3:] == no_objects


def test_an_evaluation_that_is_not_of_results_is_not_said_to_be_and_a_long_value_is_cut_in_the_message(
    tmp_path: Path,
) -> None:
    record = changed({AT_10: GONE, ASPECTS: GONE, "hypothesis": ["long" * 1000]})
    report = report_on(tmp_path / "file.json", {"x": record})
    got = {one.path: (one.expected, one.got) for one in report.violations}
    assert got[f"$.{AT_10}"] == ("an evaluation, or null", "nothing")
    assert len(got["$.hypothesis"][1]) < 100


def test_an_id_that_stands_twice_is_a_violation_in_either_form(tmp_path: Path) -> None:
    line = json.dumps(GOOD)
    (tmp_path / "twice.json").write_text(f'{{"x": {line}, "y": {line}, "x": {line}}}')
    (tmp_path / "twice.jsonl").write_text("".join(f'{{"{name}": {line}}}\n' for name in "xyx"))
    for name in ("twice.json", "twice.jsonl"):
        report = validate_file(tmp_path / name)
        assert report.n_instances == 2
        assert [str(found) for found in report.violations] == [
            "x: $: expected an id that stands once, got the id more than once"
        ]


def test_a_paper_in_two_files_is_a_violation_of_the_later_one(tmp_path: Path) -> None:
    paths = [tmp_path / "train.json", tmp_path / "test.json"]
    for path, papers in zip(paths, [{"a": "p1", "b": "p1"}, {"c": "p2", "d": "p1"}], strict=True):
        path.write_text(json.dumps({name: changed({"paper_id": paper}) for name, paper in papers.items()}))
    train, test = validate_files(paths)
    assert train.is_valid
    assert [str(found) for found in test.violations] == [
        f"d: $.paper_id: expected a paper that stands in one split only, got 'p1', which is also in {paths[0]}"
    ]
    assert all(report.is_valid for report in validate_files([paths[0], paths[0]]))


# Places that only the typed decoder used to read: what cannot be opened must not pass for valid.
@pytest.mark.parametrize(
    "change",
    [
        {"aspect_id2aspect": 5},
        {"aspect_id2aspect": {"a1": None}},
        {"systematic_review_id": []},
        {"systematic_review_id": 1.5},
        {"id": 5},
        {f"{AT_10}/optimal": "ten"},
        {f"{OPTIMAL}/optimal": None},
    ],
    ids=name_of,
)
@pytest.mark.parametrize("record", [GOOD, GOOD_100K], ids=["original", "100k"])
def test_what_is_valid_can_be_opened(change: Change, record: Record, tmp_path: Path) -> None:
    assert_survives(json.dumps({"x": changed(change, record)}).encode(), tmp_path / "file.json")


# 2,000 mutated files


def every_place(value: Any, place: str = "") -> Iterator[str]:
    """Give every place in a record, as `changed` takes them."""
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, inner in items:
        yield f"{place}{key}"
        yield from every_place(inner, f"{place}{key}/")


KNOWN_KEYS = (*GOOD, *GOOD_100K, "id", "optimal", "12", "a1", "a4")
LIKELY = st.sampled_from([GONE, None, 0, 1, 5, 11, "a1", "a4", [], {}, [2, 5], ["a3"], "abstract", GOOD[OPTIMAL]])


@st.composite
def mutated_records(draw: st.DrawFn, record: Record) -> Record:
    """Draw a valid record with a few places deleted, replaced, grown, or keys added."""
    for _ in range(draw(st.integers(1, 3))):
        target = draw(st.sampled_from(list(every_place(record))))
        if draw(st.booleans()):
            outer = target.rpartition("/")[0]
            key = draw(st.sampled_from(KNOWN_KEYS) | st.text(max_size=4).filter(lambda text: "/" not in text))
            inside_list = target.rpartition("/")[2].isdigit() and outer != "sentence_index2aspects"
            target = target if inside_list else f"{outer}/{key}".removeprefix("/")
        value = draw(LIKELY | json_values)
        try:
            record = changed({target: value}, record)
        except (KeyError, TypeError):  # deleting what a key just drawn does not name
            continue
    return record


@st.composite
def mutated_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a file with bytes flipped, deleted, inserted, doubled or cut off."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.integers(0, 3))
        new = draw(st.binary(max_size=3) | st.sampled_from([b"", b"\\", b'"', b"\n", b"}", b"1", b"null", b"\xed\xa0"]))
        edit = draw(st.sampled_from(["splice", "cut", "double"]))
        head, tail = content[:start], content[end:]
        content = {"splice": head + new + tail, "cut": head, "double": content[:end] + content[start:]}[edit]
    return content


def assert_survives(content: bytes, path: Path, *, optima: bool = False) -> None:
    """Check that a file is unreadable, or has violations, or can be opened and scored up to its ceiling."""
    path.unlink(missing_ok=True)  # never write into a file that an earlier data set may still map
    path.write_bytes(content)
    try:
        report = validate_file(path, optima=optima)
    except UnreadableError:
        return
    if not report.is_valid:
        assert all(found.path.startswith("$") and found.expected and found.got for found in report.violations)
        return
    dataset = open_dataset(path)
    assert report.n_instances == len(dataset) == len(list(dataset))
    found = evaluate({"oracle": answers_from(make_system("oracle"))}, dataset, list(TASKS.values()))
    for scores in found["oracle"].values():
        np.testing.assert_allclose(scores.scores["regret"], 0, atol=1e-12)
        assert not scores.counts.failed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated")


MUTATED = {
    "original": (".json", mutated_records(GOOD).map(lambda record: json.dumps({"x": record}).encode())),
    "100k": (
        ".jsonl",
        mutated_records(GOOD_100K).map(lambda record: json.dumps({"id": "x"} | record).encode() + b"\n"),
    ),
    "bytes": (".json", mutated_bytes(json.dumps({"x": GOOD, "y": GOOD_100K}).encode())),
    "gzip": (".json.gz", mutated_bytes(gzip.compress(json.dumps({"x": GOOD}).encode(), mtime=0))),
}


@pytest.mark.parametrize("kind", MUTATED)
@given(data=st.data(), is_solved=st.booleans())
@examples(500)
def test_a_mutated_file_gives_a_report_or_is_unreadable(
    *, folder: Path, kind: str, data: st.DataObject, is_solved: bool
) -> None:
    suffix, contents = MUTATED[kind]
    assert_survives(data.draw(contents), folder / f"file{suffix}", optima=is_solved)


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ('"hypothesis": "another", ', "hypothesis"),
        ('"more": {"a": 1, "b": [{"a": 2, "a": 3}]}, ', "a"),
        ('"more": "no key \\":", ', None),
        ('"more\\\\": "ends in a backslash", ', None),
        ('"more\\\\": 1, "more\\\\": 2, ', "more\\"),
        ('"more": ":-) and again", "a" : [":", {"b": 1}], "a" : 2, ', "a"),
        ('"more": ["\\u003a", "\\":", ":"], ', None),
    ],
)
def test_a_key_that_stands_twice_inside_an_instance_is_a_violation(
    text: str, repeated: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    path.write_text(f'{{"x": {{{text}{json.dumps(GOOD)[1:]}}}')
    expected = [] if repeated is None else [("$", "keys that stand once", f"'{repeated}' again")]
    assert places(validate_file(path).violations) == expected
