"""The commands write the same on a Ray cluster as in this process, whoever dies meanwhile."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from doors import main, read_run
from evidencebench import load_sample, write_dataset
from kit.command_line import Command, Outcome

pytest.importorskip("ray", reason="needs ray, a neighbour's package")

TESTS = Path(__file__).parents[2]
N_INSTANCES = 40
MOST_SECONDS = 120


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


@pytest.fixture
def command(
    folder: Path, cluster: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Command]:
    """Give a function that runs a command in this process, which is connected to the cluster already."""

    def run(line: str) -> Outcome:
        engine = [] if "engine=" in line else on(cluster)
        monkeypatch.setattr(sys, "argv", ["evidencebench", *line.split(), *engine])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(code=int(ended.value.code or 0), out=out, err=err)

    with contextlib.chdir(folder):
        yield run


def on(cluster: str) -> list[str]:
    return ["--set", "engine=ray", "--set", f"ray-address={cluster}", "--jobs", "2"]


def started(arguments: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    """Start a command as a process of its own, which has to connect to the cluster."""
    words = [sys.executable, "-m", "evidencebench", *arguments]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


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


def wait_for_answers(path: Path, n: int, driver: subprocess.Popen[str]) -> None:
    ends_at = time.monotonic() + MOST_SECONDS
    while count_answers(path) < n:
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < ends_at, f"{count_answers(path)} answers in {MOST_SECONDS} s"
        time.sleep(0.01)


def lines_of(path: Path) -> list[str]:
    """Give the lines of a run, in any order, without the time in its header."""
    return sorted(re.sub(r'"created":"[^"]*"', "", path.read_text(), count=1).splitlines())


def test_a_solved_file_is_the_same_byte_for_byte(folder: Path, cluster: str, command: Command) -> None:
    assert command("data solve data.json -o solved-local.json --set engine=local").code == 0
    with started(["data", "solve", "data.json", "-o", "solved-ray.json", *on(cluster)], folder) as driver:
        out, err = driver.communicate(timeout=MOST_SECONDS)
    assert (driver.returncode, err) == (0, "")
    assert out == f"solved-ray.json: {N_INSTANCES} instances solved; 0 not proven\n"
    assert (folder / "solved-ray.json").read_bytes() == (folder / "solved-local.json").read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        "data validate data.json broken.json --json",
        "score bm25.jsonl --data data.json --json --set draws=100",
        "crossval bm25 --data sample --folds 2 --seeds 2 --set draws=100 --format csv",
    ],
)
def test_commands_print_the_same(line: str, folder: Path, command: Command) -> None:
    broken = (folder / "data.json").read_bytes().replace(b'"aspect_list_ids"', b'"aspect_list"', 3)
    (folder / "broken.json").write_bytes(broken)
    assert command("run bm25 --data data.json -o bm25.jsonl --set engine=local").code == 0
    expected, found = command(f"{line} --set engine=local"), command(line)
    assert expected.code == ("broken" in line)
    assert (found.code, found.out) == (expected.code, expected.out)


def test_an_address_where_no_cluster_is_gives_an_error_at_once(folder: Path) -> None:
    line = "data validate sample --set engine=ray --set ray-address=127.0.0.1:1"
    with started(line.split(), folder) as driver:
        out, err = driver.communicate(timeout=MOST_SECONDS)
    assert (driver.returncode, out) == (2, "")
    assert err.startswith("error: ray: there is no cluster at '127.0.0.1:1': [Errno 111] Connection refused; st")


def test_each_gpu_has_a_system_of_its_own_which_is_made_once(folder: Path, command: Command) -> None:
    spec = f"{TESTS}/kit/hand_made.py:OnGPU:log={folder}/gpus"
    found = command(f"run {spec} --data data.json -o gpus.jsonl --set gpus-per-worker=1")
    assert found.code == 0
    assert f"short rankings  {N_INSTANCES} of {N_INSTANCES}\n" in found.err  # and no other warning
    assert found.err.count(f" of {N_INSTANCES}\n") == 1
    in_command, *in_workers = (folder / "gpus").read_text().splitlines()
    assert in_command == os.environ.get("CUDA_VISIBLE_DEVICES", "none")  # made there to be checked, before the work
    assert sorted(in_workers) == ["0", "1"]


def test_a_poisoned_instance_is_a_failed_answer_and_all_others_are_there(
    folder: Path, cluster: str, command: Command
) -> None:
    line = f"run {TESTS}/kit/hand_made.py:Dying:at=i7,unless=healed --data data.json -o poisoned.jsonl"
    with started([*line.split(), *on(cluster)], folder) as driver:  # Ray prints nothing of its own there
        out, err = driver.communicate(timeout=MOST_SECONDS)
    assert driver.returncode == 1
    assert out.startswith(f"poisoned.jsonl: {N_INSTANCES} instances; 1 answer failed\n")
    assert "the first, i7: WorkerError: two workers died that had nothing else to do: " in " ".join(err.split())
    assert read_run(folder / "poisoned.jsonl").failed == {("i7", None)}
    (folder / "healed").touch()
    assert command(f"{line} --retry-failed").code == 0
    assert not read_run(folder / "poisoned.jsonl").failed


def test_after_ctrl_c_what_was_begun_is_finished_and_the_same_command_goes_on(
    folder: Path, cluster: str, command: Command
) -> None:
    spec = f"{TESTS}/kit/hand_made.py:Counting:log={folder}/stopped,seconds=0.3"
    line = f"run {spec} --data data.json --limit 12 -o stopped.jsonl"
    with started([*line.split(), *on(cluster)], folder) as driver:
        wait_for_answers(folder / "stopped.jsonl", 2, driver)
        driver.send_signal(signal.SIGINT)
        out, err = driver.communicate(timeout=MOST_SECONDS)
    assert (driver.returncode, out) == (130, "")
    assert "interrupted; finished work is kept" in err
    kept = count_answers(folder / "stopped.jsonl")
    assert kept == len((folder / "stopped").read_text().splitlines()) < 12
    assert f"12 instances, {kept} of them from earlier" in command(line).out


def test_a_run_whose_worker_and_then_driver_are_killed_ends_as_if_nothing_was(
    folder: Path, cluster: str, command: Command
) -> None:
    spec = f"{TESTS}/kit/hand_made.py:Counting:log={folder}/asked,seconds=0.05"
    assert command(f"run {spec} --data data.json -o whole.jsonl --set engine=local").code == 0
    (folder / "asked").unlink()
    line = f"run {spec} --data data.json -o part.jsonl"
    with started([*line.split(), *on(cluster)], folder) as driver:
        try:
            wait_for_answers(folder / "part.jsonl", 4, driver)
            os.kill(a_worker(), signal.SIGKILL)
            wait_for_answers(folder / "part.jsonl", count_answers(folder / "part.jsonl") + 4, driver)
        finally:
            driver.kill()
    kept = count_answers(folder / "part.jsonl")
    assert 8 <= kept < N_INSTANCES
    found = command(line)
    assert found.code == 0
    assert f"short rankings  {N_INSTANCES - kept} of {N_INSTANCES}\n" in found.err  # of this call
    assert f"{N_INSTANCES} instances, {kept} of them from earlier; 0 answers failed" in found.out
    assert lines_of(folder / "part.jsonl") == lines_of(folder / "whole.jsonl")
