"""The commands write the same on a Ray cluster as in this process, whoever dies meanwhile."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evidencebench import load_sample
from evidencebench.data.dataset import write_dataset
from evidencebench.runs.run_file import read_run

pytest.importorskip("ray", reason="needs ray, a neighbour's package")

TESTS = Path(__file__).parents[2]
N_INSTANCES = 40
Ended = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a data file, in which commands run; its answers are noted in `asked`."""
    folder = tmp_path_factory.mktemp("commands")
    sample = load_sample()
    copies = (
        replace(one, query=replace(one.query, instance_id=f"i{number}", paper_id=f"p{number}"))
        for number, one in enumerate(sample[number % len(sample)] for number in range(N_INSTANCES))
    )
    write_dataset(folder / "data.json", copies)
    return folder


@pytest.fixture(scope="module")
def arguments(cluster: str) -> Callable[[str], list[str]]:
    """Give a function: the words of a command -> what runs it on the cluster."""
    return lambda line: [sys.executable, "-m", "evidencebench", *line.split(), *on(cluster)]


def on(cluster: str) -> list[str]:
    return ["--engine", "ray", "--ray-address", cluster, "--jobs", "2"]


def local(line: str, folder: Path) -> Ended:
    return ended([sys.executable, "-m", "evidencebench", *line.split(), "--engine", "local"], folder)


def ended(arguments: list[str], folder: Path) -> Ended:
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def count_answers(path: Path) -> int:
    return max(0, len(path.read_bytes().splitlines()) - 1) if path.exists() else 0


def a_worker() -> int:
    """Give the process of an actor: Ray names it after the class and what it does."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command.read_bytes()
        except OSError:  # it has just ended
            continue
        if words.startswith(b"ray::_Actor"):
            return int(command.parent.name)
    raise AssertionError("there is no actor")


def wait_until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends_at, "waited in vain"
        time.sleep(0.01)


def lines_of(path: Path) -> list[str]:
    """Give the lines of a run, in any order, without the time in its header."""
    return sorted(re.sub(r'"created":"[^"]*"', "", path.read_text(), count=1).splitlines())


def test_a_solved_file_is_the_same_byte_for_byte(folder: Path, arguments: Callable[[str], list[str]]) -> None:
    assert local("data solve data.json -o solved-local.json", folder).returncode == 0
    found = ended(arguments("data solve data.json -o solved-ray.json"), folder)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"solved-ray.json: {N_INSTANCES} instances solved; 0 not proven\n"
    assert (folder / "solved-ray.json").read_bytes() == (folder / "solved-local.json").read_bytes()


def test_validation_prints_the_same(folder: Path, arguments: Callable[[str], list[str]]) -> None:
    broken = (folder / "data.json").read_bytes().replace(b'"aspect_list_ids"', b'"aspect_list"', 3)
    (folder / "broken.json").write_bytes(broken)
    expected = local("data validate data.json broken.json --json", folder)
    found = ended(arguments("data validate data.json broken.json --json"), folder)
    assert (found.returncode, found.stdout, found.stderr) == (1, expected.stdout, expected.stderr)


def test_scores_are_the_same(folder: Path, arguments: Callable[[str], list[str]]) -> None:
    assert local("run bm25 --data data.json -o bm25.jsonl", folder).returncode == 0
    line = "score bm25.jsonl --data data.json --json --draws 100"
    expected, found = local(line, folder), ended(arguments(line), folder)
    assert (found.returncode, found.stdout) == (0, expected.stdout)


def test_an_address_where_no_cluster_is_gives_an_error_at_once(folder: Path) -> None:
    line = "-m evidencebench data validate sample --engine ray --ray-address 127.0.0.1:1"
    found = ended([sys.executable, *line.split()], folder)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(
        "error: ray: there is no cluster at '127.0.0.1:1': [Errno 111] Connection refused; st"
    )


def test_each_gpu_has_a_system_of_its_own_which_is_made_once(
    folder: Path, arguments: Callable[[str], list[str]]
) -> None:
    spec = f"{TESTS}/hand_made.py:OnGPU:log={folder}/gpus"
    found = ended(arguments(f"run {spec} --data data.json -o gpus.jsonl --gpus-per-worker 1"), folder)
    assert (found.returncode, found.stderr) == (0, "")
    in_command, *in_workers = (folder / "gpus").read_text().splitlines()
    assert in_command == os.environ.get("CUDA_VISIBLE_DEVICES", "none")  # made there to be checked, before the work
    assert sorted(in_workers) == ["0", "1"]


def test_a_cross_validation_is_the_same(folder: Path, arguments: Callable[[str], list[str]]) -> None:
    line = "crossval bm25 --data sample --folds 2 --seeds 2 --draws 100 --format csv"
    expected, found = local(line, folder), ended(arguments(line), folder)
    assert (found.returncode, found.stdout) == (0, expected.stdout)


def test_a_poisoned_instance_is_a_failed_answer_and_all_others_are_there(
    folder: Path, arguments: Callable[[str], list[str]]
) -> None:
    line = f"run {TESTS}/hand_made.py:Dying:at=i7,unless=healed --data data.json -o poisoned.jsonl"
    found = ended(arguments(line), folder)
    assert found.returncode == 1
    assert found.stdout.startswith(f"poisoned.jsonl: {N_INSTANCES} instances; 1 answer failed\n")
    assert "first failure: i7: WorkerError: two workers died that had nothing else to do: " in found.stderr
    assert read_run(folder / "poisoned.jsonl").failed == {("i7", None)}
    (folder / "healed").touch()
    assert ended(arguments(f"{line} --retry-failed"), folder).returncode == 0
    assert not read_run(folder / "poisoned.jsonl").failed


def test_after_ctrl_c_what_was_begun_is_finished_and_the_same_command_goes_on(
    folder: Path, arguments: Callable[[str], list[str]]
) -> None:
    spec = f"{TESTS}/hand_made.py:Counting:log={folder}/stopped,seconds=0.3"
    line = arguments(f"run {spec} --data data.json --limit 12 -o stopped.jsonl")
    driver = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: count_answers(folder / "stopped.jsonl") >= 2)
    driver.send_signal(signal.SIGINT)
    out, err = driver.communicate(timeout=60)
    assert (driver.returncode, out) == (130, "")
    assert "interrupted; what was finished is kept" in err
    kept = count_answers(folder / "stopped.jsonl")
    assert kept == len((folder / "stopped").read_text().splitlines()) < 12
    assert f"12 instances, {kept} of them already there" in ended(line, folder).stdout


def test_a_run_whose_worker_and_then_driver_are_killed_ends_as_if_nothing_was(
    folder: Path, arguments: Callable[[str], list[str]]
) -> None:
    spec = f"{TESTS}/hand_made.py:Counting:log={folder}/asked,seconds=0.05"
    assert local(f"run {spec} --data data.json -o whole.jsonl", folder).returncode == 0
    (folder / "asked").unlink()
    line = arguments(f"run {spec} --data data.json -o part.jsonl")
    driver = subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: count_answers(folder / "part.jsonl") >= 4)
        os.kill(a_worker(), signal.SIGKILL)
        n_before = count_answers(folder / "part.jsonl")
        wait_until(lambda: count_answers(folder / "part.jsonl") >= n_before + 4)
        assert driver.poll() is None
    finally:
        driver.kill()
        driver.wait()
    kept = count_answers(folder / "part.jsonl")
    assert 8 <= kept < N_INSTANCES
    found = ended(line, folder)
    assert (found.returncode, found.stderr) == (0, "")
    assert f"{N_INSTANCES} instances, {kept} of them already there; 0 answers failed" in found.stdout
    assert lines_of(folder / "part.jsonl") == lines_of(folder / "whole.jsonl")
