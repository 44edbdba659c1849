"""Ctrl-C in long work: exit code 130, one plain line, and no file half written."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Command, start
from europe_pmc import base_url, europe_pmc
from hostile_server import hang

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

_OWN = """
import time
from pathlib import Path

class Waits:
    def rank(self, query, brief):
        Path("asked").touch()
        time.sleep(60)
"""


def _interrupted(process: subprocess.Popen[str], is_time: Callable[[], bool]) -> tuple[str, str]:
    """Send Ctrl-C when it is time, and return what the command has said by its end."""
    ends_at = time.monotonic() + 60
    while not is_time():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends_at
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    said = process.communicate()
    assert process.returncode == 130
    return said


def test_find_prints_and_writes_nothing_half() -> None:
    Path("waiting.py").write_text(_OWN)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("Tea lowers pressure.\n")
    process = start("find", "Tea.", "a.txt", "b.txt", "--system", "waiting.py:Waits", "--html", "page.html")
    assert _interrupted(process, Path("asked").exists) == ("", "interrupted\n")
    assert not list(Path().glob("*page.html*"))


def test_fetching_keeps_the_papers_that_are_whole_and_lists_them() -> None:
    Path("ids.txt").write_text("PMC1280405\nPMC22\n")
    with europe_pmc(("PMC22/fullTextXML", hang)) as server:
        process = start("papers", "fetch", "--from-file", "ids.txt", "-o", "papers", "--base-url", base_url(server))
        _, err = _interrupted(process, lambda: any("PMC22/fullTextXML" in asked.path for asked in server.log))
    assert err.splitlines()[1:] == ["interrupted; what was finished is kept: the same command goes on from there"]
    assert sorted(path.name for path in Path("papers").iterdir()) == ["PMC1280405.xml", "papers.csv"]
    (_, row) = Path("papers/papers.csv").read_text().splitlines()
    assert row.startswith("PMC1280405,")


def test_a_conversion_leaves_no_file(command: Command) -> None:
    assert command("data convert sample sample.jsonl").code == 0
    sample = Path("sample.jsonl").read_text(encoding="utf-8")
    Path("many.jsonl").write_text(
        "".join(sample.replace("evidencebench_sample_id_", f"copy_{number}_of_") for number in range(200))
    )
    process = start("data", "convert", "many.jsonl", "converted.jsonl.gz")  # it takes seconds
    assert _interrupted(process, lambda: any(Path().glob(".converted*.part"))) == ("", "interrupted\n")
    assert not list(Path().glob("*converted*"))


def test_training_leaves_no_model() -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'selector'")
    process = start("train", "finder", "--data", "sample", "-o", "model", "--progress", "plain")
    assert process.stderr is not None
    begun = process.stderr.readline()
    assert begun.startswith("training finder: ")  # it takes seconds
    out, err = _interrupted(process, lambda: True)
    assert out == ""
    assert [line for line in err.splitlines() if not line.startswith("training finder: ")] == ["interrupted"]
    assert not Path("model").exists()
