"""Help and tables: what is printed, in every format, on 80 columns; what a shell is told that completes names."""

import csv
import fcntl
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from doors import sample_path
from evidencebench import __version__, write_dataset
from kit.command_line import FORMATS, Command, as_many_as
from kit.examples import thorough_only


def too_wide(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > 80]


# What each command prints on the sample, and the runs made of it.
OUTPUTS = [
    "demo",
    "systems",
    "tasks",
    "data list",
    "data stats sample",
    "data show sample",
    "data show sample 0",
    "data validate sample.json --optima",
    "data solve sample -o solved.json",
    "data convert sample copy.jsonl.gz",
    "data download dev --from-file as_dev.json",
    "run tfidf --data sample -o tfidf.jsonl",
    "score bm25.jsonl --data sample --set draws=50",
    "score answers.json --data sample --set draws=50 --curve 2 --kinds",
    "compare bm25.jsonl lead.jsonl oracle.jsonl --data sample --set draws=50",
    "leaderboard bm25.jsonl lead.jsonl oracle.jsonl --data sample --set draws=50 --published",
    "leaderboard answers.json tuned.jsonl swapped.jsonl --data sample --set draws=50 --task er_at_10",
    "controls bm25 lead --data sample --set draws=50 --control two_papers --control wrong_hypothesis",
    "llm providers",
    "llm examples --data sample -n 2 -o examples.json",
    "run llm_sections:model=openai/gpt-4o-mini,key_env= --data sample --limit 2 --estimate",
    "crossval bm25 --data sample --set draws=50 --against lead --against fuse:systems=[bm25:k1=1.25+tfidf+structure]",
]


TABLES = [
    arguments
    for arguments in OUTPUTS
    if not re.match(r"demo|run|data (show|validate|solve|convert|download)|cache|llm", arguments)
]


@pytest.mark.parametrize("arguments", ["-h", "--version"])
def test_help_and_version_import_nothing_heavy(arguments: str) -> None:
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "evidencebench", arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "click" in imported
    assert not imported & {"numpy", "rich", "scipy", "msgspec"}
    assert __version__ in process.stdout or "Commands:" in process.stdout


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("arguments", OUTPUTS)
def test_every_output_is_as_narrow_as_a_terminal(arguments: str, command: Command) -> None:
    shutil.copy(sample_path(), "sample.json")
    write_dataset("as_dev.json", as_many_as("dev"))
    found = command(arguments)
    assert found.code == 0
    assert not found.err or found.err.startswith("system ")
    assert too_wide(found.out) == too_wide(found.err) == []


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("arguments", TABLES)
def test_a_table_is_well_formed_in_every_format(arguments: str, command: Command) -> None:
    csv_arguments = arguments.removesuffix(" --kinds")  # which has no CSV form, and says so
    head, *rows = csv.reader(io.StringIO(command(f"{csv_arguments} --format csv").out))
    assert len(set(head)) == len(head) > 1
    assert all(head)
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    assert all(row[0] for row in rows)
    assert len({tuple(row) for row in rows}) == len(rows)
    check_markdown(command(f"{arguments} --format markdown").out)
    check_latex(command(f"{arguments} --format latex").out)


def check_markdown(text: str) -> None:
    """Fail unless it is whole tables."""
    blocks = re.split(r"\n\s*\n", text.strip())
    tables = [block.splitlines() for block in blocks if block.startswith("|")]
    assert tables
    others = [block for block in blocks if not block.startswith("|")]
    assert all(
        re.fullmatch(r"\*\*.*\*\*|\\\* .*|If score and selection.*|(\* aspect_recall\|.*\n?)+", block)
        for block in others
    )
    for head, rule, *rows in tables:
        n_columns = len(re.findall(r"(?<!\\)\|", head)) - 1
        assert rule == f"|{' --- |' * n_columns}"
        assert rows
        assert {len(re.findall(r"(?<!\\)\|", row)) - 1 for row in rows} == {n_columns}


def check_latex(text: str) -> None:
    """Fail unless it is whole tabulars with comments between."""
    tabular = re.compile(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}\n", re.DOTALL)
    assert tabular.findall(text)
    for layout, body in tabular.findall(text):
        lines = [line for line in body.splitlines() if line.endswith(r"\\")]
        rows = [line for line in lines if not line.startswith(r"\multicolumn")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(layout)}
        assert not re.search(r"(?<!\\)[_#%$]", body)
    assert all(line.startswith("%") or not line for line in tabular.sub("", text).splitlines())


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_curve_is_shown_in_every_format(table_format: str, command: Command) -> None:
    command("run bm25 --data sample -o bm25.jsonl")
    score = "score bm25.jsonl --data sample --task er_at_10 --set draws=50"
    at_2 = command(f"{score} --curve 4 --json").json["er_at_10"]["curve"][1]
    assert at_2["k"] == 2
    shown = command(f"{score} --curve 4 --format {table_format}").out
    assert (f"all,2,{at_2['mean']}" if table_format == "csv" else f"{100 * at_2['mean']:.1f}") in shown


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    "arguments",
    [
        "leaderboard bm25.jsonl lead.jsonl --data sample --set draws=10 --published",
        pytest.param("data show sample 0 --evidence", marks=thorough_only),
        pytest.param("score bm25.jsonl --data sample --set draws=10 --curve 3 --kinds", marks=thorough_only),
    ],
)
def test_what_is_printed_on_a_narrow_terminal_fits_it(arguments: str) -> None:
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment["EVIDENCEBENCH_DATA"] = "data"
    with subprocess.Popen(
        [sys.executable, "-m", "evidencebench", *arguments.split()],
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
    ) as process:
        os.close(terminal)
        shown = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while block := os.read(screen, 65536):
                shown += block
        assert process.wait() == 0
    os.close(screen)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert [line for line in lines if len(line) > 60] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", f"{shell}_source")
    assert re.search("_evidencebench_completion.*_EVIDENCEBENCH_COMPLETE=", command("").done)


def test_a_shell_that_is_not_known_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", "xonsh_source")
    assert "expected bash_source, fish_source or zsh_source, got 'xonsh_source'" in command("").refusal


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evidencebench le", {"plain,leaderboard"}),
        ("evidencebench data s", {"plain,show", "plain,solve", "plain,stats"}),
        ("evidencebench --v", {"plain,--version"}),
        ("evidencebench run bm", {"plain,bm25", "plain,bm25_abstract_first"}),
        ("evidencebench find Tea. paper.txt --system cu", {"plain,cues"}),
        ("evidencebench find Tea. pap", {"file,pap"}),
        ("evidencebench crossval bm25 --against tfidf_", {"plain,tfidf_char"}),
        ("evidencebench train fin", {"plain,finder"}),
        ("evidencebench run bm25 --data sam", {"file,sam", "plain,sample"}),
        ("evidencebench score x.jsonl -t result_er_at_1", {"plain,result_er_at_10"}),
    ],
)
def test_names_are_completed(line: str, expected: set[str], command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    assert set(command("").done.split()) == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes() -> None:
    folder = Path(sys.executable).parent
    script = """
    PATH="$0:$PATH"
    eval "$(_EVIDENCEBENCH_COMPLETE=bash_source evidencebench)"
    COMP_WORDS=(evidencebench run lead_) COMP_CWORD=2
    compopt() { :; }
    _evidencebench_completion evidencebench
    echo "${COMPREPLY[@]}"
    """
    found = subprocess.run(["bash", "-c", script, str(folder)], capture_output=True, text=True, check=True)  # noqa: S607
    assert found.stdout == "lead_no_headings\n"
