"""Ctrl-C in long work: exit code 130, one plain line, and no file half written."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from evidencebench import write_dataset
from kit.command_line import SAMPLE, Command, start, until
from kit.europe_pmc import base_url, europe_pmc
from kit.examples import IS_THOROUGH, thorough_only
from kit.hostile_server import hang

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

_OWN = """
import time
from pathlib import Path
from evidencebench import Ranking

class Waits:
    def rank(self, query, task):
        Path("asked").touch()
        ends_at = time.monotonic() + 60
        while not Path("go_on").exists() and time.monotonic() < ends_at:
            time.sleep(0.005)
        return Ranking(sentences=(0, 1))
"""


def _interrupted(
    process: subprocess.Popen[str], is_time: Callable[[], bool], number: signal.Signals = signal.SIGINT
) -> tuple[str, str]:
    """Send Ctrl-C, or another signal, when it is time, and return what the command has said by its end."""
    until(is_time, process)
    process.send_signal(number)
    said = process.communicate()
    assert process.returncode == 128 + number
    return said


_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
_FEW_SIGNALS = _SIGNALS if IS_THOROUGH else [signal.SIGTERM]  # all three take one way
_KEPT = "interrupted; finished work is kept: run the same command again to resume\n"


@pytest.mark.parametrize("number", _FEW_SIGNALS)
def test_find_prints_and_writes_nothing_half(number: signal.Signals) -> None:
    Path("waiting.py").write_text(_OWN)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("Tea lowers pressure.\n")
    process = start("find", "Tea.", "a.txt", "b.txt", "--system", "waiting.py:Waits", "--html", "page.html")
    assert _interrupted(process, Path("asked").exists, number) == ("", "interrupted\n")
    assert not list(Path().glob("*page.html*"))


def _write_copies(n: int) -> None:
    """Write the sample so many times into ``many.jsonl``."""
    write_dataset("sample.jsonl", SAMPLE)
    sample = Path("sample.jsonl").read_text(encoding="utf-8")
    copies = (sample.replace("evidencebench_sample_id_", f"copy_{number}_of_") for number in range(n))
    Path("many.jsonl").write_text("".join(copies))


def _is_any_left(group: int) -> bool:
    found = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S607
    return any(line.split()[0] == str(group) and line.split()[1][0] != "Z" for line in found)


def _n_answers() -> int:
    return len(Path("run.jsonl").read_text().splitlines()) - 1 if Path("run.jsonl").exists() else 0


_WAYS = [(number, jobs, all_of_it) for number in _SIGNALS for jobs, all_of_it in ((1, False), (2, False), (2, True))]


@pytest.mark.parametrize(("number", "jobs", "reaches_all"), _WAYS if IS_THOROUGH else _WAYS[::8])
def test_a_run_that_a_scheduler_ends_keeps_what_is_finished_and_goes_on(
    number: signal.Signals, jobs: int, command: Command, *, reaches_all: bool
) -> None:
    _write_copies(4)  # few are not given to several processes
    Path("seconds").write_text("0.2")
    arguments = f"run own:Slow --data many.jsonl -o run.jsonl --jobs {jobs}"
    process = start(*arguments.split(), start_new_session=True)
    if reaches_all:  # its worker processes too, which leave the ending to the first
        process.send_signal = partial(os.killpg, process.pid)  # type: ignore[method-assign]
    assert _interrupted(process, lambda: _n_answers() >= 2, number) == ("", _KEPT)
    until(lambda: not _is_any_left(process.pid))  # but for those that have ended, and that nobody has asked for yet
    Path("seconds").unlink()
    n_kept = _n_answers()
    assert 2 <= n_kept < 40
    found = command(f"{arguments} --json").json
    assert (found["n_resumed"], found["n_instances"], found["n_failed"]) == (n_kept, 40, 0)


def test_a_second_signal_ends_at_once() -> None:
    _write_copies(4)
    Path("waiting.py").write_text(_OWN)
    process = start("run", "waiting.py:Waits", "--data", "many.jsonl", "-o", "run.jsonl", "--jobs", "2")
    until(Path("asked").exists, process)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):  # it waits for the answers that have begun, which take a minute
        process.wait(timeout=0.3)
    while process.poll() is None:  # on a busy machine two signals may be taken for one
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
    assert process.communicate() == ("", _KEPT)
    assert process.returncode == 143


def test_a_terminal_that_is_closed_ends_a_run_with_what_is_finished(command: Command) -> None:
    Path("seconds").write_text("0.5")
    arguments = "run own:Slow --data sample -o run.jsonl"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(  # noqa: S606 - as a terminal does
            sys.executable, [sys.executable, "-m", "evidencebench", *arguments.split()]
        )
    until(lambda: _n_answers() >= 2)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    Path("seconds").unlink()
    n_kept = _n_answers()
    assert command(f"{arguments} --json").json["n_resumed"] == n_kept < 10


@pytest.mark.parametrize(
    ("way", "number", "code"),
    [
        (["sh", "-c", "trap '' INT; exec \"$@\"", "sh"], signal.SIGINT, 0),
        pytest.param(["nohup"], signal.SIGHUP, 0, marks=thorough_only),
        pytest.param(["sh", "-c", "trap '' INT; exec \"$@\"", "sh"], signal.SIGTERM, 143, marks=thorough_only),
    ],
)
def test_a_signal_that_is_ignored_at_the_start_stays_so(way: list[str], number: signal.Signals, code: int) -> None:
    words = ["-m", "evidencebench", "find", "Tea.", "-", "--system", "waiting.py:Waits"]
    Path("waiting.py").write_text(_OWN)
    process = subprocess.Popen([*way, sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(b"Tea lowers pressure.\nCoffee does not.\n")
    process.stdin.close()
    until(Path("asked").exists)
    process.send_signal(number)
    if code == 0:
        Path("go_on").touch()
    assert process.wait() == code


def test_fetching_keeps_the_papers_that_are_whole_and_lists_them() -> None:
    Path("ids.txt").write_text("PMC1280405\nPMC22\n")
    with europe_pmc(("PMC22/fullTextXML", hang)) as server:
        process = start("papers", "fetch", "--from-file", "ids.txt", "-o", "papers", "--base-url", base_url(server))
        _, err = _interrupted(process, lambda: any("PMC22/fullTextXML" in asked.path for asked in server.log))
    assert err.splitlines()[1:] == ["interrupted; finished work is kept: run the same command again to resume"]
    assert sorted(path.name for path in Path("papers").iterdir()) == ["PMC1280405.xml", "papers.csv"]
    (_, row) = Path("papers/papers.csv").read_text().splitlines()
    assert row.startswith("PMC1280405,")


@pytest.mark.parametrize("number", _FEW_SIGNALS)
def test_a_conversion_leaves_no_file(number: signal.Signals) -> None:
    _write_copies(200)
    process = start("data", "convert", "many.jsonl", "converted.jsonl.gz")  # it takes seconds
    assert _interrupted(process, lambda: any(Path().glob(".converted*.part")), number) == ("", "interrupted\n")
    assert not list(Path().glob("*converted*"))


def test_training_leaves_no_model() -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    _write_copies(30)  # so that it takes long: the test itself may be late by seconds on a busy machine
    process = start("train", "finder", "--data", "many.jsonl", "-o", "model", "--set", "progress=plain")
    assert process.stderr is not None
    assert process.stderr.readline().startswith("training finder: ")
    out, err = _interrupted(process, lambda: True)
    assert out == ""
    assert [line for line in err.splitlines() if not line.startswith("training finder: ")] == ["interrupted"]
    assert not Path("model").exists()
