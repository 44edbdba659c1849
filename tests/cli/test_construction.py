"""All steps of a construction, over real HTTP, against the trial server that knows what is right."""

import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from command_line import Command
from evidencebench import open_dataset
from evidencebench.construction.demo import expected_instances, write_synthetic_review
from fake_models import RunningServer
from served_constructions import served_construction
from stored_replies import stored_replies


def _dataset_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "work" / "dataset").iterdir())}


def _n_paid(server: RunningServer) -> Counter[str]:
    return Counter(entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid")


def test_the_demo_makes_exactly_the_data_set_that_it_must(command: Command) -> None:
    found = command("construct demo --faults 0.05")
    assert (found.code, "5 instances: as they must be" in found.out) == (0, True), found.err


@pytest.mark.parametrize("at_once", [True, False])
def test_the_data_set_is_the_gold_one_and_validates(tmp_path: Path, command: Command, *, at_once: bool) -> None:
    with served_construction(tmp_path, at_once=at_once):
        made = command(f"construct run {tmp_path / 'construction.toml'}")
        assert made.code == 0, made.err
    path = tmp_path / "work" / "dataset" / "test.json"
    assert list(open_dataset(str(path))) == expected_instances()
    assert command(f"data validate {path} --optima").code == 0


def _n_stored(folder: Path) -> int:
    return len(stored_replies(folder))


def test_after_faults_and_two_kills_the_files_are_the_same_and_nothing_stored_is_paid_again(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed, cache = tmp_path / "whole", tmp_path / "killed", tmp_path / "another cache"
    for folder in (whole, killed):
        folder.mkdir()
    with served_construction(whole):
        assert command(f"construct run {whole / 'construction.toml'}").code == 0
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(cache))
    with served_construction(killed, fault_rate=0.2, hang_seconds=0.2, latency_seconds=0.1) as server:
        words = ["construct", "run", str(killed / "construction.toml"), "--max-connections", "4", "--jobs", "2"]
        words += ["--engine", "processes"]
        n_stored, paid = [0], [0]
        for n_paid in (15, 60):
            process = subprocess.Popen(
                [sys.executable, "-m", "evidencebench", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            ends_at = time.monotonic() + 60
            while _n_paid(server).total() < n_paid and time.monotonic() < ends_at and process.poll() is None:
                time.sleep(0.005)
            process.kill()
            process.communicate(timeout=60)
            assert process.returncode == -9
            n_stored.append(_n_stored(cache))
            paid.append(_n_paid(server).total())
        assert not (killed / "work" / "dataset").exists()
        final = command(" ".join(words))
        assert final.code == 0, final.err
        n_requests, n_paid = len(_n_paid(server)), _n_paid(server).total()
    # What was stored is never asked again; a reply that comes while its process dies cannot be stored.
    assert n_paid - paid[2] == n_requests - n_stored[2]
    assert n_paid - n_requests <= 2 * 4
    before, after = _dataset_files(whole), _dataset_files(killed)
    for files in (before, after):  # the models are named with their addresses
        files.pop("datasheet.md", None)
        del files["manifest.json"]
    assert after == before


@pytest.mark.usefixtures("own_cache")
def test_batches_make_the_same_data_set(tmp_path: Path, command: Command) -> None:
    with served_construction(tmp_path, model="openai/any,key_env=") as server:
        made = command(f"construct run {tmp_path / 'construction.toml'} --batch")
        assert made.code == 0, made.err
        asked = {entry["request"] for entry in server.log_entries()}
    assert "POST /v1/batches" in asked
    assert list(open_dataset(str(tmp_path / "work" / "dataset" / "test.json"))) == expected_instances()


@pytest.mark.usefixtures("own_cache")
def test_a_pilot_is_a_part_of_the_run_that_follows(tmp_path: Path, command: Command) -> None:
    config, work = tmp_path / "construction.toml", tmp_path / "work"
    with served_construction(tmp_path) as server:
        pilot = command(f"construct run {config} --limit 2")
        assert (pilot.code, "\nlabel-results: 2 kept of 2 drafts\n" in pilot.out) == (0, True)
        before = command(f"construct status {work}")
        assert "summaries      2 of 6" in before.out
        assert "next: summaries" in before.out
        assert command(f"construct run {config}").code == 0
        n_paid = _n_paid(server)
    assert n_paid.total() == len(n_paid)
    assert "dataset: made" in command(f"construct status {work}").out
    steps = {step["step"]: step for step in command(f"construct status {work} --json").json["steps"]}
    assert steps["summaries"]["dropped"] == {"reports no results": 1}
    assert list(open_dataset(str(work / "dataset" / "test.json"))) == expected_instances()


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('name = "synthetic"', "name = 7", "Expected `str`, got `int` - at `$.name`"),
        ('name = "synthetic"', 'nam = "synthetic"', "Object contains unknown field `nam`"),
        ('name = "synthetic"', "name = ", "Invalid value (at line 2"),
        ('reviews = ["reviews"]', "", "expected 'reviews' or 'table', and not both"),
        ("test = 1.0", "test = 0.9", "shares: expected shares that add up to 1, got 0.9"),
        (
            "[assemble]",
            "[judge]\noverlap = 10\n[assemble]",
            "judge: overlap: expected 0 or more and less than the window of 10, got 10",
        ),
        ('papers = "papers"', 'papers = "none"', "none: expected a folder"),
        ('reviews = ["reviews"]', 'reviews = ["none"]', "none: expected a review or a folder of reviews, got none"),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_place(
    tmp_path: Path, command: Command, before: str, after: str, why: str
) -> None:
    write_synthetic_review(tmp_path, model="local/any,base_url=http://127.0.0.1:9/v1")
    path = tmp_path / "construction.toml"
    path.write_text(path.read_text().replace(before, after))
    found = command(f"construct run {path}")
    assert found.code == 2
    assert why in found.err


def test_without_any_passage_the_end_says_so(tmp_path: Path, command: Command) -> None:
    with served_construction(tmp_path):
        review = tmp_path / "reviews" / "review.xml"
        review.write_text(re.sub(r"\[<xref.*?</xref>\]", "", review.read_text()))
        found = command(f"construct run {tmp_path / 'construction.toml'}")
    assert found.code == 2
    assert "expected a draft for the data set, got none that is left: the first step found no passage" in found.err


def test_where_no_draft_is_left_the_end_says_what_the_steps_dropped(tmp_path: Path, command: Command) -> None:
    with served_construction(tmp_path):
        for paper in (tmp_path / "papers").iterdir():
            paper.rename(paper.with_stem(f"another-{paper.stem}"))
            paper.with_stem(f"another-{paper.stem}").write_text("A paper of nothing.\n")
        found = command(f"construct run {tmp_path / 'construction.toml'}")
    assert found.code == 2
    assert re.search(r"got none that is left: paper not at hand \(\d+\)", found.err), found.err


def test_a_review_that_cannot_be_read_is_told_and_the_others_are_used(tmp_path: Path, command: Command) -> None:
    with served_construction(tmp_path):
        (tmp_path / "reviews" / "broken.xml").write_text("<article><front>")
        found = command(f"construct run {tmp_path / 'construction.toml'}")
    assert found.code == 1
    assert "broken.xml" in found.err
    assert list(open_dataset(str(tmp_path / "work" / "dataset" / "test.json"))) == expected_instances()
