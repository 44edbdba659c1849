"""Files of hypotheses to ask instead of a data set's own."""

import csv
import json
from pathlib import Path

import pytest

from doors import FormatError, UnreadableError, read_hypotheses, write_hypotheses
from evidencebench import load_sample

SAMPLE = load_sample()
A, B, *_ = SAMPLE.ids
NEGATED = {instance_id: f'It is not so, "{number}", that\ttea helps.' for number, instance_id in enumerate(SAMPLE.ids)}


def test_the_three_forms_hold_the_same_hypotheses_and_more_keys_are_passed_over(tmp_path: Path) -> None:
    write_hypotheses(tmp_path / "a.jsonl", NEGATED, {one.id: one.query.hypothesis for one in SAMPLE})
    (tmp_path / "a.json").write_text("\ufeff" + json.dumps(NEGATED), encoding="utf-8")
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["note", "id", "hypothesis"])
        writer.writerows(["x", *pair] for pair in NEGATED.items())
    for suffix in ("jsonl", "json", "csv"):
        assert read_hypotheses(tmp_path / f"a.{suffix}", SAMPLE) == NEGATED
    assert json.loads((tmp_path / "a.jsonl").read_bytes().splitlines()[0])["own"] == SAMPLE[0].query.hypothesis


def test_with_a_limit_only_the_first_instances_need_a_hypothesis(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({A: "Tea.", B: "Milk."}))
    assert read_hypotheses(path, SAMPLE, limit=2) == {A: "Tea.", B: "Milk."}
    with pytest.raises(FormatError, match=f"every instance.*'{SAMPLE.ids[2]}'$"):
        read_hypotheses(path, SAMPLE, limit=3)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "", r"\.json .*'\.txt'"),
        ("a.json", "[]", "JSON object, id -> hypothesis, got list"),
        ("a.json", f'[["{A}", "Tea."]]', "JSON object"),
        ("a.json", "[" * 100_000, "expected JSON"),
        ("a.json", f'{{"{A}": "Tea.", "{A}": "Milk."}}', f"'{A}' .*once"),
        ("a.json", f'{{"{A}": " "}}', f"'{A}': .*' '"),
        ("a.json", f'{{"{A}": {{"a": "b"}}}}', f"'{A}': "),
        ("a.json", '{"x": "Tea."}', "sample.json.*'evidencebench_sample_id_0', got 'x'"),
        ("a.json", f'{{"{A}": "Tea."}}', f"'{B}' and {len(SAMPLE) - 2} more"),
        ("a.jsonl", '\n{"id": "a"}', 'line 2: .*"hypothesis"'),
        ("a.jsonl", '"id hypothesis"', "line 1: "),
        ("a.jsonl", '{"id": 3, "hypothesis": "Tea."}', "line 1: .*an instance id, got 3"),
        ("a.jsonl", "{", "line 1: expected JSON"),
        ("a.csv", "id,text\na,b", "line 1: .*id and hypothesis.*'text'"),
        ("a.csv", "", "line 1: .*None"),
        ("a.csv", f"id,hypothesis\n{A}", f"line 2: '{A}': .*None"),
        ("a.csv", f'id,hypothesis\n{A},"Tea', "unexpected end of data"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=f"{name}: .*{said}"):
        read_hypotheses(tmp_path / name, SAMPLE)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        read_hypotheses(tmp_path / "none.csv", SAMPLE)
    (tmp_path / "a.json").write_bytes(b'{"\xff"')
    with pytest.raises(UnreadableError):
        read_hypotheses(tmp_path / "a.json", SAMPLE)
