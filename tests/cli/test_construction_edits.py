"""What was edited by hand in a work folder counts, and is not lost, whatever is made again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import Command
from evidencebench import open_dataset
from evidencebench.construction.demo import expected_instances
from served_constructions import served_construction

OWN = "Whether a cup of tea is drunk decides what the trial of it measures."


@pytest.fixture(autouse=True)
def config(tmp_path: Path) -> Iterator[Path]:
    """Return the configuration of the synthetic review, while a server answers."""
    with served_construction(tmp_path):
        yield tmp_path / "construction.toml"


def edit(path: Path, key: str, value: str, *, which: int = 0) -> bytes:
    """Change a key of a draft that goes on, as with an editor, and return what the file holds then."""
    header, *lines = path.read_text().splitlines()
    drafts = {n: json.loads(line) for n, line in enumerate(lines)}
    going_on = [n for n, one in drafts.items() if "id" in one and "dropped" not in one]
    place = sorted(going_on, key=lambda n: str(drafts[n]["id"]))[which]
    lines[place] = lines[place].replace(json.dumps(drafts[place][key], ensure_ascii=False), json.dumps(value))
    path.write_text("\n".join([header, *lines, ""]))
    return path.read_bytes()


def hypotheses(work: Path) -> list[str]:
    return [one.query.hypothesis for one in open_dataset(str(work / "dataset" / "test.json"))]


def gold() -> list[str]:
    return [one.query.hypothesis for one in expected_instances()]


@pytest.mark.usefixtures("own_cache")
def test_after_an_edit_the_steps_behind_it_alone_are_made_again_and_it_becomes_part_of_the_data_set(
    config: Path, command: Command
) -> None:
    work = config.parent / "work"
    assert command(f"construct run {config}").code == 0
    edited = edit(work / "hypotheses.jsonl", "hypothesis", OWN)
    before = {path.name: path.read_bytes() for path in work.glob("*.jsonl")}
    status = command(f"construct status {work}").out
    assert "done; 1 edited by hand" in status
    assert "stale: 1 of hypotheses.jsonl changed since" in status
    assert "stale: behind aspects" in status
    assert "next: aspects, again: 'construct run CONFIG.toml --overwrite' makes what is stale" in status

    refused = command(f"construct run {config}")
    assert refused.code == 2
    assert "aspects.jsonl: was made with other settings: " in refused.err
    assert "hypotheses.jsonl was changed since; give --overwrite to make it and what is stale" in refused.err
    assert {path.name: path.read_bytes() for path in work.glob("*.jsonl")} == before

    made = command(f"construct run {config} --overwrite")
    assert made.code == 0, made.err
    assert OWN in hypotheses(work)
    after = {path.name: path.read_bytes() for path in work.glob("*.jsonl")}
    assert {name for name in before if after[name] == before[name]} == {
        "passages.jsonl",
        "summaries.jsonl",
        "hypotheses.jsonl",
    }
    assert "stale" not in command(f"construct status {work}").out
    assert command(f"construct run {config} --overwrite").code == 0
    assert (work / "hypotheses.jsonl").read_bytes() == edited


@pytest.mark.usefixtures("own_cache")
def test_an_edited_step_is_made_again_where_it_is_named_and_a_copy_of_it_is_kept_and_said(
    config: Path, command: Command
) -> None:
    work = config.parent / "work"
    assert command(f"construct run {config}").code == 0
    edited = edit(work / "hypotheses.jsonl", "hypothesis", OWN)
    made = command(f"construct run {config} --from hypotheses")
    assert made.code == 0, made.err
    assert "hypotheses.jsonl: was edited by hand; what was there is kept as" in made.err
    assert (work / "hypotheses.jsonl.edited").read_bytes() == edited
    assert hypotheses(work) == gold()


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("limit", ["", "--limit 2 "])
def test_an_edit_of_the_last_file_or_of_a_pilot_counts_too(config: Path, command: Command, limit: str) -> None:
    work = config.parent / "work"
    assert command(f"construct run {config} {limit}{'' if limit else '--until hypotheses'}").code == 0
    edit(work / "hypotheses.jsonl", "hypothesis", OWN)
    assert command(f"construct run {config}").code == (2 if limit else 0)
    assert command(f"construct run {config} --overwrite").code == 0
    assert OWN in hypotheses(work)


@pytest.mark.usefixtures("own_cache")
def test_an_edit_that_would_be_lost_stops_the_run_and_names_what_to_type(config: Path, command: Command) -> None:
    work = config.parent / "work"
    assert command(f"construct run {config}").code == 0
    edited = edit(work / "aspects.jsonl", "hypothesis", OWN)
    edit(work / "summaries.jsonl", "context", "", which=-1)
    made = command(f"construct run {config} --overwrite")
    assert made.code == 2
    assert "aspects.jsonl: " in made.err
    assert "1 draft of it edited by hand would be lost" in made.err
    assert "--from aspects" in made.err
    assert (work / "aspects.jsonl").read_bytes() == edited
    assert command(f"construct run {config} --from aspects").code == 0
    assert (work / "aspects.jsonl.edited").read_bytes() == edited


@pytest.mark.parametrize(
    ("call", "name", "key"),
    [
        ("label-results {work} --model {model}", "results.jsonl", "hypothesis"),
        ("filter {work}", "filtered.jsonl", "hypothesis"),
        ("harvest {reviews} -o {work} --papers {papers}", "passages.jsonl", "summary"),
    ],
)
def test_a_single_step_with_overwrite_keeps_what_was_edited_beside(
    config: Path, command: Command, call: str, name: str, key: str
) -> None:
    work = config.parent / "work"
    model = next(line.partition('"')[2].rstrip('"') for line in config.read_text().splitlines() if "model =" in line)
    assert command(f"construct run {config}").code == 0
    whole = (work / name).read_bytes()
    edited = edit(work / name, key, OWN)
    words = call.format(work=work, model=model, reviews=config.parent / "reviews", papers=config.parent / "papers")
    made = command(f"construct {words} --overwrite")
    assert made.code == 0, made.err
    assert f"{name}: was edited by hand; what was there is kept as" in made.err
    assert (work / f"{name}.edited").read_bytes() == edited
    assert sorted((work / name).read_bytes().splitlines()) == sorted(whole.splitlines())
