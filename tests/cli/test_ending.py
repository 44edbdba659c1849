"""How commands end: what nobody expected, and standard streams that are closed, full or read by nobody."""

import re
import subprocess
import sys
from asyncio import CancelledError
from pathlib import Path

import pytest

from command_line import Command, start
from evidencebench.cli.main import exit_code_of


def test_what_nobody_expected_has_an_exit_code_of_its_own_and_says_what_to_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def call() -> None:
        raise ZeroDivisionError("division\x1b[2J by zero")

    assert exit_code_of(call, ["score", "my run.jsonl"]) == 70
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == "unexpected: ZeroDivisionError: division�[2J by zero"
    assert lines[1] == "This is a mistake in evidencebench, not in what you typed. Please report it with"
    assert lines[3].startswith("  version: evidencebench 0.1.0, Python 3.")
    assert lines[4] == "  command: evidencebench score 'my run.jsonl'"
    assert lines[5] == "Traceback (most recent call last):"
    assert lines[-1].startswith("ZeroDivisionError: division")
    assert "\x1b" not in err


def test_what_is_no_exception_of_the_common_sort_is_told_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    def call() -> None:
        raise CancelledError  # as own code may

    assert exit_code_of(call, ["run"]) == 70
    assert capsys.readouterr().err.startswith("unexpected: CancelledError")


def test_a_run_that_ends_unexpectedly_says_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def call() -> None:
        raise RecursionError

    assert exit_code_of(call, ["run", "bm25"]) == 70
    assert "finished work is kept: run the same command again to resume" in capsys.readouterr().err


def test_too_little_memory_is_no_mistake_of_evidencebench(capsys: pytest.CaptureFixture[str]) -> None:
    def call() -> None:
        raise MemoryError

    assert exit_code_of(call, ["find"]) == 2
    assert capsys.readouterr().err == "error: there is not enough memory for this\n"


def test_a_broken_pipe_elsewhere_than_at_standard_output_is_an_error() -> None:
    code = (
        "from evidencebench.cli.main import exit_code_of\n"
        "def call(): raise BrokenPipeError(32, 'Broken pipe')\n"
        "raise SystemExit(exit_code_of(call, []))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (2, "error: standard output, or a file: Broken pipe\n")


def test_the_help_tells_the_exit_codes(command: Command) -> None:
    shown = " ".join(command("--help").out.split())
    assert "70 a mistake in evidencebench, told with what" in shown
    assert "130 interrupted, 143 by SIGTERM and 129 by SIGHUP." in shown


def redirected(arguments: str, redirection: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with its streams redirected by a shell."""
    words = f'exec "$0" -m evidencebench {arguments} {redirection}'
    return subprocess.run(["/bin/sh", "-c", words, sys.executable], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_run_with_closed_or_full_streams_does_its_work(redirection: str) -> None:
    ended = redirected("run lead --data sample -o lead.jsonl --progress plain", redirection)
    assert ended.returncode == 0
    lines = Path("lead.jsonl").read_text().splitlines()
    assert len(lines) == 11, "nothing that was printed got into it"
    assert all(line.startswith("{") for line in lines)


def test_what_cannot_be_printed_is_an_error() -> None:
    ended = redirected("tasks", ">/dev/full")
    assert (ended.returncode, ended.stderr) == (2, "error: standard output, or a file: No space left on device\n")


def test_nobody_reading_the_messages_stops_no_work() -> None:
    with start("run", "lead", "--data", "sample", "-o", "lead.jsonl", "--progress", "plain") as process:
        assert process.stderr is not None
        process.stderr.close()
        assert process.wait() == 0
    assert len(Path("lead.jsonl").read_text().splitlines()) == 11


@pytest.mark.parametrize("arguments", ["find {Tea\udcff} paper.txt --json", "run bm25 -d \udcff.json -o x.jsonl"])
def test_an_argument_that_is_no_unicode_is_refused_in_words(arguments: str, command: Command) -> None:
    found = command(arguments)
    assert (found.code, found.out) == (2, "")
    assert re.search(r"argument [24]: expected text in UTF-8, got '(Tea)?\ufffd(\.json)?'; rename the file", found.err)


def test_find_without_standard_input_says_that_it_got_no_sentence() -> None:
    ended = redirected("find Tea. -", "<&-")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: standard input: expected a paper as text, got no")


def test_a_command_that_asks_no_model_imports_nothing_that_does() -> None:
    commands = ("score", "leaderboard", "compare", "view", "cache", "cache.list", "data.validate")
    code = f"import sys, {', '.join(f'evidencebench.cli.{name}' for name in commands)}; print(*sys.modules)"
    imported = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert "evidencebench.models.llm.client" not in imported
