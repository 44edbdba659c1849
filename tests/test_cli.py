"""The command line as a user meets it: outputs, exit codes, errors in one line, pipes, and hostile names."""

import csv
import gzip
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any
from unicodedata import category

import click
import pytest

from evidencebench import SYSTEMS, TASKS, __version__, load_sample
from evidencebench.cli.main import COMMANDS, cli, main
from evidencebench.dataset import open_dataset
from evidencebench.sample import sample_path
from evidencebench.solving import solve_file
from hostile_server import hostile_server

SAMPLE = load_sample()
FORMATS = ("text", "markdown", "csv", "latex")
OWN_CODE = """
import time
from dataclasses import dataclass
from pathlib import Path
from evidencebench import Ranking

@dataclass(frozen=True)
class Slow:
    name: str = "slow"
    seconds: float = 0.0
    fails: bool = False
    def rank(self, query, brief):
        time.sleep(self.seconds)
        if self.fails:
            raise ConnectionError("the server is down")
        return Ranking(sentences=(0, 1))

def hopeless():
    raise KeyError("no such model")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one call of the command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code in {0, 1}, self.err
        return json.loads(self.out)


Command = Callable[[str], Outcome]
"""Runs ``evidencebench`` with the arguments in a text; a word in braces, as ``{word}``, is kept with its spaces."""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with no data downloaded and nothing set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("own", "broken"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("EVIDENCEBENCH_DATA", "data")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("COLUMNS", "200")  # what fits does so by itself, not because a terminal is narrow
    Path("own.py").write_text(OWN_CODE)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(arguments: str) -> Outcome:
        words = [word.strip("{}") for word in re.findall(r"\{[^}]*\}|\S+", arguments)]
        monkeypatch.setattr(sys, "argv", ["evidencebench", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(code=int(ended.value.code or 0), out=out, err=err)

    return run


@pytest.fixture
def runs(command: Command) -> None:
    """Make a run file of each sort."""
    for spec in ("bm25", "lead", "oracle"):
        assert command(f"run {spec} --data sample -o {spec}.jsonl").code == 0
    assert command("run bm25:k1=1.25,b=0.75 --data sample -o tuned.jsonl").code == 0
    assert command("run bm25 --data sample -o swapped.jsonl --hypothesis wrong").code == 0
    Path("answers.json").write_text(json.dumps({instance_id: [3, 5, 8] for instance_id in SAMPLE.ids}))


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start the command line as a process of its own."""
    words = [sys.executable, "-m", "evidencebench", *arguments]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def leaves(group: click.Command, name: str = "") -> list[str]:
    """Give every command that does something."""
    if not isinstance(group, click.Group):
        return [name.strip()]
    context = click.Context(group)
    return [
        leaf
        for inner in group.list_commands(context)
        for leaf in leaves(group.get_command(context, inner) or group, f"{name} {inner}")
    ]


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
    "data show sample evidencebench_sample_id_9 --evidence",
    "data validate sample.json --optima",
    "data solve sample -o solved.json",
    "data convert sample copy.jsonl.gz",
    "data download dev --from-file sample.json",
    "run tfidf --data sample -o tfidf.jsonl",
    "score bm25.jsonl --data sample --draws 50",
    "score answers.json --data sample --draws 50 --curve 2 --kinds",
    "score tuned.jsonl --data sample --draws 50 --no-controls --budget 25",
    "compare bm25.jsonl lead.jsonl oracle.jsonl --data sample --draws 50",
    "compare bm25.jsonl tuned.jsonl swapped.jsonl --data sample --draws 50",
    "leaderboard bm25.jsonl lead.jsonl oracle.jsonl --data sample --draws 50 --published",
    "leaderboard bm25.jsonl tuned.jsonl swapped.jsonl --data sample --draws 50",
    "leaderboard answers.json bm25.jsonl --data sample --draws 50 --task er_at_10",
    "wrong-hypothesis bm25 --data sample --draws 50",
]
TABLES = [
    arguments
    for arguments in OUTPUTS
    if not re.match(r"demo|run|data (show|validate|solve|convert|download)", arguments)
]


@pytest.mark.parametrize("name", ["", "data", *leaves(cli)])
def test_help_fits_80_columns_and_shows_an_example(name: str, command: Command) -> None:
    found = command(f"{name} --help")
    assert (found.code, found.err) == (0, "")
    assert found.out == command(f"{name} -h").out
    assert too_wide(found.out) == []
    assert f"evidencebench {name}" in found.out
    assert name == "data" or re.search(rf"^ +(Example: )?evidencebench {name or 'demo'}( |$)", found.out, re.MULTILINE)


def test_every_command_is_listed_in_the_help_of_its_group(command: Command) -> None:
    assert len(leaves(cli)) == len(COMMANDS) - 1 + 7
    for name in leaves(cli):
        group, _, inner = f"evidencebench {name}".rpartition(" ")
        assert re.search(rf"^  {inner} ", command(f"{group.removeprefix('evidencebench')} --help").out, re.MULTILINE)


@pytest.mark.parametrize("arguments", ["--help", "--version"])
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
    found = command(arguments)
    assert (found.code, found.err) == (0, "")
    assert too_wide(found.out) == []


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("arguments", TABLES)
def test_csv_is_one_table_with_a_header(arguments: str, command: Command) -> None:
    arguments = arguments.removesuffix(" --kinds")  # which has no CSV form, and says so
    head, *rows = csv.reader(io.StringIO(command(f"{arguments} --format csv").out))
    assert len(set(head)) == len(head) > 1
    assert all(head)
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    assert all(row[0] for row in rows)
    assert len({tuple(row) for row in rows}) == len(rows)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("arguments", TABLES)
def test_markdown_is_whole_tables(arguments: str, command: Command) -> None:
    blocks = re.split(r"\n\s*\n", command(f"{arguments} --format markdown").out.strip())
    tables = [block.splitlines() for block in blocks if block.startswith("|")]
    assert tables
    others = [block for block in blocks if not block.startswith("|")]
    assert all(re.fullmatch(r"\*\*.*\*\*|(\* aspect_recall\|.*\n?)+", block) for block in others)
    for head, rule, *rows in tables:
        n_columns = len(re.findall(r"(?<!\\)\|", head)) - 1
        assert rule == f"|{' --- |' * n_columns}"
        assert rows
        assert {len(re.findall(r"(?<!\\)\|", row)) - 1 for row in rows} == {n_columns}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("arguments", TABLES)
def test_latex_is_whole_tabulars_with_comments_between(arguments: str, command: Command) -> None:
    text = command(f"{arguments} --format latex").out
    tabular = re.compile(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}\n", re.DOTALL)
    assert tabular.findall(text)
    for layout, body in tabular.findall(text):
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(layout)}
        assert not re.search(r"(?<!\\)[_#%$]", body)
    assert all(line.startswith("%") or not line for line in tabular.sub("", text).splitlines())


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_curve_is_shown_in_every_format(table_format: str, command: Command) -> None:
    command("run bm25 --data sample -o bm25.jsonl")
    score = "score bm25.jsonl --data sample --task er_at_10 --draws 50"
    at_2 = command(f"{score} --curve 4 --json").json["er_at_10"]["curve"][1]
    assert at_2["k"] == 2
    shown = command(f"{score} --curve 4 --format {table_format}").out
    assert (f"all,2,{at_2['mean']}" if table_format == "csv" else f"{100 * at_2['mean']:.1f}") in shown


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "tasks"),
    [
        ("answers.json", list(TASKS)),
        ("oracle.jsonl", list(TASKS)),
        ("bm25.jsonl", [name for name in TASKS if name != "result_er_unconstrained"]),
        ("bm25.jsonl --task result_er_at_5 -t er_at_3", ["result_er_at_5", "er_at_3"]),
        ("bm25.jsonl --budget 7", ["er_at_7"]),
        ("answers.json --task result_er_unconstrained --budget 2", ["result_er_unconstrained", "er_at_2"]),
    ],
)
def test_scores_as_json_have_the_promised_shape(arguments: str, tasks: list[str], command: Command) -> None:
    found = command(f"score {arguments} --data sample --draws 50 --json").json
    assert list(found) == tasks
    for name, scores in found.items():
        recall = scores["aspect_recall"]
        assert set(recall) >= {"mean", "low", "high", "n"}
        assert 0 <= recall["low"] <= recall["mean"] <= recall["high"] <= 1
        assert (scores["failed"], scores["empty"], scores["missing"]) == (0, 0, 0)
        assert f"task:{name}|" in scores["signature"]
        assert f"instances:{recall['n']}|" in scores["signature"]
        assert set(scores["per_instance"]) <= set(SAMPLE.ids)
        assert len(scores["per_instance"]) == recall["n"] == (9 if name.startswith("result") else 10)
        assert fmean(scores["per_instance"].values()) == pytest.approx(recall["mean"])


@pytest.mark.parametrize("task", TASKS)
def test_failed_empty_and_missing_answers_are_told_apart(task: str, command: Command) -> None:
    have_results = [instance.id for instance in SAMPLE if instance.labels.results]
    a, b, c, *others = have_results
    Path("answers.json").write_text(json.dumps({a: None, b: [], c: [1]}))
    found = command(f"score answers.json --data sample --task {task} --draws 50 --json").json[task]
    n_missing = found["aspect_recall"]["n"] - 3
    assert (found["failed"], found["empty"], found["missing"]) == (1, 1, n_missing)
    assert len(others) <= n_missing <= len(others) + 1


@pytest.mark.usefixtures("runs")
def test_text_and_json_show_the_same_score_and_signature(command: Command) -> None:
    shown = command("score bm25.jsonl --data sample --task er_at_10").out
    found = command("score bm25.jsonl --data sample --task er_at_10 --json").json["er_at_10"]
    recall = found["aspect_recall"]
    assert f"er_at_10  {100 * recall['mean']:.1f} [{100 * recall['low']:.1f}, {100 * recall['high']:.1f}]" in shown
    assert f"{found['signature']} = {recall['mean']:.3f}" in shown.replace("\n  ", "")


@pytest.mark.usefixtures("runs")
def test_runs_are_ranked_beside_the_controls_and_the_published_figures(command: Command) -> None:
    board = command("leaderboard bm25.jsonl answers.json --data sample --draws 50 --published --json").json
    assert set(board["tasks"]) == set(TASKS) - {"result_er_unconstrained"}
    rows = {row["system"]: row for row in board["tasks"]["er_at_10"]}
    assert set(rows) == {"bm25", "answers.json", "random", "lead", "abstract_backwards", "oracle"}
    assert [name for name, row in rows.items() if not row["is_control"]] in (
        ["bm25", "answers.json"],
        ["answers.json", "bm25"],
    )
    assert rows["oracle"]["rank"] is None
    assert [row["aspect_recall"]["mean"] for row in rows.values()] == sorted(
        (row["aspect_recall"]["mean"] for row in rows.values()), reverse=True
    )
    assert (board["published"]["split"], board["published"]["same_split"]) == ("test", False)
    assert "ANOTHER split than yours" in command("leaderboard lead.jsonl --data sample --draws 50 --published").out


@pytest.mark.usefixtures("runs")
def test_every_pair_of_runs_is_compared(command: Command) -> None:
    found = command("compare bm25.jsonl lead.jsonl oracle.jsonl --data sample --task er_at_10 --draws 50 --json").json
    pairs = [(pair["first"], pair["second"]) for pair in found["pairs"]]
    assert pairs == [("bm25", "lead"), ("bm25", "oracle"), ("lead", "oracle")]
    assert all(pair["p_value"] <= pair["p_value_holm"] <= 1 for pair in found["pairs"])


def test_the_wrong_hypothesis_control_is_json_too(command: Command) -> None:
    found = command("wrong-hypothesis lead --data sample --draws 50 --json").json
    assert {(one["difference"]["mean"], one["overlap"]["mean"]) for one in found.values()} == {(0, 1)}


def test_a_run_is_resumed_limited_and_started_over(command: Command) -> None:
    assert command("run bm25 --data sample -o run.jsonl --limit 4 --json").json["n_instances"] == 4
    again = command("run bm25 --data sample -o run.jsonl --limit 4")
    assert (again.code, "4 instances, 4 of them already there; 0 answers failed" in again.out) == (0, True)
    refused = command("run bm25 --data sample -o run.jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: run.jsonl: begun as another run: limit was 4, now None;")
    assert command("run bm25 --data sample -o run.jsonl --overwrite --json").json["n_resumed"] == 0
    assert command("score run.jsonl --data sample --draws 50 --json").json["er_at_10"]["n"] == 10


def test_the_next_command_that_a_run_names_works(command: Command) -> None:
    found = command("run lead --data sample -o {my run.jsonl}")
    assert found.code == 0
    following = found.out.split("next: evidencebench ")[1].strip()
    quoted = re.sub(r"'([^']*)'", r"{\1}", following)
    assert command(f"{quoted} --draws 50").code == 0


def test_failed_answers_are_counted_said_and_asked_again_on_request(command: Command) -> None:
    found = command("run own:Slow:fails=true --data sample -o run.jsonl")
    assert found.code == 1
    assert "10 instances; 10 answers failed" in found.out
    assert f"first failure: {SAMPLE.ids[0]}: ConnectionError: the server is down" in found.err
    assert command("run own:Slow:fails=true --data sample -o run.jsonl").code == 1  # they still fail: nothing is mended
    assert command("score run.jsonl --data sample --draws 50 --json").json["er_at_10"]["failed"] == 10
    assert command("run own:Slow:fails=true --data sample -o run.jsonl --retry-failed --json").json["n_failed"] == 10


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_ends_with_130_and_the_same_command_goes_on(command: Command) -> None:
    arguments = "run own:Slow:seconds=0.03 --data sample -o run.jsonl"
    process = start(*arguments.split())
    ends_at = time.monotonic() + 30
    while not (Path("run.jsonl").exists() and Path("run.jsonl").read_bytes().count(b"\n") > 3):
        assert time.monotonic() < ends_at
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "interrupted; what was finished is kept: the same command goes on from there"
    assert 3 <= command(f"{arguments} --json").json["n_resumed"] < 10


def test_a_file_with_violations_is_reported_in_full_with_exit_code_1(command: Command) -> None:
    records = json.loads(sample_path().read_bytes())
    for record in records.values():
        record["sentence_types_in_candidate_pool"][:6] = 6 * ["figure"]
    Path("bad.json").write_text(json.dumps(records))
    found = command("data validate bad.json sample")
    assert found.code == 1
    assert "bad.json: 10 instances: 60 violations" in found.out
    assert "... and 10 more; --json lists them all" in found.out
    listed = command("data validate bad.json sample --json")
    assert listed.code == 1
    assert (listed.json["valid"], [file["valid"] for file in listed.json["files"]]) == (False, [False, False])
    bad, sample = listed.json["files"]
    assert bad["n_violations"] == len(bad["violations"]) == 60
    assert set(bad["violations"][0]) >= {"instance_id", "path", "rule", "expected", "got"}
    assert {violation["rule"] for violation in sample["violations"]} == {"paper"}


def test_a_file_that_cannot_be_read_is_exit_code_2_even_beside_one_that_can(command: Command) -> None:
    found = command("data validate sample absent.json")
    assert (found.code, found.err) == (2, "error: absent.json: cannot be read: No such file or directory\n")


def test_what_data_commands_print_as_json_is_what_the_file_holds(command: Command) -> None:
    assert command("data validate sample --optima --json").json["valid"]
    stats = command("data stats sample --json").json
    assert (stats["n_instances"], stats["n_papers"], stats["sha256"]) == (10, 9, SAMPLE.sha256)
    assert [one["id"] for one in command("data show sample --json").json] == list(SAMPLE.ids)
    shown = command("data show sample 3 --json").json
    assert shown == command(f"data show sample {SAMPLE.ids[3]} --json").json
    assert [sentence["text"] for sentence in shown["sentences"]] == list(SAMPLE[3].query.sentences)
    assert {aspect["id"]: tuple(aspect["sentences"]) for aspect in shown["aspects"]} == SAMPLE[3].labels.sources
    known = command("data list --json").json
    assert [entry["name"] for entry in known] == ["sample", "train", "dev", "test", "100k-train", "100k-test"]
    assert [bool(entry["path"]) for entry in known] == [True, False, False, False, False, False]
    assert list(command("tasks --json").json) == list(TASKS)
    assert list(command("systems --json").json) == list(SYSTEMS)


def test_the_evidence_of_an_instance_is_shown_alone_on_request(command: Command) -> None:
    all_shown, evidence = command("data show sample 0").out, command("data show sample 0 --evidence").out
    n_evidence = len({index for indices in SAMPLE[0].labels.sources.values() for index in indices})
    assert len(re.findall(r"^ {0,3}\d+ [#> ]", evidence, re.MULTILINE)) == n_evidence
    assert len(re.findall(r"^ {0,3}\d+ [#> ]", all_shown, re.MULTILINE)) == len(SAMPLE[0].query.sentences)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".json.gz", ".jsonl.gz"])
def test_a_converted_file_holds_the_same_instances(suffix: str, command: Command) -> None:
    assert command(f"data convert sample copy{suffix}").out == f"copy{suffix}: 10 instances\n"
    assert list(open_dataset(f"copy{suffix}")) == list(SAMPLE)
    assert command(f"data convert sample copy{suffix}").code == 2
    assert command(f"data convert copy{suffix} copy{suffix} --overwrite").code == 0
    assert list(open_dataset(f"copy{suffix}")) == list(SAMPLE)


def test_solving_derives_exactly_the_stored_optima(command: Command) -> None:
    found = command("data solve sample -o solved.json --json").json
    assert (found["n_instances"], found["n_resumed"], found["unproven"]) == (10, 0, {})
    for stored, derived in zip(SAMPLE, open_dataset("solved.json"), strict=True):
        assert list(stored.labels.evaluations) == list(derived.labels.evaluations)
        for task, evaluation in stored.labels.evaluations.items():
            solved = derived.labels.evaluations[task]
            assert solved.optimal == evaluation.optimal
            assert len(solved.sentences) == len(evaluation.sentences)
            assert len(solved.covered) == len(evaluation.covered)
    assert command("data validate solved.json --optima").code == 0
    assert command("data solve sample -o solved.json").err.startswith("error: solved.json: exists;")
    assert command("data solve sample -o solved.json --overwrite --jobs 2").code == 0
    assert not list(Path().glob("*.partial"))


class _StopError(Exception):
    pass


def interrupted_partial() -> bytes:
    """Give what an interrupted `data solve` leaves when all is solved but nothing written."""

    def stop(n_done: int, n_all: int) -> None:
        if n_done == n_all:
            raise _StopError

    with pytest.raises(_StopError):
        solve_file(SAMPLE, Path("x.json"), on_progress=stop)
    return Path("x.json.partial").read_bytes()


def test_solving_goes_on_from_its_partial_file_cut_at_any_line(command: Command) -> None:
    partial = interrupted_partial().splitlines(keepends=True)
    command("data solve sample -o whole.json")
    for n_lines in range(len(partial) + 1):
        for torn in (b"", b'{"id":"evid' if n_lines else b'{"evidence'):
            Path("part.json.partial").write_bytes(b"".join(partial[:n_lines]) + torn)
            found = command("data solve sample -o part.json --overwrite --json").json
            assert found["n_resumed"] == max(0, n_lines - 1)
            assert Path("part.json").read_bytes() == Path("whole.json").read_bytes()


@pytest.mark.parametrize("damage", ["in a line", "of other data"])
def test_a_partial_file_that_cannot_be_used_is_a_clear_error(damage: str, command: Command) -> None:
    partial = interrupted_partial()
    changed = partial.replace(SAMPLE.sha256.encode(), b"0" * 64) if damage == "of other data" else partial
    changed = changed.replace(b'"optimal"', b"}optimal", 1) if damage == "in a line" else changed
    Path("x.json.partial").write_bytes(changed)
    found = command("data solve sample -o x.json")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: x.json.partial: ")
    assert Path("x.json.partial").read_bytes() == changed


def test_a_catalogue_name_whose_file_is_not_here_names_the_command_that_fetches_it(command: Command) -> None:
    for arguments in ("data stats train", "run bm25 --data train -o run.jsonl", "data validate train"):
        found = command(arguments)
        assert (found.code, found.out) == (2, "")
        assert "evidencebench data download train" in found.err
    assert not Path("run.jsonl").exists()


def test_a_wrong_file_is_refused_and_leaves_nothing_behind(command: Command) -> None:
    found = command(f"data download train --from-file {sample_path()}")
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert "expected 4,133,576 bytes, got" in found.err
    assert not list(Path("data").glob("*"))


@pytest.mark.data
def test_the_right_file_is_taken_and_then_known_by_its_name(command: Command, data_file: Callable[[str], Path]) -> None:
    path = data_file("evidencebench_train_set.json")
    assert "licence: CC-BY-NC-SA" in command(f"data download train --from-file {path}").out
    assert command("data list --json").json[1]["path"] == "data/evidencebench_train_set.json"
    assert command("data stats train --json").json["n_instances"] == 96
    assert command("run lead --data train -o run.jsonl --limit 2").code == 0


def test_a_mirror_is_asked_instead_and_its_file_is_used_at_once(command: Command) -> None:
    with hostile_server(sample_path().read_bytes()) as server:
        found = command(f"data download dev --mirror {server.address('mirror')}")
    assert (found.code, found.err) == (0, "")
    assert [asked.path for asked in server.log] == ["/mirror/evidencebench_dev_set.json"]
    assert SAMPLE.sha256 in found.out
    assert command("data stats dev --json").json["n_instances"] == 10
    assert command("data list --json").json[2]["path"] == "data/evidencebench_dev_set.json"


@pytest.mark.parametrize(
    ("variable", "arguments", "shown"),
    [
        ("RUN_JOBS=many", "run lead --data sample -o run.jsonl", "'many' is not a valid integer"),
        ("RUN_LIMIT=3", "run lead --data sample -o run.jsonl", "run.jsonl: 3 instances"),
        ("RUN_DATA=sample", "run lead -o run.jsonl", "run.jsonl: 10 instances"),
        ("DATA_SOLVE_OUTPUT=solved.json", "data solve sample", "solved.json: 10 instances"),
        ("TASKS_TABLE_FORMAT=csv", "tasks", "er_at_10,10,all"),
    ],
)
def test_an_option_can_be_set_in_the_environment(
    variable: str, arguments: str, shown: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value = variable.split("=")
    monkeypatch.setenv(f"EVIDENCEBENCH_{name}", value)
    found = command(arguments)
    assert shown in found.out + found.err


@pytest.mark.parametrize("name", ["EVIDENCEBENCH_VERSION", "EVIDENCEBENCH_HELP", "EVIDENCEBENCH_TASKS_HELP"])
def test_a_variable_that_is_no_option_changes_nothing(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = command("tasks")
    for value in ("0.1.0", "1"):
        monkeypatch.setenv(name, value)
        assert command("tasks") == before


def test_the_demonstration_ends_with_commands_that_work(command: Command) -> None:
    found = command("demo")
    assert (found.code, found.err) == (0, "")
    assert found.out == command("demo").out
    following = re.findall(r"^  evidencebench (.+?)(?:   .*)?$", found.out.split("What to do next")[1], re.MULTILINE)
    assert len(following) == 5
    for arguments in following[:-1]:
        assert command(arguments).code == 0
    assert following[-1] == "data download train"


def test_the_demonstration_keeps_its_runs_on_request(command: Command) -> None:
    for _ in range(2):
        found = command("demo -o kept")
        assert (found.code, "The runs are in kept." in found.out) == (0, True)
    runs = " ".join(str(path) for path in sorted(Path("kept").glob("*.jsonl")))
    assert command(f"leaderboard {runs} --data sample --draws 50").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("data validate absent.json", "absent.json: cannot be read: No such file or directory"),
        ("data stats folder", "folder: is a folder; expected a data file"),
        ("data show empty.json", "empty.json: the file is empty"),
        ("data stats truncated.json", "truncated.json: not valid JSON: .* at line 1, column"),
        ("data validate list.json", "list.json: expected a JSON object"),
        ("data stats latin.json", "latin.json: not UTF-8"),
        ("data stats nothing.json", "nothing.json: holds no instance"),
        ("data stats twice.json", "twice.json: instance id 'x' stands more than once"),
        ("data stats cut.json.gz", "cut.json.gz: cannot be read"),
        (
            "data stats invalid.json",
            "invalid.json: x: .*'evidencebench data validate invalid.json' lists every violation",
        ),
        ("run lead --data invalid.json -o run.json", "invalid.json: x: "),
        ("run bm25 --data nothing.json -o x.jsonl --hypothesis wrong", "hypotheses cannot be swapped"),
        ("data show sample 99", "no instance at position 99; it holds 10"),
        ("data show sample nope", "no instance 'nope'; its ids look like 'evidencebench_sample_id_0'"),
        ("data show sample ²", "no instance '²'"),
        ("data show sample -- --5", "no instance '--5'"),
        (f"data show sample {'9' * 5000}", "no instance"),
        ("data convert sample own.py", "own.py: exists"),
        ("data convert sample absent/x.json", "absent/x.json: cannot be written: No such file"),
        ("data solve sample -o absent/x.json", "absent/x.json.*: cannot be written: No such file"),
        ("run nope --data sample -o x.jsonl", "no system 'nope'; expected one of random, lead"),
        ("run bm25:k9=1 --data sample -o x.jsonl", "system 'bm25': no option 'k9'; it takes k1, b"),
        ("run bm25:k1=high --data sample -o x.jsonl", "option 'k1': .* got 'high'"),
        ("run bm25:k1 --data sample -o x.jsonl", "expected option=value, got 'k1'"),
        ("run absent:make --data sample -o x.jsonl", "cannot be imported: No module named 'absent'"),
        ("run own:absent --data sample -o x.jsonl", "cannot be imported"),
        ("run broken:make --data sample -o x.jsonl", "system 'broken:make': cannot be imported"),
        ("run own:hopeless --data sample -o x.jsonl", "system 'own:hopeless': "),
        ("run bm25 --data sample -o folder", "folder: cannot be written: Is a directory"),
        ("run bm25 --data sample -o own.py", "own.py: holds something else, which would be lost"),
        ("score absent.jsonl --data sample", "absent.jsonl: cannot be read: No such file"),
        ("score folder --data sample", "folder: is a folder"),
        ("score empty.json --data sample", "empty.json: the file is empty"),
        ("score list.json --data sample", "list.json: line 1: expected a run of evidencebench"),
        ("score run.jsonl --data other.json", "run.jsonl: made on sample.json .* other.json has sha256"),
        ("score unknown.json --data sample", "unknown.json: answers 'nobody', which .* does not hold"),
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
        ("wrong-hypothesis bm25 --data one.json", "hypotheses cannot be swapped between papers"),
        ("data download train --mirror ftp://example.org", "ftp://example.org/.*: expected an http"),
        ("data download train --from-file absent.json", "absent.json: "),
    ],
)
def test_an_error_is_one_clear_line(arguments: str, message: str, command: Command) -> None:
    records = json.loads(sample_path().read_bytes())
    Path("folder").mkdir()
    Path("broken.py").write_text("def")
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
        ("run bm25 --data sample", "Missing option '-o'"),
        ("run bm25 -o x.jsonl", "Missing option '-d' / '--data'"),
        ("run bm25 --data sample -o x.jsonl --jobs 0", "0 is not in the range x>=1"),
        ("run bm25 --data sample -o x.jsonl --hypothesis other", "'other' is not one of 'own', 'wrong'"),
        ("score x --data sample --task nope", "no task 'nope'; expected one of er_at_optimal"),
        ("score x --data sample --budget 0", "0 is not in the range x>=1"),
        ("score x --data sample --level 1", "1.0 is not in the range"),
        ("score x --data sample --format html", "'html' is not one of"),
        ("compare run.jsonl --data sample", "expected at least two runs to compare"),
        ("data download nope", "'nope' is not one of 'train'"),
        ("data download train dev --from-file x", "--url and --from-file name one file"),
    ],
)
def test_a_wrong_call_says_how_to_call(arguments: str, message: str, command: Command) -> None:
    found = command(arguments)
    assert (found.code, found.out) == (2, "")
    assert message in found.err.splitlines()[-1]
    assert "--help' for help." in found.err


# Hostile names: what a terminal acts on, what Rich, HTML and spreadsheets take for markup

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\r\n\x9b31m\u202e[/red]<script>|&"


def acted_on(text: str) -> set[str]:
    return {character for character in text if category(character) in {"Cc", "Cf", "Cs"} and character != "\n"}


@pytest.fixture
def hostile() -> None:
    """Make a data set and a run whose names are hostile, each in every place that has one."""
    (record,) = json.loads(sample_path().read_bytes()).popitem()[1:]
    record |= {"hypothesis": HOSTILE, "paper_id": HOSTILE, "aspect_id2aspect": {record["aspect_list_ids"][0]: HOSTILE}}
    record["paper_as_candidate_pool"][:2] = [HOSTILE, HOSTILE]
    record["sentence_types_in_candidate_pool"][0] = "section name"  # the 100k dialect, whose aspects may lack sentences
    record["aspect_list_ids"].append(HOSTILE)
    Path("hostile.json").write_text(json.dumps({HOSTILE: record, "ok": record | {"paper_id": "other"}}))
    broken = record | {"sentence_types_in_candidate_pool": [HOSTILE], "hypothesis": [HOSTILE]}
    Path("broken.json").write_text(json.dumps({HOSTILE: broken}))
    Path("unknown.json").write_text(json.dumps({HOSTILE + "!": [1]}))
    Path("beyond.json").write_text(json.dumps({HOSTILE: [9999]}))
    Path("answers.json").write_text(json.dumps({HOSTILE: [1]}))


def hostile_runs(command: Command) -> None:
    """Make runs whose header names a hostile system."""
    for name in ("a", "b"):
        assert command(f"run lead --data hostile.json -o {name}.jsonl").code == 0
        head, *lines = Path(f"{name}.jsonl").read_text().splitlines(keepends=True)
        header = json.loads(head)
        header["system"] = {"name": HOSTILE + name, "options": {HOSTILE: HOSTILE}}
        Path(f"{name}.jsonl").write_text(json.dumps(header) + "\n" + "".join(lines))


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    "arguments",
    [
        "data show hostile.json",
        "data show hostile.json 0",
        "data stats hostile.json",
        "data validate hostile.json",
        "data validate broken.json hostile.json",
        "data solve hostile.json -o solved.json",
        "data show hostile.json nobody",
        "data stats broken.json",
        "score a.jsonl --data hostile.json --draws 50 --kinds",
        "score unknown.json --data hostile.json",
        "score beyond.json --data hostile.json",
        "score a.jsonl --data sample",
        "compare a.jsonl b.jsonl --data hostile.json --draws 50",
        "leaderboard a.jsonl b.jsonl --data hostile.json --draws 50",
        "run own:Slow:fails=true --data hostile.json -o x.jsonl",
        "run lead --data hostile.json -o a.jsonl",
        "run own:Slow:name=\x1b]0;owned\x07 --data hostile.json -o x.jsonl --progress plain",
        "run nope\x1b]0;owned\x07\u202e --data hostile.json -o x.jsonl",
    ],
)
def test_hostile_names_never_reach_a_terminal_raw(arguments: str, command: Command) -> None:
    hostile_runs(command)
    found = command(arguments)
    assert acted_on(found.out + found.err) == set()
    assert "Traceback" not in found.err
    if found.code == 2:
        assert (found.out, found.err.count("\n")) == ("", 1)


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("table_format", FORMATS)
@pytest.mark.parametrize("verb", ["score a.jsonl", "compare a.jsonl b.jsonl", "leaderboard a.jsonl b.jsonl"])
def test_hostile_names_never_break_a_table(table_format: str, verb: str, command: Command) -> None:
    hostile_runs(command)
    found = command(f"{verb} --data hostile.json --draws 50 --task er_at_10 --format {table_format}")
    assert found.code == 0
    assert acted_on(found.out) == set()
    if table_format == "markdown":
        assert "<script>" not in found.out
    if table_format == "latex":
        lines = found.out.splitlines()
        known = re.compile(r"%.*|\\(begin|end)\{tabular\}.*|\\(top|mid|bottom)rule|.*\\\\|")
        assert [line for line in lines if not known.fullmatch(line)] == []


@pytest.mark.usefixtures("hostile")
def test_hostile_names_survive_in_json(command: Command) -> None:
    hostile_runs(command)
    found = command("score a.jsonl --data hostile.json --draws 50 --json")
    assert HOSTILE in found.json["er_at_10"]["per_instance"]
    assert acted_on(found.out) <= {"\x9b", "\u202e"}  # all that JSON itself allows unescaped


@pytest.mark.parametrize("style", ["rich", "plain", "none", "auto"])
def test_progress_goes_to_standard_error_and_reads_no_markup(style: str, command: Command) -> None:
    found = command(f"run own:Slow:name=[/red] --data sample -o x.jsonl --progress {style}")
    assert found.code == 0
    assert found.out.splitlines()[0] == "x.jsonl: 10 instances; 0 answers failed"
    assert ("10/10" in found.err) == (style == "plain")
    assert style == "plain" or not found.err.strip()  # what is no terminal sees no bar


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


def test_rules_for_runs_leave_the_controls_as_they_are(command: Command) -> None:
    Path("answers.json").write_text('{"evidencebench_sample_id_0": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]}')
    score = "score answers.json --data sample --task er_at_10 --json --draws 50"
    expected, first = command(score).json["er_at_10"], command(f"{score} --over-length first").json["er_at_10"]
    assert expected["aspect_recall"] != first["aspect_recall"]
    assert expected["controls"] == first["controls"]
    assert expected["controls"]["random"] < expected["controls"]["lead"]


def test_failed_answers_are_told_where_a_system_is_run_or_compared(command: Command) -> None:
    Path("own.py").write_text(OWN_CODE)
    found = command("wrong-hypothesis own:Slow:fails=true --data sample --task er_at_10 --draws 50")
    assert (found.code, found.err) == (
        1,
        "20 answers failed and score 0; 'evidencebench run own:Slow:fails=true' says why\n",
    )
    command("run own:Slow:fails=true --data sample -o failed.jsonl")
    command("run lead --data sample -o lead.jsonl")
    (pair,) = command("compare failed.jsonl lead.jsonl --data sample --task er_at_10 --draws 50 --json").json["pairs"]
    assert (pair["counts_first"]["failed"], pair["counts_second"]["failed"]) == (10, 0)
