"""Errors in one line, exit codes and pipes."""

import gzip
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from command_line import Command, start
from evidencebench.cli.main import cli
from evidencebench.cli.options import Finite, WholeNumber
from evidencebench.data.sample import sample_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("data validate absent.json", "absent.json: cannot be read: No such file or directory"),
        ("data stats folder", "folder: is a folder without a data file; expected .parquet, .jsonl or .json in it"),
        ("data stats pipe", "pipe: cannot be read: is a pipe; expected a regular file: save what comes out of it"),
        ("score pipe --data sample", "pipe: cannot be read: is a pipe; expected a regular file"),
        ("data stats /dev/zero", "/dev/zero: cannot be read: is a device; expected a regular file"),
        ("score /dev/zero --data sample", "/dev/zero: cannot be read: is a device; expected a regular file"),
        ("data show empty.json", "empty.json: the file is empty"),
        ("data stats truncated.json", "truncated.json: not valid JSON: .* at line 1, column"),
        ("data validate list.json", "list.json: expected a JSON object"),
        ("data stats latin.json", "latin.json: not UTF-8"),
        ("data validate nothing.json", "nothing.json: holds no instance; expected at least one, as id -> instance"),
        ("data stats nothing.json", "nothing.json: holds no instance"),
        ("data convert nothing.json x.json", "nothing.json: holds no instance"),
        ("data solve nothing.json -o x.json", "nothing.json: holds no instance"),
        ("score run.jsonl --data nothing.json", "nothing.json: holds no instance"),
        ("data stats twice.json", "twice.json: instance id 'x' stands more than once"),
        ("data stats cut.json.gz", "cut.json.gz: cannot be read"),
        (
            "data stats invalid.json",
            "invalid.json: x: .*'evidencebench data validate invalid.json' lists every violation",
        ),
        ("run lead --data invalid.json -o run.json", "invalid.json: x: "),
        ("run bm25 --data nothing.json -o x.jsonl", "nothing.json: holds no instance; expected at least one"),
        ("controls bm25 --data nothing.json", "nothing.json: holds no instance; expected at least one"),
        ("llm serve-fake --data nothing.json --port 0", "nothing.json: holds no instance; expected at least one"),
        (
            "run bm25 --data trian -o x.jsonl",
            r"trian: no such file, nor a known data set \(did you mean 'train'\?\); exp",
        ),
        (
            "data stats smaple",
            r"smaple: no such file, nor a known data set \(did you mean 'sample'\?\); expected a data f",
        ),
        ("data convert sample folder --overwrite", "folder: is a folder; expected the name of a file to write"),
        ("report run.jsonl -d sample -o folder.html", "folder.html: is a folder; expected the name of a file to write"),
        (
            "report run.jsonl -d sample -o absent/x.html",
            "absent/x.html: cannot be written: there is no folder 'absent'; m",
        ),
        ("data show sample 99", "no instance at position 99; it holds 10"),
        ("data show sample nope", "no instance 'nope'; its ids look like 'evidencebench_sample_id_0'"),
        ("data show sample ²", "no instance '²'"),
        ("data show sample -- --5", "no instance '--5'"),
        (f"data show sample {'9' * 5000}", "no instance"),
        ("data convert sample own.py", "own.py: exists"),
        ("data convert sample absent/x.json", "absent/x.json: cannot be written: there is no folder 'absent'; make it"),
        (
            "data solve sample -o absent/x.json",
            "absent/x.json: cannot be written: there is no folder 'absent'; make it",
        ),
        ("run nope --data sample -o x.jsonl", "no system 'nope'; expected one of random, lead"),
        ("run bm25:k9=1 --data sample -o x.jsonl", "system 'bm25': no option 'k9'; it takes k1, b"),
        ("run bm25:k1=high --data sample -o x.jsonl", "option 'k1': .* got 'high'"),
        ("run bm25:k1 --data sample -o x.jsonl", "expected option=value, got 'k1'"),
        ("run absent:make --data sample -o x.jsonl", "cannot be imported: No module named 'absent'"),
        ("run own:absent --data sample -o x.jsonl", "cannot be imported"),
        ("run bm25 --data sample -o folder", "folder: cannot be written: Is a directory"),
        ("run bm25 --data sample -o own.py", "own.py: holds something else, which would be lost"),
        ("score absent.jsonl --data sample", "absent.jsonl: cannot be read: No such file"),
        ("score folder --data sample", "folder: is a folder"),
        ("score empty.json --data sample", "empty.json: the file is empty"),
        ("score list.json --data sample", "list.json: line 1: expected a run of evidencebench"),
        ("score run.jsonl --data other.json", "run.jsonl: made on sample.json .* other.json has sha256"),
        ("score rising.json --data sample", "rising.json: evidencebench_sample_id_0: expected scores .*; correct the"),
        *(
            (
                f"{command} crossval.jsonl --data sample",
                "crossval.jsonl: is the kept work of a cross-validation, .*'evidencebench crossval -o RUN'",
            )
            for command in ("score", "leaderboard", "compare run.jsonl", "report -o x.html")
        ),
        ("score unknown.json --data sample", "unknown.json: answers 'nobody', which .* does not hold"),
        ("data stats run.jsonl", "run.jsonl: is a run, and no data; expected the data that it was made on"),
        ("score run.jsonl --data run.jsonl", "run.jsonl: is a run, and no data; expected the data that it was made on"),
        ("score other.json --data sample", "other.json: is data, and no answers; expected a run, and the data behind"),
        ("run absent.py:X --data sample -o x.jsonl", "cannot be imported: absent.py: No such file or directory"),
        ("run bm25:stopwords=x --data sample -o x.jsonl", "option 'stopwords': expected true or false, got 'x'"),
        (
            "run fuse:systems=bm25,method=rff -d sample -o x.jsonl",
            r"expected one of rrf, zscore, got 'rff' \(did you",
        ),
        ("score beyond.json --data sample", "beyond.json: evidencebench_sample_id_0: selects sentence 9999"),
        (
            "score run.jsonl --data sample --task result_er_unconstrained",
            "cannot answer task 'result_er_unconstrained'",
        ),
        (
            "run lead --data sample -o x --task result_er_unconstrained",
            "ranks all sentences, .* has no budget to end it",
        ),
        ("score oracle.jsonl --data sample --task er_at_3", "it holds answers for er_at_10 only"),
        ("score run.jsonl --data sample --budget 10000000", "no task 'er_at_10000000'"),
        ("compare run.jsonl run.jsonl --data sample", "run.jsonl: given twice"),
        ("controls bm25 --data one.json", "hypotheses cannot be swapped between papers"),
        ("data download train --mirror ftp://example.org", "ftp://example.org/.*: expected an http"),
        ("data download train --from-file absent.json", "absent.json: "),
    ],
)
def test_an_error_is_one_clear_line(arguments: str, message: str, command: Command) -> None:
    records = json.loads(sample_path().read_bytes())
    Path("folder").mkdir()
    Path("folder.html").mkdir()
    os.mkfifo("pipe")
    Path("empty.json").touch()
    Path("nothing.json").write_text("{}")
    Path("list.json").write_text("[1, 2]")
    Path("truncated.json").write_bytes(sample_path().read_bytes().replace(b"\n", b"")[:5000])
    Path("latin.json").write_bytes('{"é": 1}'.encode("latin-1"))
    Path("twice.json").write_text('{"x": {}, "x": {}}')
    Path("invalid.json").write_text('{"x": {}}')
    Path("cut.json.gz").write_bytes(gzip.compress(sample_path().read_bytes())[:-20])
    Path("one.json").write_text(json.dumps(dict([records.popitem()])))
    Path("other.json").write_text(json.dumps(records))
    Path("unknown.json").write_text('{"nobody": [1]}')
    Path("rising.json").write_text('{"id": "evidencebench_sample_id_0", "sentences": [1, 2], "scores": [0, 1]}')
    Path("crossval.jsonl").write_text('{"evidencebench_crossval":1,"plan":{}}\n')
    Path("beyond.json").write_text('{"evidencebench_sample_id_0": [9999]}')
    command("run bm25 --data sample -o run.jsonl")
    command("run oracle --data sample -o oracle.jsonl --task er_at_10")
    found = command(arguments)
    assert (found.code, found.out) == (2, "")
    assert re.match(rf"error: .*{message}", found.err), found.err
    assert found.err.count("\n") == 1
    assert not Path("x.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nope", "No such command 'nope'"),
        ("data nope", "No such command 'nope'"),
        ("tasks --nope", "No such option '--nope'"),
        ("data download train --from-file .", "File '.' is a directory"),
        (
            "llm serve-fake --data sample --port 0 --host 127.0.0.300 --expose",
            "cannot listen on port 0 of 127.0.0.300: ",
        ),
        ("run bm25 --data sample", "Missing option '-o'"),
        ("run bm25 -o x.jsonl", "Missing option '-d' / '--data'"),
        ("run bm25 --data sample -o x.jsonl --jobs -1", "-1 is not in the range x>=0"),
        (
            "run bm25 --data sample -o x.jsonl --engine local --jobs 2",
            "--engine local is this process alone",
        ),
        ("data validate sample --gpus-per-worker 1", "--ray-address and --gpus-per-worker go with --engine ray"),
        ("run bm25 --data sample -o x.jsonl --limit x", "'x' is not a valid whole number."),
        ("run bm25 --data sample -o x.jsonl --seed 1_0", "'1_0' is not a valid whole number."),
        ("run bm25 --data sample -o x.jsonl --budget ٣", "'٣' is not a valid whole number."),
        ("score x --data sample --level x", "'x' is not a valid number."),
        ("cache prune --older-than 1_0", "'1_0' is not a valid number."),
        ("cache prune --older-than nan", "nan is not a finite number."),
        ("run bm25 --data sample -o x.jsonl --control other", "no query control 'other'"),
        ("score x --data sample --task nope", "no task 'nope'; expected one of er_at_optimal"),
        ("score x --data sample --budget 0", "0 is not in the range x>=1"),
        ("score x --data sample --level 1", "1.0 is not in the range"),
        ("score x --data sample --format html", "'html' is not one of"),
        ("score x --data sample --level nan", "nan is not a finite number"),
        ("compare x y --data sample --level nan", "nan is not a finite number"),
        ("leaderboard x --data sample --draws 99999999999", "99999999999 is not in the range 1<=x<=1000000"),
        ("score x --data sample --json --format csv", "--json prints JSON and --format a table: expected one of them"),
        ("data stats sample --format csv --json", "--json prints JSON and --format a table: expected one of them"),
        ("report x --data sample -o x.pdf", "x.pdf: a report is a web page: expected a name that ends in .html"),
        ("compare run.jsonl --data sample", "expected at least two runs to compare"),
        ("data download nope", "no data set 'nope'; expected one of train, dev"),
        ("data download train dev --from-file x", "--url and --from-file name one file"),
    ],
)
def test_a_wrong_call_says_how_to_call(arguments: str, message: str, command: Command) -> None:
    found = command(arguments)
    assert (found.code, found.out) == (2, "")
    assert message in found.err.splitlines()[-1]
    assert "--help' for help." in found.err


# Hostile names: what a terminal acts on, what Rich, HTML and spreadsheets take for markup


def number_options() -> Iterator[click.Option]:
    """Yield every option of every command that takes a number."""
    commands: list[click.Command] = [cli]
    while commands:
        found = commands.pop()
        if isinstance(found, click.Group):
            context = click.Context(found)
            commands += filter(None, (found.get_command(context, name) for name in found.list_commands(context)))
        yield from (
            one
            for one in found.params
            if isinstance(one, click.Option)
            and isinstance(one.type, click.types.ParamType)
            and isinstance(one.type, click.IntRange | click.FloatRange)
        )


def test_every_option_that_takes_a_number_refuses_what_is_none_in_words() -> None:
    options = list(number_options())
    assert len(options) > 60
    for option in options:
        assert isinstance(option.type, WholeNumber | Finite), option.opts
        for value in ("", "x", "1_0", "٣", "nan", "1e999", "-" + "9" * 20, "9" * 5000):
            with pytest.raises(click.BadParameter, match=r"is not a|is not in the range|is too large"):
                option.type.convert(value, option, None)


@pytest.mark.parametrize("arguments", ["tasks", "data show sample 0 --json", "--help", "data validate sample"])
def test_a_pipe_whose_reader_has_seen_enough_is_no_error(arguments: str) -> None:
    with start(*arguments.split()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)


def test_the_exit_codes_are_those_of_the_process() -> None:
    Path("bad.json").write_text('{"x": 1}')
    codes = {"data validate sample": 0, "data validate bad.json": 1, "data validate absent.json": 2, "nope": 2}
    for arguments, code in codes.items():
        process = start(*arguments.split())
        _, err = process.communicate()
        assert process.returncode == code
        assert "Traceback" not in err


def test_a_terminal_without_utf_8_is_written_to_all_the_same() -> None:
    process = start(
        "data", "show", "sample", "0", env={"PYTHONIOENCODING": "ascii", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    )
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.isascii()
