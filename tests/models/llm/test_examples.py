"""Examples for a prompt: drawn fairly, read strictly, and never of papers that are scored."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from doors import DataError, ExampleFile, SystemSpecError, cli, draw_examples, read_examples, write_examples
from doors import prompt_reason_against as reason_against
from evidencebench import coverage_of, load_sample, minimum_cover, open_dataset, write_dataset

SAMPLE = load_sample()
N_PAPERS = len({query.paper_id for query in SAMPLE.queries()})


def drawn(n: int = 3, seed: int = 0) -> ExampleFile:
    return draw_examples(SAMPLE, n, seed=seed)


def test_an_example_holds_the_texts_of_a_minimum_cover_of_all_aspects_and_of_those_labelled_results() -> None:
    for example in drawn(N_PAPERS).examples:
        instance = SAMPLE[example.instance_id]
        for scope in ("all", "results"):
            cover = minimum_cover(coverage_of(instance.labels, scope))
            texts = tuple(instance.query.sentences[index] for index in cover.sentences)
            assert example.in_scope(scope) == texts
        assert (example.results is None) == (not instance.labels.results)
        assert example.hypothesis == instance.query.hypothesis


def test_examples_are_of_different_papers_with_evidence_and_too_many_are_refused(tmp_path: Path) -> None:
    examples = drawn(N_PAPERS).examples
    assert len({example.paper_id for example in examples}) == N_PAPERS
    assert len({example.fingerprint for example in examples}) == N_PAPERS
    with pytest.raises(DataError, match=f"99 papers.*got {N_PAPERS}"):
        drawn(99)
    with pytest.raises(DataError, match="at least 1"):
        drawn(0)
    bare = replace(SAMPLE[0], labels=replace(SAMPLE[0].labels, sources={}, evaluations={}), origin=None)
    write_dataset(tmp_path / "bare.json", [bare])
    with pytest.raises(DataError, match="got 0"):
        draw_examples(open_dataset(tmp_path / "bare.json"), 1, seed=0)


def test_the_same_seed_draws_the_same_and_fewer_are_the_first_of_more() -> None:
    assert drawn(5, seed=1) == drawn(5, seed=1)
    assert drawn(2, seed=1).examples == drawn(5, seed=1).examples[:2]
    assert len({drawn(3, seed=seed).examples for seed in range(5)}) > 1


def test_a_file_of_examples_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "examples.json"
    write_examples(path, drawn())
    assert read_examples(path) == drawn()
    path.write_bytes(b"\xef\xbb\xbf\n" + path.read_bytes() + b"\n\n")
    assert read_examples(path) == drawn()
    assert json.loads(path.read_bytes())["data"] == {"name": SAMPLE.name, "sha256": SAMPLE.sha256}
    with pytest.raises(DataError, match="nowhere"):
        write_examples(tmp_path / "nowhere" / "examples.json", drawn())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a file of examples"),
        (b'{"examples": [1]}', "expected a file of examples"),
        (b"[" * 10_000, "expected a file of examples"),
        (b'{"evidencebench_examples":2,"data":{"name":"a","sha256":""},"seed":0,"examples":[]}', "format 2"),
    ],
)
def test_anything_else_is_no_file_of_examples(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "examples.json"
    path.write_bytes(content)
    with pytest.raises(SystemSpecError, match=message):
        read_examples(path)
    path.unlink()
    with pytest.raises(SystemSpecError, match="no such file"):
        read_examples(path)


def test_a_query_is_refused_by_its_instance_its_paper_or_the_text_of_its_paper() -> None:
    examples = drawn(1).examples
    own = SAMPLE[examples[0].instance_id].query
    other = next(query for query in SAMPLE.queries() if query.paper_id != own.paper_id)
    assert reason_against(examples, own) == "the instance is one of the examples"
    assert "its paper" in str(reason_against(examples, replace(own, instance_id="x")))
    renamed = replace(own, instance_id="x", paper_id="x")
    assert "has the text of example" in str(reason_against(examples, renamed))
    resplit = replace(renamed, sentences=(" ".join(own.sentences).upper(),), kinds=own.kinds[:1])
    assert "has the text of example" in str(reason_against(examples, resplit))
    assert reason_against(examples, other) is None
    assert reason_against(examples, replace(other, instance_id=own.instance_id)) is not None
    nameless = [msgspec.structs.replace(example, paper_id="") for example in examples]
    assert reason_against(nameless, replace(renamed, paper_id="")) is not None
    changed = replace(renamed, paper_id="", sentences=(f"{own.sentences[0]} D", *own.sentences[1:]))
    assert reason_against(nameless, changed) is None


def test_the_command_writes_what_is_drawn_and_replaces_nothing_unasked(tmp_path: Path) -> None:
    path = tmp_path / "examples.json"
    arguments = ["llm", "examples", "--data", "sample", "-n", "3", "-o", str(path)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert f"{path}: 3 examples of sample.json, " in done.output
    assert read_examples(path) == drawn(3)
    with pytest.raises(DataError, match=r"exists.*--overwrite"):
        CliRunner().invoke(cli, arguments, catch_exceptions=False)
    done = CliRunner().invoke(cli, [*arguments, "--seed", "1", "--overwrite", "--json"])
    assert json.loads(done.output)["instances"] == [example.instance_id for example in drawn(3, seed=1).examples]
    assert read_examples(path) == drawn(3, seed=1)
