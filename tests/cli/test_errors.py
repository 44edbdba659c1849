"""Errors in one line, exit codes and pipes: what every command says of what it cannot do."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from doors import Finite, WholeNumber, cli, sample_path
from kit.command_line import SAMPLE, Command

_COLUMNS = 80


@pytest.fixture(scope="session")
def _broken_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a file for each thing that can be wrong with one."""
    folder, whole = tmp_path_factory.mktemp("broken"), sample_path().read_bytes()
    records = json.loads(whole)
    last = dict([records.popitem()])
    files: dict[str, str | bytes] = {
        "empty.json": "",
        "nothing.json": "{}",
        "list.json": "[1, 2]",
        "truncated.json": whole.replace(b"\n", b"")[:5000],
        "invalid.json": '{"x": {}}',
        "one.json": json.dumps(last),
        "other.json": json.dumps(records),
        "rising.json": '{"id": "evidencebench_sample_id_0", "sentences": [1, 2], "scores": [0, 1]}',
        "crossval.jsonl": '{"evidencebench_crossval":1,"plan":{}}\n',
    }
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def _broken(_broken_files: Path) -> None:
    """Lay those files into the folder of the test, beside runs, folders and a pipe."""
    shutil.copytree(_broken_files, Path.cwd(), dirs_exist_ok=True)
    Path("made_elsewhere.jsonl").write_text(Path("bm25.jsonl").read_text().replace(SAMPLE.sha256, "0" * 64))
    for folder in ("folder", "folder.html", "folder.svg", "full"):
        Path(folder).mkdir()
    Path("full/notes.txt").write_text("mine")
    os.mkfifo("pipe")


@pytest.mark.usefixtures("runs", "_broken")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("view --port 0 --data sample --people P --task result_er_unconstrained", "has no budget"),
        ("data validate absent.json", "absent.json: no such file \\(did you mean 'list.json'"),
        ("data stats folder", "folder: .*without a data file.*.json"),
        ("data stats pipe", "pipe: .*is a pipe.*save what comes out"),
        ("score /dev/zero --data sample", "/dev/zero: .*device"),
        ("data show empty.json", "empty.json: .*empty"),
        ("data stats truncated.json", "truncated.json: .*JSON.*line 1, column"),
        ("data validate nothing.json", "nothing.json: .*at least one.*id -> instance"),
        ("score bm25.jsonl --data nothing.json", "nothing.json"),
        ("data stats invalid.json", "invalid.json: x: .*data validate invalid.json'"),
        ("run lead --data invalid.json -o run.json", "invalid.json: x: "),
        ("llm serve-fake --data nothing.json --port 0", "nothing.json"),
        ("data convert sample folder --overwrite", "folder: is a folder.*name of a file"),
        ("report bm25.jsonl -d sample -o folder.html", "folder.html: is a folder"),
        ("data show sample 99", "position 99.*holds 10"),
        ("data show sample nope", "'nope'.*'evidencebench_sample_id_0'"),
        (f"data show sample {'9' * 5000}", "no instance"),
        ("data convert sample own.py", "own.py: exists"),
        ("data convert sample absent/x.json", "absent/x.json: .*no folder 'absent'.*make it"),
        ("run nope --data sample -o x.jsonl", "'nope'.*random, lead"),
        ("run bm25:k9=1 --data sample -o x.jsonl", "'bm25': .*'k9'.*k1, b"),
        ("run bm25:k1=high --data sample -o x.jsonl", "'k1': .*'high'"),
        ("run absent:make --data sample -o x.jsonl", "cannot be imported: .*'absent'"),
        ("run bm25 --data sample -o folder", "folder: is a folder; expected the name of a file"),
        ("run bm25 --data sample -o own.py", "own.py: .*would be lost"),
        ("score folder --data sample", "folder: is a folder"),
        ("score list.json --data sample", "list.json: line 1: .*a run"),
        ("score bm25.jsonl --data other.json", "bm25.jsonl: .*sample.json .*other.json has sha256"),
        ("score rising.json --data sample", "rising.json: evidencebench_sample_id_0: .*scores.*correct"),
        ("score crossval.jsonl -d sample", "crossval.jsonl: .*evidencebench crossval -o RUN'"),
        ("data stats bm25.jsonl", "bm25.jsonl: is a run, not data; give the data"),
        ("score other.json --data sample", "other.json: is a data file, not a run"),
        ("run absent.py:X --data sample -o x.jsonl", "absent.py: no such file"),
        ("score bm25.jsonl --data sample --task result_er_unconstrained", "answer task 'result_er_unc"),
        ("run lead --data sample -o x --task result_er_unconstrained", "lead.* no budget"),
        ("score partial.jsonl --data sample --task er_at_3", "er_at_10 only"),
        ("score bm25.jsonl --data sample --budget 10000000", "'er_at_10000000'"),
        ("compare bm25.jsonl bm25.jsonl --data sample", "bm25.jsonl: given twice"),
        ("controls bm25 --data one.json", "cannot be swapped"),
        ("data download train --mirror ftp://example.org", "ftp://example.org/.*: .*http"),
        ("data download train --from-file absent.json", "absent.json: "),
        # What trains
        ("crossval nope --data sample", "'nope'.* finder, .* random"),
        ("crossval bm25:k9=1 --data sample", "'bm25': .*'k9'"),
        ("crossval finder:depth=1 --data sample", "finder: .*'depth'"),
        ("crossval finder:model=absent --data sample", "absent: .*card.json"),
        ("crossval finder --data sample --folds 10", r"folds: .*2\.\.9.*10"),
        ("crossval bm25 --data sample -o own.py", "own.py: .*lost"),
        ("crossval bm25 --data sample -o absent/x.jsonl", "absent/x.jsonl"),
        ("train bm25 --data sample -o x", "train: .*finder, .*'bm25'"),
        ("train nope --data sample -o x", "'nope'.* finder, embedder, "),
        ("train finder:model=x --data sample -o x", "train: .*'finder:model=x'"),
        ("train finder:depth=3 --data sample -o x", "finder: .*'depth'.*hypothesis, figures, a"),
        ("train finder:goal=answer --data sample -o x", "'goal' .*of answering"),
        ("train finder --data sample -o full", "full: exists"),
        ("train finder --data sample -o x --limit 5", "6 papers, got 4"),
        # What compares
        ("leaderboard --table bm25.jsonl lead.jsonl -d sample --name bm25.jsonl=lead", "two systems .*name"),
        ("leaderboard --table bm25.jsonl lead.jsonl -d sample --against bm26", r"'bm26' \(did you mean 'bm25'\?\)"),
        ("report swapped.jsonl -d sample -o x.html", "the data's own"),
        ("report bm25.jsonl bm25.jsonl -d sample -o x.html", "given twice"),
        # What serves, fetches and exports
        ("view --port 0 --data sample none.jsonl", "none.jsonl"),
        ("view --port 0 made_elsewhere.jsonl --data sample", "made on"),
        ("papers fetch PMC1 --base-url ftp://x", "ftp://x: .*http or https"),
        ("papers fetch --from-file absent.txt", "absent.txt"),
        ("papers fetch PMC1 -o own.py/x --base-url http://127.0.0.1:9", "own.py/x"),
    ],
)
def test_an_error_is_one_clear_line_and_leaves_nothing(arguments: str, message: str, command: Command) -> None:
    found = command(arguments)
    assert (found.code, found.out) == (2, "")
    assert re.match(rf"error: .*{message}", found.err), found.err
    assert found.err.count("\n") == 1
    assert not list(Path().glob("x*"))
    assert [path.name for path in Path("full").iterdir()] == ["notes.txt"]


@pytest.mark.usefixtures("runs", "_broken")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nope", "No such command 'nope'"),
        ("data nope", "No such command 'nope'"),
        ("tasks --nope", "No such option '--nope'"),
        ("data download train --from-file .", "'.' is a directory"),
        ("llm serve-fake --data sample --port 0 --host 127.0.0.300 --expose", "port 0 of 127.0.0.300"),
        ("run bm25 --data sample", "Missing option '-o'"),
        ("run bm25 -o x.jsonl", "Missing option '-d' / '--data'"),
        ("run bm25 --data sample -o x.jsonl --jobs -1", "-1 is not in the range x>=0"),
        ("run bm25 --data sample -o x.jsonl --set engine=local --jobs 2", "engine=local is this process alone"),
        ("data validate sample --set gpus-per-worker=1", "ray-address and gpus-per-worker need engine=ray"),
        ("run bm25 --data sample -o x.jsonl --limit x", "'x' is not a valid whole number"),
        *((f"run bm25 -d sample -o x.jsonl {given}", "0") for given in ("--max-cost-usd 0", "--set timeout=0")),
        ("run bm25 --data sample -o x.jsonl --control other", "no query control 'other'"),
        ("score x --data sample --task nope", "'nope'; expected one of er_at_optimal"),
        ("score x --data sample --budget 0", "0 is not in the range x>=1"),
        ("score x --data sample --set level=1", "1.0 is not in the range"),
        ("score x --data sample --format html", "'html' is not one of"),
        ("leaderboard x --data sample --set draws=99999999999", "1<=x<=1000000"),
        ("score x --data sample --json --format csv", "--json prints JSON and --format a table"),
        ("data stats sample --format csv --json", "--json prints JSON"),
        ("report x --data sample -o x.pdf", "ends in .html"),
        ("compare run.jsonl --data sample", "at least two runs"),
        ("data download nope", "'nope'; expected one of train, dev"),
        ("data download train dev --from-file x", "--url and --from-file name one file"),
        # Names that are like others
        ("leaderbord", "'leaderbord' (did you mean 'leaderboard'?)"),
        ("data vlidate sample", "(did you mean 'validate'?)"),
        ("run bm25 --dta sample", "(Did you mean one of: '--budget', '--data', '--task'?)"),
        # Places that cannot be written
        ("run bm25 --data sample -o -", "--output: expected a file; standard output"),
        ("data solve sample -o -", "--output: expected a file"),
        ("crossval bm25 --data sample -o -", "leave --output out"),
        ("train finder --data sample -o -", "--output: expected a folder"),
        ("find Tea. - --html -", "--html: expected a file"),
        ("score none.jsonl -d sample --plot picture.pdf", "ends in .svg or .png"),
        ("leaderboard none.jsonl -d sample --plot a/b.svg", "a/b.svg: the folder"),
        ("compare a.jsonl b.jsonl -d sample --plot folder.svg", "folder.svg: is a folder"),
        # What serves, fetches and exports
        ("leaderboard --table a.jsonl -d sample --name b.jsonl=x", "--name: expected RUN=NAME, where RUN is one of "),
        ("leaderboard --table a.jsonl -d sample --name a.jsonl=", "--name: expected RUN=NAME"),
        ("leaderboard --table a.jsonl -d sample --name a.jsonl=a --name a.jsonl=b", "--name: 'a.jsonl' is named twice"),
        ("view --port 0 --data sample --task none", "none"),
        ("papers fetch PMC1 -o own.py", "own.py"),
        ("view --port 70000 --data sample", "70000"),
        ("view --port 0 --data sample --limit 3", "--limit needs --people"),
        ("view --port 0 --ids ids.txt", "expected --data"),
        ("view --port 0 --data sample --people P --task er_at_10 --task er_at_5", "--people takes one --task"),
        ("llm serve-fake --port 0 --data sample --behaviour nice", "nice"),
        ("llm serve-fake --port 0 --data sample --faults 1.5", "1.5"),
        *(
            (f"{call} --data sample --port 0 --host {host}", "--expose")
            for call, host in (("view", "192.0.2.1"), ("view", "::"), ("llm serve-fake", "example.org"))
        ),
        ("papers fetch", "--from-file"),
        ("papers show - --loss --json", "--loss, --sentences and --json"),
        ("papers fetch paper.xml", "'paper.xml': expected the id of a paper"),
        ("export hf -o hub", "--split NAME=D"),
        ("export hf --split sample -o hub", "such as train=train, got 'sample'"),
        ("export hf --split a=sample --split a=sample -o hub", "got two for a"),
        ("export hf sample --licence b=MIT -o hub", "no split 'b'; expected one of train"),
    ],
)
def test_a_wrong_call_says_how_to_call_before_anything_is_read(arguments: str, message: str, command: Command) -> None:
    refused = command(arguments)
    assert message in refused.refusal
    reason, *usage = refused.err.splitlines()
    assert reason.startswith("error: ")
    assert sum(-(-len(line) // _COLUMNS) for line in (reason, *usage)) <= 2
    assert usage or len(reason) > _COLUMNS  # a reason that takes two lines says itself what to write
    assert all(line.startswith("usage: evidencebench ") and "--help" in line for line in usage)
    assert not {path.name for path in Path().iterdir()} & {"-", "x.jsonl", "hub", "papers"}


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
