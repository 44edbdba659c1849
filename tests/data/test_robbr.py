"""RoBBR-SSR's dialect is read in place, comes back as it was, and is converted without losing a key."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.data.dataset import Dataset, open_dataset, write_dataset
from evidencebench.data.formats.json_instance import decode_instance, encode_instance, published_form
from evidencebench.data.formats.robbr_record import infer_kinds
from evidencebench.data.instance import Origin
from evidencebench.data.optima import solve_file
from evidencebench.data.validation.validate import validate_file, validate_files
from evidencebench.errors import FormatError
from evidencebench.query import Kind
from robbr_sample import HYPOTHESIS, ROBBR, robbr_file
from strategies import json_values, records

GONE = object()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "robbr.json"
    found.write_text(json.dumps(robbr_file()))
    return found


def decoded(record: dict[str, Any]) -> Any:
    return decode_instance("one", Origin(raw=json.dumps(record).encode()))


def changed(key: str, value: object) -> dict[str, Any]:
    return {**{one: old for one, old in ROBBR.items() if one != key}, **({} if value is GONE else {key: value})}


def test_a_record_is_read_into_the_same_words(path: Path) -> None:
    first, second = open_dataset(path)
    assert first.query.hypothesis == HYPOTHESIS
    assert second.query.hypothesis.startswith("Risk of bias: Random order. How the order was made. Objective of")
    assert (first.query.paper_id, first.query.wish, first.cluster) == ("10.1000/tea.1", "answer", "10.1000/tea.1")
    assert first.query.kinds == (
        *(Kind.HEADING, Kind.HEADING, Kind.ABSTRACT, Kind.HEADING),
        *(Kind.BODY, Kind.BODY, Kind.BODY),
    )
    assert first.labels.aspects == ("a1", "a2", "a3")
    assert first.labels.texts["a2"] == "Adults were not told."
    assert first.labels.sources == {"a1": (4,), "a2": (5,), "a3": ()}
    assert (first.labels.results, list(first.labels.evaluations)) == ((), ["er_at_optimal"])
    assert first.labels.evaluations["er_at_optimal"].optimal == 2


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".jsonl.gz"])
def test_a_file_comes_back_as_it_was(suffix: str, path: Path, tmp_path: Path) -> None:
    write_dataset(tmp_path / f"copy{suffix}", open_dataset(path))
    write_dataset(tmp_path / "again.json", open_dataset(tmp_path / f"copy{suffix}"))
    assert json.loads((tmp_path / "again.json").read_bytes()) == robbr_file()
    assert list(open_dataset(tmp_path / f"copy{suffix}")) == list(open_dataset(path))


@given(records("100k"), st.dictionaries(st.text(max_size=6).map("y_{}".format), json_values, max_size=2))
def test_any_record_comes_back_and_is_the_same_in_published_keys(record: dict[str, Any], more: dict[str, Any]) -> None:
    robbr = {key: record[key] for key in record if key.startswith(("paper_as", "sentence_index2", "aspect2", "x_"))}
    robbr |= {key: ROBBR[key] for key in ("bias", "bias_definition", "PICO", "objective", "paper_doi")} | more
    robbr["aspects"] = record["aspect_id2aspect"]
    robbr["bias_retrieval_at_optimal_evaluation"] = record.get("evidence_retrieval_at_optimal_evaluation")
    one = decoded(robbr)
    assert json.loads(encode_instance(one)) == robbr
    published = json.loads(encode_instance(published_form(one)))
    assert decoded(published) == one
    lost = {key: value for key, value in robbr.items() if published.get(key) != value}
    assert set(lost) <= {"aspects", "paper_doi", "bias_retrieval_at_optimal_evaluation"}
    assert (published["aspect_id2aspect"] or {}) == robbr["aspects"]


def test_a_changed_instance_is_written_in_published_keys_with_all_of_its_own(path: Path, tmp_path: Path) -> None:
    one = open_dataset(path)[0]
    other = replace(one, query=replace(one.query, hypothesis="Nobody knew the drink."))
    write_dataset(tmp_path / "changed.json", [other])
    assert open_dataset(tmp_path / "changed.json")[0] == other
    record = json.loads((tmp_path / "changed.json").read_bytes())["robbr_1"]
    assert (record["hypothesis"], record["paper_id"]) == ("Nobody knew the drink.", "10.1000/tea.1")
    assert (record["PICO"], record["judgment"]) == (ROBBR["PICO"], "low")
    assert solve_file(path, tmp_path / "solved.json").unproven == {}
    assert open_dataset(tmp_path / "solved.json")[1].labels.evaluations["er_at_10"].covered == ("a1", "a2")
    assert validate_file(tmp_path / "solved.json", optima=True).is_valid


def test_an_aspect_without_a_sentence_is_a_warning(path: Path, tmp_path: Path) -> None:
    report = validate_file(path, optima=True)
    assert report.is_valid
    assert [(one.instance_id, one.path) for one in report.warnings] == [
        ("robbr_1", "$.aspect2sentence_indices['a3']"),
        ("robbr_2", "$.aspect2sentence_indices['a3']"),
    ]
    write_dataset(tmp_path / "published.json", map(published_form, open_dataset(path)))
    assert validate_file(tmp_path / "published.json", optima=True).is_valid
    assert [one.path for one in validate_files([path, tmp_path / "published.json"])[1].violations] == 2 * ["$.paper_id"]


# A change to a valid record -> the violation, and what opening the file says (None: it can be read all the same).
FAULTS: list[tuple[str, object, str, str | None]] = [
    ("bias_definition", GONE, "$.bias_definition: expected a string, got nothing", "missing required field `bias_def"),
    ("objective", None, "$.objective: expected a string, got null", "Expected `str`, got `null` - at `$.objective`"),
    ("paper_doi", 7, "$.paper_doi: expected a string, got 7", "Expected `str`, got `int` - at `$.paper_doi`"),
    ("PICO", [], "$.PICO: expected an object with Methods, Participants,", "got `array` - at `$.PICO`"),
    ("aspects", ["a1"], "$.aspects: expected an object: aspect id -> text", "got `array` - at `$.aspects`"),
    ("aspects", {"a1": 1}, "$.aspects['a1']: expected a string, got 1", "Expected `str`, got `int` - at `$.aspects"),
    ("aspects", {}, "$.aspects: expected at least one aspect, got none", None),
    ("paper_as_candidate_pool", [1], "$.paper_as_candidate_pool[0]: expected a string, got 1", "Expected `str`"),
    ("aspect2sentence_indices", {"a1": [9]}, "['a1'][0]: expected an index in 0..6, got 9", "points at sentence 9"),
    ("sentence_index2aspects", GONE, "$.sentence_index2aspects: expected an object", None),
    ("sentence_types_in_candidate_pool", ["x"], "expected one type for each of 7 sentences", "Invalid enum value 'x'"),
    (
        "bias_retrieval_at_optimal_evaluation",
        {"optimal": 1, "one_selection_of_sentences": [4], "covered_aspects": ["a1"]},
        "$.bias_retrieval_at_optimal_evaluation.optimal: expected 2, got 1",
        None,
    ),
    (
        "bias_retrieval_at_optimal_evaluation",
        {"optimal": 2, "one_selection_of_sentences": [4, 5], "covered_aspects": ["a1"]},
        "$.bias_retrieval_at_optimal_evaluation.covered_aspects: expected 'a2', which the selection covers",
        None,
    ),
]


@pytest.mark.parametrize(("key", "value", "violation", "message"), FAULTS)
def test_a_fault_is_named_by_its_own_key(
    key: str, value: object, violation: str, message: str | None, tmp_path: Path
) -> None:
    record = changed(key, value)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"one": record}))
    found = validate_file(path, optima=True)
    assert violation in "\n".join(map(str, found.violations))
    if message is None:
        assert decoded(record).query.hypothesis == HYPOTHESIS
    else:
        with pytest.raises(FormatError) as caught:
            decoded(record)
        assert message in str(caught.value)


def test_a_record_of_neither_dialect_is_refused_as_one_of_the_published_format() -> None:
    with pytest.raises(FormatError, match="missing required field `hypothesis`"):
        decoded(changed("bias", GONE))


def test_parts_of_any_shape_are_kept_in_the_hypothesis() -> None:
    assert decoded(changed("PICO", "Forty adults")).query.hypothesis.endswith("pressure. PICO: Forty adults.")
    assert decoded(changed("PICO", {"Notes": ["one", 2]})).query.hypothesis.endswith("pressure. Notes: one; 2.")


def test_kinds_are_inferred_by_looks_and_taken_where_they_are_given() -> None:
    texts = ["2.1. Blinding", "Why was it done?", "Fig. 2 Pressure", "table IV Ages", "of all adults", "P = 0.04", ""]
    assert infer_kinds(texts) == [Kind.HEADING, *4 * [Kind.BODY], Kind.HEADING, Kind.BODY]
    given_kinds = ["abstract"] * 7
    assert set(decoded(changed("sentence_types_in_candidate_pool", given_kinds)).query.kinds) == {Kind.ABSTRACT}


@pytest.mark.data
def test_inferred_headings_are_those_of_the_train_split(train: Dataset) -> None:
    papers = {one.query.paper_id: one.query for one in train}.values()
    pairs = [pair for one in papers for pair in zip(infer_kinds(one.sentences), one.kinds, strict=True)]
    n_both = pairs.count((Kind.HEADING, Kind.HEADING))
    n_inferred, n_real = (sum(pair[place] is Kind.HEADING for pair in pairs) for place in (0, 1))
    assert round(100 * n_both / n_real) == 90
    assert round(100 * n_both / n_inferred) == 85
