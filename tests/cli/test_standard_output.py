"""``-o -``: what a command writes goes to standard output, and what it says about it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import SAMPLE
from evidencebench import open_dataset


def written(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "evidencebench", *arguments], capture_output=True, check=False)


def test_data_is_converted_into_standard_output_an_instance_a_line() -> None:
    found = written("data", "convert", "sample", "-")
    assert found.returncode == 0
    Path("copy.jsonl").write_bytes(found.stdout)
    assert [instance.id for instance in open_dataset("copy.jsonl")] == list(SAMPLE.ids)
    assert found.stderr == b"/dev/stdout: 10 instances\n"
    assert not Path("-").exists()


def test_what_standard_output_leads_to_is_appended_to_and_stays() -> None:
    with Path("both.jsonl").open("wb") as target:
        target.write(b"first\n")
        target.flush()
        subprocess.run(
            [sys.executable, "-m", "evidencebench", "data", "convert", "sample", "-"], stdout=target, check=True
        )
    lines = Path("both.jsonl").read_bytes().splitlines()
    assert (lines[0], len(lines)) == (b"first", 11)


@pytest.mark.usefixtures("runs")
def test_a_report_and_examples_go_to_standard_output() -> None:
    page = written("report", "bm25.jsonl", "-d", "sample", "--draws", "10", "-o", "-")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith(b"<!DOCTYPE html>")
    assert page.stdout.rstrip().endswith(b"</html>")
    assert b"/dev/stdout: 1 run, " in page.stderr
    examples = written("llm", "examples", "--data", "sample", "-n", "2", "-o", "-", "--json")
    assert examples.returncode == 0
    assert len(json.loads(examples.stdout)["examples"]) == 2
    assert len(json.loads(examples.stderr)["instances"]) == 2


def test_a_reader_that_leaves_early_is_no_error() -> None:
    words = 'set -o pipefail; "$0" -m evidencebench data convert sample - | head -c 10'
    found = subprocess.run(["bash", "-c", words, sys.executable], capture_output=True, text=True, check=False)  # noqa: S607
    assert (found.returncode, len(found.stdout)) == (0, 10), found.stderr
