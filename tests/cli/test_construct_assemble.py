"""The commands ``construct filter`` and ``construct assemble``, as a user calls them."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from command_line import Command
from evidencebench.construction.draft import Draft
from evidencebench.data.dataset import open_dataset
from trial_constructions import judged_draft, make_papers, random_drafts, sentence, write_drafts

ASSEMBLE = "construct assemble work --papers papers --name tea"


@pytest.fixture
def _work() -> None:
    """Make a work folder that is ready for `filter`; one draft has too few aspects with a source."""
    Path("work").mkdir()
    drafts = random_drafts(Path("papers"), Random(0), n_papers=20, n_reviews=10_000)
    poor = judged_draft(Path("papers"), "paper0.txt", Random(0), id="poor", aspects=(), n_aspects=0)
    write_drafts(Path("work/results.jsonl"), [*drafts, poor], step="label-results")


@pytest.mark.usefixtures("_work")
def test_a_data_set_is_made_that_every_command_takes(command: Command) -> None:
    filtered = command("construct filter work")
    assert (filtered.code, filtered.err) == (0, "")
    assert "dropped: has no aspects" in filtered.out
    assert filtered.out.endswith("work/filtered.jsonl\n")
    made = command(ASSEMBLE)
    assert made.code == 0, made.err
    assert all(len(line) <= 80 for line in made.out.splitlines())
    n_instances = sum(len(open_dataset(f"work/dataset/{split}.json")) for split in ("train", "dev", "test"))
    assert made.out.endswith(f"work/dataset: {n_instances} instances\n")
    files = "work/dataset/train.json work/dataset/dev.json work/dataset/test.json"
    assert command(f"data validate {files} --optima").code == 0
    assert command("run lead --data work/dataset/test.json -o run.jsonl").code == 0
    assert command("score run.jsonl --data work/dataset/test.json").code == 0


@pytest.mark.usefixtures("_work")
def test_programs_get_json(command: Command) -> None:
    filtered = command("construct filter work --json").json
    assert filtered["output"] == "work/filtered.jsonl"
    assert filtered["dropped"] == {"has no aspects": 1}
    assert filtered["n_kept"] == filtered["n_drafts"] - 1
    made = command(f"{ASSEMBLE} -o tea --shares half=1/2,rest=1/2 --seed 7 --date 2026-11-01 --json").json
    assert made["folder"] == "tea"
    assert [one["step"] for one in made["steps"]] == ["label-results", "filter", "assemble"]
    assert made["splits"]["half"]["n_instances"] + made["splits"]["rest"]["n_instances"] == made["n_instances"]
    manifest = json.loads(Path("tea/manifest.json").read_bytes())
    assert (manifest["date"], manifest["settings"]["seed"]) == ("2026-11-01", 7)
    assert open_dataset("tea/half.json").ids[0] == "tea_half_id_0"


def filtered_drafts(n: int, random: Random, **fields: Any) -> list[Draft]:
    """Make a work folder that is ready for `assemble`, a draft a paper."""
    Path("work").mkdir()
    names = make_papers(Path("papers"), n, random)
    drafts = [judged_draft(Path("papers"), name, random, id=name, **fields) for name in names]
    write_drafts(Path("work/filtered.jsonl"), drafts)
    return drafts


def test_one_review_that_links_all_is_told_and_papers_alone_can_be_kept_apart(command: Command) -> None:
    filtered_drafts(10, Random(0), review_id="PMC1.xml")
    both, paper = command(ASSEMBLE), command(f"{ASSEMBLE} --split-by paper -o other --json")
    assert both.code == 0
    assert (
        "warning: the shares cannot be reached: train 100.0 % for 80 %, dev 0.0 % for 10 %, test 0.0 % for 10 %. 10 of "
        "10 instances are linked and must stay in one split: review 'PMC1.xml' has 10 of them; --split-by paper keeps "
        "only papers apart" in both.err
    )
    assert "warning: split 'dev' got no instance and has no file" in both.err
    assert not Path("work/dataset/dev.json").exists()
    assert paper.json["warnings"] == []
    sizes = {split: one["n_instances"] for split, one in paper.json["splits"].items()}
    assert sizes == {"train": 8, "dev": 1, "test": 1}


def test_what_other_data_have_is_left_out(command: Command) -> None:
    random = Random(0)
    drafts = filtered_drafts(3, random)
    assert command(f"{ASSEMBLE} --shares test=1").code == 0
    (Path("papers") / "fourth.txt").write_text("\n".join(["Of tea", "", *(sentence(random) for _ in range(9))]))
    more = judged_draft(Path("papers"), "fourth.txt", random, id="fourth")
    write_drafts(Path("work/filtered.jsonl"), [*drafts, more])
    found = command(f"{ASSEMBLE} --shares test=1 -o second --against work/dataset/test.json --against sample --json")
    assert found.json["n_instances"] == 1
    assert found.json["steps"][-1]["dropped"] == {"paper is in another data set, by its id": 3}
    assert "* test.json, SHA-256 " in Path("second/datasheet.md").read_text()


@pytest.mark.usefixtures("_work")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--shares train=0.8,dev=0.1", "expected shares that add up to 1, got 0.9: train=0.8,dev=0.1"),
        ("--shares train", "expected shares such as train=0.8,dev=0.1,test=0.1 or a=1/3,b=2/3, got 'train'"),
        ("--shares a=1/0", "expected shares such as"),
        ("--shares manifest=1", "expected splits named with small letters, digits or '_', got 'manifest'"),
        ("--name ../tea", "name: expected letters, digits, '_', '.' or '-', got '../tea'"),
        ("--against none.json", "none.json: cannot be read"),
        ("--output papers", "papers: holds something else, which would be lost"),
        ("--papers nowhere", "nowhere: expected a folder of papers, got none; give it with --papers"),
    ],
)
def test_wrong_arguments_are_told_and_leave_nothing(command: Command, arguments: str, message: str) -> None:
    assert command("construct filter work").code == 0
    found = command(f"{ASSEMBLE} {arguments}")
    assert found.code == 2
    assert message in " ".join(found.err.split())
    assert not Path("work/dataset").exists()
    assert not Path("work/dataset.part").exists()


@pytest.mark.usefixtures("_work")
def test_steps_that_were_not_run_are_named_and_a_folder_of_others_is_left_alone(command: Command) -> None:
    assert "work/filtered.jsonl: cannot be read" in command(ASSEMBLE).refusal
    assert command("construct filter work").code == 0
    Path("work/dataset.part").mkdir()
    Path("work/dataset.part/notes.txt").write_text("mine")
    assert "dataset.part: is in the way, and not of evidencebench; move it" in command(ASSEMBLE).refusal
    assert Path("work/dataset.part/notes.txt").read_text() == "mine"
    Path("work/results.jsonl").unlink()
    assert "work/results.jsonl: cannot be read" in command("construct filter work --overwrite").refusal
